"""Chooses the operations of a device: compiled ones if they can be built, else plain PyTorch."""

import functools
import logging

import torch

from seq2seq.model.fast.operations import Operations

log = logging.getLogger(__name__)

_PLAIN = Operations()


def choose_operations(device: torch.device, wide: torch.dtype, narrow: torch.dtype) -> Operations:
    """Fastest operations on ``device`` for wide and narrow arrays of these types."""
    known = wide == torch.float32 and narrow in (torch.float32, torch.bfloat16)
    compiled = compiled_operations(device.type) if known else None
    return compiled or _PLAIN


def kernels(device: torch.device, precision: torch.dtype) -> str:
    """Name of the implementation for products in this precision: native (C++) | triton | torch."""
    return choose_operations(device, torch.float32, precision).name


@functools.cache
def compiled_operations(device: str) -> Operations | None:
    """Operations in C++ or Triton; None, with a log line, if they cannot be built."""
    try:
        if device == "cpu":
            from seq2seq.model.fast.cpp import CppOperations

            return CppOperations()
        if device == "cuda":
            from seq2seq.model.fast.gpu import TritonOperations

            return TritonOperations()
    except Exception as error:  # of many types: no compiler, no Triton, an old GPU, a full disk
        reason = getattr(error, "stderr", None) or str(error) or type(error).__name__
        first, *_ = reason.strip().split("\n")
        log.info("Compiled operations are unavailable, so plain PyTorch is used: %s", first)
    return None
