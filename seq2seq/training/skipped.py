"""The updates that were skipped, and what they were made from."""

import logging
from collections.abc import Sequence

from jaxtyping import Int64
from numpy import ndarray

from seq2seq.errors import UserError
from seq2seq.training.journal import Journal
from seq2seq.training.window import Failure

log = logging.getLogger(__name__)


class Skipped(Journal):
    """``skipped.jsonl`` of a run folder; each entry has ``update`` and ``lines``, from 1."""

    def list(self, failures: Sequence[Failure], lines: Int64[ndarray, "N"]) -> None:
        """Name the lines of these updates; ``lines`` are those of all training pairs."""
        for update, pairs in failures:
            self.add({"update": update, "lines": lines[pairs].tolist()})
        log.warning(
            "%d update(s) skipped, since loss or gradient was not finite; their lines: %s",
            len(failures),
            self.path,
        )

    def require_few(self, skipped: int, limit: int) -> None:
        """End a training of which more than ``limit`` updates, in all, were skipped."""
        if skipped > limit:
            raise UserError(
                f"{skipped} updates had no finite loss or gradient, more than "
                f"training.max_nonfinite_updates={limit}; their lines are "
                f"listed in {self.path}. Train again under another name= with a lower "
                "training.optimizer.learning_rate or more training.optimizer.warmup_updates."
            )
