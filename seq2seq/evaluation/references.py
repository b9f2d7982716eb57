"""What a model says of a test set's references: how likely they are, and which words it knows.

Their negative log-likelihood per piece is the loss of training's dev set, on any test set and by
source length: unlike BLEU it does not depend on a search.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.data.vocabulary import EOS, PAD, UNK
from seq2seq.decoding.alignment import Link, strongest_links, word_weights
from seq2seq.decoding.forced import force
from seq2seq.decoding.translator import Translator
from seq2seq.device import mixed_precision
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import ReferenceScores
from seq2seq.model.precision import widen


class ForcedReference(NamedTuple):
    """A reference, written by the steps that search takes."""

    line: int
    """Which of the references, from 0."""
    target: list[int]
    """Its ids, the end of the sentence included."""
    log_probabilities: Float[Tensor, "T"]
    """Of each of them, in nats."""
    weights: Float[Tensor, "T S"]
    """Where the step that wrote each looked; the last position is the source's end."""


def force_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> Iterator[ForcedReference]:
    """Write each reference given its source; pairs with a blank side are left out.

    A source is cut where translating cuts it (``Translator.max_pieces``); a reference is never cut.
    Takes about as long as greedy search. They come by length, not in their order.

    Args:
        translator: a model or an ensemble with its codecs.
        sources: running text.
        references: their translations.
        batch_size: sentences written together; changes speed only.
    """
    read = [translator.source.encode(source) for source in sources]
    said = [translator.target.encode(reference) for reference in references]
    scored = [i for i in range(len(read)) if read[i] and said[i]]
    # References of like length share a batch; the longest first, to run out of memory early.
    scored.sort(key=lambda i: (-len(said[i]), -len(read[i])))
    model, device = translator.model, translator.device
    was_training = model.training
    model.eval()
    try:
        with tqdm(total=len(scored), desc="references", unit="sentence", disable=None) as bar:
            for start in range(0, len(scored), batch_size):
                batch = scored[start : start + batch_size]
                source = [[*read[i][: translator.max_pieces], EOS] for i in batch]
                lengths = torch.tensor([len(ids) for ids in source], device=device)
                target = [[*said[i], EOS] for i in batch]
                with mixed_precision(device, translator.precision):
                    found = force(model, _padded(source, device), lengths, _padded(target, device))
                rows = zip(batch, source, target, *(part.cpu() for part in found), strict=True)
                for i, ids, written, gained, weights in rows:
                    count = len(written)
                    yield ForcedReference(
                        i, written, gained[:count], widen(weights)[:count, : len(ids)]
                    )
                bar.update(len(batch))
    finally:
        model.train(was_training)


def score_references(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> ReferenceScores:
    """Score each reference given its source; see :func:`force_references`."""
    log_probabilities: list[float | None] = [None] * len(sources)
    pieces = [0] * len(sources)
    for forced in force_references(translator, sources, references, batch_size):
        value = float(forced.log_probabilities.double().sum())
        pieces[forced.line] = len(forced.target)
        log_probabilities[forced.line] = value if math.isfinite(value) else None
    if isinstance(translator.source.tokenizer, SentencePieceTokenizer):
        return ReferenceScores(log_probabilities, pieces, None)
    known = [
        UNK not in [*translator.source.encode(source), *translator.target.encode(reference)]
        for source, reference in zip(sources, references, strict=True)
    ]
    return ReferenceScores(log_probabilities, pieces, known)


def reference_links(
    translator: Translator, sources: Sequence[str], references: Sequence[str], batch_size: int
) -> list[list[Link]]:
    """The source word that each word of each reference looked at most, words between spaces.

    There are none for a pair with a blank side.

    Raises:
        UserError: the model cuts text into other words than those between spaces.
    """
    links: list[list[Link]] = [[] for _ in sources]
    codecs = translator.source, translator.target
    for forced in force_references(translator, sources, references, batch_size):
        words = []
        for codec, text in zip(
            codecs, (sources[forced.line], references[forced.line]), strict=True
        ):
            of_pieces = codec.tokenizer.words(codec.tokenizer.tokenize(text))
            if of_pieces[-1] + 1 != len(text.split()):
                raise UserError(
                    f'The model cuts line {forced.line + 1}, "{text[:40]}", into '
                    f"{of_pieces[-1] + 1} words, but links count the {len(text.split())} between "
                    "spaces; alignments need tokenization=sentencepiece or whitespace."
                )
            words.append(of_pieces)
        source_words = words[0][: translator.max_pieces]
        # Without the end of the sentence, which is no word of either.
        merged = word_weights(forced.weights[:-1], source_words, words[1])
        links[forced.line] = strongest_links(merged)
    return links


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> Int[Tensor, "N S"]:
    tensors = [torch.tensor(row) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=PAD).to(device)
