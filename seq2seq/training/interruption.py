"""Defer SIGINT and SIGTERM to the end of the update; count torchrun's processes."""

import logging
import os
import signal
from types import FrameType

from seq2seq.errors import UserError

log = logging.getLogger(__name__)

UNSET = "unset RANK and WORLD_SIZE, or start the processes with torchrun"


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
    """How many processes torchrun has started to train together; 1 without it.

    UserError for values of its variables that are not torchrun's.
    """
    # A job script may leave one of them behind; torchrun sets both.
    if "RANK" not in os.environ or not os.environ.get("WORLD_SIZE"):
        return 1
    rank, size = number("RANK"), number("WORLD_SIZE")
    if rank >= size:
        raise UserError(f"RANK={rank} must be less than WORLD_SIZE={size}; {UNSET}.")
    return size


def number(variable: str, default: str = "") -> int:
    """A variable of torchrun's; UserError where it is no number."""
    value = os.environ.get(variable, default)
    if not value.isdecimal():
        raise UserError(f"{variable}={value} is not a number; {UNSET}.")
    return int(value)
