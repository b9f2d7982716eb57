"""Which processor computes, and in which precision."""

import contextlib
import os
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from seq2seq.config import require_choice
from seq2seq.errors import UserError


def choose_device(name: str) -> torch.device:
    """The device called ``name``: ``auto`` (cuda when there is one), ``cpu`` or ``cuda``.

    On CUDA numbers are what they are called from then on, since no record would say otherwise:
    cuDNN's LSTM does not round float32 to TF32, which the other products do not either, and a sum
    of bfloat16 products is not cut into parts that are added up in bfloat16. And cuBLAS learns,
    before its first product, what :func:`deterministic` wants.

    Raises:
        UserError: ``name`` is none of the three, or asks for cuda where there is none.
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
            "set it to cpu (or auto), or install a CUDA build of PyTorch and its driver."
        )
    return torch.device("cpu")


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """The type of matrix products: ``fp32``, ``bf16``, or ``auto``, bf16 where that is fast.

    Under bf16 the weights stay in float32, and so do softmax, loss and accumulations; only the
    products are rounded (autocast). It is fast on CUDA from compute capability 8 (Ampere) on, and
    on processors with AMX tiles or AVX512-BF16; elsewhere it is emulated, and slower than fp32.

    Raises:
        UserError: ``name`` is none of the three.
    """
    require_choice("precision", name, ("auto", "fp32", "bf16"))
    if name == "auto":
        return torch.bfloat16 if _has_fast_bfloat16(device) else torch.float32
    return torch.bfloat16 if name == "bf16" else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """A context in which matrix products use ``precision``; float32 changes nothing."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


@contextlib.contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """A context in which PyTorch refuses operations that may give other bits when repeated."""
    before = torch.are_deterministic_algorithms_enabled()
    if wanted:
        torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def _has_fast_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # Private names of PyTorch: a version without them is treated as a processor without bf16.
    for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        supported: Callable[[], bool] | None = getattr(torch.cpu, name, None)
        if supported is not None and supported():
            return True
    return False


def describe_hardware(device: torch.device) -> dict[str, str]:
    """What a run record says of the machine: processor, cores, threads, GPU, PyTorch, system."""
    record = {
        "device": str(device),
        "processor": _processor_name(),
        "cores": str(_usable_cores()),
        "threads": str(torch.get_num_threads()),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    if device.type == "cuda":
        record["gpu"] = torch.cuda.get_device_name(device)
        record["cuda"] = str(torch.version.cuda)
    return record


def _processor_name() -> str:
    # platform.processor() is empty or a mere "x86_64" on Linux; the kernel knows the name.
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _usable_cores() -> int:
    # A container or a batch system may lend fewer cores than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
