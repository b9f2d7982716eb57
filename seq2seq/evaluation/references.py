"""Forced decoding of references and hypotheses: their likelihood, and the attention on the way.

The negative log-likelihood of the references per piece is the loss that training reports on its dev
set, here on any test set and by source length: unlike BLEU it does not depend on a search.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from tqdm import tqdm

from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.data.vocabulary import EOS, UNK
from seq2seq.decoding.decoder_session import forced_decode
from seq2seq.decoding.translator import Translator, padded
from seq2seq.decoding.word_links import Link, strongest_links, word_weights
from seq2seq.device import mixed_precision
from seq2seq.errors import UserError
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, Translations
from seq2seq.model.layers import to_float32


class ForcedReference(NamedTuple):
    """A reference with what the model says of its pieces."""

    line: int
    """Which of the references, from 0."""
    target: list[int]
    """Its ids, the end of the sentence included."""
    log_probabilities: Float[Tensor, "T"]
    """Of each of them, in nats."""
    weights: Float[Tensor, "T S"]
    """Attention of each of them; the last position is the end of the source."""


def force_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> Iterator[ForcedReference]:
    """Force each reference given its source, by length, without pairs with a blank side.

    A source is cut at ``Translator.max_pieces``, as in translation; a reference is never cut.
    ``batch_size`` changes the speed only.
    """
    source_ids = [translator.source.encode(source) for source in sources]
    target_ids = [translator.target.encode(reference) for reference in references]
    scored = [i for i in range(len(source_ids)) if source_ids[i] and target_ids[i]]
    # References of like length share a batch; the longest first, to run out of memory early.
    scored.sort(key=lambda i: (-len(target_ids[i]), -len(source_ids[i])))
    model, device = translator.model, translator.device
    was_training = model.training
    model.eval()
    try:
        with tqdm(total=len(scored), desc="scoring references", disable=not scored or None) as bar:
            for start in range(0, len(scored), batch_size):
                batch = scored[start : start + batch_size]
                source = [[*source_ids[i][: translator.max_pieces], EOS] for i in batch]
                target = [[*target_ids[i], EOS] for i in batch]
                lengths = torch.tensor([len(ids) for ids in source], device=device)
                with mixed_precision(device, translator.precision):
                    log_probabilities, weights = forced_decode(
                        model, padded(source).to(device), lengths, padded(target).to(device)
                    )
                log_probabilities, weights = log_probabilities.cpu(), to_float32(weights).cpu()
                for row, line in enumerate(batch):
                    end = len(target[row])
                    yield ForcedReference(
                        line,
                        target[row],
                        log_probabilities[row, :end],
                        weights[row, :end, : len(source[row])],
                    )
                bar.update(len(batch))
    finally:
        model.train(was_training)


def score_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> ReferenceScores:
    """Score each reference given its source; see :func:`force_references`."""
    count, attends = len(sources), translator.model.attends
    log_probabilities: list[float | None] = [None] * count
    pieces = [0] * count
    losses: list[list[float]] = [[] for _ in sources]
    entropies: list[float | None] = [None] * count
    distances: list[float | None] = [None] * count
    for forced in force_references(translator, sources, references, batch_size):
        value = float(forced.log_probabilities.double().sum())
        pieces[forced.line] = len(forced.target)
        log_probabilities[forced.line] = value if math.isfinite(value) else None
        if math.isfinite(value):
            losses[forced.line] = [round(-p, 4) for p in forced.log_probabilities.tolist()]
        if attends:
            entropies[forced.line] = attention_entropy(forced.weights)
            distances[forced.line] = off_diagonal(forced.weights)
    known = None
    if not isinstance(translator.source.tokenizer, SentencePieceTokenizer):
        known = [
            UNK not in [*translator.source.encode(source), *translator.target.encode(reference)]
            for source, reference in zip(sources, references, strict=True)
        ]
    return ReferenceScores(
        log_probabilities,
        pieces,
        known,
        losses,
        entropies if attends else None,
        distances if attends else None,
    )


def attention_entropy(weights: Float[Tensor, "T S"]) -> float:
    """The mean over target pieces of the entropy of where each looked, in nats."""
    return float(torch.special.entr(_shares(weights)).sum(dim=1).mean())


def off_diagonal(weights: Float[Tensor, "T S"]) -> float:
    """Distance of attention from the diagonal, see :class:`ReferenceScores`; 0 for one piece."""
    positions = [
        torch.linspace(0, 1, size) if size > 1 else torch.zeros(1) for size in weights.shape
    ]
    distance = (positions[0][:, None] - positions[1][None, :]).abs()
    return float((_shares(weights) * distance).sum(dim=1).mean())


def _shares(weights: Float[Tensor, "T S"]) -> Float[Tensor, "T S"]:
    """Weights that sum to 1 for each target piece, as those of local_p do not."""
    return weights / weights.sum(dim=1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)


def reference_links(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> list[list[Link]]:
    """The source word with the largest attention of each reference word, words between spaces.

    Raises:
        UserError: the model's words are not those between spaces.
    """
    links: list[list[Link]] = [[] for _ in sources]
    for forced in force_references(translator, sources, references, batch_size):
        texts = sources[forced.line], references[forced.line]
        by_word = _by_word(translator, forced, *texts)
        for words, text in zip((by_word.source, by_word.target), texts, strict=True):
            if len(words) != len(text.split()):
                raise UserError(
                    f'The model cuts line {forced.line + 1}, "{text[:40]}", into {len(words)} '
                    f"words, but links count the {len(text.split())} between spaces; evaluate the "
                    "links with tokenization=sentencepiece or whitespace."
                )
        links[forced.line] = strongest_links(by_word.weights)
    return links


def draw_maps(
    translator: Translator, texts: Translations, lines: Iterable[int], batch_size: int
) -> list[AttentionMap]:
    """Attention of each word of the translations of a few lines; none for other models.

    A line with a blank side has no map.
    """
    numbers = sorted(lines)
    if not (translator.model.attends and numbers):
        return []
    sources, hypotheses = (
        [side[line] for line in numbers] for side in (texts.sources, texts.hypotheses)
    )
    maps = []
    for forced in force_references(translator, sources, hypotheses, batch_size):
        by_word = _by_word(translator, forced, sources[forced.line], hypotheses[forced.line])
        weights = [[round(weight, 4) for weight in row] for row in by_word.weights.tolist()]
        source = by_word.source[: by_word.weights.shape[1]]
        maps.append(AttentionMap(numbers[forced.line], source, by_word.target, weights))
    return maps


class _ByWord(NamedTuple):
    """The attention of a forced reference merged to words, without the ends of the sentences."""

    source: list[str]
    """As the model counts words: those between spaces, or Moses's."""
    target: list[str]
    weights: Float[Tensor, "J I"]
    """Without the words of the source that were cut off."""


def _by_word(translator: Translator, forced: ForcedReference, source: str, target: str) -> _ByWord:
    numbers, words = [], []
    for codec, text in ((translator.source, source), (translator.target, target)):
        pieces = codec.tokenizer.tokenize(text)
        numbers.append(codec.tokenizer.words(pieces))
        groups = groupby(zip(numbers[-1], pieces, strict=True), key=itemgetter(0))
        of_word = [[piece for _, piece in group] for _, group in groups]
        words.append([codec.tokenizer.detokenize(pieces) for pieces in of_word])
    read = numbers[0][: translator.max_pieces]
    return _ByWord(words[0], words[1], word_weights(forced.weights[:-1], read, numbers[1]))
