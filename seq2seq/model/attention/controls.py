"""Control systems for the comparison: the same network with a context that never changes."""

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.model.attention import Attention
from seq2seq.model.encoder import Attended, Source


class ConstantContext(Attention):
    """Base class of kinds whose context is the same at every step."""

    attends = needs_query = False

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S 0"]:
        """Empty, since no query is compared with them."""
        return annotations[:, :, :0]

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Context and weights of each sentence; by default 0."""
        annotations = source.annotations
        return torch.zeros_like(annotations[:, 0]), torch.zeros_like(annotations[:, :, 0])

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> Attended:
        context, weights = self.constant(source)
        hypotheses = len(query) // len(context)
        if hypotheses > 1:
            context = context.repeat_interleave(hypotheses, dim=0)
            weights = weights.repeat_interleave(hypotheses, dim=0)
        return context, weights


class FixedContext(ConstantContext):
    """Cho et al. 2014, the baseline: the context is the encoder's summary; all weights are 0."""

    reads_summary = True

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        return source.summary, super().constant(source)[1]


class NoContext(ConstantContext):
    """Sutskever et al. 2014: the context is 0, so the source enters the first state alone."""


class NoSource(NoContext):
    """A language model of the target: it sees nothing of the source."""

    def read(self, source: Source) -> Source:
        return super().read(source._replace(summary=0 * source.summary))


class UniformAttention(ConstantContext):
    r"""The mean of the annotations at every step: :math:`c = \frac{1}{S} \sum_j h_j`."""

    attends = True

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        weights = source.mask.to(source.annotations.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)
        return source.weighted_sum(weights[:, None])
