"""Scores by a small network: Bahdanau's additive, Luong's "concat", and Tu's coverage."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.model.attention.interface import Attention, ScoredAttention, look
from seq2seq.model.encoder import Encoded
from seq2seq.model.kernels import choose_kernels
from seq2seq.model.precision import widen
from seq2seq.model.score import AdditiveScore, score_steps


class NetworkAttention(ScoredAttention):
    r"""A kind whose score is a one-layer network: :math:`e_{ij} = v_a^\top \tanh(q_i + k_j)`.

    Scores, softmax and the weighted sum stay in float32 under mixed precision: the gradient of
    W_a is a small difference of large terms, which bfloat16 loses.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key_size = size
        self.score = nn.Parameter(torch.empty(size))  # v_a

    @abstractmethod
    def query_weight(self) -> Float[Tensor, "A H"]:
        """W_a, or its part that meets the state."""

    def scan_score(self, keys: Float[Tensor, "B S A"]) -> AdditiveScore:
        """The same score with its gradient, for the fast recurrence."""
        return AdditiveScore(keys, self.score)

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S A"],
        encoded: Encoded,
        past: Float[Tensor, "R 0"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding and sum to 1."""
        return _look(functional.linear(query, self.query_weight()), keys, self.score, encoded)

    def unroll(
        self,
        queries: Float[Tensor, "B T H"],
        keys: Float[Tensor, "B S A"],
        encoded: Encoded,
    ) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """The same for all steps; no (B, T, S, A) array is made or kept."""
        asked = widen(functional.linear(queries, self.query_weight()))
        with torch.autocast(queries.device.type, enabled=False):
            scores = score_steps(AdditiveScore(keys, self.score), asked, encoded.mask)
            contexts, weights = look(scores, encoded)
        by_step = queries.shape[:2]
        return contexts.unflatten(0, by_step), weights.unflatten(0, by_step)


class AdditiveAttention(NetworkAttention):
    r"""Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j), \quad
        \alpha_{ij} = softmax_j(e_{ij}), \quad
        c_i = \sum_j \alpha_{ij} h_j
    """

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__(size)
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.key = nn.Linear(memory_size, size, bias=False)  # U_a

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """U_a h_j of every position: the part of the score that no query changes."""
        return widen(self.key(memory))

    def query_weight(self) -> Float[Tensor, "A H"]:
        """W_a."""
        return self.query.weight


class ConcatAttention(NetworkAttention):
    r"""Luong et al. 2015, "concat": :math:`e_{ij} = v_a^\top \tanh(W_a [s_{i-1}; h_j])`.

    With W_a cut in two it is the additive score; it differs in how it starts, as one matrix.
    """

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__(size)
        self.query_size = query_size
        self.joint = nn.Linear(query_size + memory_size, size, bias=False)  # W_a

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """W_a's part that meets h_j."""
        return widen(functional.linear(memory, self.joint.weight[:, self.query_size :]))

    def query_weight(self) -> Float[Tensor, "A H"]:
        """W_a's part that meets the state."""
        return self.joint.weight[:, : self.query_size]


class CoverageAttention(Attention):
    r"""Additive, told where it has looked already (Tu et al. 2016, without fertility).

    .. math::
        e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j + V_a C_{i-1,j}), \quad
        C_{i,j} = C_{i-1,j} + \alpha_{ij}

    The coverage C_j is how much attention a position has had so far, so that no word need be said
    twice and none forgotten; the paper's "linguistic" coverage divides it by how much it expects,
    the fertility, which is 1 here. Each step depends on the weights of those before, so there is
    no fast recurrence.
    """

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.key_size = size
        self.query = nn.Linear(query_size, size, bias=False)  # W_a
        self.key = nn.Linear(memory_size, size, bias=False)  # U_a
        self.covered = nn.Linear(1, size, bias=False)  # V_a
        self.score = nn.Parameter(torch.empty(size))  # v_a

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """U_a h_j of every position."""
        return widen(self.key(memory))

    def begin(self, encoded: Encoded) -> Float[Tensor, "B S"]:
        """No word has been looked at."""
        return torch.zeros_like(encoded.memory[:, :, 0])

    def remember(
        self, past: Float[Tensor, "R S"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R S"]:
        """How much attention each word has had."""
        return past + weights

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S A"],
        encoded: Encoded,
        past: Float[Tensor, "R S"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding and sum to 1."""
        projected = widen(self.query(query)).unflatten(0, (len(keys), -1))
        coverage = past.unflatten(0, (len(keys), -1))
        with torch.autocast(query.device.type, enabled=False):
            covered = self.covered(coverage[..., None])
            inner = keys[:, None] + projected[:, :, None] + covered
            return look(torch.tanh(inner) @ self.score, encoded)


def _look(
    projected: Float[Tensor, "R A"],
    keys: Float[Tensor, "N S A"],
    vector: Float[Tensor, "A"],
    encoded: Encoded,
) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
    """Look where v . tanh(k_j + q) is large; by kernels where no gradient is wanted."""
    narrow, projected = projected.dtype, widen(projected)
    with torch.autocast(keys.device.type, enabled=False):
        if not torch.is_grad_enabled():
            return _look_by_kernels(projected, keys, vector, encoded, narrow)
        by_hypothesis = projected.unflatten(0, (len(keys), -1))
        return look(torch.tanh(keys[:, None] + by_hypothesis[:, :, None]) @ vector, encoded)


def _look_by_kernels(
    projected: Float[Tensor, "R A"],
    keys: Float[Tensor, "N S A"],
    vector: Float[Tensor, "A"],
    encoded: Encoded,
    narrow: torch.dtype,
) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
    """The same numbers by operations that know no gradient; a context for products alone."""
    rows, (_, positions, width) = len(projected), encoded.memory.shape
    weights = keys.new_empty(rows, positions)
    context = keys.new_empty(rows, width)
    shown = keys.new_empty(rows, width, dtype=narrow)
    kernels = choose_kernels(keys.device, keys.dtype, narrow)
    kernels.additive_scores(
        keys.contiguous(), projected.contiguous(), vector, encoded.mask.contiguous(), weights
    )
    kernels.attend(weights, encoded.memory.contiguous(), context, shown)
    return shown, weights
