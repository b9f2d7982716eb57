"""Which kernels compute: plain PyTorch, or faster ones where the machine has them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from seq2seq.model.kernels.gpu import load_triton
from seq2seq.model.kernels.native import load_native
from seq2seq.model.kernels.operations import TorchKernels

__all__ = ["TorchKernels", "choose_kernels", "torch_only"]

_PLAIN = TorchKernels()
_plain_wanted = ContextVar("_plain_wanted", default=False)


def choose_kernels(device: torch.device, wide: torch.dtype, narrow: torch.dtype) -> TorchKernels:
    """The fastest kernels for arrays of these two types (see operations.py) on ``device``."""
    known = wide == torch.float32 and narrow in (torch.float32, torch.bfloat16)
    if known and not _plain_wanted.get():
        if device.type == "cpu":
            return load_native() or _PLAIN
        if device.type == "cuda":
            return load_triton() or _PLAIN
    return _PLAIN


@contextmanager
def torch_only() -> Iterator[None]:
    """While entered, everything runs in plain PyTorch: for comparison, and to rule kernels out."""
    token = _plain_wanted.set(True)
    try:
        yield
    finally:
        _plain_wanted.reset(token)
