"""Choice of device and precision; memory of the processor."""

import contextlib
import ctypes
import os
import platform
from collections.abc import Iterator

import torch

from seq2seq.config import require_choice
from seq2seq.errors import UserError

if hasattr(os, "register_at_fork"):
    # A forked child lacks its parent's threads and would wait for them forever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def choose_device(name: str) -> torch.device:
    """Return the device ``name``: ``auto`` (cuda if available), ``cpu`` or ``cuda``."""
    require_choice("device", name, ("auto", "cpu", "cuda"))
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False  # exact sums
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # it can be deterministic
        return torch.device("cuda", torch.cuda.current_device())
    if name == "cuda":
        raise UserError(
            f"device=cuda, but PyTorch {torch.__version__} sees no CUDA device on this machine; "
            "set device=cpu (or auto), or install a CUDA build of PyTorch and its driver."
        )
    return torch.device("cpu")


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products for ``fp32``, ``bf16`` or ``auto`` (bf16 if fast)."""
    require_choice("precision", name, ("auto", "fp32", "bf16"))
    rounded = name == "bf16" or (name == "auto" and _has_fast_bfloat16(device))
    if device.type == "cuda":
        # cuDNN's LSTM has no bfloat16 products with float32 states; TF32 keeps 3 bits more.
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
    """Whether it is an Ampere GPU or later, or has AMX tiles or AVX512-BF16; others emulate it."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # Private names of PyTorch; if a version lacks them, bf16 counts as slow.
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in probes)


def keep_freed_memory() -> None:
    """Let glibc keep up to 512 MB that an update frees; to ask for them again costs 6 % of it."""
    if platform.libc_ver()[0] == "glibc":
        # M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD of mallopt(3), in MB
        for parameter, size in ((-1, 512), (-2, 384), (-3, 32)):
            ctypes.CDLL(None).mallopt(parameter, size << 20)


def return_free_memory() -> None:
    """Return to the system what is free in glibc's heap: 2.7 of 3.6 GB after 2,800 updates."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
