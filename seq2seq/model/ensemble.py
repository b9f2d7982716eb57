"""Several trained models as one: their probabilities averaged, or their weights."""

from collections.abc import Sequence
from typing import cast

import torch
from torch import nn

from seq2seq.model.translation import TranslationModel


class Ensemble(nn.Module):
    """Models of equal vocabularies that decode together (:class:`DecoderSession`)."""

    def __init__(self, models: Sequence[TranslationModel]) -> None:
        super().__init__()
        self._models = nn.ModuleList(models)

    @property
    def models(self) -> list[TranslationModel]:
        """The models."""
        return cast(list[TranslationModel], list(self._models))

    @property
    def attends(self) -> bool:
        """Whether any of them has attention."""
        return any(model.attends for model in self.models)

    def parameter_counts(self) -> dict[str, int]:
        """Trainable numbers by part, summed over the models."""
        each = [model.parameter_counts() for model in self.models]
        return {part: sum(counts[part] for counts in each) for part in each[0]}


@torch.no_grad()
def average_weights(models: Sequence[TranslationModel]) -> TranslationModel:
    """The first of ``models``, with the mean of all weights; they must be of one shape."""
    # Parameters come once each, also where two layers share one.
    for first, *others in zip(*(model.parameters() for model in models), strict=True):
        first.copy_(torch.stack([first, *others]).mean(dim=0))
    return models[0]
