"""Scores by a small network: Bahdanau's additive and Tu's coverage."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention
from seq2seq.model.encoder import Source
from seq2seq.model.layers import Projection, exact_product, spread


class AdditiveAttention(Attention):
    r"""Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j), \quad
        \alpha_{ij} = softmax_j(e_{ij}), \quad
        c_i = \sum_j \alpha_{ij} h_j

    Scores, softmax and sums stay in float32 under mixed precision: the gradient of W_a is a small
    difference of large terms, which bfloat16 would lose.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        size = config.size
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.key = Projection(annotation_size, size, bias=False)  # U_a
        self.vector = nn.Parameter(torch.empty(size))  # v_a

    def initialize(self) -> None:
        """Draw v_a from U(-1/sqrt(A), 1/sqrt(A))."""
        spread(self.vector, len(self.vector))

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """U_a h_j at every position, the part of the score that does not depend on the query."""
        return self.key(annotations)

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        projected = source.by_sentence(self.query(query))
        hidden = torch.tanh(source.keys[:, None] + projected[:, :, None])  # N W S A
        return source.softmax_sum(exact_product(hidden, self.vector))


class CoverageAttention(AdditiveAttention):
    r"""Additive attention that sees how much attention each word has had (Tu et al. 2016).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j + V_a C_{i-1,j}), \quad
        C_{i,j} = C_{i-1,j} + \alpha_{ij}

    The paper's "linguistic" coverage divides C by a word's fertility, the total attention that the
    word is expected to need. Here the fertility is 1.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.covered = nn.Linear(1, config.size, bias=False)  # V_a

    def init_state(self, source: Source) -> Float[Tensor, "N S"]:
        """Coverage C_0: no word has had any attention yet."""
        return torch.zeros_like(source.annotations[:, :, 0])

    def update_state(
        self, state: Float[Tensor, "R S"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R S"]:
        """Coverage C_i: the attention of this step and of all earlier ones."""
        return state + weights

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R S"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        projected = source.by_sentence(self.query(query))
        # V_a C, as in nn.Linear, but never rounded to bfloat16.
        covered = exact_product(source.by_sentence(state)[..., None], self.covered.weight.t())
        hidden = torch.tanh(source.keys[:, None] + projected[:, :, None] + covered)
        return source.softmax_sum(exact_product(hidden, self.vector))
