"""Choice of the operations of a device: compiled ones if they can be built, else plain PyTorch."""

import functools
import logging

import torch

from seq2seq.model.fast.operations import PLAIN, Operations

log = logging.getLogger(__name__)


def choose_operations(
    device: torch.device, narrow: torch.dtype, wide: torch.dtype = torch.float32
) -> Operations:
    """Fastest operations on ``device`` for narrow and wide arrays of these types."""
    known = wide == torch.float32 and narrow in (torch.float32, torch.bfloat16)
    return (compiled_operations(device.type) if known else None) or PLAIN


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
        reason = reason.strip().partition("\n")[0]
        log.info("Compiled operations are unavailable, so plain PyTorch is used: %s", reason)
    return None
