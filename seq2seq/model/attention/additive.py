"""Scores by a small network: Bahdanau's additive, Luong's "concat", and Tu's coverage."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import AttentionConfig
from seq2seq.model.attention import Attention
from seq2seq.model.encoder import Source
from seq2seq.model.fast.scan import Score, attend_additive
from seq2seq.model.layers import to_float32


class AdditiveAttention(Attention):
    r"""Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j), \quad
        \alpha_{ij} = softmax_j(e_{ij}), \quad
        c_i = \sum_j \alpha_{ij} h_j

    Scores, softmax and sums stay in float32 under mixed precision: the gradient of W_a is a small
    difference of large terms, which bfloat16 loses.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        size = config.size
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.key = nn.Linear(annotation_size, size, bias=False)  # U_a
        self.vector = nn.Parameter(torch.empty(size))  # v_a

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """U_a h_j of every position: the part of the score that no query changes."""
        return to_float32(self.key(annotations))

    def energy(self, inner: Float[Tensor, "N W S A"]) -> Float[Tensor, "N W S"]:
        """v_a . tanh(inner), inner being the sum of projected query and key."""
        with torch.autocast(inner.device.type, enabled=False):
            return torch.tanh(inner) @ self.vector

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights of one target step; weights are 0 at padding and sum to 1."""
        query = functional.linear(query, self.query_weight)
        if not torch.is_grad_enabled():
            return attend_additive(query, source, self.vector)  # the same numbers, faster
        query = source.by_sentence(to_float32(query))
        return source.attend(self.energy(source.keys[:, None] + query[:, :, None]))

    def score(self, source: Source) -> Score | None:
        """W_a, keys and v_a: the fast decoder computes the same from them."""
        return Score(self.query_weight, source.keys, self.vector)

    @property
    def query_weight(self) -> Float[Tensor, "A H"]:
        """W_a."""
        return self.query.weight


class ConcatAttention(AdditiveAttention):
    r"""Luong et al. 2015, "concat": :math:`e_{ij} = v_a^\top \tanh(W_a [s_{i-1}; h_j])`.

    With W_a cut in two it is the additive score. It differs in its initial values only, which are
    drawn for one matrix.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        Attention.__init__(self, query_size, annotation_size, config)  # one matrix, not two
        size = config.size
        self.query_size = query_size
        self.joint = nn.Linear(query_size + annotation_size, size, bias=False)  # W_a
        self.vector = nn.Parameter(torch.empty(size))  # v_a

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """The part of W_a that meets h_j, times h_j."""
        return to_float32(functional.linear(annotations, self.joint.weight[:, self.query_size :]))

    @property
    def query_weight(self) -> Float[Tensor, "A H"]:
        """The part of W_a that meets the state."""
        return self.joint.weight[:, : self.query_size]


class CoverageAttention(AdditiveAttention):
    r"""Additive, and knows how much attention each word has had (Tu et al. 2016, no fertility).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j + V_a C_{i-1,j}), \quad
        C_{i,j} = C_{i-1,j} + \alpha_{ij}

    The paper's "linguistic" coverage divides C by the attention that a word should need, its
    fertility, which is 1 here. Each step depends on the weights of those before, so it runs in the
    plain loop.
    """

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, annotation_size, config)
        self.covered = nn.Linear(1, config.size, bias=False)  # V_a

    def init_state(self, source: Source) -> Float[Tensor, "N S"]:
        """C_0: no word has had any attention."""
        return torch.zeros_like(source.annotations[:, :, 0])

    def update_state(
        self, state: Float[Tensor, "R S"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R S"]:
        """C_i."""
        return state + weights

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R S"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights of one target step; weights are 0 at padding and sum to 1."""
        query = source.by_sentence(to_float32(self.query(query)))
        with torch.autocast(query.device.type, enabled=False):
            covered = self.covered(source.by_sentence(state)[..., None])
        return source.attend(self.energy(source.keys[:, None] + query[:, :, None] + covered))

    def score(self, source: Source) -> None:
        """None: each step needs the weights of the steps before."""
        return
