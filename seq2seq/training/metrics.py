"""Metrics of a training, and the files of JSON lines that store them."""

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
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
            last = {"validation": validated}
            kept = [one for one in self.read() if one["update"] <= last.get(one.get("kind"), update)]
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
    """Metrics of one update; tensors stay on the device."""

    negative_log_likelihood: Float[Tensor, ""]
    """Sum over the target tokens, in nats."""
    gradient_norm: Float[Tensor, ""]
    """Norm before clipping."""
    taken: Bool[Tensor, ""]
    """False if the update was skipped because its loss or gradient was not finite."""
    tokens: int
    """Number of target tokens of all processes, ends of sentence included."""


class IntervalMetrics:
    """Metrics of the updates since the last log line; :meth:`fetch` copies them to the CPU."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.waited = 0.0
        """Seconds that the model waited for batches."""
        self.tokens = 0
        self.state = MetricsState()
        """Fetched metrics, for a checkpoint."""
        self._pending: list[tuple[int, Update, Int[ndarray, "_"]]] = []

    def add(self, number: int, update: Update, pairs: Int[ndarray, "B"]) -> None:
        """Add the metrics of update ``number`` and the indices of its training pairs."""
        self.tokens += update.tokens
        self._pending.append((number, update, pairs))

    def fetch(self) -> list[tuple[int, Int[ndarray, "_"]]]:
        """Fetch the metrics from the device; return number and pairs of each skipped update."""
        skipped = []
        for number, (likelihood, norm, taken, tokens), pairs in self._pending:
            if taken:
                self.state.finite.append([likelihood.item(), norm.item(), tokens])
            else:
                skipped.append((number, pairs))
        self._pending = []
        self.state.nonfinite += len(skipped)
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
