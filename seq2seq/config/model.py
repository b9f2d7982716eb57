"""The shape of the translation model."""

from dataclasses import dataclass, field

from seq2seq.config.checks import require_choice, require_range
from seq2seq.errors import UserError

LARGEST_SIZE = 1_000_000  # beyond any use: what a checkpoint asks for is built, then checked

DIRECTIONS = ("both", "forward", "backward")
ATTENTION_KINDS = {
    "additive": "additive.AdditiveAttention",
    "concat": "additive.ConcatAttention",
    "coverage": "additive.CoverageAttention",
    "dot": "dot_product.DotAttention",
    "general": "dot_product.GeneralAttention",
    "scaled_dot": "dot_product.ScaledDotAttention",
    "multi_head": "dot_product.MultiHeadAttention",
    "location": "local.LocationAttention",
    "local_m": "local.MonotonicLocalAttention",
    "local_p": "local.PredictiveLocalAttention",
    "fixed": "controls.FixedContext",
    "init_only": "controls.NoContext",
    "uniform": "controls.UniformAttention",
}
"""Kind -> its class in ``seq2seq/model/attention/``."""


@dataclass(kw_only=True)
class EncoderConfig:
    """The LSTM that reads the source, in both directions by default."""

    hidden_size: int = 256
    """Units per direction."""
    layers: int = 1
    """Stacked layers."""
    directions: str = "both"
    """both | forward (the paper's own baseline) | backward (from the last word to the first, as
    Sutskever et al. 2014 feed a sentence)."""
    summary: str = "top"
    """top | all: the final states that make the first state of the decoder, and the fixed vector of
    attention.kind=fixed; those of the top layer, or of all layers (Sutskever et al. 2014)."""

    def __post_init__(self) -> None:
        require_choice("model.encoder.directions", self.directions, DIRECTIONS)
        require_choice("model.encoder.summary", self.summary, ("top", "all"))
        require_range("model.encoder.hidden_size", self.hidden_size, 1, LARGEST_SIZE)
        require_range("model.encoder.layers", self.layers, 1, 100)


@dataclass(kw_only=True)
class AttentionConfig:
    """What the decoder sees of the source at each step: the one component under study."""

    kind: str = "additive"
    """additive (Bahdanau et al. 2014) | dot, general, concat, location, local_m, local_p (Luong et
    al. 2015) | scaled_dot, multi_head (Vaswani et al. 2017) | coverage (additive; Tu et al. 2016);
    and without: fixed (the encoder's summary at every step) | init_only (nothing: the summary only
    makes the first state) | uniform (the mean of all annotations)."""
    size: int = 512
    """Width of the alignment model's hidden layer (n' in the paper), or of queries and keys; for
    additive, concat, coverage, scaled_dot and multi_head."""
    heads: int = 8
    """Parts that multi_head cuts queries, keys and annotations into."""
    window: int = 10
    """Positions to either side that local_m and local_p see (D in Luong et al. 2015)."""
    positions: int = 100
    """Positions that location knows; of a longer source it sees the beginning alone."""

    def __post_init__(self) -> None:
        require_choice("model.attention.kind", self.kind, tuple(ATTENTION_KINDS))
        for key in ("size", "heads", "window", "positions"):
            require_range(f"model.attention.{key}", getattr(self, key), 1, LARGEST_SIZE)
        if self.kind == "multi_head" and self.size % self.heads:
            raise UserError(
                f"model.attention.size={self.size} cannot be cut into model.attention.heads="
                f"{self.heads} equal parts; choose a multiple."
            )


@dataclass(kw_only=True)
class DecoderConfig:
    """The LSTM that writes the target."""

    hidden_size: int = 512
    """Units per layer."""
    layers: int = 1
    """Stacked layers; the query comes from the top one, word and context enter the first."""
    order: str = "bahdanau"
    """bahdanau (attend before each step: the query is the state of the step before, and the context
    enters the recurrence) | luong (attend after it: the query is the step's own state, and the
    context enters the readout alone; Luong et al. 2015)."""
    input_feeding: bool = False
    """Show each step the readout of the one before (Luong et al. 2015); in the order luong alone.
    """
    query: str = "state_and_word"
    """What looks at the source in the order bahdanau: state_and_word (the state before the step,
    and the word that the step reads) | state (the paper's: that state alone)."""
    readout: str = "linear"
    """linear | tanh | maxout (the paper's, pairs of units; in the order bahdanau alone): the layer
    between state and softmax."""
    recurrence: str = "fast"
    """fast (one operation with its own gradient) | reference (the same numbers by a plain loop that
    autograd tapes). With input feeding there is the plain loop alone; so there is in the order
    bahdanau for coverage, multi_head, location, local_m and local_p, and with several layers for
    all kinds but fixed, init_only and uniform."""
    tie_embedding: bool = True
    """Share the target embedding with the softmax (Press & Wolf 2017)."""

    def __post_init__(self) -> None:
        require_range("model.decoder.hidden_size", self.hidden_size, 1, LARGEST_SIZE)
        require_range("model.decoder.layers", self.layers, 1, 100)
        require_choice("model.decoder.recurrence", self.recurrence, ("fast", "reference"))
        require_choice("model.decoder.order", self.order, ("bahdanau", "luong"))
        require_choice("model.decoder.readout", self.readout, ("linear", "tanh", "maxout"))
        require_choice("model.decoder.query", self.query, ("state_and_word", "state"))
        if self.input_feeding and self.order != "luong":
            raise UserError(
                "model.decoder.input_feeding=true does nothing in the order bahdanau; set "
                "model.decoder.order=luong."
            )
        if self.readout == "maxout" and self.order == "luong":
            raise UserError("model.decoder.readout=maxout needs model.decoder.order=bahdanau.")


@dataclass(kw_only=True)
class ModelConfig:
    """The translation model; attention and baseline differ in ``attention`` alone."""

    embedding_dim: int = 256
    """Width of source and target embeddings, and of the readout."""
    scale_embedding: bool = True
    """Multiply embeddings by sqrt(embedding_dim) as they are read (Vaswani et al. 2017, 3.4)."""
    dropout: float = 0.2
    """Dropped share of the readout, and of states between layers."""
    embedding_dropout: float = 0.0
    """Dropped share of source and target embeddings."""
    initialization: str = "uniform"
    """uniform (seq2seq/model/initialization.py) | paper (appendix B.1 of the paper)."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)

    def __post_init__(self) -> None:
        require_range("model.embedding_dim", self.embedding_dim, 1, LARGEST_SIZE)
        require_range("model.dropout", self.dropout, 0, 0.95)
        require_range("model.embedding_dropout", self.embedding_dropout, 0, 0.95)
        require_choice("model.initialization", self.initialization, ("uniform", "paper"))
        memory = self.encoder.hidden_size * (2 if self.encoder.directions == "both" else 1)
        if self.attention.kind == "dot" and self.decoder.hidden_size != memory:
            raise UserError(
                f"model.attention.kind=dot needs model.decoder.hidden_size="
                f"{self.decoder.hidden_size} to be the annotations' {memory}; make them equal, or "
                "take general."
            )
        if self.attention.kind == "multi_head" and memory % self.attention.heads:
            raise UserError(
                f"Annotations of {memory} (model.encoder.hidden_size in each direction) cannot be "
                f"cut into model.attention.heads={self.attention.heads} equal parts."
            )
