"""The operations in C++ (operations.cpp), built once per machine with the compiler found there."""

import ctypes
import hashlib
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from seq2seq.model.fast.operations import LossSums, Operations, dense, row_stride

SOURCE = Path(__file__).with_name("operations.cpp")
# No -ffast-math: it would break infinities. The library is linked without an OpenMP runtime, and
# uses PyTorch's, which is already loaded: two thread pools would compete for the cores.
COMPILE = "-std=c++17 -O3 -fopenmp -fno-math-errno -fno-trapping-math -fPIC -c"
# What becomes of the arguments of a C function.
TO_C: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((Tensor, Parameter), lambda array: ctypes.c_void_p(array.data_ptr())),
    **dict.fromkeys((int, bool), ctypes.c_int64),
    float: ctypes.c_float,
}


class CppOperations(Operations):
    """Operations in float32 on a CPU, without intermediate arrays."""

    name = "native"

    def __init__(self) -> None:
        """Load the library, built if it is missing; OSError or CalledProcessError on failure."""
        if platform.system() != "Linux":
            raise OSError("the C++ operations are built on Linux only")
        compiler = shlex.split(os.environ.get("CXX", "")) or ["c++"]
        library = _library_file(compiler)
        if not library.exists():
            _build(compiler, library)
        self.library = ctypes.CDLL(str(library))

    def _call(self, name: str, *arguments: Any) -> None:
        given = [TO_C[type(argument)](argument) for argument in arguments]
        getattr(self.library, f"seq2seq_{name}")(*given)

    def cell(self, *arrays: Tensor) -> None:
        inputs, product, before, *_, narrow = arrays
        kind, stride = _is_bfloat16(narrow, inputs, product), row_stride(narrow)
        self._call("cell", kind, *before.shape, *dense(*arrays[:-1]), narrow, stride)

    def cell_backward(self, *arrays: Tensor) -> None:
        kind, sizes = _is_bfloat16(arrays[-1]), arrays[1].shape
        self._call("cell_backward", kind, *sizes, *dense(*arrays))

    def attend(self, weights: Tensor, annotations: Tensor, context: Tensor, narrow: Tensor) -> None:
        arrays, stride = dense(weights, annotations, context), row_stride(narrow)
        sizes = (len(weights), len(weights) // len(annotations), *annotations.shape[1:])
        self._call("attend", _is_bfloat16(narrow), *sizes, *arrays, narrow, stride)

    def attend_backward(self, *arrays: Tensor) -> None:
        _, _, annotations, _ = arrays
        self._call("attend_backward", *annotations.shape, *dense(*arrays))

    def scores(
        self, keys: Tensor, query: Tensor, vector: Tensor | None, mask: Tensor, scores: Tensor
    ) -> None:
        if vector is None:
            return super().scores(keys, query, vector, mask, scores)
        arrays = dense(keys, query, vector, mask, scores)
        sizes = (len(query), len(query) // len(keys), *keys.shape[1:])
        self._call("additive_scores", *sizes, *arrays)

    def scores_backward(
        self, keys: Tensor, query: Tensor, vector: Tensor | None, *gradients: Any
    ) -> None:
        if vector is None:
            return super().scores_backward(keys, query, vector, *gradients)
        arrays = dense(keys, query, vector, *gradients)
        self._call("additive_scores_backward", *keys.shape, *arrays)

    def softmax_loss(
        self,
        logits: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        scale: float | Tensor,
        d_bias: Tensor | None,
    ) -> LossSums:
        rows, words = logits.shape
        if rows and not 0 <= int(targets.min()) <= int(targets.max()) < words:
            raise IndexError(f"a target lies outside the vocabulary of {words} pieces")
        arrays, shares = dense(logits, bias, targets), (float(smoothing), float(scale))
        wanted, threads = d_bias is not None, torch.get_num_threads()
        sums = logits.new_empty(rows, 2, dtype=torch.float64)
        by_thread = bias.new_zeros(threads if wanted else 0, words)
        given = (_is_bfloat16(logits), rows, words, *arrays, *shares, wanted)
        self._call("softmax_loss", *given, sums, by_thread, threads)
        if d_bias is not None:
            d_bias += by_thread.sum(dim=0)
        likelihood, uniform = sums.sum(dim=0).to(bias.dtype)
        return LossSums(likelihood, uniform)

    def likeliest(self, logits: Tensor, banned: Tensor, count: int) -> tuple[Tensor, Tensor]:
        gained = logits.new_empty(len(logits), count, dtype=torch.float32)
        pieces = banned.new_empty(len(logits), count)
        kind, bans = _is_bfloat16(logits), (len(banned), *dense(banned))
        given = (*logits.shape, count, logits, row_stride(logits), *bans)
        self._call("likeliest", kind, *given, gained, pieces)
        return gained, pieces


def _library_file(compiler: list[str]) -> Path:
    """Path of the library for this source, compiler and processor."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    # The entries, on x86 and on ARM, that -march=native depends on.
    named = ("flags", "model name", "Features", "CPU implementer", "CPU part")
    processor = [x for x in cpuinfo.split("\n\n")[0].split("\n") if x.startswith(named)]
    source = SOURCE.read_text(encoding="utf-8")
    parts = [source, COMPILE, *compiler, _run([*compiler, "--version"]), *processor]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "seq2seq" / f"native-{name}.so"


def _build(compiler: list[str], library: Path) -> None:
    """Compile in a temporary folder, then move: other processes may build the library, too."""
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        compiled, linked = Path(folder) / "native.o", Path(folder) / "native.so"
        compile_source = [*compiler, *COMPILE.split(), str(SOURCE), "-o", str(compiled)]
        try:
            _run([*compile_source, "-march=native"])
        except subprocess.CalledProcessError:  # some compilers do not know -march=native
            _run(compile_source)
        _run([*compiler, "-shared", str(compiled), "-o", str(linked)])
        linked.replace(library)


def _run(command: list[str]) -> str:
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=True
    ).stdout


def _is_bfloat16(narrow: Tensor, *others: Tensor) -> bool:
    """Whether the narrow arrays hold bfloat16, not float32; TypeError if their types differ."""
    if {x.dtype for x in others} - {narrow.dtype}:
        raise TypeError("narrow arrays must all have the same type")
    return narrow.dtype == torch.bfloat16
