"""Faster equivalents of the decoders of seq2seq/model/decoder.py, which defines them.

``scan`` is the recurrence as one operation, ``loss`` the softmax layer with its loss.
``operations`` has the parts of both in plain PyTorch; ``cpp`` and ``gpu`` have compiled versions.
"""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from seq2seq.config import ATTENTION_KINDS
from seq2seq.model.attention import Attention
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.controls import ConstantContext
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.decoder import BahdanauDecoder, Decoder, DecoderState, LuongDecoder
from seq2seq.model.encoder import Source
from seq2seq.model.fast.choose import choose_operations, kernels
from seq2seq.model.fast.scan import Score, attention_scan, lstm_scan
from seq2seq.model.layers import lstm_cell, to_float32

Decoded = tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]
"""Readouts and attention weights of a whole target."""


class FastDecoder(Decoder):
    """Decodes a whole target by one operation, if it can; else by steps, faster in search."""

    fast = True

    @property
    @abstractmethod
    def scans(self) -> bool:
        """Whether one operation can compute all steps of a target."""

    @abstractmethod
    def scan(self, embedded: Float[Tensor, "B T E"], source: Source) -> Decoded:
        """Compute :meth:`forward` by one operation; the weights may carry no gradient."""

    def forward(self, embedded: Float[Tensor, "B T E"], source: Source) -> Decoded:
        return self.scan(embedded, source) if self.scans else super().forward(embedded, source)

    def attend(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """In search, additive scores and their sum are one operation each.

        The context then has the projected query's type (autocast's if it is on).
        """
        score = score_of(self.attention)
        if torch.is_grad_enabled() or not score or score.vector is None:
            return super().attend(query, source, state)
        assert score.query_weight is not None
        projected = functional.linear(query, score.query_weight)
        wide, (_, positions, width) = to_float32(projected), source.annotations.shape
        weights = wide.new_empty(len(wide), positions)
        context = wide.new_empty(len(wide), width)
        narrow = wide.new_empty(len(wide), width, dtype=projected.dtype)
        operations = choose_operations(wide.device, wide.dtype, projected.dtype)
        with torch.autocast(wide.device.type, enabled=False):
            keys, mask = source.keys.contiguous(), source.mask.contiguous()
            operations.scores(keys, wide.contiguous(), score.vector, mask, weights)
            operations.attend(weights, source.annotations.contiguous(), context, narrow)
        return narrow, weights

    def cell(
        self,
        before: Float[Tensor, "R H"],
        product: Float[Tensor, "R G"],
        word: Float[Tensor, "R G"] | None,
    ) -> tuple[Float[Tensor, "R H"], Float[Tensor, "R H"]]:
        """In search with ``word``, this is one operation, and h has ``product``'s type."""
        if torch.is_grad_enabled() or word is None:
            return lstm_cell(before, product, word)
        gates = torch.empty_like(product, dtype=before.dtype)
        hidden, after = before.new_empty(before.shape), before.new_empty(before.shape)
        narrow = product.new_empty(before.shape)
        operations = choose_operations(before.device, before.dtype, product.dtype)
        operations.cell(
            word.contiguous(), product, before.contiguous(), gates, after, hidden, narrow
        )
        return narrow, after

    def known_states(
        self, gates: Float[Tensor, "T B G"], state: DecoderState
    ) -> Float[Tensor, "B T H"]:
        """States of the top layer at all steps, if all inputs of the lowest layer are known.

        ``gates`` holds what these inputs add to that layer's gates; only the state's term is
        missing.
        """
        recurrent = self.state_gates.weight[:, -state.hidden.shape[2] :]
        hidden = lstm_scan(gates, state.hidden[0], state.cell[0], recurrent)
        for layer, upper in enumerate(self.upper_gates, start=1):
            below, recurrent = upper.get_parameter("weight").chunk(2, dim=1)
            gates = functional.linear(self.dropout(hidden), below, upper.get_parameter("bias"))
            hidden = lstm_scan(gates, state.hidden[layer], state.cell[layer], recurrent)
        return hidden.transpose(0, 1)


class FastBahdanauDecoder(FastDecoder, BahdanauDecoder):
    """Equivalent of BahdanauDecoder."""

    @property
    def scans(self) -> bool:
        """True with a constant context, and with a score that the scan knows and one layer."""
        constant = isinstance(self.attention, ConstantContext)
        return constant or (self.layers == 1 and score_of(self.attention) is not None)

    def scan(self, embedded: Float[Tensor, "B T E"], source: Source) -> Decoded:
        attention, state = self.attention, self.init_state(source)
        time_first = embedded.transpose(0, 1)
        if isinstance(attention, ConstantContext):
            context, weights = attention.constant(source)
            # The context's term in the gates is the same at every step.
            term = functional.linear(context, self.state_gates.weight[:, : context.shape[1]])
            hidden = self.known_states(self.input_gates(time_first) + term, state)
            steps = len(time_first)
            contexts, weights = (x[:, None].expand(-1, steps, -1) for x in (context, weights))
        else:
            score, query = score_of(attention), None
            assert score is not None
            if attention.word_query is not None:
                weight = attention.word_query.weight * self.word_scale
                if score.query_weight is not None:  # W_a W_y: one product for all words, not two
                    weight = score.query_weight @ weight
                query = functional.linear(time_first, weight)
            gates, weight = self.input_gates(time_first), self.state_gates.weight
            start = state.hidden[0], state.cell[0]
            scan = attention_scan(gates, *start, weight, source, score, query)
            hidden, contexts, weights = (x.transpose(0, 1) for x in scan)
        return self.readout(hidden, contexts, embedded), weights


class FastLuongDecoder(FastDecoder, LuongDecoder):
    """Equivalent of LuongDecoder: first all states, then all attention."""

    @property
    def scans(self) -> bool:
        """False with input feeding: then the states depend on the attention."""
        return not self.feed_size

    def scan(self, embedded: Float[Tensor, "B T E"], source: Source) -> Decoded:
        gates = self.input_gates(embedded.transpose(0, 1))
        hidden = self.known_states(gates, self.init_state(source))
        if same_score(self.attention, DotAttention):
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
        return self.readout(hidden, contexts, embedded), weights


EQUIVALENTS: dict[type[Decoder], type[FastDecoder]] = {
    BahdanauDecoder: FastBahdanauDecoder,
    LuongDecoder: FastLuongDecoder,
}


def score_of(attention: Attention) -> Score | None:
    """Return the weights of the score; None if the kind's score is not additive or dot."""
    weight = getattr(attention.query, "weight", None)
    if same_score(attention, DotAttention):
        return Score(weight, None)
    if isinstance(attention, AdditiveAttention) and same_score(attention, AdditiveAttention):
        return Score(weight, attention.vector)
    return None


def same_score(attention: Attention, kind: type[Attention]) -> bool:
    """Whether the attention computes scores and context as ``kind`` does."""
    own = type(attention)
    return own.scores is kind.scores and own.forward is kind.forward


def describe(decoder: Decoder, device: torch.device, precision: torch.dtype) -> str:
    """How a training computes the recurrence, for its log: ``recurrence: fast (additive, C++)``."""
    name = type(decoder.attention).__name__
    kind = next(kind for kind, path in ATTENTION_KINDS.items() if path.endswith(f".{name}"))
    if not (isinstance(decoder, FastDecoder) and decoder.scans):
        return f"recurrence: reference ({kind})"
    language = {"native": "C++", "triton": "Triton", "torch": "PyTorch"}[kernels(device, precision)]
    return f"recurrence: fast ({kind}, {language})"
