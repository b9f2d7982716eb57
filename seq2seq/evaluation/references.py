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
        pieces[forced.line] = len(forced.target)
        log_probabilities[forced.line] = value if math.isfinite(value) else None
    return ReferenceScores(log_probabilities, pieces)


def draw_maps(
    translator: Translator, texts: Translations, lines: Iterable[int], batch_size: int
) -> list[AttentionMap]:
    """Make attention maps of ``lines``, without blank ones; [] for a model without attention."""
    numbers = sorted(lines) if translator.model.attends else []
    sides = [[side[n] for n in numbers] for side in (texts.sources, texts.hypotheses)]
    tokenizers, maps = (translator.source.tokenizer, translator.target.tokenizer), []
    for forced in translator.force(sides[0], sides[1], batch_size, READING):
        pieces = [
            tokenizer.tokenize(side[forced.line])
            for tokenizer, side in zip(tokenizers, sides, strict=True)
        ]
        words = attention_by_word(forced.weights[:-1], pieces, tokenizers)
        weights = [[round(weight, 4) for weight in row] for row in words.weights.tolist()]
        source = words.source[: words.weights.shape[1]]
        maps.append(AttentionMap(numbers[forced.line], source, words.target, weights))
    return maps
