"""The LSTM that writes the target sentence: what it is, whichever way it consults the source.

When it does so is the order of Bahdanau et al. 2014 (:mod:`seq2seq.model.bahdanau`) or that of
Luong et al. 2015 (:mod:`seq2seq.model.luong`).
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import DecoderConfig
from seq2seq.model.attention import Attention
from seq2seq.model.dropout import Dropout
from seq2seq.model.encoder import Encoded
from seq2seq.model.kernels import choose_kernels
from seq2seq.model.precision import product_type, widen
from seq2seq.model.recurrence import plain_scan


class DecoderState(NamedTuple):
    """What one step hands to the next."""

    hidden: Float[Tensor, "L R H"]
    """In search that of a single layer is, from the first step on, in the type of the products."""
    cell: Float[Tensor, "L R H"]
    past: Float[Tensor, "R P"]
    """What the attention remembers of earlier steps; nothing for most kinds."""
    fed: Float[Tensor, "R F"]
    """The readout that the next step is shown; nothing without input feeding."""

    def select(self, rows: Int[Tensor, "Q"]) -> "DecoderState":
        """The hypotheses at ``rows``, in that order; a row may be named more than once."""
        return DecoderState(
            self.hidden.index_select(1, rows),
            self.cell.index_select(1, rows),
            self.past.index_select(0, rows),
            self.fed.index_select(0, rows),
        )


def lstm_cell(
    gates: Float[Tensor, "B G"], cell: Float[Tensor, "B H"]
) -> tuple[Float[Tensor, "B H"], Float[Tensor, "B H"]]:
    """The LSTM's state update (Hochreiter & Schmidhuber 1997; gates ordered i, f, g, o).

    With the forget gate of Gers et al. 2000:
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


class Decoder(nn.Module, ABC):
    """A language model of the target that consults the source for each word.

    :meth:`step` writes one word; :meth:`unroll` gives the same numbers for a whole known target,
    with all that does not depend on the state computed for every step at once.
    """

    fed_size = 0
    """Width of what a step is shown of the one before."""

    def __init__(
        self,
        embedding_size: int,
        summary_size: int,
        context_size: int,
        attention: Attention,
        config: DecoderConfig,
        dropout: float,
        entering: int,
        shown: int,
    ) -> None:
        """Widths of what the LSTM reads besides word and state, and the readout besides state and
        context: ``entering`` and ``shown``.
        """
        super().__init__()
        hidden = config.hidden_size
        self.layers = config.layers
        self.fast = config.recurrence == "fast"
        self.attention = attention
        self.initial = nn.Linear(summary_size, 2 * config.layers * hidden)
        self.input_gates = nn.Linear(embedding_size, 4 * hidden)
        self.state_gates = nn.Linear(entering + hidden, 4 * hidden, bias=False)
        self.upper_gates = nn.ModuleList(
            nn.Linear(2 * hidden, 4 * hidden) for _ in range(config.layers - 1)
        )
        self.known_size = hidden + context_size
        self.readout_kind = config.readout
        pairs = 2 if config.readout == "maxout" else 1
        self.readout_layer = nn.Linear(self.known_size + shown, embedding_size * pairs)
        self.dropout = Dropout(dropout)

    def initial_state(self, encoded: Encoded) -> DecoderState:
        """s_0 = tanh(W_s summary), hidden and cell of every layer.

        The paper (appendix A.2.2) starts from the backward reader's last state alone; here both
        directions enter, in both arms, as the baseline has nothing else to know the sentence by.
        """
        start = torch.tanh(widen(self.initial(encoded.summary)))
        hidden, cell = start.view(len(start), 2, self.layers, -1).permute(1, 2, 0, 3)
        past = self.attention.begin(encoded)
        return DecoderState(hidden, cell, past, start.new_zeros(len(start), self.fed_size))

    def recur(
        self,
        input_gates: Float[Tensor, "R G"],
        entering: Float[Tensor, "R X"],
        state: DecoderState,
    ) -> tuple[Float[Tensor, "L R H"], Float[Tensor, "L R H"]]:
        """One step of the LSTM alone: hidden and cell of every layer.

        ``input_gates`` is the word's share of the lowest layer's gates; ``entering`` is what that
        layer reads beside the word and its own state.
        """
        product = self.state_gates(torch.cat([entering, state.hidden[0]], dim=1))
        hidden, cell = _advance_cell(input_gates, product, state.cell[0])
        hiddens, cells = [hidden], [cell]
        for layer, upper in enumerate(self.upper_gates, start=1):
            gates = upper(torch.cat([self.dropout(hidden), state.hidden[layer]], dim=1))
            hidden, cell = lstm_cell(widen(gates), state.cell[layer])
            hiddens.append(hidden)
            cells.append(cell)
        return torch.stack(hiddens), torch.stack(cells)

    def states(self, inputs: Float[Tensor, "T B G"], state: DecoderState) -> Float[Tensor, "B T H"]:
        """The top layer's states of all steps, layer by layer, where no step waits for a context.

        ``inputs`` is all that enters the lowest layer's gates but its own state.
        """
        own = self.state_gates.weight[:, -state.hidden.shape[2] :]
        hidden = plain_scan(inputs, state.hidden[0], state.cell[0], own)
        for layer, upper in enumerate(self.upper_gates, start=1):
            below, own = upper.get_parameter("weight").chunk(2, dim=1)
            gates = functional.linear(self.dropout(hidden), below, upper.get_parameter("bias"))
            hidden = plain_scan(gates, state.hidden[layer], state.cell[layer], own)
        return hidden.transpose(0, 1)

    def readout(self, *parts: Float[Tensor, "*N _"]) -> Float[Tensor, "*N E"]:
        """What the softmax layer is shown of a step that is made of these parts."""
        # Cast before they are joined: half the bytes to write, and to keep for the way back.
        narrow = product_type(parts[0].device, parts[0].dtype)
        mixed = self.readout_layer(torch.cat([part.to(narrow) for part in parts], dim=-1))
        if self.readout_kind == "maxout":
            mixed = mixed.unflatten(-1, (-1, 2)).amax(dim=-1)
        elif self.readout_kind == "tanh":
            mixed = torch.tanh(mixed)
        return self.dropout(mixed)

    @abstractmethod
    def advance(
        self,
        input_gates: Float[Tensor, "R G"],
        word: Float[Tensor, "R H"] | None,
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """One step without the readout: new state, context, weights.

        ``input_gates`` and ``word`` are the word's shares of the gates and of the query. Rows are
        those of :meth:`step`.
        """

    def taped(
        self, embedded: Float[Tensor, "B T E"], state: DecoderState, encoded: Encoded
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """Hidden states, contexts, weights step by step, the gradient left to autograd.

        It is the reference, and what remains where no faster way is known.
        """
        keys = self.attention.keys(encoded.memory)
        hiddens, contexts, weights = [], [], []
        words = self.attention.word_share(embedded)
        for step, gates in enumerate(self.input_gates(embedded).unbind(dim=1)):
            word = None if words is None else words[:, step]
            state, context, step_weights = self.advance(gates, word, state, encoded, keys)
            hiddens.append(state.hidden[-1])
            contexts.append(context)
            weights.append(step_weights)
        return torch.stack(hiddens, 1), torch.stack(contexts, 1), torch.stack(weights, 1)

    @abstractmethod
    def step(
        self,
        embedded: Float[Tensor, "R E"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """Write one word after ``embedded``: readout, new state, attention weights.

        The rows of ``embedded`` and ``state`` are hypotheses, R = N x W, W of each of the N
        sentences of ``encoded`` and ``keys``, sentence by sentence; training has W = 1.
        """

    @abstractmethod
    def unroll(
        self, embedded: Float[Tensor, "B T E"], encoded: Encoded
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """Readouts and weights of all steps of a known target (teacher forcing).

        The weights are for looking at: on a fast path they may carry no gradient.
        """
