"""Validation on the dev set: loss, perplexity, and BLEU by source length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from jaxtyping import Int

from seq2seq.config import TrainConfig
from seq2seq.data.batching import BatchPlan, collate
from seq2seq.data.preparation import PreparedData
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import SINGLE, ProcessGroup, mixed_precision
from seq2seq.evaluation.scores import bleu, bleu_counts, bucket_members, perplexity, source_lengths
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss

BATCH = 128
"""Number of sentences whose loss is computed together; changes only the speed."""


@dataclass(frozen=True)
class Validation:
    """Metrics of one validation."""

    loss: float
    """Negative log-likelihood per target token in nats, without smoothing."""
    perplexity: float | None
    """None if it is too large for a float."""
    bleu: float | None
    """BLEU of greedy search on the first dev_bleu_sentences sentences; None without sentences."""
    bleu_by_length: dict[str, float]
    """Bucket of source length -> BLEU."""

    def __str__(self) -> str:
        text = f"dev loss {self.loss:.4f}, perplexity {self.perplexity or math.inf:.2f}"
        if self.bleu is None:
            return text
        buckets = " ".join(f"{words}: {score:.1f}" for words, score in self.bleu_by_length.items())
        return f"{text}, BLEU {self.bleu:.2f} ({buckets})"


@dataclass
class Validator:
    """Measures one model on one dev set; several processes share the work."""

    model: TranslationModel
    data: PreparedData
    config: TrainConfig
    device: torch.device
    precision: torch.dtype
    group: ProcessGroup = SINGLE

    def __post_init__(self) -> None:
        data, texts = self.data, self.data.corpus.valid
        count = self.config.training.dev_bleu_sentences
        self.plan = BatchPlan(data.valid, BATCH, seed=0, shuffle=False)
        self.sources = list(islice(read_lines(texts.source), count))
        self.references = list(islice(read_lines(texts.target), count))
        scoring = self.config.evaluation.for_languages(data.source.language, data.target.language)
        self.tokenize = scoring.tokenize
        bleu_counts([""], [""], tokenize=self.tokenize)  # fails now if a package is missing
        lengths = source_lengths(self.sources, scoring.unit)
        members = bucket_members(lengths, scoring.edges)
        self.members = {words: of for words, of in members.items() if of.any()}
        by_length = np.argsort(lengths, kind="stable").tolist()
        self.shown = [by_length[len(lengths) * part // 10] for part in (1, 5, 9) if by_length]
        self.examples: list[str] = []
        """Hypotheses of a short, a medium and a long source; the first time with references."""
        self.translator = Translator.of_parts(
            self.model,
            source=data.source,
            target=data.target,
            device=self.device,
            precision=self.precision,
            max_pieces=self.config.tokenization.max_pieces,
            as_written=True,
        )

    def run(self) -> Validation:
        """Set evaluation mode and validate the model; all processes return the same result."""
        self.model.eval()
        likelihoods = self.group.map(self._likelihoods, self.plan.epoch(0))
        loss = sum(likelihoods) / int((self.data.valid.target_lengths + 1).sum())
        if not self.sources:
            return Validation(loss, perplexity(loss), None, {})
        hypotheses = self.group.map(
            lambda some: [one.text for one in self.translator.translate([*some], beam=1)],
            self.sources,
        )
        self.examples = [
            f"{name:<10}  {texts[place]}"[:78]
            for place in self.shown
            for name, texts in (("reference", self.references), ("hypothesis", hypotheses))
            if name == "hypothesis" or not self.examples
        ]
        counts = bleu_counts(hypotheses, self.references, tokenize=self.tokenize)
        by_length = {
            words: float(bleu(counts[of].sum(axis=0))) for words, of in self.members.items()
        }
        return Validation(loss, perplexity(loss), float(bleu(counts.sum(axis=0))), by_length)

    @torch.no_grad()
    def _likelihoods(self, batches: Sequence[Int[np.ndarray, "_"]]) -> list[float]:
        collated = (collate(self.data.valid, indices).to(self.device) for indices in batches)
        with mixed_precision(self.device, self.precision):
            losses = [batch_loss(self.model, batch, smoothing=0.0) for batch in collated]
        return [float(one.negative_log_likelihood) for one in losses]  # waits for the GPU only here
