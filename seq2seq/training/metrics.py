"""What a training measures, and the files that keep it: JSON lines, and TensorBoard's events."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int
from numpy import ndarray

from seq2seq.errors import UserError
from seq2seq.files import write_whole
from seq2seq.training.training_step import Update


class JsonlLog:
    """A file of JSON objects, one a line; each has ``update``."""

    def __init__(self, path: Path, writes: bool = True) -> None:
        """Use ``path``, created with the first line; several processes leave writing to one."""
        self.path = path
        self.writes = writes

    def read(self) -> list[dict[str, Any]]:
        """All entries; a line that a crash cut short, or damage made no JSON, is left out."""
        entries = []
        for line in self.path.read_bytes().split(b"\n") if self.path.exists() else ():
            try:
                entry = json.loads(line)
            except ValueError:  # what is not UTF-8 raises one, too
                continue
            if isinstance(entry, dict) and isinstance(entry.get("update"), int):
                entries.append(entry)
        return entries

    def add(self, entry: dict[str, Any]) -> None:
        """Append one entry."""
        if self.writes:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")

    def keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Drop the entries that are not ``wanted``."""
        if self.writes and self.path.exists():
            lines = [json.dumps(entry) + "\n" for entry in self.read() if wanted(entry)]
            write_whole(self.path, "".join(lines).encode())


class Metrics(JsonlLog):
    """``metrics.jsonl`` of a run folder, and TensorBoard's events next to it if wanted.

    An entry has ``kind`` (train | validation) and ``update``.
    """

    def __init__(self, folder: Path, tensorboard: bool = False, writes: bool = True) -> None:
        super().__init__(folder / "metrics.jsonl", writes)
        self.tensorboard = tensorboard and writes
        self.writer: Any = None

    def rewind(self, update: int, validated: int) -> None:
        """Drop what was measured after ``update``, and validations after ``validated``.

        The last validation may have been cut off after the updates before it were saved.
        """
        last = {"train": update, "validation": validated}
        self.keep(lambda entry: entry["update"] <= last.get(entry.get("kind", ""), -1))
        if self.tensorboard:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise UserError(
                    "training.tensorboard=true needs a package: pip install tensorboard."
                ) from None
            # Hides what was written earlier of the updates that are made again.
            folder = self.path.with_name("tensorboard")
            self.writer = SummaryWriter(str(folder), purge_step=update + 1)

    def add(self, entry: dict[str, Any]) -> None:
        """Append one entry, to TensorBoard too."""
        super().add(entry)
        if self.writer is not None:
            for name, value in entry.items():
                if isinstance(value, int | float) and name != "update":
                    self.writer.add_scalar(f"{entry['kind']}/{name}", value, entry["update"])

    def close(self) -> None:
        """Flush TensorBoard's events."""
        if self.writer is not None:
            self.writer.close()


class IntervalMetrics:
    """Metrics of the updates since the last log line; on the device until :meth:`fetch`."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.waited = 0.0
        """Seconds in which the model had no batch to work on."""
        self.tokens = 0
        self.nonfinite = 0
        self._pending: list[tuple[int, Update, ndarray]] = []  # number, update, its pairs
        self._finite: list[list[float]] = []  # likelihood, norm, target tokens

    def add(self, number: int, update: Update, pairs: Int[ndarray, "B"]) -> None:
        """Count update ``number``, made from these training pairs."""
        self.tokens += update.tokens
        self._pending.append((number, update, pairs))

    def fetch(self) -> list[tuple[int, Int[ndarray, "_"]]]:
        """Fetch the numbers from the device; return number and pairs of each skipped update."""
        if not self._pending:
            return []
        pending, self._pending = self._pending, []
        columns = [
            torch.stack([getattr(update, name).double() for _, update, _ in pending])
            for name in ("negative_log_likelihood", "gradient_norm", "taken")
        ]
        skipped = []
        rows = torch.stack(columns, dim=1).tolist()
        for (number, update, pairs), (likelihood, norm, taken) in zip(pending, rows, strict=True):
            if taken:
                self._finite.append([likelihood, norm, update.tokens])
            else:
                skipped.append((number, pairs))
        self.nonfinite += len(skipped)
        return skipped

    def entry(self) -> dict[str, float | int | None]:
        """Loss per target token, mean gradient norm, and speed, of the fetched updates.

        Loss and norm are None where all updates were skipped.
        """
        seconds = time.monotonic() - self.started
        likelihoods, norms, tokens = zip(*self._finite, strict=True) if self._finite else ([],) * 3
        return {
            "loss": sum(likelihoods) / sum(tokens) if tokens else None,
            "gradient_norm": sum(norms) / len(norms) if norms else None,
            "nonfinite": self.nonfinite,
            "tokens_per_second": self.tokens / seconds,
            "waiting_for_data": self.waited / seconds,
        }

    def state(self) -> dict[str, Any]:
        """The fetched updates, as JSON data, for a checkpoint."""
        return {"nonfinite": self.nonfinite, "finite": self._finite}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from :meth:`state`; the clock starts at zero."""
        self.nonfinite, self._finite = state["nonfinite"], state["finite"]
