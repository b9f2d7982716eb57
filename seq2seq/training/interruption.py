"""Defer SIGINT and SIGTERM to the end of the update; count torchrun's processes."""

import logging
import os
import signal
from types import FrameType

log = logging.getLogger(__name__)


class Interrupted(BaseException):
    """A training stopped by a signal, with everything saved; ``status`` is the exit status."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        # A system that stops its services by SIGTERM counts anything but 0 as a failure.
        self.status = 0 if number == signal.SIGTERM else 128 + number


class Interruption:
    """A context that records Ctrl-C (SIGINT) and SIGTERM in :attr:`received`.

    A second Ctrl-C raises KeyboardInterrupt at once.
    """

    def __init__(self) -> None:
        self.received: int | None = None

    def __enter__(self) -> "Interruption":
        signals = signal.SIGINT, signal.SIGTERM
        self._previous = {number: signal.signal(number, self._receive) for number in signals}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = number
        log.info("Stopping after this update; press Ctrl-C again to stop at once.")


def process_count() -> int:
    """How many processes torchrun has started to train together; 1 without it."""
    # A job script may leave WORLD_SIZE behind; torchrun sets both.
    return int(os.environ.get("WORLD_SIZE") or "1") if "RANK" in os.environ else 1
