"""Contexts that never change: what attention is compared with, the same network but for this."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.model.attention.interface import Attention
from seq2seq.model.encoder import Encoded


class ConstantContext(Attention):
    """A kind whose context is the same at every step: the controls of the comparison.

    The same network as the other arms but for this component.
    """

    @abstractmethod
    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """Context and weights of every step of each sentence."""

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S 0"],
        encoded: Encoded,
        past: Float[Tensor, "R 0"],
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

    attends = False

    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """The summary, which looks nowhere."""
        return encoded.summary, torch.zeros_like(encoded.memory[:, :, 0])


class NoContext(ConstantContext):
    """No attention, and no context: the summary makes the first state, and that is all.

    The encoder-decoder of Sutskever et al. 2014. The context is zero, so that the weights that
    would read it are there but never used.
    """

    attends = False

    def constant(self, encoded: Encoded) -> tuple[Float[Tensor, "B M"], Float[Tensor, "B S"]]:
        """Zeros, which look nowhere."""
        return torch.zeros_like(encoded.memory[:, 0]), torch.zeros_like(encoded.memory[:, :, 0])


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
