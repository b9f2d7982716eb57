"""Signals, and processes that start or end together."""

import logging
import os
import signal
import threading
from types import FrameType

from seq2seq.errors import UserError

log = logging.getLogger(__name__)

UNSET = "unset RANK and WORLD_SIZE, or start the processes with torchrun"


class Interrupted(BaseException):
    """Raised when a signal stopped a training and all is saved; ``status`` is the exit status."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        # A service manager that stops a service by SIGTERM counts any status except 0 as a failure.
        self.status = 0 if number == signal.SIGTERM else 128 + number


STOPS = [
    getattr(signal, name)
    for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGXCPU")
    if hasattr(signal, name)
]
"""Signals by which service managers, terminals that close, and schedulers end a program."""


class Interruption:
    """Context that records Ctrl-C (SIGINT) and the signals :data:`STOPS` in :attr:`received`.

    Ctrl-C after one of them raises KeyboardInterrupt immediately. A signal that is ignored, as by
    nohup, stays so. Outside the main thread, which alone gets signals, the context changes nothing.
    """

    def __init__(self) -> None:
        self.received: int | None = None

    def __enter__(self) -> "Interruption":
        main = threading.current_thread() is threading.main_thread()
        self._previous = {
            number: signal.signal(number, self._receive)
            for number in (signal.SIGINT, *STOPS)
            if main and signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = number
        log.info("Stopping after this update; press Ctrl-C again to stop immediately.")


def process_count() -> int:
    """Number of processes that torchrun or another launcher has started; 1 without a launcher.

    UserError if the variables RANK and WORLD_SIZE have invalid values.
    """
    # A job script may set only one of them; torchrun sets both.
    if "RANK" not in os.environ or not os.environ.get("WORLD_SIZE"):
        return 1
    rank, size = number("RANK"), number("WORLD_SIZE")
    if rank >= size:
        raise UserError(f"RANK={rank} must be less than WORLD_SIZE={size}; {UNSET}.")
    return size


def by_torchrun() -> bool:
    """Whether torchrun, not another launcher or a cluster, started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def number(variable: str, default: str = "") -> int:
    """Value of an environment variable of torchrun; UserError unless it is a whole number >= 0."""
    value = os.environ.get(variable, default)
    if not value.isdecimal():
        raise UserError(f"{variable}={value} must be a whole number, 0 or more; {UNSET}.")
    return int(value)
