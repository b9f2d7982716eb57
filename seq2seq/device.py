"""Choice of device and precision; memory of the processor."""

import contextlib
import ctypes
import os
import platform
from collections.abc import Iterator

import torch

from seq2seq.config import require_choice
from seq2seq.errors import UserError

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # parameters of mallopt(3)
MEGABYTES = {TRIM_THRESHOLD: 512, TOP_PAD: 384, MMAP_THRESHOLD: 32}

if hasattr(os, "register_at_fork"):
    # A forked child lacks its parent's threads and would wait for them forever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def choose_device(name: str) -> torch.device:
    """Return the device ``name``: ``auto`` (cuda if available), ``cpu`` or ``cuda``.

    For CUDA, also make PyTorch sum bfloat16 products in float32, and prepare cuBLAS for
    :func:`deterministic`. UserError if the device is missing.
    """
    require_choice("device", name, ("auto", "cpu", "cuda"))
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        return torch.device("cuda", torch.cuda.current_device())
    if name == "cuda":
        raise UserError(
            f"device=cuda, but PyTorch {torch.__version__} sees no CUDA device on this machine; "
            "set device=cpu (or auto), or install a CUDA build of PyTorch and its driver."
        )
    return torch.device("cpu")


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products for ``fp32``, ``bf16`` or ``auto`` (bf16 if it is fast).

    With bf16, only the products are rounded (autocast); weights, softmax, loss and accumulations
    stay in float32. Only translators on a CPU round weights, too. bf16 is fast on CUDA from compute
    capability 8 (Ampere) on, and on processors with AMX tiles or AVX512-BF16; elsewhere it is
    emulated and slower than fp32. UserError for any other ``name``.

    On CUDA, cuDNN's LSTM has no bfloat16 products with float32 states. So with bf16, the LSTM's
    products use TF32, which keeps 3 bits more than bfloat16; with fp32, TF32 is off.
    """
    require_choice("precision", name, ("auto", "fp32", "bf16"))
    rounded = name == "bf16" or (name == "auto" and _has_fast_bfloat16(device))
    if device.type == "cuda":
        torch.backends.cudnn.allow_tf32 = rounded
    return torch.bfloat16 if rounded else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Context in which matrix products use ``precision``; float32 changes nothing."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


@contextlib.contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Context in which, if ``wanted``, PyTorch refuses operations that are not deterministic."""
    before = torch.are_deterministic_algorithms_enabled()
    if not wanted or before:  # the setter imports PyTorch's compiler: 1 s and 60 MB
        yield
        return
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _has_fast_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # Private names of PyTorch; if a version lacks them, bf16 counts as slow.
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in probes)


def keep_freed_memory() -> None:
    """Let glibc's allocator keep up to 512 MB that an update frees, for the next update.

    By default glibc returns much of this memory to the system, then requests it again page by page.
    The system fills each page with zeros. These steps take 6 % of the time of an update. With
    other C libraries, nothing changes.
    """
    if platform.libc_ver()[0] == "glibc":
        for parameter, size in MEGABYTES.items():
            ctypes.CDLL(None).mallopt(parameter, size << 20)


def return_free_memory() -> None:
    """Return to the system what is free in glibc's heap, holes between arrays in use included.

    Arrays of many sizes leave more and more holes: after 2,800 updates on sentences of up to 50
    words, 0.9 GB were in use and 2.7 GB free.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
