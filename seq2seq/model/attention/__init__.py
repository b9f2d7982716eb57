"""Base class of the kinds of attention.

A kind keeps nothing of a sentence: what it reads of the source lies in :class:`Source`, and what it
must know of earlier steps in a state (``init_state``, ``update_state``) that the decoder carries.
``read`` runs once per sentence, ``forward`` once per target step.

The equations of the kinds call the query :math:`s_{i-1}`, the state before the step, as Bahdanau et
al. 2014 do. Where the decoder attends after its step it is :math:`s_i`.
"""

from abc import ABC, abstractmethod
from importlib import import_module

from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.encoder import Source


class Attention(nn.Module, ABC):
    """Computes a context, and the weights that made it, for each step of the decoder."""

    attends = True
    """Whether its weights say where a step looks."""
    needs_query = True
    """Whether its context depends on the query."""
    reads_summary = False
    """Whether its context is the summary, and so as wide as that."""
    replaces_summary = False
    """Whether it replaces the encoder's summary, by one as wide as an annotation."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__()
        self.word_query: nn.Linear | None = None  # W_y; set by build_attention

    def read(self, source: Source) -> Source:
        """The source as the decoder sees it: with keys, unless a kind hides or pools more."""
        return source._replace(keys=self.keys(source.annotations))

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """Vectors to compare with queries, in float32: the annotations, unless a kind differs."""
        return annotations

    def init_state(self, source: Source) -> Float[Tensor, "N P"]:
        """The state before the first step: empty, unless a kind differs."""
        return source.annotations.new_empty(len(source.mask), 0)

    def update_state(
        self, state: Float[Tensor, "R P"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R P"]:
        """The state after a step with these weights."""
        return state

    @abstractmethod
    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights of one target step; weights are 0 at padding."""


def build_attention(
    config: AttentionConfig, query_size: int, annotation_size: int, word_size: int | None = None
) -> Attention:
    """The kind that ``config`` names, for states and annotations of these widths.

    With ``word_size``, the width of an embedding, the word that a step reads is part of its query
    (for kinds that have one).
    """
    module, name = ATTENTION_KINDS[config.kind].split(".")
    kind = getattr(import_module(f"{__name__}.{module}"), name)
    attention: Attention = kind(query_size, annotation_size, config)
    if word_size is not None and attention.needs_query:
        attention.word_query = nn.Linear(word_size, query_size, bias=False)
    return attention
