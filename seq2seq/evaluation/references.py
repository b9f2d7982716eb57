"""Forced decoding of references and hypotheses: their log-probabilities and attention.

The negative log-likelihood per reference piece is the loss that training reports on its dev set.
This module computes it for each line of any test set. It needs no search.
"""

import math
from collections.abc import Iterable, Sequence

from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.data.vocabulary import UNK
from seq2seq.decoding.hypothesis import Link, WordAttention, attention_by_word, strongest_links
from seq2seq.decoding.translator import ForcedPair, Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, Translations

READING = "reading known translations"
"""Text before the progress bar on a terminal."""


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
    known = None
    if not isinstance(translator.source.tokenizer, SentencePieceTokenizer):
        known = [
            UNK not in [*translator.source.encode(source), *translator.target.encode(reference)]
            for source, reference in zip(sources, references, strict=True)
        ]
    return ReferenceScores(log_probabilities, pieces, known)


def reference_links(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> list[list[Link]]:
    """Link each reference word to the source word with its largest attention weight.

    Words are those between spaces. UserError if the model cuts a line into another
    number of words.
    """
    links: list[list[Link]] = [[] for _ in sources]
    for forced in translator.force(sources, references, batch_size, READING):
        texts = sources[forced.line], references[forced.line]
        by_word = _by_word(translator, forced, *texts)
        for words, text in zip((by_word.source, by_word.target), texts, strict=True):
            if len(words) != len(text.split()):
                raise UserError(
                    f'The model cuts line {forced.line + 1}, "{text[:40]}", into {len(words)} '
                    f"words, but links need the {len(text.split())} words between spaces; use a "
                    "model of tokenization=whitespace, or sentencepiece, which keeps most words."
                )
        links[forced.line] = strongest_links(by_word.weights)
    return links


def draw_maps(
    translator: Translator, texts: Translations, lines: Iterable[int], batch_size: int
) -> list[AttentionMap]:
    """Make attention maps of the translations of ``lines``; [] for a model without attention.

    A line whose source or translation is blank has no map.
    """
    numbers = sorted(lines)
    if not (translator.model.attends and numbers):
        return []
    sources, hypotheses = (
        [side[line] for line in numbers] for side in (texts.sources, texts.hypotheses)
    )
    maps = []
    for forced in translator.force(sources, hypotheses, batch_size, READING):
        by_word = _by_word(translator, forced, sources[forced.line], hypotheses[forced.line])
        weights = [[round(weight, 4) for weight in row] for row in by_word.weights.tolist()]
        source = by_word.source[: by_word.weights.shape[1]]
        maps.append(AttentionMap(numbers[forced.line], source, by_word.target, weights))
    return maps


def _by_word(translator: Translator, forced: ForcedPair, source: str, target: str) -> WordAttention:
    tokenizers = translator.source.tokenizer, translator.target.tokenizer
    pieces = [one.tokenize(text) for one, text in zip(tokenizers, (source, target), strict=True)]
    return attention_by_word(forced.weights[:-1], pieces, tokenizers)
