"""Forced decoding of references and hypotheses: their log-probabilities and attention maps."""

import math
from collections.abc import Iterable, Sequence

from seq2seq.decoding.hypothesis import attention_by_word
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, Translations

READING = "reading known translations"  # before the progress bar


def score_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> ReferenceScores:
    """Score each reference given its source; see :meth:`Translator.force`."""
    log_probabilities: list[float | None] = [None] * len(sources)
    pieces = [0] * len(sources)
    for forced in translator.force(sources, references, batch_size, READING):
        value = float(forced.log_probabilities.double().sum())
        pieces[forced.line] = len(forced.log_probabilities)
        log_probabilities[forced.line] = value if math.isfinite(value) else None
    return ReferenceScores(log_probabilities, pieces)


def draw_maps(
    translator: Translator, texts: Translations, lines: Iterable[int], batch_size: int
) -> list[AttentionMap]:
    """Make attention maps of ``lines``, without blank ones; [] for a model without attention."""
    numbers = sorted(lines) if translator.model.attends else []
    sides = [[side[n] for n in numbers] for side in (texts.sources, texts.hypotheses)]
    sources, hypotheses = sides
    tokenizers = translator.source.tokenizer, translator.target.tokenizer
    maps = []
    for forced in translator.force(sources, hypotheses, batch_size, READING):
        both = zip(tokenizers, sides, strict=True)
        pieces = [tokenizer.tokenize(side[forced.line]) for tokenizer, side in both]
        source, target, words = attention_by_word(forced.weights[:-1], pieces, tokenizers)
        weights = [[round(weight, 4) for weight in row] for row in words.tolist()]
        source = source[: words.shape[1]]
        maps.append(AttentionMap(numbers[forced.line], source, target, weights))
    return maps
