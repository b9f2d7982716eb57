"""Chooses the operations of a device: compiled ones where they work, otherwise plain PyTorch."""

import functools
import logging
from typing import Any

import torch
from torch import Tensor

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
    """Operations in C++ or Triton; None, with a log line, if they fail or differ from PyTorch."""
    try:
        if device == "cpu":
            from seq2seq.model.fast.cpp import CppOperations

            compiled: Operations = CppOperations()
        elif device == "cuda":
            from seq2seq.model.fast.gpu import TritonOperations

            compiled = TritonOperations()
        else:
            return None
        try_out(compiled, torch.device(device))
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # of many types: no compiler, no Triton, an old driver, a full disk
        reason = getattr(error, "stderr", None) or str(error) or type(error).__name__
        first, *_ = reason.strip().split("\n")
        log.info("Compiled operations are unavailable, so plain PyTorch is used: %s", first)
        return None
    return compiled


def try_out(compiled: Operations, device: torch.device) -> None:
    """Compare each operation of plain PyTorch on small arrays; RuntimeError if results differ."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(device)

    def empty(*shape: int) -> Tensor:
        return torch.zeros(*shape, device=device)

    b, s, a, h, v = 2, 3, 5, 4, 7
    mask = torch.tensor([[True, True, True], [True, False, False]], device=device)
    scores = draw(b, s).masked_fill(~mask, float("-inf"))
    targets = torch.tensor([1, 6], device=device)
    gates, hidden = draw(b, 4 * h), draw(b, h)
    keys, query, vector = draw(b, s, a), draw(b, a), draw(a)
    annotations, context = draw(b, s, h), empty(b, h)
    weights, d_scores = scores.softmax(dim=1), draw(b, s) * mask
    cases: list[tuple[str, list[Any]]] = [
        ("cell", [gates, draw(b, 4 * h), hidden, empty(b, 4 * h), context, context, context]),
        ("cell_backward", [gates.sigmoid(), hidden, draw(b, h), hidden, draw(b, h), gates]),
        ("attend", [scores, annotations, context, context]),
        ("attend_backward", [hidden, weights, annotations, empty(b, s)]),
        ("scores", [keys, query, vector, mask, empty(b, s)]),
        ("scores_backward", [keys, query, vector, d_scores, empty(b, a), keys, query]),
        ("softmax_loss", [draw(b, v), draw(v), targets, 0.1, 1.0, draw(v)]),
        ("extend", [draw(2 * b, v), torch.tensor([0], device=device), draw(b, 2), 2, 3]),
        ("product", [hidden, draw(v, h), draw(v)]),
        ("product", [draw(b, 64).bfloat16().float(), draw(v, 64).bfloat16(), draw(v)]),
    ]
    for name, arguments in cases:
        results = []
        for operations in (compiled, _PLAIN):
            own = [x.clone() if isinstance(x, Tensor) else x for x in arguments]
            with torch.autocast(device.type, enabled=False):  # autocast would round to bfloat16
                returned = getattr(operations, name)(*own)
            returned = returned if isinstance(returned, tuple) else (returned,)
            results.append([x for x in (*own, *returned) if isinstance(x, Tensor)])
        # Not torch.testing.assert_close: it imports 80 MB of PyTorch that training never uses.
        pairs = zip(*results, strict=True)
        if not all(torch.allclose(fast, plain, atol=1e-4, rtol=1e-4) for fast, plain in pairs):
            raise RuntimeError(f"{name} differs from plain PyTorch")
