"""Slow versions of both orders of the decoder, one sentence and one step at a time."""

import math

import numpy as np
import torch

from helpers.attention_loops import POOLED, WITHOUT, Vector, look, pooled, sigmoid, times


def affine(layer: torch.nn.Linear, *parts: Vector) -> Vector:
    """W [parts] + b."""
    bias = 0 if layer.bias is None else layer.bias.detach().numpy()
    return times(layer.weight, np.concatenate(parts)) + bias


def cell(gates: Vector, before: Vector) -> tuple[Vector, Vector]:
    """An LSTM's hidden state and cell from its gates."""
    i, f, g, o = np.split(gates, 4)
    after = sigmoid(f) * before + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(after), after


def move(decoder, hiddens: Vector, cells: Vector, word: Vector, entering: Vector) -> None:
    """A step of every layer, in place; the lowest reads the word and ``entering``."""
    gates = affine(decoder.input_gates, word) + affine(decoder.state_gates, entering, hiddens[0])
    hiddens[0], cells[0] = cell(gates, cells[0])
    for k, upper in enumerate(decoder.upper_gates, start=1):
        hiddens[k], cells[k] = cell(affine(upper, hiddens[k - 1], hiddens[k]), cells[k])


def readout(decoder, kind: str, *parts: Vector) -> Vector:
    """W [parts] + b, tanh of it, or the larger of each pair."""
    mixed = affine(decoder.readout_layer, *parts)
    if kind == "maxout":
        return mixed.reshape(-1, 2).max(axis=1)
    return np.tanh(mixed) if kind == "tanh" else mixed


def slow_decoder(model, kind: str, choices: dict, source: list[int], target: list[int]):
    """Logits and weights of each step of one sentence.

    Luong et al. 2015, section 3: s_t = LSTM(s_{t-1}, [E y_{t-1}; h~_{t-1}]), c_t = attend(s_t),
    h~_t = tanh(W_c [s_t; c_t]); h~_{t-1} is read only with input feeding, and h~_0 = 0.
    Bahdanau et al. 2014, appendix A.2.2: c_i = attend(s_{i-1}), or attend(s_{i-1} + W_y E y_{i-1}),
    s_i = LSTM(s_{i-1}, [E y_{i-1}; c_i]), t_i = U [s_i; c_i; E y_{i-1}].
    """
    decoder, attention = model.decoder, model.decoder.attention
    luong, reads = choices.get("order") == "luong", choices.get("readout", "linear")
    queried = choices.get("query") != "state" and kind not in (*WITHOUT, "uniform")
    read = model.encoder(
        model.source_embedding(torch.tensor([source])), torch.tensor([len(source)])
    )
    words, summary = (part[0].detach().numpy() for part in (read.annotations, read.summary))
    if kind in POOLED:
        summary = pooled(kind, attention, words).mean(axis=0)
    start = np.tanh(affine(decoder.initial, 0 * summary if kind == "none" else summary))
    hiddens, cells = start.reshape(2, choices.get("layers", 1), -1)
    embeddings = model.target_embedding.weight.detach().numpy()
    feed = np.zeros(embeddings.shape[1] if choices.get("input_feeding") else 0)
    logits, looked = [], []
    for word in target:
        stored = embeddings[word]
        embedded = stored * math.sqrt(len(stored))
        if luong:
            move(decoder, hiddens, cells, embedded, feed)
        query = hiddens[-1]
        if queried and not luong:
            query = query + affine(attention.word_query, stored)
        if kind in WITHOUT:
            context = summary if kind == "fixed" else np.zeros(words.shape[1])
            weights = np.zeros(len(words))
        else:
            context, weights = look(kind, attention, query, words, looked)
        if luong:
            mixed = readout(decoder, reads, hiddens[-1], context)
            feed = mixed if choices.get("input_feeding") else feed
        else:
            move(decoder, hiddens, cells, embedded, context)
            mixed = readout(decoder, reads, hiddens[-1], context, stored)
        logits.append(affine(model.output, mixed))
        looked.append(weights)
    return torch.tensor(np.array(logits)), torch.tensor(np.array(looked))
