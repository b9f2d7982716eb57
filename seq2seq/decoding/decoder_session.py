"""Steps and results of search, and forced decoding.

Shape letters in addition to those of the model: N sentences, W hypotheses per sentence, and
R = N x W rows. The rows of one sentence are next to each other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, PAD
from seq2seq.model.decoder import DecoderState
from seq2seq.model.encoder import Source
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel

IDLE_SHARE = 0.2
"""Fraction of finished sentences at which a batch drops them. Dropping copies the unfinished
sentences, so finished sentences are not dropped one by one."""

CELLS = 2_048
"""Largest number of target positions, padding included, that forced decoding reads together; a
longer target is read alone. So memory does not grow with the batch."""


class Ensemble(nn.Module):
    """Models of equal vocabularies that decode together (:class:`DecoderSession`)."""

    def __init__(self, models: Sequence[TranslationModel]) -> None:
        super().__init__()
        self._models = nn.ModuleList(models)

    @property
    def models(self) -> list[TranslationModel]:
        return cast(list[TranslationModel], list(self._models))

    @property
    def attends(self) -> bool:
        """Whether at least one model attends to source pieces."""
        return any(model.attends for model in self.models)

    def parameter_counts(self) -> dict[str, int]:
        """Number of trainable parameters by part, summed over the models."""
        counts = [model.parameter_counts() for model in self.models]
        return {part: sum(of_model[part] for of_model in counts) for part in counts[0]}


class StepScores(NamedTuple):
    """Results of one step for each row."""

    logits: Float[Tensor, "R V"]
    """Unnormalised log-probabilities of the next piece; the caller may overwrite them."""
    weights: Float[Tensor, "R S"]
    """Attention weights; all 0 for the attention kinds fixed, init_only and none."""


@dataclass
class DecoderSession:
    """Decodes the hypotheses of a batch step by step, with a single model or an ensemble.

    The hypotheses of a sentence share one encoding of the source.
    """

    models: list[TranslationModel]
    sources: list[Source]
    states: list[DecoderState]

    @classmethod
    def start(
        cls,
        model: TranslationModel | Ensemble,
        source: Int[Tensor, "N S"],
        lengths: Int[Tensor, "N"],
    ) -> "DecoderSession":
        """Encode the sentences and start a row for each.

        ``source`` holds ids that end with EOS, padded on the right; ``lengths`` counts EOS.
        """
        models = model.models if isinstance(model, Ensemble) else [model]
        sources = [model.encode(source, lengths) for model in models]
        states = [model.init_state(read) for model, read in zip(models, sources, strict=True)]
        return cls(models, sources, states)

    def step(self, token: Int[Tensor, "R"]) -> StepScores:
        """Score the pieces that may follow ``token``, the last piece of each row.

        An ensemble averages the probabilities of all models. It averages the attention weights of
        the models that attend to source pieces.
        """
        parts = zip(self.models, self.states, self.sources, strict=True)
        steps = [model.step(token, state, source) for model, state, source in parts]
        self.states = [step.state for step in steps]
        logits = _mean_prediction([step.logits for step in steps])
        return StepScores(logits, _mean_weights(self.models, [step.weights for step in steps]))

    def reorder(self, rows: Int[Tensor, "Q"], sentences: Int[Tensor, "M"] | None = None) -> None:
        """Replace the rows by those at the indices ``rows``; an index may repeat or be missing.

        ``sentences`` holds the old indices of the sentences that stay. None means that all stay;
        then their encodings are not copied.
        """
        self.states = [state.select(rows) for state in self.states]
        if sentences is not None:
            self.sources = [source.select(sentences) for source in self.sources]


def _mean_prediction(logits: list[Float[Tensor, "*N V"]]) -> Float[Tensor, "*N V"]:
    """Logits of the models' mean probability; of one model, its logits as they are."""
    if len(logits) == 1:
        return logits[0]
    predictions = torch.stack([to_float32(of_model).log_softmax(dim=-1) for of_model in logits])
    return predictions.logsumexp(dim=0) - math.log(len(logits))


def _mean_weights(
    models: list[TranslationModel], weights: list[Float[Tensor, "*N _"]]
) -> Float[Tensor, "*N S"]:
    """Mean weights of the models that attend to words; if none does, the weights of the first."""
    if len(models) == 1:
        return weights[0]
    seen = [own for own, model in zip(weights, models, strict=True) if model.attends]
    return torch.stack(seen or weights[:1]).mean(dim=0)


def sentences_to_keep(unfinished: Bool[Tensor, "N"]) -> Int[Tensor, "M"] | None:
    """Indices of the unfinished sentences; None (drop no sentence) while few are finished."""
    if int(unfinished.sum()) > (1 - IDLE_SHARE) * len(unfinished):
        return None
    return unfinished.nonzero().flatten()


class ForcedDecoding(NamedTuple):
    """The model's scores of known targets."""

    log_probabilities: Float[Tensor, "N T"]
    """Log-probability of each piece, in nats; 0 at padding."""
    weights: Float[Tensor, "N T S"]
    """Attention weights of the step that scored each piece; 0 in fixed, init_only and none."""


@torch.no_grad()
def forced_decode(
    model: TranslationModel | Ensemble,
    source: Int[Tensor, "N S"],
    lengths: Int[Tensor, "N"],
    target: Int[Tensor, "N T"],
) -> ForcedDecoding:
    """Score known targets, each read as a whole, as in training (forced decoding).

    The model must be in evaluation mode. ``source`` and ``lengths`` are as for
    :meth:`DecoderSession.start`. ``target`` holds ids without BOS, padded on the right. A target
    without EOS is scored as a prefix.
    """
    together = max(1, CELLS // target.shape[1])
    if len(target) > together:
        split = (x.split(together) for x in (source, lengths, target))
        found = [forced_decode(model, *part) for part in zip(*split, strict=True)]
        return ForcedDecoding(*(torch.cat(of) for of in zip(*found, strict=True)))
    models = model.models if isinstance(model, Ensemble) else [model]
    before = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
    readouts, weights = zip(*(each(source, lengths, before) for each in models), strict=True)
    read = zip(models, readouts, strict=True)
    logits = _mean_prediction([each.logits(of_model) for each, of_model in read])
    gained = logits.gather(2, target[:, :, None]).squeeze(2) - logits.logsumexp(dim=2)
    gained = gained.masked_fill(target == PAD, 0.0)
    return ForcedDecoding(gained, _mean_weights(models, [*weights]))


class Seen(NamedTuple):
    """What the steps of a hypothesis saw: a row for each piece, and for EOS if it was reached."""

    weights: Float[Tensor, "T S"]
    """Attention weights; all 0 for the attention kinds fixed, init_only and none."""
    values: Float[Tensor, "T K"]
    """Log-probabilities of the likeliest pieces, in nats, the highest first."""
    pieces: Int[Tensor, "T K"]


@dataclass(frozen=True)
class SearchResult:
    """One hypothesis for one sentence, with the scores of a :class:`Hypothesis`."""

    ids: list[int]
    """Ids of the pieces, without BOS and EOS."""
    score: float
    log_probability: float
    capped: bool
    seen: Seen | None = field(default=None, compare=False)
    """None without ``choices``."""


def length_caps(
    lengths: Int[Tensor, "B"], config: DecodingConfig, forced: int = 0
) -> Int[Tensor, "B"]:
    """Largest number of pieces of each hypothesis, with EOS: max_ratio x source pieces + max_extra.

    ``lengths`` count the EOS of the source; the formula does not. After a beginning of ``forced``
    pieces, there is room for at least max_extra more pieces.
    """
    caps = ((lengths - 1).double() * config.max_ratio).floor().long()
    return caps.clamp(min=forced) + config.max_extra


def length_divisors(longest: int, config: DecodingConfig) -> Float[Tensor, "T"]:
    """Divisors length ** length_penalty for the lengths 0 to ``longest``, EOS counted.

    As a hypothesis grows, its divisor never falls, and its log-probability never rises. So its
    final score is at most its current log-probability divided by the divisor at its cap.
    """
    return (torch.arange(longest + 1, dtype=torch.float64) ** config.length_penalty).float()
