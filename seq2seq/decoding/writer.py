"""What search, sampling and forced decoding need of a model: hypotheses written step by step.

Shape letters beside those of the model: N sentences, W hypotheses of each, R = N x W rows, sentence
by sentence, and Q rows of which there may be more or fewer than before.
"""

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2seq.model.ensemble import Ensemble
from seq2seq.model.precision import widen
from seq2seq.model.translation import TranslationModel

# Rows of finished sentences are carried along until they are this share of the batch: taking them
# out copies the annotations of all others.
IDLE_SHARE = 0.2


class Scored(NamedTuple):
    """What one step says of each row."""

    logits: Float[Tensor, "R V"]
    """Unnormalised log-probabilities of the next piece, in the type of the products; the caller may
    overwrite them."""
    weights: Float[Tensor, "R S"]
    """Where the step looked; all 0 for a model without attention."""


class Writer(ABC):
    """Writes the hypotheses of a batch of sentences; begins with one row for each."""

    @abstractmethod
    def step(self, token: Int[Tensor, "R"]) -> Scored:
        """Score what may follow ``token``, the piece that each row has written last."""

    @abstractmethod
    def keep(self, rows: Int[Tensor, "Q"], sentences: Int[Tensor, "N"] | None) -> None:
        """Go on with these rows, in that order; a row may be named more than once.

        ``sentences`` names those that the rows are of; None where no sentence leaves, which saves
        copying what is known of them.
        """


class ModelWriter(Writer):
    """One model's hypotheses."""

    def __init__(
        self, model: TranslationModel, source: Int[Tensor, "N S"], lengths: Int[Tensor, "N"]
    ) -> None:
        self.model = model
        self.encoded = model.encode(source, lengths)
        self.keys = model.keys(self.encoded.memory)
        self.state = model.initial_state(self.encoded)

    def step(self, token: Int[Tensor, "R"]) -> Scored:
        """See :class:`Writer`."""
        logits, self.state, weights = self.model.step(token, self.state, self.encoded, self.keys)
        return Scored(logits, weights)

    def keep(self, rows: Int[Tensor, "Q"], sentences: Int[Tensor, "N"] | None) -> None:
        """See :class:`Writer`."""
        self.state = self.state.select(rows)
        if sentences is not None:
            self.encoded, self.keys = self.encoded.select(sentences), self.keys[sentences]


class EnsembleWriter(Writer):
    """The hypotheses of several models that agree on each step: the mean of their probabilities."""

    def __init__(
        self, ensemble: Ensemble, source: Int[Tensor, "N S"], lengths: Int[Tensor, "N"]
    ) -> None:
        self.writers = [begin(model, source, lengths) for model in ensemble.models]
        self.attending = sum(model.attends for model in ensemble.models)

    def step(self, token: Int[Tensor, "R"]) -> Scored:
        """See :class:`Writer`; the weights are the mean of those models that have attention."""
        steps = [writer.step(token) for writer in self.writers]
        each = [widen(step.logits).log_softmax(dim=1) for step in steps]
        logits = torch.stack(each).logsumexp(dim=0)
        weights = torch.stack([step.weights for step in steps]).sum(dim=0)  # others have zeros
        return Scored(logits - math.log(len(steps)), weights / max(self.attending, 1))

    def keep(self, rows: Int[Tensor, "Q"], sentences: Int[Tensor, "N"] | None) -> None:
        """See :class:`Writer`."""
        for writer in self.writers:
            writer.keep(rows, sentences)


def begin(
    model: TranslationModel | Ensemble, source: Int[Tensor, "N S"], lengths: Int[Tensor, "N"]
) -> Writer:
    """A writer for these sentences; ids end with EOS, and ``lengths`` counts it."""
    if isinstance(model, Ensemble):
        return EnsembleWriter(model, source, lengths)
    return ModelWriter(model, source, lengths)


def remaining(going_on: Bool[Tensor, "N"]) -> Int[Tensor, "M"] | None:
    """Which sentences to go on with; None for all, while few of them are done."""
    if int(going_on.sum()) > (1 - IDLE_SHARE) * len(going_on):
        return None
    return going_on.nonzero().flatten()
