"""What every kind of attention is to the decoder: a module that keeps nothing of a sentence.

``read`` runs once per sentence, ``forward`` once per target step. A kind that must know its earlier
steps declares a state (``init_state``, ``update_state``), which the decoder carries.

The equations of the kinds call the query :math:`s_{i-1}`, the state before the step, as Bahdanau et
al. 2014 do. Where the decoder attends after its step it is :math:`s_i`.
"""

from abc import ABC, abstractmethod
from importlib import import_module

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.encoder import Source
from seq2seq.model.fast.scan import Score


class Attention(nn.Module, ABC):
    """One kind of attention: at each step it gives the decoder a context, and the weights of it."""

    attends = True
    """Whether its weights say where a step looks."""
    needs_query = True
    """Whether its context depends on the query."""

    pools = False
    """Whether it makes the summary, too, as wide as an annotation."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__()
        self.word_query: nn.Linear | None = None  # W_y; set by build_attention

    def read(self, source: Source) -> Source:
        """What the decoder may know of the source: all, with its keys, unless a kind differs."""
        return source._replace(keys=self.keys(source.annotations))

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """What queries are compared with: the annotations themselves, unless a kind differs."""
        return annotations

    def init_state(self, source: Source) -> Float[Tensor, "N P"]:
        """The state before the first step: empty, unless a kind differs."""
        return source.annotations.new_empty(len(source.mask), 0)

    def update_state(
        self, state: Float[Tensor, "R P"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R P"]:
        """The state after a step with these weights."""
        return state

    def score(self, source: Source) -> Score | None:
        """What the fast decoder needs to compute the same; None leaves the kind to the plain loop.

        For kinds without a state, whose weights are the softmax of v . tanh(W query + key) or of
        (W query) . key. In Bahdanau's order training does not call :meth:`forward` then, so a
        subclass with another ``forward`` needs another ``score``, too.
        """
        return None

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]] | None:
        """Context and weights of every step of each sentence; None where steps differ."""
        return None

    @abstractmethod
    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights of one target step; weights are 0 at padding."""

    def all_steps(
        self, queries: Float[Tensor, "B T H"], source: Source
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """:meth:`forward` for all steps of a target whose queries are known."""
        state, steps = self.init_state(source), []
        for query in queries.unbind(dim=1):
            context, weights = self(query, source, state)
            state = self.update_state(state, weights)
            steps.append((context, weights))
        contexts, weights = (torch.stack(part, dim=1) for part in zip(*steps, strict=True))
        return contexts, weights


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
