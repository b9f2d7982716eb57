"""A translation with its scores, its attention and its pictures."""

from base64 import b64encode
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from seq2seq.data.tokenization import Tokenizer
from seq2seq.decoding.word_links import Link, attention_by_word, strongest_links, word_weights
from seq2seq.errors import UserError

if TYPE_CHECKING:
    import matplotlib.figure


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence; the best one holds the others in ``alternatives``."""

    text: str
    """One line of text; empty for a blank source."""
    score: float
    """Log-probability / length ** length_penalty; hypotheses rank by it."""
    log_probability: float
    """Log-probability of all pieces and the end of the sentence, in nats."""
    pieces: list[str]
    """Pieces of the text, without EOS."""
    capped: bool
    """Whether the search reached its length limit before the model ended a hypothesis."""
    source_pieces: list[str] = field(default_factory=list)
    """Pieces of the source, with ``</s>``; empty where ``attention`` is None."""
    attention: Float[Tensor, "T S"] | None = field(default=None, compare=False)
    """Attention weights, a row for each of ``pieces``, a column for each of ``source_pieces``; a
    row sums to 1, except with ``local_p``. None for a blank source or a model without attention.
    Without ``attention=True``, it may also be None."""
    alternatives: list["Hypothesis"] = field(default_factory=list)
    """The other hypotheses of ``n_best``, best first."""
    choices: list[list[tuple[str, float]]] = field(default_factory=list)
    """Likeliest pieces at each position with their probabilities, the end of the sentence included;
    [] without ``choices=COUNT``."""
    unknown: list[str] = field(default_factory=list)
    """Source words that the model reads as ``<unk>``, each once; with subwords, the parts of words
    that are not in the vocabulary."""
    source: str = ""
    """Sentence that was translated."""
    tokenizers: tuple[Tokenizer, Tokenizer] | None = field(default=None, repr=False, compare=False)
    """Tokenizers of source and target, to join pieces to words; None if ``attention`` is None."""

    def links(self) -> list[Link] | None:
        """Links between the words of ``source`` and of ``text``, which are cut at spaces.

        [] without attention. None if a tokenizer counts other words than those between spaces:
        SentencePiece turns some characters, such as an acute accent that stands alone, into a space
        and another character, which would shift the numbers of all later words.
        """
        if self.attention is None or not self.tokenizers or not self.text.strip():
            return []
        source, target = self.tokenizers
        source_words = source.words(self.source_pieces[:-1])  # without </s>
        target_words = target.words(self.pieces)
        links = strongest_links(word_weights(self.attention, source_words, target_words))
        pieces = source.tokenize(self.source)  # the whole line, also beyond max_pieces
        read = source.words(pieces)
        if read == list(range(len(pieces))):  # words, from which punctuation may have been cut
            pairs = zip(pieces, self.source_pieces[:-1], strict=False)
            if any(word.lower() != piece.lower() for word, piece in pairs):
                return None
        for words, side in ((read, self.source), (target_words, self.text)):
            if links and max(words) + 1 != len(side.split()):
                return None
        return links

    def plot(self) -> "matplotlib.figure.Figure":
        """Draw the attention map, word by word; ``plot().savefig("map.png")`` writes it.

        Raises:
            UserError: there are no weights to draw.
        """
        from seq2seq.drawing import map_figure, styled  # needs matplotlib

        if self.attention is None or not self.tokenizers or not self.pieces:
            raise UserError(
                "There are no weights to draw; translate with attention=True and a model with "
                "attention."
            )
        pieces = self.source_pieces[:-1], self.pieces
        words = attention_by_word(self.attention, pieces, self.tokenizers)
        weights = words.weights.tolist()
        with styled():
            return map_figure(words.source, words.target, weights, f"Score {self.score:.3f}")

    def _repr_html_(self) -> str:
        """Source, translation, score and map as HTML for a notebook."""
        score = f"score {self.score:.3f}"
        shown = f"<p>{escape(self.source)}<br><b>{escape(self.text)}</b><br>{score}</p>"
        from seq2seq.drawing import render

        try:
            svg = b64encode(render(self.plot, forms=["svg"])["svg"]).decode()
        except UserError:
            return shown
        # As an image: its style rules do not affect the page, and notebook viewers show it.
        return f'{shown}<img alt="Attention" width="640" src="data:image/svg+xml;base64,{svg}">'
