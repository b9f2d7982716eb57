"""The LSTM that writes the target; it attends before each step (Bahdanau) or after it (Luong).

:mod:`seq2seq.model.fast` computes the same numbers faster, by default.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seq2seq.config import ModelConfig
from seq2seq.model.attention import build_attention
from seq2seq.model.encoder import Attended, Source
from seq2seq.model.layers import Dropout, Projection, lstm_cell, matmul_dtype


class DecoderState(NamedTuple):
    """The decoder's memory between two steps."""

    hidden: Float[Tensor, "L R H"]
    """Hidden states; in search with one layer, they may have the autocast type."""
    cell: Float[Tensor, "L R H"]
    attention: Float[Tensor, "R P"]
    """The attention's own state; empty for most kinds."""
    input_feed: Float[Tensor, "R E"]
    """The last readout, which the next step reads; empty without input feeding."""

    def select(self, rows: Int[Tensor, "K"]) -> "DecoderState":
        """Return the states of ``rows``, in that order; a row may appear more than once."""
        return DecoderState(*(part.index_select(-2, rows) for part in self))


class TargetInputs(NamedTuple):
    """Target words, and what the decoder computes from them alone, for one step or many."""

    embedded: Float[Tensor, "*N E"]
    gates: Float[Tensor, "*N G"]
    """W_x E y + b, the word's term in the lowest layer's gates."""
    query: Float[Tensor, "*N H"] | None
    """W_y E y, the word's term in the query; None if the query is the state alone."""

    def steps(self) -> "list[TargetInputs]":
        """Split the inputs of a batch of targets (B T ...) into steps."""
        words, gates = self.embedded.unbind(dim=1), self.gates.unbind(dim=1)
        queries = [None] * len(words) if self.query is None else self.query.unbind(dim=1)
        return [TargetInputs(*step) for step in zip(words, gates, queries, strict=True)]


Advanced = tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]
"""State after a step, and the step's context and weights."""


class Decoder(nn.Module, ABC):
    """A language model of the target that consults the source for each word."""

    attends_first: bool
    """Whether the LSTM of a step reads its context; then the readout also reads the word."""
    fast = False
    """Whether this is the equivalent in :mod:`seq2seq.model.fast`."""

    def __init__(self, model: ModelConfig, annotation_size: int, summary_size: int) -> None:
        super().__init__()
        config, word_size = model.decoder, model.embedding_dim
        hidden, gates = config.hidden_size, 4 * config.hidden_size
        self.layers, self.readout_kind = config.layers, config.readout
        self.feed_size = word_size if config.input_feeding else 0
        self.word_scale = 1 / model.embedding_scale  # undoes the scale, in query and readout
        self.attention = build_attention(model.attention, hidden, annotation_size)
        if self.attends_first and self.attention.needs_query and config.query == "state_and_word":
            self.attention.word_query = nn.Linear(word_size, hidden, bias=False)
        if self.attention.replaces_summary:
            summary_size = annotation_size
        context_size = summary_size if self.attention.reads_summary else annotation_size
        self.initial = Projection(summary_size, 2 * self.layers * hidden)
        self.input_gates = nn.Linear(word_size, gates)
        entering = context_size if self.attends_first else self.feed_size
        self.state_gates = nn.Linear(entering + hidden, gates, bias=False)
        self.upper_gates = nn.ModuleList(
            nn.Linear(2 * hidden, gates) for _ in range(1, self.layers)
        )
        width = hidden + context_size + (word_size if self.attends_first else 0)
        self.readout_layer = nn.Linear(width, word_size * (2 if config.readout == "maxout" else 1))
        self.dropout = Dropout(model.dropout)

    @abstractmethod
    def advance(self, word: TargetInputs, state: DecoderState, source: Source) -> Advanced:
        """Take one step with ``word``."""

    def forward(
        self, embedded: Float[Tensor, "B T E"], source: Source
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """Readouts and attention weights of all steps of a known target (teacher forcing)."""
        state, steps = self.init_state(source), []
        for word in self.prepare(embedded).steps():
            state, context, weights = self.advance(word, state, source)
            steps.append((state.hidden[-1], context, state.input_feed, weights))
        hidden, contexts, fed, all_weights = (torch.stack(x, 1) for x in zip(*steps, strict=True))
        readouts = fed if self.feed_size else self.readout(hidden, contexts, embedded)
        return readouts, all_weights

    def step(
        self, embedded: Float[Tensor, "R E"], state: DecoderState, source: Source
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """Read one word; return the readout for the next word, the new state and the weights."""
        state, context, weights = self.advance(self.prepare(embedded), state, source)
        if self.feed_size:  # then advance has computed the readout
            return state.input_feed, state, weights
        return self.readout(state.hidden[-1], context, embedded), state, weights

    def prepare(self, embedded: Float[Tensor, "*N E"]) -> TargetInputs:
        """Compute what the target words add to the gates and to the query."""
        to_query = self.attention.word_query
        query = None if to_query is None else to_query(embedded * self.word_scale)
        return TargetInputs(embedded, self.input_gates(embedded), query)

    def init_state(self, source: Source) -> DecoderState:
        """Return s_0 = tanh(W_s summary): hidden and cell state of every layer.

        The paper (A.2.2) starts from the backward reader's last state alone. Here the whole summary
        enters, because the baseline without attention sees nothing else.
        """
        start = torch.tanh(self.initial(source.summary))
        hidden, cell = start.view(len(start), 2, self.layers, -1).permute(1, 2, 0, 3)
        feed = start.new_zeros(len(start), self.feed_size)
        return DecoderState(hidden, cell, self.attention.init_state(source), feed)

    def attend(
        self, query: Float[Tensor, "R H"], source: Source, state: Float[Tensor, "R P"]
    ) -> Attended:
        """Context and weights of one step."""
        context, weights = self.attention(query, source, state)
        return context, weights

    cell = staticmethod(lstm_cell)
    """Hidden state and cell state of one layer after one step."""

    def lstm(
        self, word: TargetInputs, entering: Float[Tensor, "R X"], state: DecoderState
    ) -> tuple[Float[Tensor, "L R H"], Float[Tensor, "L R H"]]:
        """Hidden and cell state of every layer; the lowest reads the word and ``entering``."""
        product = self.state_gates(torch.cat([entering, state.hidden[0]], dim=1))
        layers = [self.cell(state.cell[0], product, word.gates)]
        for layer, gates in enumerate(self.upper_gates, start=1):
            below = self.dropout(layers[-1][0])
            product = gates(torch.cat([below, state.hidden[layer]], dim=1))
            layers.append(self.cell(state.cell[layer], product, None))
        hidden, cells = (torch.stack(part) for part in zip(*layers, strict=True))
        return hidden, cells

    def readout(
        self,
        hidden: Float[Tensor, "*N H"],
        context: Float[Tensor, "*N M"],
        embedded: Float[Tensor, "*N E"],
    ) -> Float[Tensor, "*N E"]:
        """Input of the softmax layer; in Luong's order without the word."""
        word = [embedded * self.word_scale] if self.attends_first else []
        # Cast before joining: this halves the bytes to write and to keep for the backward pass.
        dtype = matmul_dtype(hidden.device, hidden.dtype)
        parts = [part.to(dtype) for part in (hidden, context, *word)]
        mixed = self.readout_layer(torch.cat(parts, dim=-1))
        if self.readout_kind == "maxout":
            mixed = mixed.unflatten(-1, (-1, 2)).amax(dim=-1)
        elif self.readout_kind == "tanh":
            mixed = torch.tanh(mixed)
        return self.dropout(mixed)


class BahdanauDecoder(Decoder):
    r"""Attends before each step (Bahdanau et al. 2014, section 3.1).

    .. math::
        c_i = attend(s_{i-1} + W_y E y_{i-1}), \quad
        s_i = LSTM(s_{i-1}, [E y_{i-1}; c_i]), \quad
        t_i = readout(s_i, c_i, E y_{i-1})

    The state before the step does not contain the word that the step reads, so the query adds it
    (with ``model.decoder.query=state``, it is the state alone, as in the paper). With several
    layers, the context enters the lowest one, and the query comes from the top one.
    """

    attends_first = True

    def advance(self, word: TargetInputs, state: DecoderState, source: Source) -> Advanced:
        query = state.hidden[-1] if word.query is None else state.hidden[-1] + word.query
        context, weights = self.attend(query, source, state.attention)
        attention = self.attention.update_state(state.attention, weights)
        hidden, cells = self.lstm(word, context, state)
        return DecoderState(hidden, cells, attention, state.input_feed), context, weights


class LuongDecoder(Decoder):
    r"""Attends after each step (Luong et al. 2015, section 3 and equation 5).

    .. math::
        s_t = LSTM(s_{t-1}, [E y_{t-1}; \tilde h_{t-1}]), \quad
        c_t = attend(s_t), \quad
        \tilde h_t = readout(s_t, c_t)

    The attentional state :math:`\tilde h_t` has the width of an embedding, as in Bahdanau's order.
    Only with input feeding (section 3.3), the LSTM reads :math:`\tilde h_{t-1}`, after dropout; the
    first step reads zeros. With several layers, :math:`\tilde h_{t-1}` enters the lowest one, and
    the query comes from the top one.
    """

    attends_first = False

    def advance(self, word: TargetInputs, state: DecoderState, source: Source) -> Advanced:
        hidden, cells = self.lstm(word, state.input_feed, state)
        context, weights = self.attend(hidden[-1], source, state.attention)
        attention = self.attention.update_state(state.attention, weights)
        feed = state.input_feed
        if self.feed_size:
            feed = self.readout(hidden[-1], context, word.embedded)
        return DecoderState(hidden, cells, attention, feed), context, weights
