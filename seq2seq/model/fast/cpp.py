"""The operations in C++ (operations.cpp), built once per machine with the compiler found there."""

import ctypes
import hashlib
import os
import platform
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from seq2seq.model.fast.operations import Extensions, LossSums, Operations, dense, row_stride

SOURCE = Path(__file__).with_name("operations.cpp")
# No -ffast-math: it would break infinities. The library is linked without an OpenMP runtime, and
# uses PyTorch's, which is already loaded: two thread pools would compete for the cores.
COMPILE = "-std=c++17 -O3 -fopenmp -fno-math-errno -fno-trapping-math -fPIC -c"
TO_C: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((Tensor, Parameter), lambda array: ctypes.c_void_p(array.data_ptr())),
    **dict.fromkeys((int, bool), ctypes.c_int64),
    float: ctypes.c_float,
    type(None): ctypes.c_void_p,
}


class CppOperations(Operations):
    """Operations in float32 on a CPU, without intermediate arrays."""

    name = "native"

    def __init__(self) -> None:
        """Load the library and build it if missing; OSError or CalledProcessError on failure."""
        if platform.system() != "Linux":
            raise OSError("the C++ operations are built on Linux only")
        compiler = shlex.split(os.environ.get("CXX", "")) or ["c++"]
        library = _library_file(compiler)
        if not library.exists():
            _build(compiler, library)
        self.library = ctypes.CDLL(str(library))

    def _call(self, name: str, *arguments: Any) -> None:
        """Call a C function; pass arrays by address, None as null, int as int64, float as float."""
        given = [TO_C[type(argument)](argument) for argument in arguments]
        getattr(self.library, f"seq2seq_{name}")(*given)

    def cell(
        self,
        inputs: Tensor,
        product: Tensor,
        before: Tensor,
        gates: Tensor,
        after: Tensor,
        hidden: Tensor,
        narrow: Tensor,
    ) -> None:
        arrays = dense(inputs, product, before, gates, after, hidden)
        kind, stride = _is_bfloat16(narrow, inputs, product), row_stride(narrow)
        self._call("cell", kind, *before.shape, *arrays, narrow, stride)

    def cell_backward(
        self,
        gates: Tensor,
        before: Tensor,
        after: Tensor,
        d_hidden: Tensor,
        d_cell: Tensor,
        d_gates: Tensor,
    ) -> None:
        arrays = dense(gates, before, after, d_hidden, d_cell, d_gates)
        self._call("cell_backward", _is_bfloat16(d_gates), *before.shape, *arrays)

    def attend(self, weights: Tensor, annotations: Tensor, context: Tensor, narrow: Tensor) -> None:
        arrays, stride = dense(weights, annotations, context), row_stride(narrow)
        sizes = (len(weights), len(weights) // len(annotations), *annotations.shape[1:])
        self._call("attend", _is_bfloat16(narrow), *sizes, *arrays, narrow, stride)

    def attend_backward(
        self, d_context: Tensor, weights: Tensor, annotations: Tensor, d_scores: Tensor
    ) -> None:
        arrays = dense(d_context, weights, annotations, d_scores)
        self._call("attend_backward", *annotations.shape, *arrays)

    def scores(
        self, keys: Tensor, query: Tensor, vector: Tensor | None, mask: Tensor, scores: Tensor
    ) -> None:
        if vector is None:
            return super().scores(keys, query, vector, mask, scores)
        arrays = dense(keys, query, vector, mask, scores)
        sizes = (len(query), len(query) // len(keys), *keys.shape[1:])
        self._call("additive_scores", *sizes, *arrays)

    def scores_backward(
        self,
        keys: Tensor,
        query: Tensor,
        vector: Tensor | None,
        d_scores: Tensor,
        d_query: Tensor,
        d_keys: Tensor,
        d_vector: Tensor | None,
    ) -> None:
        if vector is None or d_vector is None:
            return super().scores_backward(keys, query, None, d_scores, d_query, d_keys, None)
        arrays = dense(keys, query, vector, d_scores, d_query, d_keys, d_vector)
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
        sums = logits.new_empty(rows, 2, dtype=torch.float64)
        threads = torch.get_num_threads()
        by_thread = bias.new_zeros(threads if d_bias is not None else 0, words)
        kind, shares = _is_bfloat16(logits), (float(smoothing), float(scale))
        arrays, results = dense(logits, bias, targets), (sums, by_thread)
        wanted = d_bias is not None
        self._call("softmax_loss", kind, rows, words, *arrays, *shares, wanted, *results, threads)
        if d_bias is not None:
            d_bias += by_thread.sum(dim=0)
        likelihood, uniform = sums.sum(dim=0).to(bias.dtype)
        return LossSums(likelihood, uniform)

    def extend(
        self, logits: Tensor, banned: Tensor, total: Tensor, beam: int, count: int
    ) -> Extensions:
        """See :meth:`Operations.extend`; ties go to the lower hypothesis, then the lower piece."""
        (rows, words), (sentences, hypotheses) = logits.shape, total.shape
        if not 1 <= count <= words or rows != sentences * hypotheses:
            raise ValueError(f"no {count} likeliest of {words} pieces for {rows} of {total.shape}")
        near = min(beam, count)
        likeliest, best = (rows, count), (sentences, min(beam, hypotheses * near))
        found = Extensions(
            total.new_empty(likeliest),
            banned.new_empty(likeliest),
            total.new_empty(best),
            banned.new_empty(best),
            banned.new_empty(best),
        )
        sizes, arrays = (rows, words, count, hypotheses, near, best[1]), dense(banned, total)
        kind, stride = _is_bfloat16(logits), row_stride(logits)
        self._call("extend", kind, *sizes, logits, stride, len(banned), *arrays, *found)
        return found

    def product(self, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        results = rows.new_empty(len(rows), len(weight))
        arrays, width = dense(rows, weight), rows.shape[1]
        self._call(
            "product", _is_bfloat16(weight), *results.shape, width, *arrays, width, bias, results
        )
        return results

    def step(
        self, narrow: bool, first: bool, hypotheses: int, sizes: Sequence[int], *arrays: Any
    ) -> None:
        """Take one whole decoder step for few rows in a single call.

        ``narrow`` says whether the weights are bfloat16. The arguments are those of
        ``seq2seq_step`` in operations.cpp; None is a null pointer.
        """
        self._call("step", narrow, first, len(arrays[0]), hypotheses, *sizes, *arrays)


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
    """Compile in a temporary folder, then move the library: other processes may build it, too."""
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
