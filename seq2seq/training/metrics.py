"""Metrics of a training, and the files of JSON lines that store them."""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from seq2seq.checkpoint import MetricsState
from seq2seq.files import parse_object, write_whole

Tracker = tuple[Callable[[dict[str, float], int], object], Callable[[], object]]
"""Two functions: one sends metrics (values by name, update number), the other ends the tracking."""


@dataclass
class JsonlLog:
    """File of entries, one JSON object per line; their numbers also go to ``tracker``."""

    path: Path
    writes: bool = True
    """Whether this process writes the file."""
    tracker: Tracker | None = None

    def read(self) -> list[dict[str, Any]]:
        """Read the entries; skip damaged lines, such as half a line after a crash."""
        entries = []
        for line in self.path.read_bytes().split(b"\n") if self.path.exists() else ():
            with contextlib.suppress(ValueError):
                entry = parse_object(line)
                if isinstance(entry.get("update"), int):
                    entries.append(entry)
        return entries

    def rewind(self, update: int, validated: int) -> None:
        """Keep validations up to ``validated`` and other entries up to ``update``; drop the rest.

        The rest is damaged, or was written after the checkpoint that training resumes from.
        """
        if self.writes and self.path.exists():
            kept = [
                entry
                for entry in self.read()
                if entry["update"] <= (validated if entry.get("kind") == "validation" else update)
            ]
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
        """End the tracker, if any."""
        ended, self.tracker = self.tracker, None
        if ended:
            with contextlib.suppress(Exception):  # a lost server must not fail a finished training
                ended[1]()


class Update(NamedTuple):
    """One update; its tensors stay on the device."""

    number: int
    pairs: Int[ndarray, "B"]
    """Indices of its training pairs."""
    negative_log_likelihood: Float[Tensor, ""]
    """Sum over the target tokens, in nats."""
    gradient_norm: Float[Tensor, ""]
    """Norm before clipping."""
    taken: Bool[Tensor, ""]
    """False if the update was skipped because its loss or gradient was not finite."""
    tokens: int
    """Number of target tokens of all processes, ends of sentence included."""


@dataclass
class IntervalMetrics:
    """Metrics of the updates since the last log line."""

    state: MetricsState = field(default_factory=MetricsState)
    """Metrics of the updates that were fetched from the device."""
    pending: list[Update] = field(default_factory=list)
    tokens: int = 0
    waited: float = 0.0
    """Seconds that the model waited for batches."""
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
            "waiting_for_data": self.waited / seconds,
        }
