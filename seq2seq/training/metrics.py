"""What training measures on its way: sums over a few updates, and the file they end in."""

import json
import time
from pathlib import Path
from typing import Any

import torch

from seq2seq.errors import UserError
from seq2seq.files import write_whole


class Window:
    """Sums over updates since the last line of metrics or validation; on the device until asked."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.likelihood: torch.Tensor | float = 0.0
        self.norm: torch.Tensor | float = 0.0
        self.tokens = 0
        self.last_tokens = 0
        self.updates = 0
        self.waited = 0.0

    def add(self, likelihood: torch.Tensor, norm: torch.Tensor, tokens: int) -> None:
        """Count one update."""
        self.likelihood = self.likelihood + likelihood
        self.norm = self.norm + norm
        self.tokens += tokens
        self.last_tokens = tokens
        self.updates += 1

    def wait(self, seconds: float) -> None:
        """Count time in which the model had no batch to work on."""
        self.waited += seconds

    def entry(self) -> dict[str, float]:
        """Loss per target token, mean gradient norm, target tokens per second, share waited."""
        loss = float(self.likelihood) / self.tokens
        norm = float(self.norm) / self.updates
        seconds = time.monotonic() - self.started
        return {
            "loss": loss,
            "gradient_norm": norm,
            "tokens_per_second": self.tokens / seconds,
            "waiting_for_data": self.waited / seconds,
        }


class Metrics:
    """``metrics.jsonl``: one JSON object a line, in the order of updates."""

    def __init__(self, folder: Path, tensorboard: bool) -> None:
        self.path = folder / "metrics.jsonl"
        self.writer = _tensorboard_writer(folder) if tensorboard else None

    def rewind(self, update: int) -> None:
        """Forget what was measured after ``update``: those updates are made again."""
        kept = [entry for entry in self.read() if entry["update"] <= update]
        lines = "".join(json.dumps(entry) + "\n" for entry in kept)
        write_whole(self.path, lines.encode())

    def read(self) -> list[dict[str, Any]]:
        """All entries; a line cut short by a crash is dropped."""
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text(encoding="utf-8").split("\n"):
            try:
                entries.append(json.loads(line))
            except ValueError:
                continue
        return entries

    def add(self, entry: dict[str, Any]) -> None:
        """Append one entry; it has at least ``kind`` and ``update``."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        if self.writer is not None:
            for name, value in entry.items():
                if isinstance(value, int | float) and name != "update":
                    self.writer.add_scalar(f"{entry['kind']}/{name}", value, entry["update"])

    def close(self) -> None:
        """Flush TensorBoard's events."""
        if self.writer is not None:
            self.writer.close()


def _tensorboard_writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "training.tensorboard=true needs the tensorboard package; "
            "install it with: pip install 'seq2seq[tensorboard]'."
        ) from None
    return SummaryWriter(str(folder / "tensorboard"))
