"""Where a training stands."""

from dataclasses import dataclass


@dataclass
class Progress:
    """Where training stands; all of it is in every checkpoint."""

    update: int = 0
    """Updates made, skipped ones included."""
    epoch: int = 0
    """Epochs completed."""
    position: int = 0
    """Updates made in the epoch under way."""
    best_measure: float | None = None
    """Best dev measure so far, higher is better; None before the first validation."""
    best_update: int = 0
    """The update that reached it."""
    validated_update: int = 0
    """The update of the latest validation."""
    stale: int = 0
    """Validations since the best."""
    skipped: int = 0
    """Updates whose loss or gradient was not finite: they changed nothing."""
    seconds: float = 0.0
    """Wall time spent training, validations included, over all sittings."""
    target_tokens: int = 0
    """Target tokens trained on, ends of sentence included."""
