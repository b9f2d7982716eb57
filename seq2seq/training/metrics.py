"""What a training measures: a journal, and TensorBoard's events beside it where they are wanted."""

from pathlib import Path
from typing import Any

from seq2seq.errors import UserError
from seq2seq.training.journal import Journal

COUNTED_ON = {"train": "tokens_per_second", "validation": "loss"}
"""Kind of an entry -> the number that each such entry has."""
OPTIONAL = ("epoch", "bleu", "waiting_for_data")
"""Numbers that an entry may have."""


class Metrics(Journal):
    """``metrics.jsonl`` of a run folder; each entry has ``kind`` and ``update``."""

    def __init__(self, folder: Path, tensorboard: bool, writes: bool = True) -> None:
        """Write into ``folder``; events only with ``tensorboard``, and only after a rewind."""
        super().__init__(folder / "metrics.jsonl", writes)
        self.tensorboard = tensorboard and writes
        self.writer: Any = None

    def sound(self, entry: Any) -> bool:
        """See :class:`Journal`."""
        if not super().sound(entry):
            return False
        counted = [number for kind, number in COUNTED_ON.items() if entry.get("kind") == kind]
        others = [key for key in OPTIONAL if entry.get(key) is not None]
        return bool(counted) and all(_is_number(entry.get(key)) for key in (*counted, *others))

    def rewind(self, update: int, validated: int | None = None) -> None:
        """Forget what was measured after ``update``, in TensorBoard too.

        And validations after ``validated``, where that is given: the last one may have been cut off
        when the updates before it were saved already.
        """
        super().rewind(update)
        if validated is not None:
            self._keep(lambda entry: entry["kind"] == "train" or entry["update"] <= validated)
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


def _is_number(value: Any) -> bool:
    """One that a float can hold: a whole number of JSON may have any number of digits."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


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
