"""The processes that train one model together, each on its share of every batch."""

import contextlib
import functools
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
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.training.interruption import UNSET, Interrupted, number, process_count

log = logging.getLogger(__name__)

Item = TypeVar("Item")
Result = TypeVar("Result")

TIMEOUT = timedelta(minutes=30)
"""The longest wait for another process; one that has ended is noticed at once."""


class ProcessGroup:
    """The processes of one training; all must call the same operations in the same order."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        """Process number ``rank``, from 0, of ``size``; several need :func:`process_group`."""
        self.rank = rank
        self.size = size
        self.is_first = rank == 0
        """Whether this is the process that writes files and the log."""
        self.share = slice(rank, None, size)
        """Which of some items are for this process; shares differ by one item at most."""

    def gather(self, value: Item) -> list[Item]:
        """The value of every process, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def map(
        self, work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item]
    ) -> list[Result]:
        """``work(items)``, one result for each item, where every process works on its share."""
        shares = self.gather(work(items[self.share]))
        return [shares[i % self.size][i // self.size] for i in range(len(items))]

    def maximum(self, *numbers: int) -> list[int]:
        """Each number's maximum over all processes, which wait here for one another."""
        if self.size == 1:
            return list(numbers)
        maxima = torch.tensor(numbers)
        dist.all_reduce(maxima, dist.ReduceOp.MAX)
        return maxima.tolist()

    def sum(self, number: Float[Tensor, ""]) -> None:
        """Replace a number by its sum over all processes; does not wait for the device."""
        if self.size > 1:
            dist.all_reduce(number)

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace gradients by their sums over all processes; one that is absent counts as 0."""
        if self.size > 1:
            gradients = []
            for parameter in parameters:
                if parameter.grad is None:  # a batch may have fewer pairs than there are processes
                    parameter.grad = torch.zeros_like(parameter)
                gradients.append(parameter.grad)
            together = parameters_to_vector(gradients)
            dist.all_reduce(together)
            vector_to_parameters(together, gradients)

    def require_equal(self, facts: Mapping[str, object]) -> None:
        """Refuse processes that differ in one of these facts; UserError names it."""
        for rank, others in enumerate(everyone := self.gather(facts)):
            for name, mine in everyone[0].items():
                if others.get(name) != mine:
                    raise UserError(
                        f"{name} is {mine} in process 0 and {others.get(name)} in process {rank}; "
                        "all processes of a training need the same command, text and run folder."
                    )

    def seed(self, seed: int) -> None:
        """Seed PyTorch differently in each of several processes, for their dropout."""
        if self.size > 1:
            drawn = np.random.SeedSequence([seed, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]))


SINGLE = ProcessGroup()


@contextlib.contextmanager
def process_group(device: str) -> Iterator[ProcessGroup]:
    """A context in which this process trains with those that torchrun has started with it.

    Each process of a machine takes a GPU of its own, where there are GPUs, unless ``device`` is
    cpu. Only the first logs anything but errors.

    Raises:
        UserError: the machine has fewer GPUs than processes, or another process has ended.
    """
    if (size := process_count()) == 1:
        yield SINGLE
        return
    group = ProcessGroup(int(os.environ["RANK"]), size)
    # Objects and counters are exchanged on the processor, gradients on the GPU.
    backend = "cpu:gloo,cuda:nccl" if _take_device(device).type == "cuda" else "gloo"
    if not group.is_first:
        logging.disable(logging.WARNING)
    # All processes leave NCCL together: one that fails alone would wait for the others and say
    # nothing. So it just ends, and torchrun ends them.
    leave_together = backend == "gloo"
    try:
        dist.init_process_group(
            backend, store=_store(), rank=group.rank, world_size=size, timeout=TIMEOUT
        )
        yield group
        leave_together = True
    except UserError:
        claim_report()  # before the others can notice that this one leaves
        raise
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        claim_report()
        raise UserError(
            "Another process of this training has ended, or has not started; run the same command "
            f"again to resume from the newest checkpoint, or {UNSET}."
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
    """Claim the right to report why training failed: True in the first process that asks."""
    if process_count() == 1 or not (_by_torchrun() or _store.cache_info().currsize):
        return True
    # torchrun sends SIGTERM to all others as soon as one has ended; the report comes first.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    rank = os.environ["RANK"]
    try:
        return _store().compare_set("reporter", "", rank) == rank.encode()
    except RuntimeError:  # nobody is left to ask
        return True


def _by_torchrun() -> bool:
    """Whether torchrun has started this process, and keeps the store; else some scheduler has."""
    return "TORCHELASTIC_RUN_ID" in os.environ


@functools.cache
def _store() -> dist.Store:
    """The key-value store of torchrun, or else of the first process."""
    number("MASTER_PORT")
    if "MASTER_ADDR" not in os.environ:
        raise UserError(f"WORLD_SIZE is set, and MASTER_ADDR is not; {UNSET}.")
    if not _by_torchrun():
        log.info("Waiting for %d processes; %s.", process_count(), UNSET)
    store, _, _ = next(dist.rendezvous("env://"))
    return store


def _take_device(name: str) -> torch.device:
    """This process's part of the machine: a GPU, or a share of the threads."""
    local = max(1, number("LOCAL_WORLD_SIZE", "1"))
    device = choose_device(name)
    if device.type == "cuda":
        if (count := torch.cuda.device_count()) < local:
            raise UserError(
                f"{local} processes were started on a machine with {count} GPUs; start as many "
                "processes as it has GPUs (torchrun --nproc-per-node), or set training.device=cpu."
            )
        # Some launchers show each process its own GPU alone.
        torch.cuda.set_device(number("LOCAL_RANK", "0") if count > 1 else 0)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() // local))
    return device
