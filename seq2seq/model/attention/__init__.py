"""Base class of the kinds of attention.

A kind stores nothing about a sentence: it reads :class:`Source`, and the decoder carries what it
must remember of earlier steps. ``read`` runs once per sentence, ``forward`` once per target step.

In the equations of the kinds, :math:`s_{i-1}` stands for the query. The default adds
:math:`W_y E y_{i-1}` to that state. If the decoder attends after its step, the query is
:math:`s_i` (:mod:`seq2seq.model.decoder`).
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
    """Whether the weights show which source words a step attends to."""
    needs_query = True
    """Whether the context depends on the query."""
    reads_summary = False
    """Whether the context is the encoder's summary and so has the summary's width."""
    replaces_summary = False
    """Whether the kind replaces the encoder's summary by a vector as wide as an annotation."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__()
        # W_y, by which the decoder adds the word to the query; set by build_attention.
        self.word_query: nn.Linear | None = None

    def initialize(self) -> None:
        """Draw the initial values of parameters outside of ``nn.Linear``, if the kind has any."""
        return

    def read(self, source: Source) -> Source:
        """Return the source with keys; some kinds also pool its annotations or hide its summary."""
        return source._replace(keys=self.keys(source.annotations))

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """Vectors that queries are compared with, in float32; by default the annotations."""
        return annotations

    def init_state(self, source: Source) -> Float[Tensor, "N P"]:
        """State before the first step; by default empty."""
        return source.annotations.new_empty(len(source.mask), 0)

    def update_state(
        self, state: Float[Tensor, "R P"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R P"]:
        """State after a step with these ``weights``; by default unchanged."""
        return state

    @abstractmethod
    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights of one step; the weights are 0 at padding.

        They sum to 1; in local_p to at most 1, and in fixed, init_only and none to 0.
        """


def attention_class(config: AttentionConfig) -> type[Attention]:
    """Return the class of the kind of attention that ``config.kind`` names."""
    module, name = ATTENTION_KINDS[config.kind].split(".")
    kind: type[Attention] = getattr(import_module(f"{__name__}.{module}"), name)
    return kind


def build_attention(
    config: AttentionConfig, query_size: int, annotation_size: int, word_size: int | None = None
) -> Attention:
    """Build the kind that ``config.kind`` names; ``word_size`` is of words in the query, if any."""
    attention = attention_class(config)(query_size, annotation_size, config)
    if word_size is not None and attention.needs_query:
        attention.word_query = nn.Linear(word_size, query_size, bias=False)
    return attention
