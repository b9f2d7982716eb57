"""Word alignment by attention weights: the source words that each target word attends to.

Shape letters besides those of the model: I words of the source, J words of the target.
"""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.data.tokenization import Tokenizer

Link = tuple[int, int]
"""A source word and a target word, both counted from 0."""


def word_weights(
    weights: Float[Tensor, "T S"], source_words: Sequence[int], target_words: Sequence[int]
) -> Float[Tensor, "J I"]:
    """Soft alignment: attention of each target word to each source word.

    Weights are averaged over the pieces of a target word, and summed over the pieces of a source
    word. A row sums to 1 minus the weight of the end of the source. ``source_words`` and
    ``target_words`` number the word of each piece, see :meth:`Tokenizer.words`; columns of
    ``weights`` beyond ``source_words``, such as the end of the sentence, are left out.
    """
    to_source, to_target = _membership(source_words), _membership(target_words)
    merged = to_target.T @ weights[:, : len(source_words)] @ to_source
    return merged / to_target.sum(dim=0)[:, None]


def _membership(words: Sequence[int]) -> Float[Tensor, "P W"]:
    """Matrix with 1 if a piece is a part of a word, else 0."""
    return torch.eye(max(words, default=-1) + 1)[torch.tensor(words, dtype=torch.long)]


class WordAttention(NamedTuple):
    """Attention merged to words, without the ends of the sentences."""

    source: list[str]
    """Words as the tokenizer counts them: between spaces, or tokens of Moses."""
    target: list[str]
    weights: Float[Tensor, "J I"]
    """Weights of the source words that the model read; the rest of a long source has no column."""


def attention_by_word(
    weights: Float[Tensor, "T S"], pieces: Sequence[Sequence[str]], tokenizers: Sequence[Tokenizer]
) -> WordAttention:
    """Merge the weights between source and target ``pieces`` into weights between words.

    The last column of ``weights`` is the end of the source. ``pieces`` may hold more source pieces
    than the model read.
    """
    numbers, words = [], []
    for tokenizer, side in zip(tokenizers, pieces, strict=True):
        numbers.append(tokenizer.words(side))
        groups = groupby(zip(numbers[-1], side, strict=True), key=itemgetter(0))
        words.append([tokenizer.detokenize([piece for _, piece in group]) for _, group in groups])
    read = numbers[0][: weights.shape[1] - 1]
    return WordAttention(words[0], words[1], word_weights(weights, read, numbers[1]))


def strongest_links(weights: Float[Tensor, "J I"]) -> list[Link]:
    """Hard alignment: link each target word to the source word with its largest weight.

    Links are in the order of the target. If several source words share the largest weight, the
    first one is used. A source without words has no links.
    """
    if not weights.numel():
        return []
    return [(source, target) for target, source in enumerate(weights.argmax(dim=1).tolist())]


def pharaoh(links: Sequence[Link]) -> str:
    """Format links as alignment tools do, source word - target word: ``0-0 2-1 1-2``."""
    return " ".join(f"{source}-{target}" for source, target in links)
