"""Faster equivalents of the decoders of seq2seq/model/decoder.py, which defines them.

``scan`` is the recurrence as one operation, ``loss`` the softmax layer with its loss.
``operations`` has the parts of both in plain PyTorch; ``cpp`` and ``gpu`` have compiled versions.
"""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from seq2seq.model.attention import Attention
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.controls import ConstantContext
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.decoder import BahdanauDecoder, Decoder, DecoderState, LuongDecoder
from seq2seq.model.encoder import Source
from seq2seq.model.fast.compiled import choose_operations
from seq2seq.model.fast.scan import attention_scan, lstm_scan
from seq2seq.model.layers import lstm_cell, to_float32

Steps = tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]
"""States, contexts and attention weights of a whole target."""


def fast_cell(
    before: Float[Tensor, "R H"], product: Float[Tensor, "R G"], word: Float[Tensor, "R G"] | None
) -> tuple[Float[Tensor, "R H"], Float[Tensor, "R H"]]:
    """Compute :func:`lstm_cell`; in search with ``word``, h then has ``product``'s type."""
    if torch.is_grad_enabled() or word is None:
        return lstm_cell(before, product, word)
    gates = torch.empty_like(product, dtype=before.dtype)
    hidden, after = before.new_empty(before.shape), before.new_empty(before.shape)
    narrow = product.new_empty(before.shape)
    operations = choose_operations(before.device, product.dtype, before.dtype)
    operations.cell(word.contiguous(), product, before.contiguous(), gates, after, hidden, narrow)
    return narrow, after


def has_score_of(attention: Attention, *kinds: type[Attention]) -> bool:
    """Whether the attention computes scores and context as one of ``kinds`` does."""
    own = type(attention)
    return (own.scores, own.forward) in [(kind.scores, kind.forward) for kind in kinds]


class FastDecoder(Decoder):
    """Decodes a whole target by one operation, if it can; else by steps, faster in search."""

    fast = True
    cell = staticmethod(fast_cell)

    @property
    def scan(self) -> Callable[[Float[Tensor, "T B E"], Source], Steps] | None:
        """What computes all steps of a target by one operation; None if only the plain loop can."""
        if not self.attends_first:  # with input feeding, the states depend on the attention
            return None if self.feed_size else self.states_before_attention
        if isinstance(self.attention, ConstantContext):
            return self.constant_context
        known = has_score_of(self.attention, AdditiveAttention, DotAttention)
        return self.attention_before_states if known and self.layers == 1 else None

    def forward(
        self, embedded: Float[Tensor, "B T E"], source: Source
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        if self.scan is None:
            return super().forward(embedded, source)
        hidden, contexts, weights = self.scan(embedded.transpose(0, 1), source)
        return self.readout(hidden, contexts, embedded), weights

    def attention_before_states(self, words: Float[Tensor, "T B E"], source: Source) -> Steps:
        """Bahdanau's order, with an additive or dot score."""
        attention: Any = self.attention
        state = self.init_state(source)
        to_query = getattr(attention.query, "weight", None)
        query = words.new_zeros(()).expand(*words.shape[:2], source.keys.shape[2])
        if attention.word_query is not None:
            weight = attention.word_query.weight * self.word_scale
            if to_query is not None:  # W_a W_y: one product for all words, not two
                weight = to_query @ weight
            query = functional.linear(words, weight)
        inputs = self.input_gates(words), state.hidden[0], state.cell[0], self.state_gates.weight
        score = to_query, getattr(attention, "vector", None), query
        hidden, contexts, weights = attention_scan(*inputs, source, *score)
        return hidden.transpose(0, 1), contexts.transpose(0, 1), weights.transpose(0, 1)

    def constant_context(self, words: Float[Tensor, "T B E"], source: Source) -> Steps:
        """Bahdanau's order, with a context that is the same at every step."""
        assert isinstance(self.attention, ConstantContext)
        state, (context, weights) = self.init_state(source), self.attention.constant(source)
        term = functional.linear(context, self.state_gates.weight[:, : context.shape[1]])
        hidden = self.states(self.input_gates(words) + term, state)
        contexts, weights = (x[:, None].expand(-1, len(words), -1) for x in (context, weights))
        return hidden, contexts, weights

    def states_before_attention(self, words: Float[Tensor, "T B E"], source: Source) -> Steps:
        """Luong's order: first all states, then all attention."""
        hidden = self.states(self.input_gates(words), self.init_state(source))
        if has_score_of(self.attention, DotAttention):
            # All steps in one call: each is like a hypothesis of its sentence.
            rows = hidden.flatten(0, 1)
            made = self.attention(rows, source, rows[:, :0])
            contexts, weights = (part.unflatten(0, hidden.shape[:2]) for part in made)
        else:
            state, steps = self.attention.init_state(source), []
            for query in hidden.unbind(dim=1):
                steps.append(self.attend(query, source, state))
                state = self.attention.update_state(state, steps[-1][1])
            contexts, weights = (torch.stack(part, dim=1) for part in zip(*steps, strict=True))
        return hidden, contexts, weights

    def states(self, gates: Float[Tensor, "T B G"], state: DecoderState) -> Float[Tensor, "B T H"]:
        """States of the top layer; ``gates`` holds the lowest layer's without the state's term."""
        recurrent = self.state_gates.weight[:, -state.hidden.shape[2] :]
        hidden = lstm_scan(gates, state.hidden[0], state.cell[0], recurrent)
        for layer, upper in enumerate(self.upper_gates, start=1):
            below, recurrent = upper.get_parameter("weight").chunk(2, dim=1)
            gates = functional.linear(self.dropout(hidden), below, upper.get_parameter("bias"))
            hidden = lstm_scan(gates, state.hidden[layer], state.cell[layer], recurrent)
        return hidden.transpose(0, 1)

    def attend(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """In search, additive attention is two operations, and the context has autocast's type."""
        attention: Any = self.attention
        if torch.is_grad_enabled() or not has_score_of(attention, AdditiveAttention):
            return super().attend(query, source, state)
        projected = functional.linear(query, attention.query.weight)
        wide = to_float32(projected)
        weights = wide.new_empty(len(wide), source.mask.shape[1])
        context = wide.new_empty(len(wide), source.annotations.shape[2])
        operations = choose_operations(wide.device, wide.dtype, wide.dtype)
        with torch.autocast(wide.device.type, enabled=False):
            operations.scores(source.keys, wide, attention.vector, source.mask, weights)
            operations.attend(weights, source.annotations, context, context)
        return context.to(projected.dtype), weights


class FastBahdanauDecoder(FastDecoder, BahdanauDecoder):
    """Equivalent of BahdanauDecoder."""


class FastLuongDecoder(FastDecoder, LuongDecoder):
    """Equivalent of LuongDecoder."""


EQUIVALENTS: dict[type[Decoder], type[FastDecoder]] = {
    BahdanauDecoder: FastBahdanauDecoder,
    LuongDecoder: FastLuongDecoder,
}


def describe(decoder: Decoder, device: torch.device, precision: torch.dtype) -> str:
    """How a training computes the recurrence, for its log: fast (one operation) or by steps."""
    path = "fast" if isinstance(decoder, FastDecoder) and decoder.scan else "reference"
    return f"recurrence: {path}, kernels: {choose_operations(device, precision).name}"
