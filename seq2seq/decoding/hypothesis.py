"""A translation with its scores, attention and pictures, and the word links of its attention.

Shape letters in addition to those of the model: I is the number of source words, J the number of
target words.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.data.tokenization import Tokenizer
from seq2seq.errors import UserError

if TYPE_CHECKING:
    import matplotlib.figure

Link = tuple[int, int]
"""A source word and a target word, both counted from 0."""


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence; the best one holds the others in ``alternatives``."""

    text: str
    """One line of text; empty for a blank source."""
    score: float
    """Log-probability / length ** length_penalty; hypotheses rank by it."""
    log_probability: float
    """Log-probability of all pieces and, unless ``capped``, the end of the sentence, in nats."""
    pieces: list[str]
    """Pieces of the text, without EOS."""
    capped: bool
    """Whether the search reached its length limit before the model ended a hypothesis."""
    source_pieces: list[str] = field(default_factory=list)
    """Pieces of the source, with ``</s>``; empty where ``attention`` is None."""
    attention: Float[Tensor, "T S"] | None = field(default=None, compare=False)
    """Weight of each of ``source_pieces`` for each of ``pieces``; rows sum to 1, except with
    ``local_p``. None without ``attention=True``, for a blank source, or without attention."""
    alternatives: list["Hypothesis"] = field(default_factory=list)
    """The other hypotheses of ``n_best``, best first."""
    unknown: list[str] = field(default_factory=list)
    """Source words, or parts of words, that the model reads as ``<unk>``, each once."""
    source: str = ""
    """Sentence that was translated."""
    tokenizers: tuple[Tokenizer, Tokenizer] | None = field(default=None, repr=False, compare=False)
    """Tokenizers of source and target, to join pieces to words; None if ``attention`` is None."""

    @property
    def rounded_score(self) -> str:
        """``score`` as text with three decimals; never -0.000."""
        return f"{round(self.score, 3) + 0:.3f}"

    def links(self) -> list[Link] | None:
        """Links between the words of ``source`` and ``text``; [] without attention or text.

        None if the model's words are not those between spaces: all later numbers would be wrong.
        """
        if self.attention is None or not self.tokenizers or not self.text.strip():
            return []
        source, target = self.tokenizers
        whole = source.tokenize(self.source)  # also beyond max_pieces
        read, written = source.words(whole), target.words(self.pieces)
        # Where each piece is a word, the model may have read a word and its comma as two pieces.
        pairs = zip(whole, self.source_pieces[:-1], strict=False)
        if read == [*range(len(whole))] and any(one.lower() != two.lower() for one, two in pairs):
            return None
        source_words = source.words(self.source_pieces[:-1])
        links = strongest_links(word_weights(self.attention, source_words, written))
        for words, side in ((read, self.source), (written, self.text)):
            if links and max(words) + 1 != len(side.split()):
                return None
        return links

    def plot(self) -> "matplotlib.figure.Figure":
        """Draw the attention map, word by word; ``plot().savefig("map.png")`` writes it."""
        from seq2seq.drawing import map_figure, styled  # needs matplotlib

        if self.attention is None or not self.tokenizers or not self.pieces:
            raise UserError(
                "There are no attention weights to draw; translate a sentence that is not blank, "
                "by a model with attention, with attention=True."
            )
        pieces = self.source_pieces[:-1], self.pieces
        source, target, weights = attention_by_word(self.attention, pieces, self.tokenizers)
        with styled():
            return map_figure(source, target, weights.tolist(), f"Score {self.rounded_score}")

    def _repr_html_(self) -> str:
        """Source, translation, score and map as HTML for a notebook."""
        score = f"score {self.rounded_score}"
        shown = f"<p>{escape(self.source)}<br><b>{escape(self.text)}</b><br>{score}</p>"
        from seq2seq.drawing import render

        try:
            svg = b64encode(render(self.plot, forms=["svg"])["svg"]).decode()
        except UserError:
            return shown
        # As an image: its style rules do not affect the page, and notebook viewers show it.
        return f'{shown}<img alt="Attention" width="640" src="data:image/svg+xml;base64,{svg}">'


def word_weights(
    weights: Float[Tensor, "T S"], source_words: Sequence[int], target_words: Sequence[int]
) -> Float[Tensor, "J I"]:
    """Mean over each target word's pieces of the sums over each source word's pieces.

    The words of pieces are numbers of :meth:`Tokenizer.words`; columns beyond are left out.
    """
    to_source, to_target = (
        torch.eye(max(words, default=-1) + 1)[torch.tensor(words, dtype=torch.long)]
        for words in (source_words, target_words)
    )
    merged = to_target.T @ weights[:, : len(source_words)] @ to_source
    return merged / to_target.sum(dim=0)[:, None]


def attention_by_word(
    weights: Float[Tensor, "T S"], pieces: Sequence[Sequence[str]], tokenizers: Sequence[Tokenizer]
) -> tuple[list[str], list[str], Float[Tensor, "J I"]]:
    """Return source words, target words, and the weights between them, from those of ``pieces``.

    The last column of ``weights``, the end of the source, is left out. Of a long source, the model
    has read only the first words: the others have no column.
    """
    numbers, words = [], []
    for tokenizer, side in zip(tokenizers, pieces, strict=True):
        numbers.append(tokenizer.words(side))
        groups = groupby(zip(numbers[-1], side, strict=True), key=itemgetter(0))
        words.append([tokenizer.detokenize([piece for _, piece in group]) for _, group in groups])
    read = numbers[0][: weights.shape[1] - 1]
    return words[0], words[1], word_weights(weights, read, numbers[1])


def strongest_links(weights: Float[Tensor, "J I"]) -> list[Link]:
    """Link each target word to the source word with its largest weight, the first of equal ones."""
    best = weights.argmax(dim=1).tolist() if weights.numel() else []
    return [(source, target) for target, source in enumerate(best)]


def pharaoh(links: Sequence[Link]) -> str:
    """Format links as alignment tools do, source word before target word: ``0-0 2-1 1-2``."""
    return " ".join(f"{source}-{target}" for source, target in links)
