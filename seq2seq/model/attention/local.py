"""Attention by position: location, and the two local kinds, all from Luong et al. 2015."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention, Past, Query, Scores
from seq2seq.model.attention.dot_product import GeneralAttention
from seq2seq.model.encoder import Attended, Source
from seq2seq.model.layers import Projection

POSITIONS = 100
"""Number of source positions that the kind location sees; all others get weight 0."""


class LocationAttention(Attention):
    r"""Luong et al. 2015, "location": :math:`\alpha_i = softmax(W_a s_{i-1})`."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = Projection(query_size, POSITIONS, bias=False)  # W_a

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        missing = source.mask.shape[1] - POSITIONS  # if negative, pad cuts scores off
        return functional.pad(self.query(query), (0, missing), value=float("-inf"))


class LocalAttention(GeneralAttention):
    """Luong et al. 2015, section 3.2: general, at most D positions from a centre p_i."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.window = config.window  # D

    def within(
        self, query: Query, source: Source, centre: Float[Tensor, "N W 1"]
    ) -> tuple[Scores, Float[Tensor, "N W S"]]:
        """Scores inside the window, and each position's distance from the centre."""
        distance = torch.arange(source.mask.shape[1], device=centre.device) - centre
        scores = super().scores(query, source, centre)
        return scores.masked_fill(distance.abs() > self.window, float("-inf")), distance


class MonotonicLocalAttention(LocalAttention):
    """Luong et al. 2015, "local-m": p_i = i, up to the last token, the end of the sentence."""

    def init_state(self, source: Source) -> Float[Tensor, "N 1"]:
        """Centre of the first window."""
        return torch.zeros_like(source.annotations[:, :1, 0])

    def update_state(
        self, state: Float[Tensor, "R 1"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R 1"]:
        """Centre of the next window."""
        return state + 1

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        return self.within(query, source, torch.minimum(state, source.last))[0]


class PredictiveLocalAttention(LocalAttention):
    r"""Luong et al. 2015, "local-p": the model predicts the centre, and weighs it most.

    .. math::
        p_i = S \cdot \sigma(v_p^\top \tanh(W_p s_{i-1})), \quad
        \alpha_{ij} = softmax_j(e_{ij}) \exp\left(-\frac{(j - p_i)^2}{2 (D/2)^2}\right)

    Positions j count from 0, and S is the last one. As in the paper, the weights do not sum to 1.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.inner = nn.Linear(query_size, query_size, bias=False)  # W_p
        self.position = Projection(query_size, 1, bias=False)  # v_p

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> Attended:
        query = source.by_sentence(query)
        share = self.position(torch.tanh(self.inner(query))).sigmoid()
        scores, distance = self.within(query, source, share * source.last)
        gaussian = torch.exp(-distance.square() / (2 * (self.window / 2) ** 2))
        return source.weighted_sum(source.softmax(scores) * gaussian)
