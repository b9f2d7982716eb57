"""Choice of device and precision."""

import contextlib
import os
from collections.abc import Iterator

import torch

from seq2seq.config import require_choice
from seq2seq.errors import UserError

if hasattr(os, "register_at_fork"):
    # A forked child lacks its parent's threads and would wait for them forever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def choose_device(name: str) -> torch.device:
    """Return the device ``name``: ``auto`` (cuda if available), ``cpu`` or ``cuda``.

    For CUDA, also forbid cuDNN's LSTM to round float32 to TF32, let bfloat16 products be summed in
    float32, and prepare cuBLAS for :func:`deterministic`. UserError if the device is missing.
    """
    require_choice("device", name, ("auto", "cpu", "cuda"))
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        torch.backends.cudnn.allow_tf32 = False
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

    With bf16, only the products are rounded (autocast). It is fast on CUDA from compute capability
    8 (Ampere) on, and on processors with AMX tiles or AVX512-BF16; elsewhere it is emulated.
    """
    require_choice("precision", name, ("auto", "fp32", "bf16"))
    fast = name == "auto" and _has_fast_bfloat16(device)
    return torch.bfloat16 if fast or name == "bf16" else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Context in which matrix products use ``precision``; float32 changes nothing."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


@contextlib.contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Context in which PyTorch refuses operations that are not deterministic, if ``wanted``."""
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
    # Private names of PyTorch: a version without them is treated as a processor without bf16.
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in probes)
