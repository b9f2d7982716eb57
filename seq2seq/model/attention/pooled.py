"""Attention to a memory of fixed size: k vectors, whatever the length of the sentence.

The decoder sees nothing else of the source (with ``elu``, also k sums): the mean of the vectors
replaces the encoder's summary. So with one vector, ``slots`` is ``fixed`` with another summary.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention, Past, Query, Scores
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.encoder import Source
from seq2seq.model.layers import Projection, exact_product


class PooledAttention(Attention):
    r"""Base class: k learned :math:`p_i` pool :math:`m_i = \sum_j softmax_j(p_i \cdot h_j) h_j`."""

    attends = False  # the weights belong to vectors, not to words
    replaces_summary = True

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.pool = Projection(annotation_size, config.slots, bias=False)  # P, the p_i

    def read(self, source: Source) -> Source:
        return self.pooled(source, self.pool(source.annotations))

    def pooled(self, source: Source, features: Float[Tensor, "N S K"]) -> Source:
        """Return a source that has the k vectors as annotations."""
        memory = self.memory(source, features)
        mask = source.mask.new_ones(memory.shape[:2])
        return super().read(Source(memory, mask, memory.mean(dim=1), memory))

    def memory(self, source: Source, features: Float[Tensor, "N S K"]) -> Float[Tensor, "N K M"]:
        """The k vectors of each sentence."""
        return exact_product(source.softmax(features.transpose(1, 2)), source.annotations)


class SlotAttention(PooledAttention, AdditiveAttention):
    r"""Additive attention to k pooled vectors, :math:`e_i = v^\top \tanh(W s + U m_i)`."""


class LinearAttention(PooledAttention, DotAttention):
    r"""Linear attention of rank k: :math:`c = \sum_i softmax_i(W s)_i \, m_i`.

    One softmax, over the source positions, pools the :math:`m_i`; the other is over the k features
    of the query ("efficient attention", Shen et al. 2021, with the annotations as values).
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = Projection(query_size, config.slots, bias=False)

    def keys(self, annotations: Float[Tensor, "N K M"]) -> Float[Tensor, "N K K"]:
        """The identity matrix: the score of vector i is feature i of the query."""
        identity = torch.eye(
            annotations.shape[1], dtype=annotations.dtype, device=annotations.device
        )
        return identity.expand(len(annotations), -1, -1)


class DeltaAttention(LinearAttention):
    r"""Linear attention to a memory that is written by the delta rule (Schlag et al. 2021).

    .. math::
        M_j = M_{j-1} + \beta_j \, k_j (h_j - M_{j-1}^\top k_j)^\top, \quad
        k_j = softmax(P h_j), \quad \beta_j = \sigma(w \cdot h_j + b)

    Each word replaces a part of what the memory holds for its key. The k rows of the last memory
    are the :math:`m_i`.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.rate = Projection(annotation_size, 1)

    def memory(self, source: Source, features: Float[Tensor, "N S K"]) -> Float[Tensor, "N K M"]:
        h, keys = source.annotations, features.softmax(dim=2)
        rates = self.rate(h).sigmoid() * source.mask[:, :, None]  # 0: padding writes nothing
        memory = h.new_zeros(len(h), keys.shape[2], h.shape[2])
        for value, key, rate in zip(h.unbind(1), keys.unbind(1), rates.unbind(1), strict=True):
            held = (key[:, :, None] * memory).sum(dim=1)
            memory = memory + key[:, :, None] * (rate * (value - held))[:, None]
        return memory


class EluAttention(LinearAttention):
    r"""Linear attention of Katharopoulos et al. 2020, with the annotations as values.

    .. math::
        c = \frac{\sum_j \phi(W s) \cdot \phi(P h_j) \, h_j}{\sum_j \phi(W s) \cdot \phi(P h_j)},
        \quad \phi(x) = elu(x) + 1

    This is a softmax over k vectors with scores :math:`\log \phi(W s)_i + \log z_i`, where
    :math:`z_i = \sum_j \phi(P h_j)_i` and :math:`m_i = \sum_j \phi(P h_j)_i h_j / z_i`.
    """

    def read(self, source: Source) -> Source:
        features = log_elu(self.pool(source.annotations))
        totals = features.masked_fill(~source.mask[:, :, None], float("-inf")).logsumexp(dim=1)
        return self.pooled(source, features)._replace(keys=totals[:, :, None])

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        return log_elu(self.query(query)) + source.keys.transpose(1, 2)


def log_elu(x: Float[Tensor, "*N K"]) -> Float[Tensor, "*N K"]:
    """Logarithm of elu(x) + 1."""
    return torch.where(x > 0, x.clamp(min=0).log1p(), x)
