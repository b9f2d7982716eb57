"""Luong et al. 2015, section 3, one sentence and one number at a time: slow, and independent."""

import math

import torch
from attention_loops import LOOPS, Vector, times

from seq2seq.model.translation import TranslationModel


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cell(gates: Vector, before: Vector) -> tuple[Vector, Vector]:
    """An LSTM's hidden state and cell from its gates, ordered i, f, g, o."""
    width = len(before)
    i, f, g, o = (gates[k * width : (k + 1) * width] for k in range(4))
    after = [sigmoid(f[k]) * before[k] + sigmoid(i[k]) * math.tanh(g[k]) for k in range(width)]
    return [sigmoid(o[k]) * math.tanh(after[k]) for k in range(width)], after


def plus(*vectors: Vector) -> Vector:
    return [sum(numbers) for numbers in zip(*vectors, strict=True)]


def look(
    kind: str, attention, state: Vector, memory: list[Vector], summary: Vector, past: Vector
) -> tuple[Vector, Vector, Vector]:
    """Context, weights, and what the kind remembers then."""
    if kind == "fixed":
        return summary, [0.0] * len(memory), past
    if kind == "init_only":
        return [0.0] * len(summary), [0.0] * len(memory), past
    context, weights = LOOPS[kind](attention, state, memory, past)
    if kind == "coverage":
        past = plus(past, weights)
    if kind == "local_m":
        past = [past[0] + 1]
    return context, weights, past


def slow_luong(
    model: TranslationModel, kind: str, source: list[int], target: list[int], feeding: bool
) -> tuple[list[Vector], list[Vector]]:
    """Logits and weights of each step of one sentence.

    s_t = LSTM(s_{t-1}, [E y_{t-1}; h~_{t-1}]), c_t = attend(s_t), h~_t = tanh(W_c [s_t; c_t]),
    logits = W_s h~_t + b; h~_{t-1} is there with input feeding alone, and h~_0 = 0.
    """
    decoder = model.decoder
    encoded = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
    memory, summary = encoded.memory[0].tolist(), encoded.summary[0].tolist()
    width, layers = decoder.state_gates.out_features // 4, decoder.layers
    start = plus(times(decoder.initial.weight, summary), decoder.initial.bias.tolist())
    starts = [math.tanh(x) for x in start]
    hiddens = [starts[k * width : (k + 1) * width] for k in range(layers)]
    cells = [starts[(layers + k) * width : (layers + k + 1) * width] for k in range(layers)]
    attentional = [0.0] * model.output.in_features
    past = {"coverage": [0.0] * len(source), "local_m": [0.0]}.get(kind, [])
    logits, looked = [], []
    for word in target:
        read = [*(attentional if feeding else []), *hiddens[0]]
        gates = plus(
            times(decoder.input_gates.weight, model.target_embedding.weight[word].tolist()),
            decoder.input_gates.bias.tolist(),
            times(decoder.state_gates.weight, read),
        )
        hiddens[0], cells[0] = cell(gates, cells[0])
        for k, upper in enumerate(decoder.upper_gates, start=1):
            gates = plus(times(upper.weight, [*hiddens[k - 1], *hiddens[k]]), upper.bias.tolist())
            hiddens[k], cells[k] = cell(gates, cells[k])
        state = hiddens[-1]
        context, weights, past = look(kind, decoder.attention, state, memory, summary, past)
        mixed = times(decoder.readout_layer.weight, [*state, *context])
        attentional = [math.tanh(x) for x in plus(mixed, decoder.readout_layer.bias.tolist())]
        logits.append(plus(times(model.output.weight, attentional), model.output.bias.tolist()))
        looked.append(weights)
    return logits, looked
