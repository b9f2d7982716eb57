"""The processes that train one model together, each on its share of every batch."""

import contextlib
import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.training.interruption import Interrupted

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = timedelta(minutes=30)
"""A process that answers no other for so long is given up; one that has ended is noticed at once.
The longest wait is for the first one to write a checkpoint."""


class Ranks:
    """Who trains together. One process alone has nobody to ask: then all of this costs nothing.

    Whatever is asked of others must be asked by all, in the same order.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        """Be process number ``rank``, from 0, of ``size``; more than one need :func:`joined`."""
        self.rank = rank
        self.size = size

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """Which of some items are for this process: as many as for any other, or one fewer."""
        return slice(self.rank, None, self.size)

    def gather(self, value: Item) -> list[Item]:
        """The value of every process, in the order of ranks."""
        values = [value] * self.size
        if self.size > 1:
            dist.all_gather_object(values, value)
        return values

    def divided(
        self, work: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item]
    ) -> list[Result]:
        """``work(items)``, one result for each item, where every process works on its share."""
        shares = self.gather(work(items[self.share]))
        return [shares[i % self.size][i // self.size] for i in range(len(items))]

    def highest(self, *numbers: int) -> list[int]:
        """Each number's maximum over all processes, which wait here for one another."""
        if self.size == 1:
            return list(numbers)
        maxima = torch.tensor(numbers)
        dist.all_reduce(maxima, dist.ReduceOp.MAX)
        return maxima.tolist()

    def add_up(self, number: Float[Tensor, ""]) -> None:
        """Replace a number by its sum over all processes; does not wait for the device."""
        if self.size > 1:
            dist.all_reduce(number)

    def require_alike(self, facts: Mapping[str, object]) -> None:
        """Refuse processes that are not about to do the same.

        Raises:
            UserError: a fact differs; the sentence names it.
        """
        for rank, others in enumerate(everyone := self.gather(dict(facts))):
            for name, mine in everyone[0].items():
                if others.get(name) != mine:
                    raise UserError(
                        f"{name} is {mine} in process 0 and {others.get(name)} in process {rank}; "
                        "all processes of a training need the same command, text and run folder."
                    )

    def seed(self, seed: int) -> None:
        """Give each of several processes random numbers of its own, for its dropout."""
        if self.size > 1:
            drawn = np.random.SeedSequence([seed, self.rank]).generate_state(1, np.uint64)
            torch.manual_seed(int(drawn[0]))

    def shared(self, module: nn.Module) -> nn.Module:
        """The module with gradients that are means over all processes; it starts as rank 0's."""
        if self.size == 1:
            return module
        return DistributedDataParallel(module, gradient_as_bucket_view=True)

    def exchanging(self, shared: nn.Module, last: bool) -> contextlib.AbstractContextManager[None]:
        """A context for one forward and backward pass; only the last of an update exchanges."""
        if isinstance(shared, DistributedDataParallel) and not last:
            return shared.no_sync()
        return contextlib.nullcontext()


ALONE = Ranks()


@contextlib.contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """A context in which this process trains with those that torchrun has started with it.

    Each process of a machine takes a GPU of its own, where there are GPUs. All but the first are
    silent, but for errors.

    Args:
        device: auto | cpu | cuda.

    Raises:
        UserError: the machine has fewer GPUs than processes, or another process has ended.
    """
    if (size := _world_size()) == 1:
        yield ALONE
        return
    ranks = Ranks(int(os.environ["RANK"]), size)
    # What the processes agree on stays on the processor.
    backend = "cpu:gloo,cuda:nccl" if _take_device(device).type == "cuda" else "gloo"
    if not ranks.first:
        logging.disable(logging.WARNING)
    together = backend == "gloo"
    try:
        with _loss_of_others_told():
            dist.init_process_group(
                backend, store=_store(), rank=ranks.rank, world_size=size, timeout=PATIENCE
            )
            yield ranks
        together = True
    except UserError:
        speaks()  # asked before the others can notice that this one leaves
        raise
    except Interrupted as stop:
        together = True
        if ranks.first:
            raise
        raise SystemExit(stop.status) from None
    finally:
        logging.disable(logging.NOTSET)
        # NCCL takes its leave of all processes at once: one that failed alone would wait for the
        # others, and say nothing; so it just ends, and torchrun ends them.
        if together and dist.is_initialized():
            dist.destroy_process_group()


def speaks() -> bool:
    """Whether this process is to say why a training failed: the first of several that asks is."""
    if _world_size() == 1:
        return True
    rank = os.environ["RANK"]
    try:
        return _store().compare_set("speaker", "", rank) == rank.encode()
    except RuntimeError:  # nobody is left to ask
        return True


def _world_size() -> int:
    return int(os.environ.get("WORLD_SIZE") or "1") if "RANK" in os.environ else 1


@functools.cache
def _store() -> dist.Store:
    """A small table that all processes see; torchrun keeps it, or else the first of them."""
    store, _, _ = next(dist.rendezvous("env://"))
    return store


def _take_device(name: str) -> torch.device:
    """This process's part of the machine: a GPU, or a share of the threads."""
    beside = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    device = choose_device(name)
    if device.type == "cuda":
        if (count := torch.cuda.device_count()) < beside:
            raise UserError(
                f"{beside} processes were started on a machine with {count} GPUs; start as many "
                "processes as it has GPUs (torchrun --nproc-per-node), or set training.device=cpu."
            )
        # Some launchers show each process its own GPU alone.
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) if count > 1 else 0)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, torch.get_num_threads() // beside))
    return device


@contextlib.contextmanager
def _loss_of_others_told() -> Iterator[None]:
    """Turn what the network says of a process that has ended into a sentence."""
    try:
        yield
    except RuntimeError as error:
        # Gloo's errors have no type of their own.
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise UserError(
                "Another process of this training has ended; what was saved is not lost: the same "
                "command goes on from the newest checkpoint."
            ) from error
        raise
