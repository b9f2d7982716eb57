"""What the decoder sees of the source at each step: the one component under study.

Every kind is a module with two methods: ``keys`` (once per sentence) and ``forward`` (once per
target step); those whose weights are a softmax say a little more of themselves. Nothing of a
sentence is kept in the module.

Shape letters beside the encoder's: search has N sentences and R = N x W queries, W hypotheses of
each, sentence by sentence. Keys, memory and mask stay those of the sentences. Training has W = 1.

To add a kind: write its class here; name it in ``Attention``, in ``build_attention`` and in the
choices of ``AttentionConfig.kind``; give parameters outside ``nn.Linear`` a start in
``initialization.py``; and name a system for it in an experiment. It then trains by the decoder's
plain loop. A kind that takes the softmax of a score becomes a :class:`ScoredAttention`: it declares
the score and its gradient as a :class:`~seq2seq.model.score.Score`, and gets the fast recurrence.
"""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.model.encoder import Encoded
from seq2seq.model.kernels import choose_kernels
from seq2seq.model.precision import widen
from seq2seq.model.score import AdditiveScore, Score


class ScoredAttention(nn.Module, ABC):
    """A kind whose weights are the softmax of a score that knows its own gradient."""

    query: nn.Linear | None
    """Makes the query of the decoder's state; None where the state itself is the query."""

    @abstractmethod
    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """What queries are compared with."""

    @abstractmethod
    def scan_score(self, keys: Float[Tensor, "B S A"]) -> Score:
        """The score for the fast recurrence; ``forward`` must compute the same."""


class AdditiveAttention(ScoredAttention):
    r"""Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j), \quad
        \alpha_{ij} = softmax_j(e_{ij}), \quad
        c_i = \sum_j \alpha_{ij} h_j

    Scores, softmax and the weighted sum stay in float32 under mixed precision: the gradient of
    W_a is a small difference of large terms, which bfloat16 loses.
    """

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.key_size = size
        self.query: nn.Linear = nn.Linear(query_size, size, bias=False)  # W_a
        self.key = nn.Linear(memory_size, size, bias=False)  # U_a
        self.score = nn.Parameter(torch.empty(size))  # v_a

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """U_a h_j of every position: the part of the score that no query changes."""
        return widen(self.key(memory))

    def scan_score(self, keys: Float[Tensor, "B S A"]) -> AdditiveScore:
        """The same score with its gradient, for the fast recurrence."""
        return AdditiveScore(keys, self.score)

    def forward(
        self, query: Float[Tensor, "R H"], keys: Float[Tensor, "N S A"], encoded: Encoded
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding and sum to 1."""
        projected = self.query(query)
        narrow, projected = projected.dtype, widen(projected)
        with torch.autocast(query.device.type, enabled=False):
            if not torch.is_grad_enabled():
                return self._attend_by_kernels(projected, keys, encoded, narrow)
            by_hypothesis = projected.unflatten(0, (len(keys), -1))
            scores = torch.tanh(keys[:, None] + by_hypothesis[:, :, None]) @ self.score
            weights = scores.masked_fill(~encoded.mask[:, None], float("-inf")).softmax(dim=2)
            context = weights @ encoded.memory
        return context.flatten(0, 1), weights.flatten(0, 1)

    def _attend_by_kernels(
        self,
        projected: Float[Tensor, "R A"],
        keys: Float[Tensor, "N S A"],
        encoded: Encoded,
        narrow: torch.dtype,
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """The same numbers by operations that know no gradient; a context for products alone."""
        rows, (_, positions, width) = len(projected), encoded.memory.shape
        weights = keys.new_empty(rows, positions)
        context = keys.new_empty(rows, width)
        shown = keys.new_empty(rows, width, dtype=narrow)
        kernels = choose_kernels(keys.device, keys.dtype, narrow)
        kernels.additive_scores(
            keys.contiguous(),
            projected.contiguous(),
            self.score,
            encoded.mask.contiguous(),
            weights,
        )
        kernels.attend(weights, encoded.memory.contiguous(), context, shown)
        return shown, weights


class ConstantContext(nn.Module, ABC):
    """A kind whose context is the same at every step: the controls of the comparison.

    The same network as the other arms but for this component.
    """

    @abstractmethod
    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """Context and weights of every step of each sentence."""

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S 0"]:
        """Nothing to compare a query with."""
        return memory[:, :, :0]

    def forward(
        self, query: Float[Tensor, "R H"], keys: Float[Tensor, "N S 0"], encoded: Encoded
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """The same, whatever the query."""
        context, weights = self.constant(encoded)
        width = len(query) // len(context)
        if width > 1:
            context = context.repeat_interleave(width, dim=0)
            weights = weights.repeat_interleave(width, dim=0)
        return context, weights


class FixedContext(ConstantContext):
    """No attention: the context is the encoder's summary at every step.

    The RNN encoder-decoder of Cho et al. 2014, which feeds one fixed vector to each step: the
    baseline of the comparison. The weights are all 0, as no position is singled out.
    """

    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """The summary, which looks nowhere."""
        return encoded.summary, torch.zeros_like(encoded.memory[:, :, 0])


class NoContext(ConstantContext):
    """No attention, and no context: the summary makes the first state, and that is all.

    The encoder-decoder of Sutskever et al. 2014. The context is zero, so that the weights that
    would read it are there but never used.
    """

    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """Zeros, which look nowhere."""
        return torch.zeros_like(encoded.summary), torch.zeros_like(encoded.memory[:, :, 0])


class UniformAttention(ConstantContext):
    r"""Access without selection: :math:`c = \frac{1}{S} \sum_j h_j` at every step.

    It sees what attention sees, as much of a long sentence as of a short one, but cannot choose.
    """

    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """The mean of the annotations of real positions."""
        weights = encoded.mask.to(encoded.memory.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)
        with torch.autocast(weights.device.type, enabled=False):
            context = (weights[:, None] @ encoded.memory).squeeze(1)
        return context, weights


Attention = AdditiveAttention | FixedContext | NoContext | UniformAttention


def build_attention(config: AttentionConfig, query_size: int, memory_size: int) -> Attention:
    """The kind of attention that ``config`` names."""
    if config.kind == "additive":
        return AdditiveAttention(query_size, memory_size, config.size)
    if config.kind == "fixed":
        return FixedContext()
    if config.kind == "init_only":
        return NoContext()
    if config.kind == "uniform":
        return UniformAttention()
    raise ValueError(f"attention kind {config.kind!r} has no class")
