"""Several models as one.

Shape letters are those of the model: N sentences, and R rows, the hypotheses of these sentences.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2seq.model.layers import to_float32
from seq2seq.model.translation import Step, TranslationModel


class OfEach(tuple[Any, ...]):
    """What several models have read of the same sentences, or their states."""

    def select(self, rows: Int[Tensor, "K"]) -> "OfEach":
        """Return the rows, or sentences, at ``rows`` for each model."""
        return OfEach(one.select(rows) for one in self)


class Ensemble(nn.Module):
    """Models of equal vocabularies that decode as one, with the mean of their probabilities."""

    def __init__(self, models: Sequence[TranslationModel]) -> None:
        super().__init__()
        self.models: Any = nn.ModuleList(models)

    @property
    def attends(self) -> bool:
        return any(model.attends for model in self.models)

    def parameter_counts(self) -> dict[str, int]:
        """Number of trainable parameters by part, summed over the models."""
        counts = [model.parameter_counts() for model in self.models]
        return {part: sum(of_model[part] for of_model in counts) for part in counts[0]}

    def encode(self, source: Int[Tensor, "N S"], lengths: Int[Tensor, "N"]) -> OfEach:
        return OfEach(model.encode(source, lengths) for model in self.models)

    def init_state(self, source: OfEach) -> OfEach:
        return OfEach(one.init_state(of) for one, of in zip(self.models, source, strict=True))

    def step(self, token: Int[Tensor, "R"], state: OfEach, source: OfEach) -> Step:
        each = zip(self.models, state, source, strict=True)
        steps = [model.step(token, *read) for model, *read in each]
        logits, states, weights = zip(*steps, strict=True)
        after: Any = OfEach(states)
        return Step(_mean_prediction(logits), after, self._mean_weights(weights))

    def forward(
        self, source: Int[Tensor, "N S"], lengths: Int[Tensor, "N"], target: Int[Tensor, "N T"]
    ) -> tuple[tuple[Tensor, ...], Float[Tensor, "N T S"]]:
        read = [model(source, lengths, target) for model in self.models]
        readouts, weights = zip(*read, strict=True)
        return readouts, self._mean_weights(weights)

    def logits(self, readouts: Sequence[Tensor]) -> Float[Tensor, "*N V"]:
        each = zip(self.models, readouts, strict=True)
        return _mean_prediction([model.logits(of_model) for model, of_model in each])

    def _mean_weights(self, weights: Sequence[Float[Tensor, "*N _"]]) -> Float[Tensor, "*N S"]:
        """Mean weights of the models that attend to words; if none does, those of the first."""
        seen = [own for own, model in zip(weights, self.models, strict=True) if model.attends]
        return torch.stack(seen or [weights[0]]).mean(dim=0)


def _mean_prediction(logits: Sequence[Float[Tensor, "*N V"]]) -> Float[Tensor, "*N V"]:
    """Logits of the models' mean probability."""
    predictions = torch.stack([to_float32(of_model).log_softmax(dim=-1) for of_model in logits])
    return predictions.logsumexp(dim=0) - math.log(len(logits))
