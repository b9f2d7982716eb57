"""Device and precision, memory of the processor, and the processes of torchrun."""

import contextlib
import ctypes
import itertools
import logging
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from seq2seq.config import require_choice
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted

if hasattr(os, "register_at_fork"):
    # A forked child lacks its parent's threads and would wait for them forever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


def choose_device(name: str) -> torch.device:
    """Return the device ``name``: ``auto`` (cuda if available), ``cpu`` or ``cuda``."""
    require_choice("device", name, ("auto", "cpu", "cuda"))
    if name != "cpu" and torch.cuda.is_available():
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False  # exact sums
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # it can be deterministic
        return torch.device("cuda", torch.cuda.current_device())
    if name == "cuda":
        raise UserError(
            f"device=cuda, but PyTorch {torch.__version__} sees no CUDA device on this machine; "
            "set device=cpu (or auto), or install a CUDA build of PyTorch and its driver."
        )
    return torch.device("cpu")


def choose_precision(name: str, device: torch.device) -> torch.dtype:
    """Return the dtype of matrix products for ``fp32``, ``bf16`` or ``auto`` (bf16 if fast)."""
    require_choice("precision", name, ("auto", "fp32", "bf16"))
    rounded = name == "bf16" or (name == "auto" and _has_fast_bfloat16(device))
    if device.type == "cuda":
        # cuDNN's LSTM has no bfloat16 products with float32 states; TF32 keeps 3 bits more.
        torch.backends.cudnn.allow_tf32 = rounded
    return torch.bfloat16 if rounded else torch.float32


def mixed_precision(device: torch.device, precision: torch.dtype) -> torch.autocast:
    """Context in which matrix products use ``precision``; float32 changes nothing."""
    return torch.autocast(device.type, precision, enabled=precision != torch.float32)


@contextlib.contextmanager
def deterministic(wanted: bool) -> Iterator[None]:
    """Context in which, if ``wanted``, PyTorch refuses operations that are not deterministic."""
    if not wanted or torch.are_deterministic_algorithms_enabled():
        yield  # the setter imports PyTorch's compiler: 1 s and 60 MB
        return
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def _has_fast_bfloat16(device: torch.device) -> bool:
    """Whether it is an Ampere GPU or later, or has AMX tiles or AVX512-BF16; others emulate it."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # Private names of PyTorch; if a version lacks them, bf16 counts as slow.
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in probes)


def keep_freed_memory() -> None:
    """Let glibc keep up to 512 MB that an update frees; to ask for them again costs 6 % of it."""
    if platform.libc_ver()[0] == "glibc":
        # M_TRIM_THRESHOLD, M_TOP_PAD and M_MMAP_THRESHOLD of mallopt(3), in MB
        for parameter, size in ((-1, 512), (-2, 384), (-3, 32)):
            ctypes.CDLL(None).mallopt(parameter, size << 20)


def return_free_memory() -> None:
    """Return to the system what is free in glibc's heap: 2.7 of 3.6 GB after 2,800 updates."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ProcessGroup:
    """Processes of one command; all of them call the same methods in the same order."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files and the log."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """Slice that selects this process's part of a list; parts differ in length by at most 1."""
        return slice(self.rank, None, self.size)

    def gather(self, value: Item) -> list[Item]:
        """Return the values of all processes, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def map(
        self, work: Callable[[Sequence[Item]], Iterable[Result]], items: Sequence[Item]
    ) -> list[Result]:
        """Return ``work(items)``, one result per item; each process computes a part."""
        shares = self.gather([*work(items[self.share])])
        return [shares[i % self.size][i // self.size] for i in range(len(items))]

    def hand_out(self, task: Item) -> Item:
        """Return the first process's ``task`` in every process; the others wait for it here."""
        return self.gather(task)[0]

    def maximum(self, *numbers: int) -> list[int]:
        """Return each number's maximum over all processes, which wait for one another here."""
        if self.size == 1:
            return list(numbers)
        maxima = torch.tensor(numbers)
        dist.all_reduce(maxima, dist.ReduceOp.MAX)
        return maxima.tolist()

    def sum(self, number: Float[Tensor, ""]) -> None:
        """Replace ``number`` by its sum over all processes, without waiting for the GPU."""
        if self.size > 1:
            dist.all_reduce(number)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their sums over all processes; a missing gradient counts as 0."""
        if self.size > 1:
            gradients = []
            for one in parameters:
                if one.grad is None:  # a batch may have fewer pairs than there are processes
                    one.grad = torch.zeros_like(one)
                gradients.append(one.grad)
            together = parameters_to_vector(gradients)
            dist.all_reduce(together)
            parts = together.split([gradient.numel() for gradient in gradients])
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))  # recorded CUDA graphs write to this memory

    def require_equal(self, facts: Mapping[str, object]) -> None:
        """Refuse processes that differ in one of these facts."""
        first, *others = self.gather(facts)
        if differ := [key for key in first if any(one.get(key) != first[key] for one in others)]:
            raise UserError(
                f"{', '.join(differ)} differ between processes; all processes of a training need "
                "the same command, text and run folder."
            )

    def seed(self, seed: int) -> None:
        """Seed PyTorch differently in each process (for dropout), if there are several."""
        if self.size > 1:
            drawn = np.random.SeedSequence([seed, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]))


SINGLE = ProcessGroup()
_groups = itertools.count()


@contextlib.contextmanager
def process_group(device: str) -> Iterator[ProcessGroup]:
    """Join torchrun's processes; each takes its own GPU, and all but the first log only errors."""
    size = int(os.environ["WORLD_SIZE"]) if dist.is_torchelastic_launched() else 1
    if size == 1:
        yield SINGLE
        return
    group, backend = ProcessGroup(int(os.environ["RANK"]), size), "gloo"
    if choose_device(device).type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        backend = "cpu:gloo,cuda:nccl"  # gloo exchanges objects and counters, NCCL gradients
    if not group.is_first:
        logging.disable(logging.WARNING)
    # A later group of these processes must not read the addresses that this one stores.
    store = dist.PrefixStore(f"group-{next(_groups)}", next(dist.rendezvous("env://"))[0])
    dist.init_process_group(backend, store=store, rank=group.rank, world_size=size)
    try:
        yield group
    except Interrupted:  # it stops all processes
        group.maximum(0)  # wait for the first one, which writes: torchrun ends all when one ends
        dist.destroy_process_group()
        raise
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise UserError(
                "Another process of this command has ended or cannot be reached; run the same "
                "command again (a training resumes from its newest checkpoint)."
            ) from error
        raise
    else:  # NCCL waits here for all processes, so one that fails alone must not come here
        dist.destroy_process_group()
