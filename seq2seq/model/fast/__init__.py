"""Faster equivalents of the model's operations. The reference definition is in seq2seq/model.

:class:`seq2seq.model.translation.TranslationModel` tries :func:`decode` before
:meth:`Decoder.forward`, and :func:`step` before :meth:`Decoder.step`. Both functions return None if
they do not support the case. The softmax layer is in ``loss`` for training, and in :func:`logits`
for search. ``scan`` is the recurrence as one operation. ``operations`` has the parts of the
recurrence, of the loss and of search in plain PyTorch; ``cpp`` and ``gpu`` have compiled versions.
"""

from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from seq2seq.model.attention import Attention
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.controls import ConstantContext
from seq2seq.model.attention.dot_product import DotAttention
from seq2seq.model.decoder import Attend, BahdanauDecoder, Decoder, DecoderState
from seq2seq.model.encoder import Source
from seq2seq.model.fast.choose import choose_operations
from seq2seq.model.fast.operations import Operations, row_stride
from seq2seq.model.fast.scan import Score, attention_scan, lstm_scan
from seq2seq.model.layers import lstm_cell, matmul_dtype, to_float32

Decoded = tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]
"""Readouts and attention weights of a whole target."""

FEW = {torch.float32: 16, torch.bfloat16: 8}
"""Largest number of rows for which our own matrix products are faster than a library's, by the
type of the weights."""


def decode(decoder: Decoder, embedded: Float[Tensor, "B T E"], source: Source) -> Decoded | None:
    """Compute :meth:`Decoder.forward` with fast operations.

    None if ``decoder.fast`` is off, or if gradients are on and the fast operations do not support
    the model. The returned weights do not always carry a gradient.
    """
    if not decoder.fast:
        return None
    run = _attend_first if isinstance(decoder, BahdanauDecoder) else _attend_after
    if result := run(decoder, embedded, source):
        return result
    if torch.is_grad_enabled():
        return None
    readouts, weights = decoder(embedded, source, _attend(decoder.attention, source), _cell)
    return readouts, weights


def step(
    decoder: Decoder, embedded: Float[Tensor, "R E"], state: DecoderState, source: Source
) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]] | None:
    """Compute :meth:`Decoder.step` faster; None if gradients are on or ``decoder.fast`` is off."""
    if not decoder.fast or torch.is_grad_enabled():
        return None
    if result := _step_of_few(decoder, embedded, state, source):
        return result
    return decoder.step(embedded, state, source, _attend(decoder.attention, source), _cell)


def logits(
    readouts: Float[Tensor, "R E"], weight: Float[Tensor, "V E"], bias: Float[Tensor, "V"]
) -> Float[Tensor, "R V"]:
    """Logits of the softmax layer in search; their rows may have gaps between them in memory."""
    operations = choose_operations(readouts.device, readouts.dtype, weight.dtype)
    usable = _usable(operations, weight, readouts, bias)
    if usable and len(readouts) <= FEW[weight.dtype]:
        return operations.product(readouts, weight, bias)
    if not usable or weight.dtype != torch.float32:
        return functional.linear(readouts, weight, bias)
    # MKL is up to 1.5 times as fast where rows begin at multiples of 64 bytes.
    wide = readouts.new_empty(len(readouts), -(-len(bias) // 16) * 16)
    return torch.addmm(bias, readouts, weight.t(), out=wide[:, : len(bias)])


# -- a whole target -------------------------------------------------------------------------------


def _attend_first(
    decoder: Decoder, embedded: Float[Tensor, "B T E"], source: Source
) -> Decoded | None:
    """Decode in Bahdanau's order: each step attends first, then its LSTM changes state.

    None if no fast operations exist for this kind of attention or number of layers.
    """
    attention, state = decoder.attention, decoder.init_state(source)
    time_first = embedded.transpose(0, 1)
    if isinstance(attention, ConstantContext):
        context, weights = attention.constant(source)
        # The context's term in the gates is the same at every step.
        term = functional.linear(context, decoder.state_gates.weight[:, : context.shape[1]])
        hidden = _known_states(decoder, decoder.input_gates(time_first) + term, state)
        steps = len(time_first)
        contexts, weights = (x[:, None].expand(-1, steps, -1) for x in (context, weights))
    elif decoder.layers == 1 and (score := _score(attention, source)):
        query = None
        if attention.word_query is not None:
            weight = attention.word_query.weight * decoder.word_scale
            if score.query_weight is not None:  # W_a W_y: one product for all words, not two
                weight = score.query_weight @ weight
            query = functional.linear(time_first, weight)
        gates, weight = decoder.input_gates(time_first), decoder.state_gates.weight
        start = state.hidden[0], state.cell[0]
        scan = attention_scan(gates, *start, weight, source, score, query)
        hidden, contexts, weights = (x.transpose(0, 1) for x in scan)
    else:
        return None
    return decoder.readout(hidden, contexts, embedded), weights


def _attend_after(
    decoder: Decoder, embedded: Float[Tensor, "B T E"], source: Source
) -> Decoded | None:
    """Decode in Luong's order: first all states, then all attention; None with input feeding."""
    if decoder.feed_size:
        return None
    gates = decoder.input_gates(embedded.transpose(0, 1))
    hidden = _known_states(decoder, gates, decoder.init_state(source))
    contexts, weights = _all_steps(decoder.attention, hidden, source)
    return decoder.readout(hidden, contexts, embedded), weights


def _known_states(
    decoder: Decoder, gates: Float[Tensor, "T B G"], state: DecoderState
) -> Float[Tensor, "B T H"]:
    """States of the top layer at all steps, if all inputs of the lowest layer are known.

    ``gates`` holds what these inputs add to that layer's gates; only the state's term is missing.
    """
    recurrent = decoder.state_gates.weight[:, -state.hidden.shape[2] :]
    hidden = lstm_scan(gates, state.hidden[0], state.cell[0], recurrent)
    for layer, upper in enumerate(decoder.upper_gates, start=1):
        below, recurrent = upper.get_parameter("weight").chunk(2, dim=1)
        gates = functional.linear(decoder.dropout(hidden), below, upper.get_parameter("bias"))
        hidden = lstm_scan(gates, state.hidden[layer], state.cell[layer], recurrent)
    return hidden.transpose(0, 1)


def _all_steps(
    attention: Attention, queries: Float[Tensor, "B T H"], source: Source
) -> tuple[Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
    """Context and weights of all steps of a target whose queries are known."""
    if type(attention).forward is DotAttention.forward:
        # In one call: each step is like a hypothesis of its sentence.
        rows = queries.flatten(0, 1)
        made = attention(rows, source, rows[:, :0])
        contexts, weights = (part.unflatten(0, queries.shape[:2]) for part in made)
        return contexts, weights
    state = attention.init_state(source)
    attend, steps = attention if torch.is_grad_enabled() else _attend(attention, source), []
    for query in queries.unbind(dim=1):
        context, weights = attend(query, source, state)
        state = attention.update_state(state, weights)
        steps.append((context, weights))
    contexts, weights = (torch.stack(part, dim=1) for part in zip(*steps, strict=True))
    return contexts, weights


def _score(attention: Attention, source: Source) -> Score | None:
    """Return the arrays of the attention's score; None if its kind has no fast score.

    A kind has one if it takes over the method ``forward`` of a class that has one.
    """
    forward = type(attention).forward
    if isinstance(attention, DotAttention) and forward is DotAttention.forward:
        weight = None if attention.query is None else attention.query.weight
        return Score(weight, source.keys, None)
    if isinstance(attention, AdditiveAttention) and forward is AdditiveAttention.forward:
        return Score(attention.query.weight, source.keys, attention.vector)
    return None


# -- one step without a gradient ------------------------------------------------------------------


def _usable(operations: Operations, weight: Tensor, *wide: Tensor) -> bool:
    """Whether the C++ operations of few rows can use these arrays, without a gradient.

    ``weight`` must have the type of matrix products: float32, or bfloat16 under autocast
    (:meth:`TranslationModel.round_weights`). The others must be float32.
    """
    exact = weight.dtype == matmul_dtype(weight.device, torch.float32)
    kept = operations.name == "native" and not torch.is_grad_enabled()
    return kept and exact and {x.dtype for x in wide} == {torch.float32}


def _step_of_few(
    decoder: Decoder, embedded: Float[Tensor, "R E"], state: DecoderState, source: Source
) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]] | None:
    """Compute a step of few rows in one C++ call; None if the call does not support the case.

    With few rows, calling the operations one by one takes longer than computing them.
    """
    weight, attention, (rows, width) = decoder.state_gates.weight, decoder.attention, embedded.shape
    operations: Any = choose_operations(embedded.device, embedded.dtype, weight.dtype)
    plain = decoder.readout_kind == "linear" and not (decoder.feed_size or decoder.training)
    usable = _usable(operations, weight, embedded, state.cell)
    if decoder.layers > 1 or not plain or not usable or rows > FEW[weight.dtype]:
        return None
    hidden, cell = to_float32(state.hidden[0]).contiguous(), state.cell[0].contiguous()
    query: tuple[Tensor | int | None, ...] = (None, 0, None, None)
    size = 0
    if isinstance(attention, ConstantContext):
        context, weights = (x.contiguous() for x in attention(embedded, source, state.attention))
    else:
        score = _score(attention, source)
        if score is None or score.vector is None or score.query_weight is None:
            return None
        keys, size = score.keys.contiguous(), len(score.vector)
        query = (score.query_weight, row_stride(score.query_weight), score.vector, keys)
        context = embedded.new_empty(rows, source.annotations.shape[2])
        weights = embedded.new_empty(rows, source.annotations.shape[1])
    by_word = attention.word_query.weight if attention.word_query is not None else None
    moved, after, mixed = (torch.empty_like(x) for x in (hidden, cell, embedded))
    operations.step(
        weight.dtype == torch.bfloat16,
        decoder.attends_first,
        rows // len(source.mask),
        (weights.shape[1], width, hidden.shape[1], context.shape[1], size),
        *(embedded.contiguous(), float(decoder.word_scale), hidden, cell),
        *(decoder.input_gates.weight, decoder.input_gates.bias, weight),
        *(by_word, *query, source.mask.contiguous(), source.annotations.contiguous()),
        *(decoder.readout_layer.weight, decoder.readout_layer.bias),
        *(context, weights, moved, after, mixed),
    )
    stepped = DecoderState(moved[None], after[None], state.attention, state.input_feed)
    return mixed, stepped, weights


def _attend(attention: Attention, source: Source) -> Attend:
    """Return ``attention`` or, if its scores are additive, a faster equivalent."""
    score = _score(attention, source)
    return attention if score is None or score.vector is None else partial(_attend_additive, score)


def _attend_additive(
    score: Score, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
) -> tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]:
    """Context and weights; the context has the projected query's type (autocast's if it is on)."""
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


def _cell(
    before: Float[Tensor, "R H"], product: Float[Tensor, "R G"], word: Float[Tensor, "R G"] | None
) -> tuple[Float[Tensor, "R H"], Float[Tensor, "R H"]]:
    """Compute :func:`lstm_cell`; with ``word``, by one operation, and h has ``product``'s type."""
    if word is None:
        return lstm_cell(before, product, word)
    gates = torch.empty_like(product, dtype=before.dtype)
    hidden, after = before.new_empty(before.shape), before.new_empty(before.shape)
    narrow = product.new_empty(before.shape)
    operations = choose_operations(before.device, before.dtype, product.dtype)
    operations.cell(word.contiguous(), product, before.contiguous(), gates, after, hidden, narrow)
    return narrow, after
