"""The kernels in C++, built once per machine with the compiler that is found there."""

import ctypes
import functools
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.model.kernels.operations import Largest, LossSums, TorchKernels, rows_of_each

log = logging.getLogger(__name__)

SOURCE = Path(__file__).with_name("native.cpp")
# No -ffast-math: it would break infinities. The OpenMP runtime is PyTorch's own, already loaded:
# linking a second one would set two thread pools against each other.
COMPILE = "-std=c++17 -O3 -fopenmp -fno-math-errno -fno-trapping-math -fPIC -c"


class NativeKernels(TorchKernels):
    """Float32 on a processor, without arrays in between."""

    name = "native"

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def cell(
        self,
        inputs: Float[Tensor, "B G"],
        product: Float[Tensor, "B G"],
        before: Float[Tensor, "B H"],
        gates: Float[Tensor, "B G"],
        after: Float[Tensor, "B H"],
        hidden: Float[Tensor, "B H"],
        narrow: Float[Tensor, "B H"],
    ) -> None:
        """See :meth:`TorchKernels.cell`."""
        batch, width = before.shape
        self.library.seq2seq_cell(
            _is_bfloat16(narrow),
            _size(batch),
            _size(width),
            _dense(inputs, narrow.dtype),
            _dense(product, narrow.dtype),
            _dense(before),
            _dense(gates),
            _dense(after),
            _dense(hidden),
            _rows(narrow, narrow.dtype),
            _size(narrow.stride(0)),
        )

    def cell_backward(
        self,
        gates: Float[Tensor, "B G"],
        before: Float[Tensor, "B H"],
        after: Float[Tensor, "B H"],
        d_hidden: Float[Tensor, "B H"],
        d_cell: Float[Tensor, "B H"],
        d_gates: Float[Tensor, "B G"],
    ) -> None:
        """See :meth:`TorchKernels.cell_backward`."""
        batch, width = before.shape
        self.library.seq2seq_cell_backward(
            _is_bfloat16(d_gates),
            _size(batch),
            _size(width),
            _dense(gates),
            _dense(before),
            _dense(after),
            _dense(d_hidden),
            _dense(d_cell),
            _dense(d_gates, d_gates.dtype),
        )

    def attend(
        self,
        weights: Float[Tensor, "R S"],
        memory: Float[Tensor, "N S M"],
        context: Float[Tensor, "R M"],
        narrow: Float[Tensor, "R M"],
    ) -> None:
        """See :meth:`TorchKernels.attend`."""
        sentences, positions, width = memory.shape
        self.library.seq2seq_attend(
            _is_bfloat16(narrow),
            _size(len(weights)),
            _size(rows_of_each(weights, sentences)),
            _size(positions),
            _size(width),
            _dense(weights),
            _dense(memory),
            _dense(context),
            _rows(narrow, narrow.dtype),
            _size(narrow.stride(0)),
        )

    def attend_backward(
        self,
        d_context: Float[Tensor, "B M"],
        weights: Float[Tensor, "B S"],
        memory: Float[Tensor, "B S M"],
        d_scores: Float[Tensor, "B S"],
    ) -> None:
        """See :meth:`TorchKernels.attend_backward`."""
        batch, positions, width = memory.shape
        self.library.seq2seq_attend_backward(
            _size(batch),
            _size(positions),
            _size(width),
            _dense(d_context),
            _dense(weights),
            _dense(memory),
            _dense(d_scores),
        )

    def additive_scores(
        self,
        keys: Float[Tensor, "N S A"],
        query: Float[Tensor, "R A"],
        vector: Float[Tensor, "A"],
        mask: Bool[Tensor, "N S"],
        scores: Float[Tensor, "R S"],
    ) -> None:
        """See :meth:`TorchKernels.additive_scores`."""
        sentences, positions, width = keys.shape
        self.library.seq2seq_additive_scores(
            _size(len(query)),
            _size(rows_of_each(query, sentences)),
            _size(positions),
            _size(width),
            _dense(keys),
            _dense(query),
            _dense(vector),
            _dense(mask, torch.bool),
            _dense(scores),
        )

    def additive_scores_backward(
        self,
        keys: Float[Tensor, "B S A"],
        query: Float[Tensor, "B A"],
        vector: Float[Tensor, "A"],
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B A"],
        d_keys: Float[Tensor, "B S A"],
        d_vector: Float[Tensor, "B A"],
    ) -> None:
        """See :meth:`TorchKernels.additive_scores_backward`."""
        batch, positions, width = keys.shape
        self.library.seq2seq_additive_scores_backward(
            _size(batch),
            _size(positions),
            _size(width),
            _dense(keys),
            _dense(query),
            _dense(vector),
            _dense(d_scores),
            _dense(d_query),
            _dense(d_keys),
            _dense(d_vector),
        )

    def softmax_loss(
        self,
        logits: Float[Tensor, "N V"],
        bias: Float[Tensor, "V"],
        targets: Int[Tensor, "N"],
        smoothing: float,
        scale: float,
        d_bias: Float[Tensor, "V"] | None,
    ) -> LossSums:
        """See :meth:`TorchKernels.softmax_loss`."""
        rows, words = logits.shape
        sums = logits.new_empty(rows, 2, dtype=torch.float64)
        if rows and not 0 <= int(targets.min()) <= int(targets.max()) < words:
            raise IndexError(f"a target lies outside the vocabulary of {words}")
        threads = torch.get_num_threads()
        by_thread = bias.new_zeros(threads if d_bias is not None else 0, words)
        self.library.seq2seq_softmax_loss(
            _is_bfloat16(logits),
            _size(rows),
            _size(words),
            _dense(logits, logits.dtype),
            _dense(bias),
            _dense(targets, torch.int64),
            ctypes.c_float(smoothing),
            ctypes.c_float(scale),
            ctypes.c_int(d_bias is not None),
            _dense(sums, torch.float64),
            _dense(by_thread),
            ctypes.c_int(threads),
        )
        if d_bias is not None:
            d_bias += by_thread.sum(dim=0)
        likelihood, uniform = sums.sum(dim=0).to(bias.dtype)
        return LossSums(likelihood, uniform)

    def log_sums(self, logits: Float[Tensor, "R V"]) -> Float[Tensor, "R"]:
        """See :meth:`TorchKernels.log_sums`."""
        rows, words = logits.shape
        sums = logits.new_empty(rows, dtype=torch.float32)
        self.library.seq2seq_log_sums(
            _is_bfloat16(logits),
            _size(rows),
            _size(words),
            _dense(logits, logits.dtype),
            _dense(sums),
        )
        return sums

    def largest(self, logits: Float[Tensor, "R V"], count: int) -> Largest:
        """See :meth:`TorchKernels.largest`; of equals, the first."""
        rows, words = logits.shape
        if not 1 <= count <= words:
            raise ValueError(f"there are no {count} largest of {words}")
        values = logits.new_empty(rows, count, dtype=torch.float32)
        places = logits.new_empty(rows, count, dtype=torch.int64)
        self.library.seq2seq_largest(
            _is_bfloat16(logits),
            _size(rows),
            _size(words),
            _size(count),
            _dense(logits, logits.dtype),
            _dense(values),
            _dense(places, torch.int64),
        )
        return Largest(values, places)


@functools.cache
def load_native() -> NativeKernels | None:
    """The compiled kernels; None, with a line in the log, where they cannot be built."""
    try:
        compiler = shlex.split(os.environ.get("CXX", "")) or ["c++"]
        if shutil.which(compiler[0]) is None or platform.system() != "Linux":
            log.info("No C++ compiler for the native kernels: plain PyTorch operations are used.")
            return None
        library = _library_file(compiler)
        if not library.exists():
            _build(compiler, library)
        return NativeKernels(ctypes.CDLL(str(library)))
    except (OSError, RuntimeError, ValueError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        log.warning(
            "The native kernels could not be built, plain PyTorch operations are used instead: %s",
            reason.strip().split("\n")[0],
        )
        return None


def _library_file(compiler: list[str]) -> Path:
    """Where the library for this source, compiler and processor is kept.

    Raises:
        RuntimeError: the user has no home.
    """
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    # As x86 and ARM name what -march=native depends on.
    named = ("flags", "model name", "Features", "CPU implementer", "CPU part")
    processor = [x for x in cpuinfo.split("\n\n")[0].split("\n") if x.startswith(named)]
    source = SOURCE.read_text(encoding="utf-8")
    parts = [source, COMPILE, *compiler, _run([*compiler, "--version"]), *processor]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "seq2seq" / f"native-{name}.so"


def _build(compiler: list[str], library: Path) -> None:
    """Compile in a folder of our own, then move into place: other processes may build too."""
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        compiled, linked = Path(folder) / "native.o", Path(folder) / "native.so"
        compile_source = [*compiler, *COMPILE.split(), str(SOURCE), "-o", str(compiled)]
        try:
            _run([*compile_source, "-march=native"])
        except subprocess.CalledProcessError:  # some compilers do not know it
            _run(compile_source)
        _run([*compiler, "-shared", str(compiled), "-o", str(linked)])
        linked.replace(library)


def _run(command: list[str]) -> str:
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=True
    ).stdout


def _size(number: int) -> ctypes.c_int64:
    return ctypes.c_int64(number)


def _is_bfloat16(narrow: Tensor) -> ctypes.c_int:
    if narrow.dtype not in (torch.float32, torch.bfloat16):
        raise TypeError(f"a kernel knows no {narrow.dtype}")
    return ctypes.c_int(narrow.dtype == torch.bfloat16)


def _dense(array: Tensor, kind: torch.dtype = torch.float32) -> ctypes.c_void_p:
    """The address of an array without gaps, of the type that the kernel reads it as."""
    if not array.is_contiguous():
        raise ValueError("a kernel was given an array that is not contiguous")
    return _address(array, kind)


def _rows(array: Tensor, kind: torch.dtype) -> ctypes.c_void_p:
    """The address of an array whose rows are contiguous, but may lie apart."""
    if array.stride(1) != 1:
        raise ValueError("a kernel was given rows that are not contiguous")
    return _address(array, kind)


def _address(array: Tensor, kind: torch.dtype) -> ctypes.c_void_p:
    if array.dtype != kind or array.device.type != "cpu":
        raise TypeError(f"a kernel wants {kind} on a CPU, not {array.dtype} on {array.device}")
    return ctypes.c_void_p(array.data_ptr())
