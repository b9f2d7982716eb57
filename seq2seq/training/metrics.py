"""What a training measures: a journal, and TensorBoard's events beside it where they are wanted."""

from pathlib import Path
from typing import Any

from seq2seq.errors import UserError
from seq2seq.training.journal import Journal


class Metrics(Journal):
    """``metrics.jsonl`` of a run folder; each entry has ``kind`` and ``update``."""

    def __init__(self, folder: Path, tensorboard: bool) -> None:
        """Write into ``folder``; events only with ``tensorboard``, and only after a rewind."""
        super().__init__(folder / "metrics.jsonl")
        self.tensorboard = tensorboard
        self.writer: Any = None

    def rewind(self, update: int) -> None:
        """Forget what was measured after ``update``, in TensorBoard too."""
        super().rewind(update)
        if self.tensorboard:
            self.close()
            self.writer = _tensorboard_writer(self.path.parent, update + 1)

    def add(self, entry: dict[str, Any]) -> None:
        """Append one entry."""
        super().add(entry)
        if self.writer is not None:
            for name, value in entry.items():
                if isinstance(value, int | float) and name != "update":
                    self.writer.add_scalar(f"{entry['kind']}/{name}", value, entry["update"])

    def close(self) -> None:
        """Flush TensorBoard's events."""
        if self.writer is not None:
            self.writer.close()


def _tensorboard_writer(folder: Path, first: int) -> Any:
    """A writer that hides earlier sittings' events from update ``first`` on."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "training.tensorboard=true needs the tensorboard package; "
            "install it with: pip install 'seq2seq[tensorboard]'."
        ) from None
    return SummaryWriter(str(folder / "tensorboard"), purge_step=first)
