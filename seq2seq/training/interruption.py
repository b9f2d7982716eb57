"""The wish to stop a training: heard at once, granted when nothing is half done."""

import logging
import signal
import threading
from types import FrameType
from typing import Any

log = logging.getLogger(__name__)

HEARD = (signal.SIGINT, signal.SIGTERM)


class Interrupted(BaseException):
    """A training stopped because a signal asked for it; all it did is saved."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        # A system that stops its services by SIGTERM counts anything but 0 as a failure.
        self.status = 0 if number == signal.SIGTERM else 128 + number


class Interruption:
    """A context that keeps Ctrl-C (SIGINT) and SIGTERM until :attr:`heard` is looked at.

    A second Ctrl-C raises KeyboardInterrupt at once. Signals reach the main thread only; in
    another one this does nothing.
    """

    def __init__(self) -> None:
        self.heard: int | None = None
        """The signal that asked to stop; None while none has."""
        self._usual: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():
            self._usual = {number: signal.signal(number, self._hear) for number in HEARD}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._usual.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self.heard is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.heard = number
        log.info("Stopping after this update; Ctrl-C once more stops at once.")
