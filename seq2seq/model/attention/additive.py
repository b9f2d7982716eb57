"""Scores by a small network: Bahdanau's additive and Tu's coverage."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention, Past, Query, Scores
from seq2seq.model.encoder import Source
from seq2seq.model.layers import Projection, exact_product


class AdditiveAttention(Attention):
    r"""Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j)

    All but the projections is in float32 even under mixed precision: the gradient of W_a is a small
    difference of large terms, which bfloat16 would lose.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.query = Projection(query_size, config.size, bias=False)  # W_a
        self.key = Projection(annotation_size, config.size, bias=False)  # U_a
        self.vector = nn.Parameter(torch.empty(config.size))  # v_a

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        hidden = torch.tanh(source.keys[:, None] + self.query(query)[:, :, None])  # N W S A
        return exact_product(hidden, self.vector)


class CoverageAttention(AdditiveAttention):
    r"""Additive attention that sees how much attention each word has had (Tu et al. 2016).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j + V_a C_{i-1,j}), \quad
        C_{i,j} = C_{i-1,j} + \alpha_{ij}

    This is the paper's "linguistic" coverage with a fertility of 1 for each word.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.covered = nn.Linear(1, config.size, bias=False)  # V_a

    def init_state(self, source: Source) -> Float[Tensor, "N S"]:
        """C_0: no word has had any attention yet."""
        return torch.zeros_like(source.annotations[:, :, 0])

    def update_state(
        self, state: Float[Tensor, "R S"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R S"]:
        """C_i: the attention of this step and of all earlier ones."""
        return state + weights

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        # V_a C, as in nn.Linear, but never rounded to bfloat16.
        covered = exact_product(state[..., None], self.covered.weight.t())
        hidden = torch.tanh(source.keys[:, None] + self.query(query)[:, :, None] + covered)
        return exact_product(hidden, self.vector)
