"""What every kind of attention is to the decoder: a module without a memory of its own.

``keys`` runs once per sentence, ``forward`` once per target step, or ``unroll`` once for all steps
where their states are known. Nothing of a sentence is kept in the module; a kind that must know its
earlier steps declares what it remembers (``begin``, ``remember``), and the decoder's state carries
it.

Shape letters beside the encoder's: search has N sentences and R = N x W queries, W hypotheses of
each, sentence by sentence. Keys, memory and mask stay those of the sentences. Training has W = 1,
or W = T where it attends for all T steps at once. P is the width of what a kind remembers, 0 for
most.

The kinds' equations call the query :math:`s_{i-1}`, the state before the step, as Bahdanau et al.
2014 do; where the decoder attends after its step (:mod:`seq2seq.model.luong`) it is :math:`s_i`.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.encoder import Encoded
from seq2seq.model.score import Score


class Attention(nn.Module, ABC):
    """What the decoder sees of the source at each step: the one component under study."""

    attends = True
    """Whether a step looks anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self.word_query: nn.Linear | None = None  # W_y

    def query_of(
        self, hidden: Float[Tensor, "R H"], word: Float[Tensor, "R H"] | None
    ) -> Float[Tensor, "R H"]:
        r"""What looks at the source: :math:`s_{i-1}`, or :math:`s_{i-1} + W_y E y_{i-1}`.

        The state before a step has not read the word that the step reads, and to know where the
        translation has come to, it must. ``word`` is :meth:`word_share`'s.
        """
        return hidden if word is None else hidden + word

    def word_share(self, embedded: Float[Tensor, "*N E"]) -> Float[Tensor, "*N H"] | None:
        """W_y E y, the part of the query that depends on the word alone; None if there is none."""
        return None if self.word_query is None else self.word_query(embedded)

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """What queries are compared with; nothing, unless a kind says otherwise."""
        return memory[:, :, :0]

    def begin(self, encoded: Encoded) -> Float[Tensor, "B P"]:
        """What is remembered before the first step; nothing, unless a kind says otherwise."""
        return encoded.memory.new_empty(len(encoded.memory), 0)

    def remember(
        self, past: Float[Tensor, "R P"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R P"]:
        """What is remembered after a step that looked at ``weights``."""
        return past

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S A"],
        encoded: Encoded,
        past: Float[Tensor, "R P"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding."""

    def unroll(
        self,
        queries: Float[Tensor, "B T H"],
        keys: Float[Tensor, "B S A"],
        encoded: Encoded,
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """:meth:`forward` for all steps of a target whose states are known.

        A kind that remembers nothing takes the steps of a sentence as so many hypotheses of it.
        """
        past = self.begin(encoded)
        batch, steps, _ = queries.shape
        if not past.shape[1]:
            nothing = past.new_empty(batch * steps, 0)
            contexts, looked = self(queries.flatten(0, 1), keys, encoded, nothing)
            return contexts.unflatten(0, (batch, steps)), looked.unflatten(0, (batch, steps))
        each = []
        for query in queries.unbind(dim=1):
            context, weights = self(query, keys, encoded, past)
            past = self.remember(past, weights)
            each.append((context, weights))
        contexts, looked = (torch.stack(part, dim=1) for part in zip(*each, strict=True))
        return contexts, looked


class ScoredAttention(Attention):
    """A kind whose weights are the softmax of a score that knows its own gradient.

    Such a kind remembers nothing, and runs in the fast recurrence
    (:mod:`seq2seq.model.recurrence`).
    """

    @abstractmethod
    def query_weight(self) -> Float[Tensor, "Q H"] | None:
        """Makes the query of the decoder's state; None where the state itself is the query."""

    @abstractmethod
    def scan_score(self, keys: Float[Tensor, "B S A"]) -> Score:
        """The score for the fast recurrence; ``forward`` must compute the same."""


def look(
    scores: Float[Tensor, "N W S"], encoded: Encoded
) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
    r"""Softmax of the scores over real positions, and what is seen so.

    .. math::
        \alpha_{ij} = softmax_j(e_{ij}), \quad c_i = \sum_j \alpha_{ij} h_j
    """
    weights = scores.masked_fill(~encoded.mask[:, None], float("-inf")).softmax(dim=2)
    return gather(weights, encoded)


def gather(
    weights: Float[Tensor, "N W S"], encoded: Encoded
) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
    """The weighted sum of the annotations, and the weights, a row for each hypothesis."""
    with torch.autocast(weights.device.type, enabled=False):
        context = weights @ encoded.memory
    return context.flatten(0, 1), weights.flatten(0, 1)
