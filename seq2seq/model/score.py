"""What an attention kind declares so that the recurrence can run it without autograd's tape."""

from abc import ABC, abstractmethod
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.model.kernels import TorchKernels, choose_kernels


class Score(ABC):
    """A score of source positions for a query, and its gradient.

    A subclass's constructor takes the tensors that the score depends on, all of which receive a
    gradient, and nothing else: it is made again for the way back. Gradients are summed over steps
    in arrays of its own choice (:meth:`sums`), and made into those of the tensors once, after the
    last step (:meth:`gradients`).
    """

    tensors: tuple[Tensor, ...]

    @abstractmethod
    def forward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B Q"],
        mask: Bool[Tensor, "B S"],
        scores: Float[Tensor, "B S"],
    ) -> None:
        """Write the scores of one step; minus infinity where ``mask`` is False."""

    @abstractmethod
    def sums(self) -> tuple[Tensor, ...]:
        """Zeros to add the gradients of all steps to."""

    @abstractmethod
    def backward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B Q"],
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B Q"],
        sums: tuple[Tensor, ...],
    ) -> None:
        """Write the gradient of one step's query and add to ``sums``; ``d_scores`` is 0 at padding.

        The (B, S, A) arrays that stand between query and scores are computed again here: keeping
        them for every step would take T times the memory of the keys.
        """

    @abstractmethod
    def gradients(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The gradient of each of ``tensors``; may overwrite ``sums``."""


class AdditiveScore(Score):
    r"""Bahdanau et al. 2014: :math:`e_j = v \cdot \tanh(k_j + q)`.

    With :math:`P = \tanh(k_j + q)`, :math:`\bar q = v \sum_j \bar e_j (1 - P^2)`, and the sum over
    steps in :math:`\bar k_j = v \sum_t \bar e_j (1 - P^2)` is multiplied by v only once.
    """

    def __init__(self, keys: Float[Tensor, "B S A"], vector: Float[Tensor, "A"]) -> None:
        self.keys = keys.contiguous()
        self.vector = vector
        self.tensors = (keys, vector)

    def forward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B A"],
        mask: Bool[Tensor, "B S"],
        scores: Float[Tensor, "B S"],
    ) -> None:
        """See :class:`Score`."""
        kernels.additive_scores(self.keys, query, self.vector, mask, scores)

    def sums(self) -> tuple[Tensor, ...]:
        """For the keys, and for v of every sentence."""
        batch, _, width = self.keys.shape
        return torch.zeros_like(self.keys), self.keys.new_zeros(batch, width)

    def backward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B A"],
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B A"],
        sums: tuple[Tensor, ...],
    ) -> None:
        """See :class:`Score`."""
        d_keys, d_vector = sums
        kernels.additive_scores_backward(
            self.keys, query, self.vector, d_scores, d_query, d_keys, d_vector
        )

    def gradients(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """See :class:`Score`."""
        d_keys, d_vector = sums
        return d_keys.mul_(self.vector), d_vector.sum(dim=0)


class DotScore(Score):
    r"""A product: :math:`e_j = q \cdot k_j`, with :math:`\bar q = \sum_j \bar e_j k_j` and
    :math:`\bar k_j = \sum_t \bar e_{tj} q_t`.
    """

    def __init__(self, keys: Float[Tensor, "B S A"]) -> None:
        self.keys = keys.contiguous()
        self.tensors = (keys,)

    def forward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B A"],
        mask: Bool[Tensor, "B S"],
        scores: Float[Tensor, "B S"],
    ) -> None:
        """See :class:`Score`."""
        torch.bmm(self.keys, query[:, :, None], out=scores[:, :, None])
        scores.masked_fill_(~mask, float("-inf"))

    def sums(self) -> tuple[Tensor, ...]:
        """For the keys."""
        return (torch.zeros_like(self.keys),)

    def backward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B A"],
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B A"],
        sums: tuple[Tensor, ...],
    ) -> None:
        """See :class:`Score`."""
        torch.bmm(d_scores[:, None], self.keys, out=d_query[:, None])
        sums[0].baddbmm_(d_scores[:, :, None], query[:, None])

    def gradients(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """See :class:`Score`."""
        return sums


class LocationScore(Score):
    """The query is the scores of the first positions itself; those beyond it are never seen."""

    def __init__(self) -> None:
        self.tensors = ()

    def forward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B Q"],
        mask: Bool[Tensor, "B S"],
        scores: Float[Tensor, "B S"],
    ) -> None:
        """See :class:`Score`."""
        seen = min(query.shape[1], scores.shape[1])
        scores[:, :seen] = query[:, :seen]
        scores[:, seen:] = float("-inf")
        scores.masked_fill_(~mask, float("-inf"))

    def sums(self) -> tuple[Tensor, ...]:
        """There is nothing but the query."""
        return ()

    def backward(
        self,
        kernels: TorchKernels,
        query: Float[Tensor, "B Q"],
        d_scores: Float[Tensor, "B S"],
        d_query: Float[Tensor, "B Q"],
        sums: tuple[Tensor, ...],
    ) -> None:
        """See :class:`Score`."""
        seen = min(query.shape[1], d_scores.shape[1])
        d_query[:, :seen] = d_scores[:, :seen]
        d_query[:, seen:] = 0

    def gradients(self, sums: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """See :class:`Score`."""
        return ()


def score_steps(
    score: Score, queries: Float[Tensor, "B T Q"], mask: Bool[Tensor, "B S"]
) -> Float[Tensor, "B T S"]:
    """The scores of many steps whose queries are all known; minus infinity where ``mask`` is False.

    As in the recurrence, the arrays between queries and scores are made step by step, and made
    again on the way back.
    """
    kernels = choose_kernels(queries.device, queries.dtype, queries.dtype)
    return _ScoreSteps.apply(kernels, type(score), queries, mask, *score.tensors)


class _ScoreSteps(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: TorchKernels,
        score_kind: type[Score],
        queries: Tensor,
        mask: Tensor,
        *score_tensors: Tensor,
    ) -> Tensor:
        score = score_kind(*score_tensors)
        queries = queries.transpose(0, 1).contiguous()
        mask = mask.contiguous()
        scores = queries.new_empty(*queries.shape[:2], mask.shape[1])
        for t in range(len(queries)):
            score.forward(kernels, queries[t], mask, scores[t])
        ctx.kernels, ctx.score_kind = kernels, score_kind
        ctx.save_for_backward(queries, *score_tensors)
        return scores.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        queries, *tensors = ctx.saved_tensors
        score = ctx.score_kind(*tensors)
        sums = score.sums()
        d_scores, d_queries = d_output.transpose(0, 1).contiguous(), torch.empty_like(queries)
        for t in range(len(queries)):
            score.backward(ctx.kernels, queries[t], d_scores[t], d_queries[t], sums)
        return None, None, d_queries.transpose(0, 1), None, *score.gradients(sums)
