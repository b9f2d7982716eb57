"""Slow versions of both orders of the decoder, one sentence and one number at a time."""

import math

import torch

from helpers.attention_loops import Vector, look, plus, times
from seq2seq.model.decoder import LuongDecoder
from seq2seq.model.translation import TranslationModel


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cell(gates: Vector, before: Vector) -> tuple[Vector, Vector]:
    """An LSTM's hidden state and cell from its gates, ordered i, f, g, o."""
    width = len(before)
    i, f, g, o = (gates[k * width : (k + 1) * width] for k in range(4))
    after = [sigmoid(f[k]) * before[k] + sigmoid(i[k]) * math.tanh(g[k]) for k in range(width)]
    return [sigmoid(o[k]) * math.tanh(after[k]) for k in range(width)], after


class SlowState:
    """State of the decoder in one sentence."""

    def __init__(self, model: TranslationModel, kind: str, source: list[int]) -> None:
        read = model.encode(torch.tensor([source]), torch.tensor([len(source)]))
        self.memory, self.summary = read.annotations[0].tolist(), read.summary[0].tolist()
        self.kind, self.decoder = kind, model.decoder
        width, layers = self.decoder.state_gates.out_features // 4, self.decoder.layers
        start = times(self.decoder.initial.weight, self.summary)
        starts = [math.tanh(x) for x in plus(start, self.decoder.initial.bias.tolist())]
        self.hiddens = [starts[k * width : (k + 1) * width] for k in range(layers)]
        self.cells = [
            starts[(layers + k) * width : (layers + k + 1) * width] for k in range(layers)
        ]
        past = {
            "coverage": [0.0] * len(source),
            "local_m": [0.0],
            "elu": read.keys.flatten().tolist(),
        }
        self.past = past.get(kind, [])

    def attend(self, word: Vector | None = None) -> tuple[Vector, Vector]:
        """Context and weights for the top state and, if given, the word; updates ``past``."""
        query = self.hiddens[-1]
        if word is not None and (layer := self.decoder.attention.word_query) is not None:
            query = plus(query, times(layer.weight, word))
        if self.kind in ("fixed", "init_only", "none"):
            none = [0.0] * len(self.memory)
            return (self.summary if self.kind == "fixed" else [0.0] * len(self.memory[0])), none
        attention = self.decoder.attention
        context, weights = look(self.kind, attention, query, self.memory, self.past)
        if self.kind == "coverage":
            self.past = plus(self.past, weights)
        if self.kind == "local_m":
            self.past = [self.past[0] + 1]
        return context, weights

    def move(self, embedded: Vector, entering: Vector) -> None:
        """A step of every layer; the lowest reads the word, ``entering`` and its own state."""
        gates = plus(
            times(self.decoder.input_gates.weight, embedded),
            self.decoder.input_gates.bias.tolist(),
            times(self.decoder.state_gates.weight, [*entering, *self.hiddens[0]]),
        )
        self.hiddens[0], self.cells[0] = cell(gates, self.cells[0])
        for k, upper in enumerate(self.decoder.upper_gates, start=1):
            read = [*self.hiddens[k - 1], *self.hiddens[k]]
            gates = plus(times(upper.weight, read), upper.bias.tolist())
            self.hiddens[k], self.cells[k] = cell(gates, self.cells[k])

    def readout(self, *parts: Vector) -> Vector:
        """W [parts] + b, tanh of it, or the larger of each pair."""
        layer, kind = self.decoder.readout_layer, self.decoder.readout_kind
        mixed = plus(times(layer.weight, [x for p in parts for x in p]), layer.bias.tolist())
        if kind == "maxout":
            return [max(pair) for pair in zip(mixed[::2], mixed[1::2], strict=True)]
        return [math.tanh(x) for x in mixed] if kind == "tanh" else mixed


def slow_decoder(
    model: TranslationModel, kind: str, source: list[int], target: list[int]
) -> tuple[list[Vector], list[Vector]]:
    """Logits and weights of each step of one sentence.

    Luong et al. 2015, section 3: s_t = LSTM(s_{t-1}, [E y_{t-1}; h~_{t-1}]), c_t = attend(s_t),
    h~_t = tanh(W_c [s_t; c_t]); h~_{t-1} is read only with input feeding, and h~_0 = 0.
    Bahdanau et al. 2014, appendix A.2.2: c_i = attend(s_{i-1}), or attend(s_{i-1} + W_y E y_{i-1}),
    s_i = LSTM(s_{i-1}, [E y_{i-1}; c_i]), t_i = U [s_i; c_i; E y_{i-1}].
    """
    state = SlowState(model, kind, source)
    feed = [0.0] * model.decoder.feed_size
    logits, looked = [], []
    for word in target:
        embedded = (model.target_embedding.weight[word] * model.target_embedding.scale).tolist()
        if isinstance(model.decoder, LuongDecoder):
            state.move(embedded, feed)
            context, weights = state.attend()
            readout = state.readout(state.hiddens[-1], context)
            feed = readout if feed else []
        else:
            stored = model.target_embedding.weight[word].tolist()
            context, weights = state.attend(stored)
            state.move(embedded, context)
            readout = state.readout(state.hiddens[-1], context, stored)
        logits.append(plus(times(model.output.weight, readout), model.output.bias.tolist()))
        looked.append(weights)
    return logits, looked
