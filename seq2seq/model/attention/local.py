"""Attention by position: location, and the two local kinds, all from Luong et al. 2015."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention
from seq2seq.model.encoder import Source
from seq2seq.model.layers import exact_product

POSITIONS = 100
"""Number of source positions that the kind location covers."""


class LocationAttention(Attention):
    r"""Luong et al. 2015, "location": :math:`\alpha_i = softmax(W_a s_{i-1})`.

    Scores depend on the position, not on the annotation. Positions after the first
    ``POSITIONS`` get weight 0.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = nn.Linear(query_size, POSITIONS, bias=False)  # W_a

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        of_positions = source.by_sentence(self.query(query))
        beyond = max(0, source.mask.shape[1] - of_positions.shape[2])
        scores = functional.pad(of_positions, (0, beyond), value=float("-inf"))
        return source.softmax_sum(scores[:, :, : source.mask.shape[1]])


class LocalAttention(Attention):
    r"""A window of the source around a position :math:`p_i` (Luong et al. 2015, section 3.2).

    The window reaches D positions to either side. Inside it, the weights are the softmax of the
    general score :math:`s_{i-1}^\top W_a h_j`.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.window = config.window  # D
        self.query = nn.Linear(query_size, annotation_size, bias=False)  # W_a, transposed

    def window_weights(
        self, query: Float[Tensor, "R H"], source: Source, distance: Float[Tensor, "N W S"]
    ) -> Float[Tensor, "N W S"]:
        """Softmax of the general score over real positions at most D from the centre."""
        query = source.by_sentence(self.query(query))
        scores = exact_product(query, source.keys.transpose(1, 2))
        outside = ~source.mask[:, None] | (distance.abs() > self.window)
        return scores.masked_fill(outside, float("-inf")).softmax(dim=2)

    @staticmethod
    def distance(centre: Float[Tensor, "N W"], source: Source) -> Float[Tensor, "N W S"]:
        """Distance of each position from the centre, positive after it."""
        positions = torch.arange(source.mask.shape[1], device=centre.device)
        return positions - centre[:, :, None]


class MonotonicLocalAttention(LocalAttention):
    """Luong et al. 2015, "local-m": p_i = i, up to the last token, the end of the sentence."""

    def init_state(self, source: Source) -> Float[Tensor, "N 1"]:
        """Centre of the window in the first step."""
        return torch.zeros_like(source.annotations[:, :1, 0])

    def update_state(
        self, state: Float[Tensor, "R 1"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R 1"]:
        """Centre of the window in the next step."""
        return state + 1

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 1"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        last = source.mask.sum(dim=1)[:, None] - 1
        centre = torch.minimum(source.by_sentence(state)[:, :, 0], last)
        distance = self.distance(centre, source)
        return source.weighted_sum(self.window_weights(query, source, distance))


class PredictiveLocalAttention(LocalAttention):
    r"""Luong et al. 2015, "local-p": the model predicts the centre, and weighs it most.

    .. math::
        p_i = S \cdot \sigma(v_p^\top \tanh(W_p s_{i-1})), \quad
        \alpha_{ij} = softmax_j(e_{ij}) \exp\left(-\frac{(j - p_i)^2}{2 (D/2)^2}\right)

    Here positions j count from 0, and S is the last one. As in the paper, the weights do not sum
    to 1.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.inner = nn.Linear(query_size, query_size, bias=False)  # W_p
        self.position = nn.Linear(query_size, 1, bias=False)  # v_p

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R 0"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        share = source.by_sentence(self.position(torch.tanh(self.inner(query)))).sigmoid()
        last = source.mask.sum(dim=1)[:, None] - 1
        distance = self.distance(share[:, :, 0] * last, source)
        gaussian = torch.exp(-distance.square() / (2 * (self.window / 2) ** 2))
        return source.weighted_sum(self.window_weights(query, source, distance) * gaussian)
