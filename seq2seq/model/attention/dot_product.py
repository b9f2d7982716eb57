"""Scores that are products of query and key: dot, general, scaled dot and multi-head."""

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention, Past, Query, Scores
from seq2seq.model.encoder import Attended, Source
from seq2seq.model.layers import Projection, exact_product


class DotAttention(Attention):
    r"""Luong et al. 2015, "dot": :math:`e_{ij} = s_{i-1} \cdot h_j`, without parameters."""

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        return exact_product(self.query(query), source.keys.transpose(1, 2))


class GeneralAttention(DotAttention):
    r"""Luong et al. 2015, "general": :math:`e_{ij} = s_{i-1}^\top W_a h_j`."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = Projection(query_size, annotation_size, bias=False)  # W_a, transposed


class ScaledDotAttention(DotAttention):
    r"""Vaswani et al. 2017, equation 1: :math:`e_{ij} = (W_q s_{i-1}) \cdot (W_k h_j) / \sqrt{A}`.

    The values are the annotations themselves, not projections of them.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = Projection(query_size, config.size, bias=False)  # W_q
        self.key = Projection(annotation_size, config.size, bias=False)  # W_k

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """W_k h_j / sqrt(A), scaled once rather than in each step."""
        keys = super().keys(annotations)
        return keys * keys.shape[2] ** -0.5


class MultiHeadAttention(Attention):
    r"""K scaled dot products (heads) side by side (Vaswani et al. 2017, section 3.2.2).

    .. math::
        \alpha^k_i = softmax\left((W_q^k s_{i-1}) \cdot (W_k^k h) / \sqrt{A / K}\right), \quad
        c_i = W_o [...; \sum_j \alpha^k_{ij} W_v^k h_j; ...]

    The weights that a step returns are the mean over the heads.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.heads, self.widths = config.heads, [config.size, annotation_size]
        self.query = Projection(query_size, config.size, bias=False)
        self.key = Projection(annotation_size, config.size, bias=False)
        self.value = Projection(annotation_size, annotation_size, bias=False)
        self.joined = Projection(annotation_size, annotation_size, bias=False)  # W_o

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S AM"]:
        """Keys and values of all heads, side by side."""
        keys = super().keys(annotations) * (self.widths[0] // self.heads) ** -0.5
        return torch.cat([keys, self.value(annotations)], dim=2)

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> Attended:
        parts = self.query(source.by_sentence(query)), *source.keys.split(self.widths, dim=2)
        queries, keys, values = (  # N x heads x (W or S) x width of a head
            part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts
        )
        scores = exact_product(queries, keys.transpose(2, 3))
        weights = source.softmax(scores.flatten(1, 2)).view_as(scores)
        heads = exact_product(weights, values).transpose(1, 2).flatten(2)
        return self.joined(heads.flatten(0, 1)), weights.mean(dim=1).flatten(0, 1)
