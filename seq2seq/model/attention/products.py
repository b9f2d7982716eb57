"""Scores that are products of query and key: dot, general, scaled dot; and several heads."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.attention.interface import Attention, ScoredAttention, look
from seq2seq.model.encoder import Encoded
from seq2seq.model.precision import widen
from seq2seq.model.score import DotScore


class ProductAttention(ScoredAttention):
    """A kind whose score is the product of a query and a key, :math:`e_{ij} = q_i \\cdot k_j`."""

    def scan_score(self, keys: Float[Tensor, "B S A"]) -> DotScore:
        """The same score with its gradient, for the fast recurrence."""
        return DotScore(keys)

    def queries(self, query: Float[Tensor, "R H"]) -> Float[Tensor, "R A"]:
        """What is compared with the keys: the state, or what ``query_weight`` makes of it."""
        weight = self.query_weight()
        return query if weight is None else nn.functional.linear(query, weight)

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S A"],
        encoded: Encoded,
        past: Float[Tensor, "R 0"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding and sum to 1."""
        by_hypothesis = widen(self.queries(query)).unflatten(0, (len(keys), -1))
        with torch.autocast(query.device.type, enabled=False):
            return look(by_hypothesis @ keys.transpose(1, 2), encoded)


class DotAttention(ProductAttention):
    r"""Luong et al. 2015, "dot": :math:`e_{ij} = s_{i-1} \cdot h_j`.

    No parameters; the state must be as wide as an annotation.
    """

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S M"]:
        """The annotations themselves."""
        return memory

    def query_weight(self) -> None:
        """The state itself is the query."""
        return


class GeneralAttention(ProductAttention):
    r"""Luong et al. 2015, "general": :math:`e_{ij} = s_{i-1}^\top W_a h_j`."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, memory_size, bias=False)  # W_a, transposed

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S M"]:
        """The annotations themselves."""
        return memory

    def query_weight(self) -> Float[Tensor, "M H"]:
        """W_a, transposed."""
        return self.query.weight


class ScaledDotAttention(ProductAttention):
    r"""Vaswani et al. 2017, equation 1: :math:`e_{ij} = (W_q s_{i-1}) \cdot (W_k h_j) / \sqrt{A}`.

    Queries and keys are projected, values are the annotations themselves, as of all kinds but
    multi_head.
    """

    def __init__(self, query_size: int, memory_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, size, bias=False)  # W_q
        self.key = nn.Linear(memory_size, size, bias=False)  # W_k

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """W_k h_j, scaled here once rather than in each step."""
        keys = widen(self.key(memory))
        return keys * keys.shape[2] ** -0.5

    def query_weight(self) -> Float[Tensor, "A H"]:
        """W_q."""
        return self.query.weight


class MultiHeadAttention(Attention):
    r"""Several scaled dot products side by side (Vaswani et al. 2017, section 3.2.2).

    .. math::
        \alpha^k_i = softmax\left((W_q^k s_{i-1}) \cdot (W_k^k h) / \sqrt{A / K}\right), \quad
        c_i = W_o [...; \sum_j \alpha^k_{ij} W_v^k h_j; ...]

    The weights are the mean over heads. Not one softmax, so no fast recurrence.
    """

    def __init__(self, query_size: int, memory_size: int, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.size = size
        self.query = nn.Linear(query_size, size, bias=False)
        self.key = nn.Linear(memory_size, size, bias=False)
        self.value = nn.Linear(memory_size, memory_size, bias=False)
        self.joined = nn.Linear(memory_size, memory_size, bias=False)  # W_o

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S AM"]:
        """Keys and values of all heads, side by side."""
        keys = widen(self.key(memory)) * (self.size // self.heads) ** -0.5
        return torch.cat([keys, widen(self.value(memory))], dim=2)

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S AM"],
        encoded: Encoded,
        past: Float[Tensor, "R 0"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding and sum to 1."""
        asked = widen(self.query(query)).unflatten(0, (len(keys), -1))
        split = [
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in (asked, keys[:, :, : self.size], keys[:, :, self.size :])
        ]
        with torch.autocast(query.device.type, enabled=False):
            queries, compared, values = split  # (N, heads, W or S, width of a head)
            scores = queries @ compared.transpose(2, 3)
            hidden = ~encoded.mask[:, None, None]
            weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=3)
            seen = (weights @ values).transpose(1, 2).flatten(2)
        return widen(self.joined(seen.flatten(0, 1))), weights.mean(dim=1).flatten(0, 1)
