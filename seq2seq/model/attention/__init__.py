"""What the decoder sees of the source at each step: the one component under study.

How to add a kind is said step by step in docs/attention.md, "A kind of your own".
"""

from torch import nn

from seq2seq.config import AttentionConfig
from seq2seq.model.attention.additive import (
    AdditiveAttention,
    ConcatAttention,
    CoverageAttention,
)
from seq2seq.model.attention.controls import (
    ConstantContext,
    FixedContext,
    NoContext,
    UniformAttention,
)
from seq2seq.model.attention.interface import Attention, ScoredAttention
from seq2seq.model.attention.positions import (
    LocationAttention,
    MonotonicLocalAttention,
    PredictiveLocalAttention,
)
from seq2seq.model.attention.products import (
    DotAttention,
    GeneralAttention,
    MultiHeadAttention,
    ScaledDotAttention,
)

__all__ = [
    "AdditiveAttention",
    "Attention",
    "ConcatAttention",
    "ConstantContext",
    "CoverageAttention",
    "DotAttention",
    "FixedContext",
    "GeneralAttention",
    "LocationAttention",
    "MonotonicLocalAttention",
    "MultiHeadAttention",
    "NoContext",
    "PredictiveLocalAttention",
    "ScaledDotAttention",
    "ScoredAttention",
    "UniformAttention",
    "build_attention",
]


def build_attention(
    config: AttentionConfig, query_size: int, memory_size: int, word_size: int | None = None
) -> Attention:
    """The kind of attention that ``config`` names, for states and annotations of these widths.

    With ``word_size``, the width of an embedding, the word that a step reads is part of its query.
    """
    attention = _build_kind(config, query_size, memory_size)
    if word_size is not None and not isinstance(attention, ConstantContext):
        attention.word_query = nn.Linear(word_size, query_size, bias=False)
    return attention


def _build_kind(config: AttentionConfig, query_size: int, memory_size: int) -> Attention:
    match config.kind:
        case "additive":
            return AdditiveAttention(query_size, memory_size, config.size)
        case "concat":
            return ConcatAttention(query_size, memory_size, config.size)
        case "coverage":
            return CoverageAttention(query_size, memory_size, config.size)
        case "dot":
            return DotAttention()
        case "general":
            return GeneralAttention(query_size, memory_size)
        case "scaled_dot":
            return ScaledDotAttention(query_size, memory_size, config.size)
        case "multi_head":
            return MultiHeadAttention(query_size, memory_size, config.size, config.heads)
        case "location":
            return LocationAttention(query_size, config.positions)
        case "local_m":
            return MonotonicLocalAttention(query_size, memory_size, config.window)
        case "local_p":
            return PredictiveLocalAttention(query_size, memory_size, config.window)
        case "fixed":
            return FixedContext()
        case "init_only":
            return NoContext()
        case "uniform":
            return UniformAttention()
    raise ValueError(f"attention kind {config.kind!r} has no class")
