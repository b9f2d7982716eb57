"""Settings of the translation model."""

from dataclasses import field
from typing import Annotated

from seq2seq.config.checks import between, one_of, settings
from seq2seq.errors import UserError

# The limits exceed any useful size. They are there because a checkpoint's model is built before
# its tensors are checked.
Size = Annotated[int, between(1, 1_000_000)]
Layers = Annotated[int, between(1, 100)]
Dropout = Annotated[float, between(0, 0.95)]

ATTENTION_KINDS = {
    "additive": "additive.AdditiveAttention",
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
    "none": "controls.NoSource",
    "uniform": "controls.UniformAttention",
    "slots": "pooled.SlotAttention",
    "linear": "pooled.LinearAttention",
    "elu": "pooled.EluAttention",
    "delta": "pooled.DeltaAttention",
}
"""Attention kind -> class in ``seq2seq/model/attention/``."""


@settings
class EncoderConfig:
    """Settings of the LSTM that reads the source, in both directions by default."""

    hidden_size: Size = 256
    """Number of units per direction."""
    layers: Layers = 1
    """Number of stacked layers."""
    directions: Annotated[str, one_of("both", "forward", "backward")] = "both"
    """both | forward (the paper's own baseline) | backward (Sutskever et al. 2014)."""
    summary: Annotated[str, one_of("top", "all")] = "top"
    """Final states that start the decoder: top (those of the top layer) | all (those of all layers;
    Sutskever et al. 2014). attention.kind=fixed reads them at every step."""


@settings
class AttentionConfig:
    """Settings of attention, the one component under study: how the decoder sees the source."""

    kind: Annotated[str, one_of(*ATTENTION_KINDS)] = "additive"
    """additive (Bahdanau et al. 2014) | dot, general, location, local_m, local_p (Luong et al.
    2015) | scaled_dot, multi_head (Vaswani et al. 2017) | coverage (additive; Tu et al. 2016);
    with a memory of fixed size: slots (additive attention to a few vectors, which learned queries
    pool) | linear (Shen et al. 2021) | elu (Katharopoulos et al. 2020) | delta (Schlag et al.
    2021); without attention: fixed (the encoder's summary at every step) | init_only (the summary
    only in the first state) | none (no source at all) | uniform (the mean of all annotations)."""
    size: Size = 512
    """Width of the hidden layer of additive kinds (n' in the paper), or of queries and keys of
    scaled_dot and multi_head (all heads together)."""
    heads: Size = 8
    """Number of heads of multi_head."""
    window: Size = 10
    """Number of positions that local_m and local_p see on each side of the window's centre (D in
    Luong et al. 2015)."""
    slots: Size = 8
    """Number of vectors into which the kinds slots, linear, elu and delta write the source."""


@settings
class DecoderConfig:
    """Settings of the LSTM that writes the target."""

    hidden_size: Size = 512
    """Number of units per layer."""
    layers: Layers = 1
    """Number of stacked layers. The lowest layer reads the input word, and with order=bahdanau also
    the context. The state of the top layer is the query or a part of it."""
    order: Annotated[str, one_of("bahdanau", "luong")] = "bahdanau"
    """bahdanau (attend before each step: the context enters the recurrence) | luong (attend after
    each step: the context enters only the readout; Luong et al. 2015)."""
    input_feeding: bool = False
    """Whether each step also reads the readout of the step before (Luong et al. 2015); needs
    order=luong."""
    query: Annotated[str, one_of("state_and_word", "state")] = "state_and_word"
    """Query with order=bahdanau: state_and_word (the state before the step plus the input word) |
    state (the state alone, as in the paper)."""
    readout: Annotated[str, one_of("linear", "tanh", "maxout")] = "linear"
    """Layer before the softmax: linear | tanh | maxout (the paper's; needs order=bahdanau)."""
    recurrence: Annotated[str, one_of("fast", "reference")] = "fast"
    """fast (one operation with its own gradient for all steps, if the model allows it) | reference
    (a plain loop with autograd). Both compute the same numbers."""
    tie_embedding: bool = True
    """Whether softmax layer and target embedding share their weights (Press & Wolf 2017)."""

    def __post_init__(self) -> None:
        if self.input_feeding and self.order != "luong":
            raise UserError("model.decoder.input_feeding=true needs model.decoder.order=luong.")
        if self.readout == "maxout" and self.order == "luong":
            raise UserError("model.decoder.readout=maxout needs model.decoder.order=bahdanau.")


@settings
class ModelConfig:
    """Settings of the translation model; ``attention`` alone decides whether it is a baseline."""

    embedding_dim: Size = 256
    """Width of source and target embeddings, and of the readout."""
    scale_embedding: bool = True
    """Whether embeddings are multiplied by sqrt(embedding_dim) (Vaswani et al. 2017, 3.4)."""
    dropout: Dropout = 0.2
    """Dropout rate in the readout and between stacked layers."""
    embedding_dropout: Dropout = 0.0
    """Dropout rate in source and target embeddings."""
    initialization: Annotated[str, one_of("uniform", "paper")] = "uniform"
    """uniform (seq2seq/model/initialization.py) | paper (appendix B.1 of the paper)."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)

    @property
    def embedding_scale(self) -> float:
        """Factor of embeddings as they are read."""
        return self.embedding_dim**0.5 if self.scale_embedding else 1.0

    def __post_init__(self) -> None:
        memory = self.encoder.hidden_size * (2 if self.encoder.directions == "both" else 1)
        if self.attention.kind == "dot" and self.decoder.hidden_size != memory:
            raise UserError(f"model.attention.kind=dot needs model.decoder.hidden_size={memory}.")
        size, heads = self.attention.size, self.attention.heads
        if self.attention.kind == "multi_head" and (size % heads or memory % heads):
            raise UserError(
                f"model.attention.heads={heads} must divide model.attention.size={size}, and the "
                f"width of the annotations, {memory}."
            )
