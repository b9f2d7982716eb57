"""Base class of the kinds of attention.

A kind stores nothing about a sentence: it reads :class:`Source`, and the decoder carries what it
must remember of earlier steps. ``read`` runs once per sentence, ``forward`` once per target step.
In the equations, :math:`s_{i-1}` stands for the query (see :mod:`seq2seq.model.decoder`).
"""

from collections.abc import Callable
from importlib import import_module

from jaxtyping import Float
from torch import Tensor, nn

from seq2seq.config import AttentionConfig
from seq2seq.config.settings import ATTENTION_KINDS
from seq2seq.errors import UserError
from seq2seq.model.encoder import Attended, Source

Query = Float[Tensor, "N W H"]
Past = Float[Tensor, "N W P"]
"""What a kind must remember of earlier steps; for most kinds, P is 0."""
Scores = Float[Tensor, "N W S"]


class Attention(nn.Module):
    """Computes the context of a step, and the weights that made it.

    A kind defines ``scores`` or, if its weights are not their softmax, ``forward``.
    """

    attends = True
    """Whether the weights show which source words a step attends to."""
    needs_query = True
    """Whether the context depends on the query."""
    reads_summary = False
    """Whether the context is the encoder's summary and so has the summary's width."""
    replaces_summary = False
    """Whether the kind replaces the encoder's summary by a vector as wide as an annotation."""

    def __init__(self, query_size: int, annotation_size: int, config: AttentionConfig) -> None:
        super().__init__()
        # A kind may project the query and the annotations.
        self.query: nn.Module = nn.Identity()
        self.key: nn.Module = nn.Identity()
        # W_y, by which a decoder may add the word to the query.
        self.word_query: nn.Linear | None = None

    def read(self, source: Source) -> Source:
        """Return the source with keys; some kinds also pool its annotations or hide its summary."""
        return source._replace(keys=self.keys(source.annotations))

    def keys(self, annotations: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """Vectors that queries are compared with, in float32."""
        keys: Tensor = self.key(annotations)
        return keys

    def init_state(self, source: Source) -> Float[Tensor, "N P"]:
        """State before the first step; by default empty."""
        return source.annotations.new_empty(len(source.mask), 0)

    def update_state(
        self, state: Float[Tensor, "R P"], weights: Float[Tensor, "R S"]
    ) -> Float[Tensor, "R P"]:
        """State after a step with these ``weights``; by default unchanged."""
        return state

    def scores(self, query: Query, source: Source, state: Past) -> Scores:
        """How well each source position fits the query, :math:`e_{ij}`, in float32."""
        raise NotImplementedError

    def forward(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> Attended:
        r""":math:`\alpha_{ij} = softmax_j(e_{ij}), c_i = \sum_j \alpha_{ij} h_j`, for one step.

        The weights sum to 1; in local_p to at most 1, and in fixed, init_only and none to 0.
        """
        scores = self.scores(source.by_sentence(query), source, source.by_sentence(state))
        return source.weighted_sum(source.softmax(scores))


OWN = dict[str, type[Attention]]()


def attention(name: str) -> Callable[[type[Attention]], type[Attention]]:
    """Register the class below ``@seq2seq.attention(name)``; a changed class needs a new name."""

    def register(kind: type[Attention]) -> type[Attention]:
        if name in ATTENTION_KINDS and name not in OWN:
            raise UserError(f"{name} is a kind of this package; choose another name.")
        ATTENTION_KINDS[name], OWN[name] = f"OWN.{kind.__name__}", kind
        return kind

    return register


def build_attention(config: AttentionConfig, query_size: int, annotation_size: int) -> Attention:
    """Build the kind that ``config.kind`` names."""
    module, name = ATTENTION_KINDS[config.kind].split(".")
    kind = OWN.get(config.kind) or getattr(import_module(f"{__name__}.{module}"), name)
    return kind(query_size, annotation_size, config)
