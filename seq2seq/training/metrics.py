"""Metrics of a training, the file of JSON lines that stores them, and programs that show them."""

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from seq2seq.checkpoint import MetricsState
from seq2seq.config import TrainConfig, flatten
from seq2seq.errors import UserError
from seq2seq.files import read_jsonl, write_whole

Tracker = tuple[Callable[[dict[str, float], int], object], Callable[[], object]]
"""Two functions: one sends metrics (values by name, update number), the other ends the tracking."""


@dataclass
class JsonlLog:
    """File of entries, one JSON object per line; their numbers also go to ``tracker``."""

    path: Path
    writes: bool = True
    """Whether this process writes the file."""
    tracker: Tracker | None = None

    def rewind(self, last: dict[str, int]) -> None:
        """Drop entries after the update that ``last`` has for their kind, and damaged lines."""
        if self.writes and self.path.exists():
            entries = read_jsonl(self.path)
            kept = [one for one in entries if one["update"] <= last.get(one.get("kind", ""), 0)]
            write_whole(self.path, "".join(json.dumps(entry) + "\n" for entry in kept).encode())

    def add(self, entry: dict[str, Any]) -> None:
        if self.writes:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        if self.tracker:
            numbers = {
                f"{entry['kind']}/{name}": value
                for name, value in entry.items()
                if isinstance(value, int | float) and name != "update"
            }
            self.tracker[0](numbers, entry["update"])

    def close(self) -> None:
        if self.tracker:
            with contextlib.suppress(Exception):  # a lost server must not fail a finished training
                self.tracker[1]()


class Update(NamedTuple):
    """One update; its tensors stay on the device."""

    number: int
    pairs: Int[ndarray, "B"]
    """Indices of its training pairs."""
    tokens: int
    """Number of its target tokens, ends of sentence included."""
    negative_log_likelihood: Float[Tensor, ""]
    """Sum over the target tokens, in nats."""
    gradient_norm: Float[Tensor, ""]
    """Norm before clipping."""
    taken: Bool[Tensor, ""]
    """False if the update was skipped because its loss or gradient was not finite."""


@dataclass
class IntervalMetrics:
    """Metrics of the updates since the last log line."""

    state: MetricsState = field(default_factory=MetricsState)
    """Metrics of the updates that were fetched from the device."""
    pending: list[Update] = field(default_factory=list)
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)

    def fetch(self) -> list[Update]:
        """Fetch the pending updates; return those that were skipped."""
        pending, self.pending = self.pending, []
        self.tokens += sum(one.tokens for one in pending)
        skipped = [one for one in pending if not one.taken]
        self.state.nonfinite += len(skipped)
        self.state.finite += [
            [one.negative_log_likelihood.item(), one.gradient_norm.item(), one.tokens]
            for one in pending
            if one.taken
        ]
        return skipped

    def entry(self) -> dict[str, float | int | None]:
        """Return the metrics of the log by name: means over the updates that were not skipped."""
        seconds, finite = time.monotonic() - self.started, self.state.finite
        likelihoods, norms, tokens = zip(*finite, strict=True) if finite else ([], [], [])
        return {
            "loss": sum(likelihoods) / sum(tokens) if tokens else None,
            "gradient_norm": sum(norms) / len(norms) if norms else None,
            "nonfinite": self.state.nonfinite,
            "tokens_per_second": self.tokens / seconds,
        }


def start_tracker(folder: Path, config: TrainConfig, update: int) -> Tracker:
    """Start or continue to track a run with ``training.logger``, from ``update`` on."""
    logger = config.training.logger
    try:
        return _tensorboard(folder, update) if logger == "tensorboard" else _wandb(folder, config)
    except Exception as error:  # no package, no account, no server, a deleted run
        raise UserError(
            f"training.logger={logger} does not start ({error}); correct this (if the package is "
            f"missing, run pip install {logger}), or set training.logger=none."
        ) from error


def _tensorboard(folder: Path, update: int) -> Tracker:
    from torch.utils.tensorboard import SummaryWriter

    # ``purge_step`` hides the old values of updates that are made again.
    writer = SummaryWriter(str(folder / "tensorboard"), purge_step=update + 1)

    def log(values: dict[str, float], update: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, update)

    return log, writer.close


def _wandb(folder: Path, config: TrainConfig) -> Tracker:
    import wandb

    file, name = folder / "wandb.id", "/".join(folder.parts[-3:])
    known = file.read_text() if file.exists() else None
    project = os.environ.get("WANDB_PROJECT", "seq2seq")
    settings = flatten(asdict(config))
    tracked = wandb.init(project=project, name=name, config=settings, id=known, resume="allow")
    write_whole(file, tracked.id.encode())
    return tracked.log, tracked.finish
