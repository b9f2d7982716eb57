"""What training measures between two lines of metrics."""

import time
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from numpy import ndarray

from seq2seq.training.updater import Update


class Failure(NamedTuple):
    """An update that was skipped, since its loss or its gradient was not finite."""

    update: int
    """Its number, from 1."""
    pairs: Int[ndarray, "B"]
    """The training pairs it was made from."""


class Window:
    """Some consecutive updates. Their numbers stay on the device until someone asks."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.waited = 0.0
        self.tokens = 0
        """Trained on since the window was opened in this sitting."""
        self.skipped = 0
        self._made: list[tuple[int, Update, ndarray]] = []  # number, update, its pairs
        self._sound: list[tuple[float, float, int]] = []  # likelihood, norm, target tokens

    def add(self, number: int, update: Update, pairs: Int[ndarray, "B"]) -> None:
        """Count update ``number``, made from these training pairs."""
        self.tokens += update.tokens
        self._made.append((number, update, pairs))

    def wait(self, seconds: float) -> None:
        """Count time in which the model had no batch to work on."""
        self.waited += seconds

    def settle(self) -> list[Failure]:
        """Fetch the numbers from the device; return the updates that were skipped since last."""
        if not self._made:
            return []
        columns = [
            torch.stack([getattr(update, name).double() for _, update, _ in self._made])
            for name in ("negative_log_likelihood", "gradient_norm", "taken")
        ]
        failures = []
        rows = torch.stack(columns, dim=1).tolist()
        for (number, update, pairs), (likelihood, norm, taken) in zip(
            self._made, rows, strict=True
        ):
            if taken:
                self._sound.append((likelihood, norm, update.tokens))
            else:
                failures.append(Failure(number, pairs))
        self.skipped += len(failures)
        self._made = []
        return failures

    def entry(self) -> dict[str, float | int | None]:
        """Loss per target token, mean gradient norm, and how fast; of settled updates.

        Loss and norm are None where all were skipped.
        """
        seconds = time.monotonic() - self.started
        likelihoods, norms, tokens = zip(*self._sound, strict=True) if self._sound else ((), (), ())
        return {
            "loss": sum(likelihoods) / sum(tokens) if tokens else None,
            "gradient_norm": sum(norms) / len(norms) if norms else None,
            "skipped": self.skipped,
            "tokens_per_second": self.tokens / seconds,
            "waiting_for_data": self.waited / seconds,
        }

    def state(self) -> dict[str, Any]:
        """The settled updates, as JSON data, for a checkpoint."""
        return {"skipped": self.skipped, "sound": [list(row) for row in self._sound]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`; time begins anew."""
        self.skipped = int(state["skipped"])
        self._sound = [
            (float(likelihood), float(norm), int(tokens))
            for likelihood, norm, tokens in state["sound"]
        ]
