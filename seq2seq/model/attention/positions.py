"""Attention by position: location, and the two local kinds, all of Luong et al. 2015."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.model.attention.interface import Attention, ScoredAttention, gather, look
from seq2seq.model.encoder import Encoded
from seq2seq.model.precision import widen
from seq2seq.model.score import LocationScore


class LocationAttention(ScoredAttention):
    r"""Luong et al. 2015, "location": :math:`\alpha_i = softmax(W_a s_{i-1})`.

    It looks at positions, whatever stands there. Of a longer sentence than it has positions it sees
    the beginning alone.
    """

    def __init__(self, query_size: int, positions: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_size, positions, bias=False)  # W_a

    def query_weight(self) -> Float[Tensor, "Q H"]:
        """W_a."""
        return self.query.weight

    def scan_score(self, keys: Float[Tensor, "B S 0"]) -> LocationScore:
        """The same score with its gradient, for the fast recurrence."""
        return LocationScore()

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S 0"],
        encoded: Encoded,
        past: Float[Tensor, "R 0"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 at padding and sum to 1."""
        asked = widen(self.query(query))
        positions = encoded.mask.shape[1]
        scores = asked.new_full((len(asked), positions), float("-inf"))
        seen = min(positions, asked.shape[1])
        scores[:, :seen] = asked[:, :seen]
        return look(scores.unflatten(0, (len(keys), -1)), encoded)


class LocalAttention(Attention):
    r"""A window of the source around a position :math:`p_i` (Luong et al. 2015, section 3.2).

    Inside the window, of D positions to either side, the weights are the softmax of the general
    score :math:`s_{i-1}^\top W_a h_j`.
    """

    def __init__(self, query_size: int, memory_size: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.query = nn.Linear(query_size, memory_size, bias=False)  # W_a, transposed

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S M"]:
        """The annotations themselves."""
        return memory

    def inside(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S M"],
        encoded: Encoded,
        distance: Float[Tensor, "N W S"],
    ) -> Float[Tensor, "N W S"]:
        """The softmax of the general score over real positions at most D from the centre."""
        asked = widen(self.query(query)).unflatten(0, (len(keys), -1))
        with torch.autocast(query.device.type, enabled=False):
            scores = asked @ keys.transpose(1, 2)
            outside = ~encoded.mask[:, None] | (distance.abs() > self.window)
            return scores.masked_fill(outside, float("-inf")).softmax(dim=2)

    @staticmethod
    def distance(centre: Float[Tensor, "N W"], encoded: Encoded) -> Float[Tensor, "N W S"]:
        """How far each position is behind the centre."""
        positions = torch.arange(encoded.mask.shape[1], device=centre.device)
        return positions - centre[:, :, None]


class MonotonicLocalAttention(LocalAttention):
    """Luong et al. 2015, "local-m": the window moves on by one position with each step, p_i = i.

    Positions are those of pieces. Past the last, the end of the sentence, it stays there.
    """

    def begin(self, encoded: Encoded) -> Float[Tensor, "B 1"]:
        """The position of the first step."""
        return torch.zeros_like(encoded.memory[:, :1, 0])

    def remember(
        self, past: Float[Tensor, "R 1"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R 1"]:
        """The position of the next step."""
        return past + 1

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S M"],
        encoded: Encoded,
        past: Float[Tensor, "R 1"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 outside the window, sum to 1."""
        last = encoded.mask.sum(dim=1)[:, None] - 1
        centre = torch.minimum(past.view(len(keys), -1), last)
        weights = self.inside(query, keys, encoded, self.distance(centre, encoded))
        return gather(weights, encoded)


class PredictiveLocalAttention(LocalAttention):
    r"""Luong et al. 2015, "local-p": the model says where to look, and looks there most.

    .. math::
        p_i = S \cdot \sigma(v_p^\top \tanh(W_p s_{i-1})), \quad
        \alpha_{ij} = softmax_j(e_{ij}) \exp\left(-\frac{(j - p_i)^2}{2 (D/2)^2}\right)

    Positions j count from 0 and S is the last of them, the end of the sentence; the paper counts
    from 1 to its S, the length. As in the paper, the weights do not sum to 1 in the end.
    """

    def __init__(self, query_size: int, memory_size: int, window: int) -> None:
        super().__init__(query_size, memory_size, window)
        self.inner = nn.Linear(query_size, query_size, bias=False)  # W_p
        self.position = nn.Linear(query_size, 1, bias=False)  # v_p

    def forward(
        self,
        query: Float[Tensor, "R H"],
        keys: Float[Tensor, "N S M"],
        encoded: Encoded,
        past: Float[Tensor, "R 0"],
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """Context and weights for one target step; weights are 0 outside the window."""
        share = widen(self.position(torch.tanh(self.inner(query)))).sigmoid()
        # The last position, so that a window is never wholly behind the sentence.
        last = encoded.mask.sum(dim=1)[:, None] - 1
        distance = self.distance(share.view(len(keys), -1) * last, encoded)
        gaussian = torch.exp(-distance.square() / (2 * (self.window / 2) ** 2))
        return gather(self.inside(query, keys, encoded, distance) * gaussian, encoded)
