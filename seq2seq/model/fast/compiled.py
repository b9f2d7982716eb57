"""Operations of a device: in C++ (operations.cpp), built once per machine, Triton, or PyTorch."""

import ctypes
import functools
import hashlib
import logging
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seq2seq.model.fast.operations import PLAIN, Operations

log = logging.getLogger(__name__)
SOURCE = Path(__file__).with_name("operations.cpp")
# No -ffast-math: it would break infinities. The library is linked without an OpenMP runtime, and
# uses PyTorch's, which is already loaded: two thread pools would compete for the cores.
FLAGS = "-std=c++17 -O3 -march=native -fopenmp -fno-math-errno -fno-trapping-math -fPIC"


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
            return CppOperations()
        if device == "cuda":
            from seq2seq.model.fast.gpu import TritonOperations

            return TritonOperations()
    except Exception as error:  # of many types: no compiler, no Triton, an old GPU, a full disk
        reason = getattr(error, "stderr", None) or str(error) or type(error).__name__
        reason = reason.strip().partition("\n")[0]
        log.info("Compiled operations are unavailable, so plain PyTorch is used: %s", reason)
    return None


class CppOperations(Operations):
    """Operations in float32 on a CPU, without intermediate arrays."""

    name = "native"

    def __init__(self) -> None:
        """Load the library, built if it is missing; OSError or CalledProcessError on failure."""
        self.library = ctypes.CDLL(str(_library()))

    def _call(self, name: str, *arguments: Any) -> None:
        if not all(x.is_contiguous() for x in arguments if isinstance(x, Tensor)):
            raise ValueError("an operation needs dense arrays")
        numbers = [x.data_ptr() if isinstance(x, Tensor) else x for x in arguments]
        given = [(ctypes.c_float if isinstance(x, float) else ctypes.c_int64)(x) for x in numbers]
        getattr(self.library, f"seq2seq_{name}")(*given)

    def cell(self, *arrays: Tensor) -> None:
        *others, narrow = arrays
        sizes = narrow.element_size(), *narrow.shape
        self._call("cell", *sizes, *others, narrow.data_ptr(), narrow.stride(0))

    def cell_backward(self, *arrays: Tensor) -> None:
        self._call("cell_backward", arrays[-1].element_size(), *arrays[1].shape, *arrays)

    def attend(self, weights: Tensor, annotations: Tensor, context: Tensor, narrow: Tensor) -> None:
        arrays = weights, annotations, context, narrow.data_ptr(), narrow.stride(0)
        self._call("attend", narrow.element_size(), len(weights), *annotations.shape, *arrays)

    def attend_backward(self, *arrays: Tensor) -> None:
        self._call("attend_backward", *arrays[2].shape, *arrays)

    def scores(self, *arrays: Any) -> None:
        self._call("additive_scores", len(arrays[1]), *arrays[0].shape, *arrays)

    def scores_backward(self, *arrays: Any) -> None:
        self._call("additive_scores_backward", *arrays[0].shape, *arrays)

    def softmax_loss(self, *arguments: Any) -> Tensor:
        logits, bias, targets, smoothing, scale, d_bias = arguments
        rows, words = logits.shape
        if rows and not 0 <= int(targets.min()) <= int(targets.max()) < words:
            raise IndexError(f"a target lies outside the vocabulary of {words} pieces")
        threads = torch.get_num_threads()
        sums = logits.new_empty(rows, 2, dtype=torch.float64)
        by_thread = bias.new_zeros(0 if d_bias is None else threads, words)
        given = rows, words, logits, bias, targets, float(smoothing), float(scale), len(by_thread)
        self._call("softmax_loss", logits.element_size(), *given, sums, by_thread, threads)
        if d_bias is not None:
            d_bias += by_thread.sum(dim=0)
        return sums.sum(dim=0).to(bias.dtype)

    def likeliest(self, logits: Tensor, banned: Tensor, count: int) -> tuple[Tensor, Tensor]:
        gained = logits.new_empty(len(logits), count, dtype=torch.float32)
        pieces = banned.new_empty(len(logits), count)
        given = logits.element_size(), *logits.shape, count, logits.data_ptr(), logits.stride(0)
        self._call("likeliest", *given, len(banned), banned, gained, pieces)
        return gained, pieces


def _library() -> Path:
    """Path of the library for this source, compiler and processor; built if it is missing."""
    compiler = shlex.split(os.environ.get("CXX", "")) or ["c++"]
    # The macros name the compiler's version, and what -march=native found in the processor.
    macros = _run([*compiler, *FLAGS.split(), "-E", "-dM", "-x", "c++", os.devnull])
    parts = [SOURCE.read_text(encoding="utf-8"), *compiler, FLAGS, macros]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seq2seq"
    library = cache / f"native-{name}.so"
    if not library.exists():
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Compiled in a temporary folder, then moved: other processes may build it, too.
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            compiled, linked = Path(folder) / "native.o", Path(folder) / "native.so"
            _run([*compiler, *FLAGS.split(), "-c", str(SOURCE), "-o", str(compiled)])
            _run([*compiler, "-shared", str(compiled), "-o", str(linked)])
            linked.replace(library)
    return library


def _run(command: list[str]) -> str:
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=True
    ).stdout
