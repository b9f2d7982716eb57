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
        """Return empty keys, since no query is compared with them."""
        return annotations[:, :, :0]

    @abstractmethod
    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Context and weights of each sentence, the same at every step."""

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Constant context and weights, a row for each query."""
        context, weights = self.constant(source)
        hypotheses = len(query) // len(context)
        if hypotheses > 1:
            context = context.repeat_interleave(hypotheses, dim=0)
            weights = weights.repeat_interleave(hypotheses, dim=0)
        return context, weights


class FixedContext(ConstantContext):
    """No attention: the context is the encoder's summary at every step.

    This is the RNN encoder-decoder of Cho et al. 2014, the baseline of the comparison. All
    attention weights are 0.
    """

    attends = False
    reads_summary = True

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Summary of the source, and weights of zero."""
        return source.summary, torch.zeros_like(source.annotations[:, :, 0])


class NoContext(ConstantContext):
    """No attention, and no context: the source enters through the first state alone.

    This is the encoder-decoder of Sutskever et al. 2014. The context is zero, so the decoder's
    parameters that multiply it have no effect.
    """

    attends = False

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """A context and weights of zero."""
        annotations = source.annotations
        return torch.zeros_like(annotations[:, 0]), torch.zeros_like(annotations[:, :, 0])


class NoSource(NoContext):
    """A language model of the target: it sees nothing of the source.

    Its loss minus the loss of a translator measures how much the source helps the translator.
    """

    def read(self, source: Source) -> Source:
        """Return the source with a summary of zeros."""
        return super().read(source._replace(summary=0 * source.summary))


class UniformAttention(ConstantContext):
    r"""The mean of the annotations at every step: :math:`c = \frac{1}{S} \sum_j h_j`.

    This kind reads all annotations, as attention does, but cannot choose among them.
    """

    def constant(self, source: Source) -> tuple[Float[Tensor, "N M"], Float[Tensor, "N S"]]:
        """Mean of the annotations, and equal weights for all real positions."""
        weights = source.mask.to(source.annotations.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)
        return source.weighted_sum(weights[:, None])
