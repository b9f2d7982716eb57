"""Signals, and processes that start or end together."""

import logging
import os
import signal
import threading
from types import FrameType

log = logging.getLogger(__name__)


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

    Ctrl-C after one of them raises KeyboardInterrupt. A signal that is ignored stays so (nohup).
    """

    def __init__(self) -> None:
        self.received: int | None = None

    def __enter__(self) -> "Interruption":
        main = threading.current_thread() is threading.main_thread()  # it alone gets signals
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
    """Number of processes that torchrun has started for this command; 1 without torchrun."""
    # A job script may set WORLD_SIZE, too, but means something else.
    return int(os.environ["WORLD_SIZE"]) if "TORCHELASTIC_RUN_ID" in os.environ else 1
