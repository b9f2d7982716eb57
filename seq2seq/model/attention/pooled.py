"""Attention to a memory of fixed size: k vectors, whatever the length of the sentence.

The vectors are pooled once per sentence. The decoder sees nothing else of the source: the mean of
the vectors replaces the encoder's summary. So with one vector, the kind ``slots`` is the kind
``fixed`` with another summary.
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
    scores = queries(source.annotations).transpose(1, 2)  # N k S
    memory = source.softmax_sum(scores)[0].unflatten(0, (len(scores), -1))
    mask = source.mask.new_ones(memory.shape[:2])
    return Source(memory, mask, memory.mean(dim=1), memory[:, :, :0])


class SlotAttention(AdditiveAttention):
    r"""Additive attention to k pooled vectors, :math:`e_i = v^\top \tanh(W s + U m_i)`.

    With k = 1, the context is one fixed vector. With the annotations themselves as vectors, this
    would be :class:`AdditiveAttention`.
    """

    attends = False  # its weights belong to vectors, not to words
    replaces_summary = True

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.pool = Projection(annotation_size, config.slots, bias=False)

    def read(self, source: Source) -> Source:
        """Return a source with the pooled vectors in place of the annotations."""
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
        """Return a source with the pooled vectors in place of the annotations."""
        return super().read(pool(source, self.pool))

    def keys(self, annotations: Float[Tensor, "N K M"]) -> Float[Tensor, "N K K"]:
        """Unit vectors: feature i scores vector i, and no other."""
        size = annotations.shape[1]
        identity = torch.eye(size, dtype=annotations.dtype, device=annotations.device)
        return identity.expand(len(annotations), size, size)
