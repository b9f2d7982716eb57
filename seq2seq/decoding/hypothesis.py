"""The translation of one sentence, as text and as what the text was made of."""

from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from seq2seq.data.codec import TextCodec
from seq2seq.data.vocabulary import UNK
from seq2seq.decoding.result import SearchResult


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence; of the best one, ``alternatives`` names the others."""

    text: str
    """Running text on one line; empty for a blank source."""
    score: float
    """What hypotheses rank by: log-probability by length (see ``DecodingConfig``)."""
    log_probability: float
    """Of all pieces and the end, in nats."""
    pieces: list[str]
    """What the text was made of, without EOS."""
    capped: bool
    """The search came to its longest allowed hypothesis before the model ended one."""
    source_pieces: list[str] = field(default_factory=list)
    """What was read, ``</s>`` at its end; empty where ``attention`` is None."""
    attention: Float[Tensor, "T S"] | None = field(default=None, compare=False)
    """Weights, a row for each of ``pieces``, a column for each of ``source_pieces``; a row sums to
    1, but with ``local_p``. None where not asked for, for a blank source, and for a model without
    attention."""
    alternatives: list["Hypothesis"] = field(default_factory=list)
    """The others of the ``n_best``, best first (samples: in the order drawn)."""


NOTHING = Hypothesis("", 0.0, 0.0, [], False)


def make_hypothesis(
    result: SearchResult,
    target: TextCodec,
    source_pieces: list[str],
    weights: Float[Tensor, "T S"] | None,
    replace_unknown: bool,
) -> Hypothesis:
    """The text of a search's result.

    Args:
        result: what was found.
        target: codec of the target side.
        source_pieces: what was read, with a name for EOS at the end.
        weights: where the model looked for each piece; None where that is not known.
        replace_unknown: write for each ``<unk>`` the source piece it looked at most.
    """
    pieces = target.pieces(result.ids)
    if weights is not None and replace_unknown:
        looked = weights[:, :-1].argmax(dim=1).tolist()  # the end of the sentence is no word
        for place, piece in enumerate(result.ids):
            if piece == UNK:
                pieces[place] = source_pieces[looked[place]]
    # A vocabulary may hold pieces with line ends in them; a hypothesis is one line to anyone.
    text = " ".join(target.tokenizer.detokenize(pieces).splitlines())
    return Hypothesis(
        text,
        result.score,
        result.log_probability,
        pieces,
        result.capped,
        [] if weights is None else source_pieces,
        weights,
    )
