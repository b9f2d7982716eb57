"""The LSTM that writes the target sentence: one step, and the unroll over a whole target."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import DecoderConfig
from seq2seq.model.attention import Attention, ConstantContext, ScoredAttention
from seq2seq.model.dropout import Dropout
from seq2seq.model.encoder import Encoded
from seq2seq.model.kernels import choose_kernels
from seq2seq.model.precision import product_type, widen
from seq2seq.model.recurrence import AlignmentInput, attention_scan, plain_scan


class DecoderState(NamedTuple):
    """What one step hands to the next."""

    hidden: Float[Tensor, "L R H"]
    """In search that of a single layer is, from the first step on, in the type of the products."""
    cell: Float[Tensor, "L R H"]
    past: Float[Tensor, "R P"]
    """What the attention remembers of earlier steps; nothing for most kinds."""

    def select(self, rows: Int[Tensor, "Q"]) -> "DecoderState":
        """The hypotheses at ``rows``, in that order; a row may be named more than once."""
        return DecoderState(
            self.hidden.index_select(1, rows),
            self.cell.index_select(1, rows),
            self.past.index_select(0, rows),
        )


def lstm_cell(
    gates: Float[Tensor, "B G"], cell: Float[Tensor, "B H"]
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
    """The LSTM's state update (Hochreiter & Schmidhuber 1997; gates ordered i, f, g, o).

    c' = sigmoid(f) * c + sigmoid(i) * tanh(g);  h' = sigmoid(o) * tanh(c').  Returns (h', c').
    """
    i, f, g, o = gates.chunk(4, dim=1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _advance_cell(
    inputs: Float[Tensor, "R G"], product: Float[Tensor, "R G"], cell: Float[Tensor, "R H"]
) -> tuple[Float[Tensor, "R H"], Float[Tensor, "R H"]]:
    """:func:`lstm_cell` of the two parts' sum; by a kernel where no gradient is wanted.

    There the hidden state has the type of the products, which are what reads it.
    """
    if torch.is_grad_enabled():
        return lstm_cell(widen(inputs + product), cell)
    gates = torch.empty_like(product, dtype=cell.dtype)
    hidden, after = cell.new_empty(cell.shape), cell.new_empty(cell.shape)
    narrow = product.new_empty(cell.shape)
    kernels = choose_kernels(cell.device, cell.dtype, product.dtype)
    kernels.cell(inputs.contiguous(), product, cell.contiguous(), gates, after, hidden, narrow)
    return narrow, after


class Decoder(nn.Module):
    r"""An LSTM language model of the target that consults the source before each word.

    .. math::
        c_i = attend(s_{i-1}), \quad
        s_i = LSTM(s_{i-1}, [E y_{i-1}; c_i]), \quad
        t_i = readout(s_i, E y_{i-1}, c_i)

    This is the order of Bahdanau et al. 2014: the query is the state *before* the step, and the
    context enters both the recurrence and the readout. (Luong et al. 2015 attend after the step.)
    With several layers the context enters the first and the query comes from the top.

    :meth:`step` writes one word; :meth:`unroll` gives the same numbers for a whole known target,
    with all that does not depend on the state computed for every step at once.
    """

    def __init__(
        self,
        embedding_size: int,
        memory_size: int,
        attention: Attention,
        config: DecoderConfig,
        dropout: float,
    ) -> None:
        super().__init__()
        hidden = config.hidden
        self.layers = config.layers
        self.fast = config.recurrence == "fast"
        self.attention = attention
        self.initial = nn.Linear(memory_size, 2 * config.layers * hidden)
        self.input_gates = nn.Linear(embedding_size, 4 * hidden)
        self.state_gates = nn.Linear(memory_size + hidden, 4 * hidden, bias=False)
        self.upper_gates = nn.ModuleList(
            nn.Linear(2 * hidden, 4 * hidden) for _ in range(config.layers - 1)
        )
        self.maxout = config.readout == "maxout"
        self.readout_layer = nn.Linear(
            hidden + embedding_size + memory_size, embedding_size * (2 if self.maxout else 1)
        )
        self.dropout = Dropout(dropout)

    def initial_state(self, encoded: Encoded) -> DecoderState:
        """s_0 = tanh(W_s summary), hidden and cell of every layer.

        The paper (appendix A.2.2) starts from the backward reader's last state alone; here both
        directions enter, in both arms, as the baseline has nothing else to know the sentence by.
        """
        start = torch.tanh(widen(self.initial(encoded.summary)))
        hidden, cell = start.view(len(start), 2, self.layers, -1).permute(1, 2, 0, 3)
        return DecoderState(hidden, cell, self.attention.begin(encoded))

    def advance(
        self,
        input_gates: Float[Tensor, "R G"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """One step of the recurrence, without the readout: new state, context, weights.

        R = N x W rows for N sentences, W hypotheses of each, sentence by sentence; training has
        W = 1.
        """
        context, weights = self.attention(state.hidden[-1], keys, encoded, state.past)
        past = self.attention.remember(state.past, weights)
        product = self.state_gates(torch.cat([context, state.hidden[0]], dim=1))
        hidden, cell = _advance_cell(input_gates, product, state.cell[0])
        hiddens, cells = [hidden], [cell]
        for layer, upper in enumerate(self.upper_gates, start=1):
            gates = upper(torch.cat([self.dropout(hidden), state.hidden[layer]], dim=1))
            hidden, cell = lstm_cell(widen(gates), state.cell[layer])
            hiddens.append(hidden)
            cells.append(cell)
        return DecoderState(torch.stack(hiddens), torch.stack(cells), past), context, weights

    def readout(
        self,
        hidden: Float[Tensor, "*N H"],
        embedded: Float[Tensor, "*N E"],
        context: Float[Tensor, "*N M"],
    ) -> Float[Tensor, "*N E"]:
        """t_i of the paper: what the softmax layer is shown of a step, s_i included."""
        # Cast before they are joined: half the bytes to write, and to keep for the way back.
        narrow = product_type(hidden.device, hidden.dtype)
        parts = [part.to(narrow) for part in (hidden, embedded, context)]
        mixed = self.readout_layer(torch.cat(parts, dim=-1))
        if self.maxout:
            return self.dropout(mixed.unflatten(-1, (-1, 2)).amax(dim=-1))
        return self.dropout(torch.tanh(mixed))

    def step(
        self,
        embedded: Float[Tensor, "R E"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """Write one word after ``embedded``: readout, new state, attention weights.

        The rows of ``embedded`` and ``state`` are hypotheses, those of the rest sentences: see
        :meth:`advance`.
        """
        state, context, weights = self.advance(self.input_gates(embedded), state, encoded, keys)
        return self.readout(state.hidden[-1], embedded, context), state, weights

    def unroll(
        self, embedded: Float[Tensor, "B T E"], encoded: Encoded
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """Readouts and weights of all steps of a known target (teacher forcing).

        The weights are for looking at: on the fast path they carry no gradient.
        """
        state = self.initial_state(encoded)
        fast = self.fast and self.layers == 1
        if fast and isinstance(self.attention, ScoredAttention):
            hidden, context, weights = self._scan_scored(embedded, state, encoded, self.attention)
        elif fast and isinstance(self.attention, ConstantContext):
            hidden, context, weights = self._scan_constant(
                embedded, state, *self.attention.constant(encoded)
            )
        else:
            hidden, context, weights = self._taped(embedded, state, encoded)
        return self.readout(hidden, embedded, context), weights

    def _taped(
        self, embedded: Float[Tensor, "B T E"], state: DecoderState, encoded: Encoded
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """The recurrence step by step, its gradient left to autograd: the reference."""
        keys = self.attention.keys(encoded.memory)
        hiddens, contexts, weights = [], [], []
        for gates in self.input_gates(embedded).unbind(dim=1):
            state, context, step_weights = self.advance(gates, state, encoded, keys)
            hiddens.append(state.hidden[-1])
            contexts.append(context)
            weights.append(step_weights)
        return torch.stack(hiddens, 1), torch.stack(contexts, 1), torch.stack(weights, 1)

    def _scan_scored(
        self,
        embedded: Float[Tensor, "B T E"],
        state: DecoderState,
        encoded: Encoded,
        attention: ScoredAttention,
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """The same numbers by one operation with its own gradient."""
        scan = attention_scan(
            self.input_gates(embedded.transpose(0, 1)),
            state.hidden[0],
            state.cell[0],
            self.state_gates.weight,
            AlignmentInput(
                encoded.memory,
                encoded.mask,
                attention.query_weight(),
                attention.scan_score(attention.keys(encoded.memory)),
            ),
        )
        return (
            scan.hidden.transpose(0, 1),
            scan.context.transpose(0, 1),
            scan.weights.transpose(0, 1),
        )

    def _scan_constant(
        self,
        embedded: Float[Tensor, "B T E"],
        state: DecoderState,
        context: Float[Tensor, "B M"],
        weights: Float[Tensor, "B S"],
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """The same for a context that never changes: its share of the gates is computed once."""
        steps, memory_size = embedded.shape[1], context.shape[1]
        context_weight, hidden_weight = self.state_gates.weight.split(
            [memory_size, self.state_gates.in_features - memory_size], dim=1
        )
        inputs = self.input_gates(embedded.transpose(0, 1))
        inputs = inputs + functional.linear(context, context_weight)
        hidden = plain_scan(inputs, state.hidden[0], state.cell[0], hidden_weight)
        repeated = [each[:, None].expand(-1, steps, -1) for each in (context, weights)]
        return hidden.transpose(0, 1), repeated[0], repeated[1]
