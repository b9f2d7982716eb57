"""Processes of torchrun that divide each batch of a training, or the text of a translation."""

import contextlib
import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted, process_count

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
    if (size := process_count()) == 1:
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
