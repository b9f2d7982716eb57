"""Attention to a memory of fixed size: k vectors, whatever the length of the sentence.

The vectors are made once per sentence. The decoder sees nothing else of the source (with ``elu``,
also k sums): the mean of the vectors replaces the encoder's summary. So with one vector, the kind
``slots`` is the kind ``fixed`` with another summary.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.encoder import Source
from seq2seq.model.layers import Projection


def pool(source: Source, queries: Projection) -> Source:
    r"""Pool each sentence into k vectors: :math:`m_i = \sum_j softmax_j(p_i \cdot h_j) h_j`.

    ``queries`` holds the k learned :math:`p_i`. The returned source has no keys.
    """
    return summed(source, queries(source.annotations))


def summed(source: Source, scores: Float[Tensor, "N S K"]) -> Source:
    """Pool each sentence into k vectors; the softmax of column i of ``scores`` weighs vector i."""
    memory = source.softmax_sum(scores.transpose(1, 2))[0]
    return remembered(source, memory.unflatten(0, (len(scores), -1)))


def remembered(source: Source, memory: Float[Tensor, "N K M"]) -> Source:
    """Return a source that has the vectors of ``memory`` as annotations, and no keys."""
    mask = source.mask.new_ones(memory.shape[:2])
    return Source(memory, mask, memory.mean(dim=1), memory[:, :, :0])


class SlotAttention(AdditiveAttention):
    r"""Additive attention to k pooled vectors, :math:`e_i = v^\top \tanh(W s + U m_i)`."""

    attends = False  # its weights belong to vectors, not to words
    replaces_summary = True

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.pool = Projection(annotation_size, config.slots, bias=False)

    def read(self, source: Source) -> Source:
        return super().read(pool(source, self.pool))


class LinearAttention(DotAttention):
    r"""Linear attention of rank k: :math:`c = \sum_i softmax_i(W s)_i \, m_i`.

    Quadratic attention has one softmax, over the source positions. Here there are two: one over
    the positions, which pools the :math:`m_i`, and one over the k features of the query
    ("efficient attention", Shen et al. 2021, with the annotations as values).
    """

    attends = False
    replaces_summary = True

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        Attention.__init__(self, query_size, annotation_size, config)
        self.query = nn.Linear(query_size, config.slots, bias=False)
        self.pool = Projection(annotation_size, config.slots, bias=False)

    def read(self, source: Source) -> Source:
        return super().read(self.memory(source))

    def memory(self, source: Source) -> Source:
        """The k vectors of each sentence, as annotations."""
        return pool(source, self.pool)

    def keys(self, annotations: Float[Tensor, "N K M"]) -> Float[Tensor, "N K K"]:
        """The identity matrix: the score of vector i is feature i of the query."""
        size = annotations.shape[1]
        identity = torch.eye(size, dtype=annotations.dtype, device=annotations.device)
        return identity.expand(len(annotations), size, size)


class DeltaAttention(LinearAttention):
    r"""Linear attention to a memory that is written by the delta rule (Schlag et al. 2021).

    .. math::
        M_j = M_{j-1} + \beta_j \, k_j (h_j - M_{j-1}^\top k_j)^\top, \quad
        k_j = softmax(P h_j), \quad \beta_j = \sigma(w \cdot h_j + b)

    Word after word, the memory replaces a part of what it holds for the key by the new annotation.
    The k rows of the last memory are the :math:`m_i`.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.rate = Projection(annotation_size, 1)

    def memory(self, source: Source) -> Source:
        h, keys = source.annotations, self.pool(source.annotations).softmax(dim=2)
        rates = self.rate(h).sigmoid() * source.mask[:, :, None]  # 0: padding writes nothing
        memory = h.new_zeros(len(h), keys.shape[2], h.shape[2])
        for value, key, rate in zip(h.unbind(1), keys.unbind(1), rates.unbind(1), strict=True):
            held = (key[:, :, None] * memory).sum(dim=1)
            memory = memory + key[:, :, None] * (rate * (value - held))[:, None]
        return remembered(source, memory)


class EluAttention(LinearAttention):
    r"""Linear attention of Katharopoulos et al. 2020, with the annotations as values.

    .. math::
        c = \frac{\sum_j \phi(W s) \cdot \phi(P h_j) \, h_j}{\sum_j \phi(W s) \cdot \phi(P h_j)},
        \quad \phi(x) = elu(x) + 1

    This is a softmax over k vectors with scores :math:`\log \phi(W s)_i + \log z_i`, where
    :math:`z_i = \sum_j \phi(P h_j)_i` and :math:`m_i = \sum_j \phi(P h_j)_i h_j / z_i`.
    """

    def read(self, source: Source) -> Source:
        """Return a source with the pooled vectors as annotations, and their log z as keys."""
        scores = log_elu(self.pool(source.annotations))
        totals = scores.masked_fill(~source.mask[:, :, None], float("-inf")).logsumexp(dim=1)
        return summed(source, scores)._replace(keys=totals[:, :, None])

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        assert self.query is not None  # it is None in dot attention only
        asked = log_elu(source.by_sentence(self.query(query)))
        return source.softmax_sum(asked + source.keys.transpose(1, 2))


def log_elu(x: Float[Tensor, "*N K"]) -> Float[Tensor, "*N K"]:
    """Logarithm of elu(x) + 1."""
    return torch.where(x > 0, x.clamp(min=0).log1p(), x)
