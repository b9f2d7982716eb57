"""The kinds of attention; docs/attention.md shows how to add one."""

from importlib import import_module

from torch import nn

from seq2seq.config import AttentionConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.attention.base import Attention


def build_attention(
    config: AttentionConfig, query_size: int, annotation_size: int, word_size: int | None = None
) -> Attention:
    """The kind that ``config`` names, for states and annotations of these widths.

    With ``word_size``, the width of an embedding, the word that a step reads is part of its query
    (for kinds that have one).
    """
    module, name = ATTENTION_KINDS[config.kind].split(".")
    kind = getattr(import_module(f"{__name__}.{module}"), name)
    attention: Attention = kind(query_size, annotation_size, config)
    if word_size is not None and attention.asks:
        attention.word_query = nn.Linear(word_size, query_size, bias=False)
    return attention
