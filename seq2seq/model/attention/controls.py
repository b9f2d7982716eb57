"""Control systems for the comparison: the same network with a context that never changes."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.model.attention import Attention
from seq2seq.model.encoder import Source


class ConstantContext(Attention):
    """Base class of kinds whose context is the same at every step."""

    needs_query = False

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S 0"]:
        """Empty, since no query is compared with them."""
        return annotations[:, :, :0]

    @abstractmethod
    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Context and weights of each sentence, the same at every step."""

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        context, weights = self.constant(source)
        hypotheses = len(query) // len(context)
        if hypotheses > 1:
            context = context.repeat_interleave(hypotheses, dim=0)
            weights = weights.repeat_interleave(hypotheses, dim=0)
        return context, weights


class FixedContext(ConstantContext):
    """No attention: the context is the encoder's summary at every step; all weights are 0.

    This is the RNN encoder-decoder of Cho et al. 2014, the baseline of the comparison.
    """

    attends = False
    reads_summary = True

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        return source.summary, torch.zeros_like(source.annotations[:, :, 0])


class NoContext(ConstantContext):
    """No attention, and a context of zero: the source enters through the first state alone.

    This is the encoder-decoder of Sutskever et al. 2014.
    """

    attends = False

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        annotations = source.annotations
        return torch.zeros_like(annotations[:, 0]), torch.zeros_like(annotations[:, :, 0])


class NoSource(NoContext):
    """A language model of the target: it sees nothing of the source."""

    def read(self, source: Source) -> Source:
        return super().read(source._replace(summary=0 * source.summary))


class UniformAttention(ConstantContext):
    r"""The mean of the annotations at every step: :math:`c = \frac{1}{S} \sum_j h_j`."""

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        weights = source.mask.to(source.annotations.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)
        return source.weighted_sum(weights[:, None])
