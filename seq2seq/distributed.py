"""Processes that divide each batch of a training, or the text of a translation."""

import contextlib
import functools
import itertools
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.interruption import UNSET, Interrupted, by_torchrun, number, process_count

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

TIMEOUT = timedelta(minutes=30)
"""Maximum wait for a slow process; a process that has ended is noticed immediately."""


class ProcessGroup:
    """Processes of one command; all processes must call the same operations in the same order."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        """Represent process ``rank`` (from 0) of ``size``; size > 1 needs :func:`process_group`."""
        self.rank = rank
        self.size = size
        self.is_first = rank == 0
        """Whether this process writes the files and the log."""
        self.share = slice(rank, None, size)
        """Slice that selects this process's part of a list; parts differ in length by at most 1."""

    def gather(self, value: Item) -> list[Item]:
        """Return the values of all processes, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def map(
        self, work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item]
    ) -> list[Result]:
        """Return ``work(items)``, one result per item; each process computes a part."""
        shares = self.gather(work(items[self.share]))
        return [shares[i % self.size][i // self.size] for i in range(len(items))]

    def hand_out(self, task: Item) -> Item:
        """Return the first process's ``task`` in every process; the others wait for it here."""
        tasks = [task]
        if self.size > 1:
            dist.broadcast_object_list(tasks, device=torch.device("cpu"))
        return tasks[0]

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
            for parameter in parameters:
                if parameter.grad is None:  # a batch may have fewer pairs than there are processes
                    parameter.grad = torch.zeros_like(parameter)
                gradients.append(parameter.grad)
            together = parameters_to_vector(gradients)
            dist.all_reduce(together)
            parts = together.split([gradient.numel() for gradient in gradients])
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))  # recorded CUDA graphs write to this memory

    def require_equal(self, facts: Mapping[str, object]) -> None:
        """Raise UserError if one of these facts differs between processes."""
        for rank, others in enumerate(everyone := self.gather(facts)):
            for name, mine in everyone[0].items():
                if others.get(name) != mine:
                    raise UserError(
                        f"{name} is {mine} in process 0 and {others.get(name)} in process {rank}; "
                        "all processes of a training need the same command, text and run folder."
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
    """Context in which all processes that torchrun or another launcher has started work together.

    If there are GPUs and ``device`` is not cpu, each process of a machine uses its own GPU. All
    processes except the first log only errors. UserError if the machine has fewer GPUs than
    processes, or if another process has ended.
    """
    if (size := process_count()) == 1:
        yield SINGLE
        return
    group = ProcessGroup(int(os.environ["RANK"]), size)
    # gloo exchanges objects and counters between CPUs, NCCL gradients between GPUs.
    backend = "cpu:gloo,cuda:nccl" if _take_device(device).type == "cuda" else "gloo"
    if not group.is_first:
        logging.disable(logging.WARNING)
    # Leaving NCCL waits for all processes. So a process that fails alone must not leave NCCL: it
    # ends, and torchrun ends the others.
    leave_together = backend == "gloo"
    try:
        # A later group of these processes must not read the addresses that this one stores.
        store = dist.PrefixStore(f"group-{next(_groups)}", _store())
        dist.init_process_group(
            backend, store=store, rank=group.rank, world_size=size, timeout=TIMEOUT
        )
        yield group
        leave_together = True
    except UserError:
        claim_report()  # before the others notice that this process leaves
        raise
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        claim_report()
        raise UserError(
            "Another process of this command has ended or cannot be reached; run the same command "
            f"again (a training resumes from its newest checkpoint), or {UNSET}."
        ) from error
    except Interrupted as stop:
        leave_together = True
        if group.is_first:
            raise
        raise SystemExit(stop.status) from None
    finally:
        logging.disable(logging.NOTSET)
        if leave_together and dist.is_initialized():
            dist.destroy_process_group()


def claim_report() -> bool:
    """Claim the right to report a failure; True only in the first process that asks."""
    if process_count() == 1 or not (by_torchrun() or _store.cache_info().currsize):
        return True
    # When a process has ended, torchrun sends SIGTERM to the others; this one must report first.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank = os.environ["RANK"]
    try:
        return _store().compare_set("reporter", "", rank) == rank.encode()
    except RuntimeError:  # the store is gone
        return True


@functools.cache
def _store() -> dist.Store:
    """Return the key-value store that torchrun or the first process runs."""
    number("MASTER_PORT")
    if "MASTER_ADDR" not in os.environ:
        raise UserError(f"WORLD_SIZE is set, but MASTER_ADDR is not; {UNSET}.")
    if not by_torchrun():
        log.info("Waiting for %d processes; if that is wrong, %s.", process_count(), UNSET)
    store, _, _ = next(dist.rendezvous("env://"))
    return store


def _take_device(name: str) -> torch.device:
    """Choose this process's device; set its GPU, or its number of CPU threads."""
    local = max(1, number("LOCAL_WORLD_SIZE", "1"))
    device = choose_device(name)
    if device.type == "cuda":
        if (count := torch.cuda.device_count()) < local:
            raise UserError(
                f"{local} processes were started, but PyTorch sees {count} GPUs; start {count} "
                "processes (torchrun --nproc-per-node), or set device=cpu (training.device=cpu for "
                "train)."
            )
        # Some launchers show each process only its own GPU.
        torch.cuda.set_device(number("LOCAL_RANK", "0") if count > 1 else 0)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() // local))
    return device
