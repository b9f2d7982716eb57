"""The LSTM that writes the target sentence, in the order of Bahdanau or of Luong.

:meth:`Decoder.step` reads one word and gives the readout for the next. :meth:`Decoder.forward`
gives the same numbers for a whole known target: by the plain loop over the steps, or by one
operation with its own gradient (:mod:`seq2seq.model.fast.scan`), where
:meth:`Decoder.fast_forward` has one.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import DecoderConfig
from seq2seq.model.attention import Attention
from seq2seq.model.encoder import Source
from seq2seq.model.fast.scan import attention_scan, lstm_cell, lstm_scan
from seq2seq.model.layers import Dropout, matmul_dtype, to_float32


class DecoderState(NamedTuple):
    """What one step hands to the next."""

    hidden: Float[Tensor, "L R H"]
    """In search with one layer it has the type of the matrix products, the only ones to read it."""
    cell: Float[Tensor, "L R H"]
    attention: Float[Tensor, "R P"]
    """The attention's own state; empty for most kinds."""
    input_feed: Float[Tensor, "R F"]
    """The readout that the next step reads; empty without input feeding."""

    def select(self, rows: Int[Tensor, "K"]) -> "DecoderState":
        """The hypotheses at ``rows``, in that order; a row may be named more than once."""
        return DecoderState(
            self.hidden.index_select(1, rows),
            self.cell.index_select(1, rows),
            self.attention.index_select(0, rows),
            self.input_feed.index_select(0, rows),
        )


class Words(NamedTuple):
    """Target words, and what they add to a step: all that does not depend on the state."""

    embedded: Float[Tensor, "*N E"]
    gates: Float[Tensor, "*N G"]
    """The word's share of the lowest layer's gates."""
    query: Float[Tensor, "*N H"] | None
    """The word's share of the query; None where it has none."""

    def steps(self) -> "list[Words]":
        """Each step of a batch of targets (B T ...)."""
        query = self.query
        return [
            Words(self.embedded[:, t], self.gates[:, t], None if query is None else query[:, t])
            for t in range(self.gates.shape[1])
        ]


class Decoder(nn.Module, ABC):
    """A language model of the target that consults the source for each word."""

    attends_first: bool
    """Whether a step attends before its LSTM moves; the context then enters the LSTM, and the word
    enters the readout."""

    def __init__(
        self,
        embedding_size: int,
        summary_size: int,
        context_size: int,
        attention: Attention,
        config: DecoderConfig,
        dropout: float,
    ) -> None:
        super().__init__()
        hidden = config.hidden_size
        self.layers = config.layers
        self.fast = config.recurrence == "fast"
        self.feed_size = embedding_size if config.input_feeding else 0
        self.attention = attention
        self.initial = nn.Linear(summary_size, 2 * config.layers * hidden)
        self.input_gates = nn.Linear(embedding_size, 4 * hidden)
        lstm_input = context_size if self.attends_first else self.feed_size
        self.state_gates = nn.Linear(lstm_input + hidden, 4 * hidden, bias=False)
        self.upper_gates = nn.ModuleList(
            nn.Linear(2 * hidden, 4 * hidden) for _ in range(config.layers - 1)
        )
        self.state_and_context_size = hidden + context_size
        self.readout_kind = config.readout
        pairs = 2 if config.readout == "maxout" else 1
        width = self.state_and_context_size + (embedding_size if self.attends_first else 0)
        self.readout_layer = nn.Linear(width, embedding_size * pairs)
        self.dropout = Dropout(dropout)

    @abstractmethod
    def advance(
        self, word: Words, state: DecoderState, source: Source
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """One step of the recurrence after ``word``: new state, context, attention weights."""

    @abstractmethod
    def fast_forward(
        self, embedded: Float[Tensor, "B T E"], state: DecoderState, source: Source
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]] | None:
        """The numbers of the plain loop, faster; the weights may come without a gradient.

        None where no faster way is known.
        """

    def step(
        self, word: Words, state: DecoderState, source: Source
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """One step after ``word``: readout for the next word, new state, attention weights.

        Rows are hypotheses, R = N x W, W of each of the N sentences; training has W = 1.
        """
        state, context, weights = self.advance(word, state, source)
        if self.feed_size:
            return state.input_feed, state, weights
        return self.readout(state.hidden[-1], context, word.embedded), state, weights

    def forward(
        self, embedded: Float[Tensor, "B T E"], source: Source
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """Readouts and attention weights of all steps of a known target (teacher forcing)."""
        state = self.init_state(source)
        if self.fast and (result := self.fast_forward(embedded, state, source)):
            return result
        steps = []
        for word in self.read(embedded).steps():
            state, context, weights = self.advance(word, state, source)
            steps.append((state.hidden[-1], context, state.input_feed, weights))
        hidden, contexts, fed, all_weights = (torch.stack(x, 1) for x in zip(*steps, strict=True))
        readouts = fed if self.feed_size else self.readout(hidden, contexts, embedded)
        return readouts, all_weights

    def read(self, embedded: Float[Tensor, "*N E"]) -> Words:
        """The words and their shares of gates and query."""
        to_query = self.attention.word_query
        query = None if to_query is None else to_query(embedded)
        return Words(embedded, self.input_gates(embedded), query)

    def init_state(self, source: Source) -> DecoderState:
        """s_0 = tanh(W_s summary), hidden and cell of every layer.

        The paper (appendix A.2.2) starts from the backward reader's last state alone. Here both
        directions enter, with and without attention: the baseline has nothing else.
        """
        start = torch.tanh(to_float32(self.initial(source.summary)))
        hidden, cell = start.view(len(start), 2, self.layers, -1).permute(1, 2, 0, 3)
        feed = start.new_zeros(len(start), self.feed_size)
        return DecoderState(hidden, cell, self.attention.init_state(source), feed)

    def lstm(
        self, word: Words, lstm_input: Float[Tensor, "R X"], state: DecoderState
    ) -> tuple[Float[Tensor, "L R H"], Float[Tensor, "L R H"]]:
        """One step of the LSTM: hidden and cell of every layer."""
        product = self.state_gates(torch.cat([lstm_input, state.hidden[0]], dim=1))
        hidden, cell = lstm_cell(word.gates, product, state.cell[0])
        hiddens, cells = [hidden], [cell]
        for layer, upper in enumerate(self.upper_gates, start=1):
            gates = upper(torch.cat([self.dropout(hidden), state.hidden[layer]], dim=1))
            hidden, cell = lstm_cell(None, gates, state.cell[layer])
            hiddens.append(hidden)
            cells.append(cell)
        return torch.stack(hiddens), torch.stack(cells)

    def known_states(
        self, gates: Float[Tensor, "T B G"], state: DecoderState
    ) -> Float[Tensor, "B T H"]:
        """The top layer's states of all steps, layer by layer; possible where no step waits for a
        context. ``gates`` is what enters the lowest layer's gates besides its own state.
        """
        recurrent = self.state_gates.weight[:, -state.hidden.shape[2] :]
        hidden = lstm_scan(gates, state.hidden[0], state.cell[0], recurrent)
        for layer, upper in enumerate(self.upper_gates, start=1):
            below, recurrent = upper.get_parameter("weight").chunk(2, dim=1)
            gates = functional.linear(self.dropout(hidden), below, upper.get_parameter("bias"))
            hidden = lstm_scan(gates, state.hidden[layer], state.cell[layer], recurrent)
        return hidden.transpose(0, 1)

    def readout(
        self,
        hidden: Float[Tensor, "*N H"],
        context: Float[Tensor, "*N M"],
        embedded: Float[Tensor, "*N E"],
    ) -> Float[Tensor, "*N E"]:
        """What the softmax layer reads of a step."""
        parts = [hidden, context, embedded] if self.attends_first else [hidden, context]
        # Cast before they are joined: half the bytes to write, and to keep for the backward pass.
        dtype = matmul_dtype(hidden.device, hidden.dtype)
        mixed = self.readout_layer(torch.cat([part.to(dtype) for part in parts], dim=-1))
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

    The query is the state before the step, and the word that the step reads, which that state does
    not know yet (``model.decoder.query=state``: the state alone, as in the paper). The context
    enters both the recurrence and the readout. With several layers the context enters the first and
    the query comes from the top.
    """

    attends_first = True

    def advance(
        self, word: Words, state: DecoderState, source: Source
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        query = state.hidden[-1] if word.query is None else state.hidden[-1] + word.query
        context, weights = self.attention(query, source, state.attention)
        attention = self.attention.update_state(state.attention, weights)
        hidden, cell = self.lstm(word, context, state)
        return DecoderState(hidden, cell, attention, state.input_feed), context, weights

    def fast_forward(
        self, embedded: Float[Tensor, "B T E"], state: DecoderState, source: Source
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]] | None:
        """See :class:`Decoder`; for kinds with a score (one layer), and for constant contexts."""
        time_first = embedded.transpose(0, 1)
        if (constant := self.attention.constant(source)) is not None:
            context, weights = constant
            # The context's share of the gates is the same at every step.
            share = functional.linear(context, self.state_gates.weight[:, : context.shape[1]])
            hidden = self.known_states(self.input_gates(time_first) + share, state)
            steps = len(time_first)
            contexts, weights = (x[:, None].expand(-1, steps, -1) for x in (context, weights))
        elif self.layers == 1 and (score := self.attention.score(source)):
            query = None
            if self.attention.word_query is not None:
                weight = self.attention.word_query.weight
                if score.query_weight is not None:  # W_a W_y: one product for all words, not two
                    weight = score.query_weight @ weight
                query = functional.linear(time_first, weight)
            scan = attention_scan(
                self.input_gates(time_first),
                state.hidden[0],
                state.cell[0],
                self.state_gates.weight,
                source,
                score,
                query,
            )
            hidden, contexts, weights = (x.transpose(0, 1) for x in scan)
        else:
            return None
        return self.readout(hidden, contexts, embedded), weights


class LuongDecoder(Decoder):
    r"""Attends after each step (Luong et al. 2015, section 3 and equation 5).

    .. math::
        s_t = LSTM(s_{t-1}, [E y_{t-1}; \tilde h_{t-1}]), \quad
        c_t = attend(s_t), \quad
        \tilde h_t = readout(s_t, c_t)

    The attentional state :math:`\tilde h_t` has an embedding's width, so that the softmax layer is
    that of the other order and may share the target embedding. Input feeding (section 3.3) shows it
    to the next step, dropout included; the first step gets zeros. Without it the states are those
    of a plain language model: they are all known before the first attention. With several layers
    :math:`\tilde h_{t-1}` enters the first and the query comes from the top.
    """

    attends_first = False

    def advance(
        self, word: Words, state: DecoderState, source: Source
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        hidden, cell = self.lstm(word, state.input_feed, state)
        context, weights = self.attention(hidden[-1], source, state.attention)
        attention = self.attention.update_state(state.attention, weights)
        feed = state.input_feed
        if self.feed_size:
            feed = self.readout(hidden[-1], context, word.embedded)
        return DecoderState(hidden, cell, attention, feed), context, weights

    def fast_forward(
        self, embedded: Float[Tensor, "B T E"], state: DecoderState, source: Source
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]] | None:
        """See :class:`Decoder`; for all kinds, without input feeding."""
        if self.feed_size:
            return None
        hidden = self.known_states(self.input_gates(embedded.transpose(0, 1)), state)
        contexts, weights = self.attention.all_steps(hidden, source)
        return self.readout(hidden, contexts, embedded), weights
