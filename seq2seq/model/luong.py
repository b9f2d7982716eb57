"""The decoder in the order of Luong et al. 2015: it attends after each step."""

import torch
from jaxtyping import Float
from torch import Tensor

from seq2seq.config import DecoderConfig
from seq2seq.model.attention import Attention
from seq2seq.model.decoder import Decoder, DecoderState
from seq2seq.model.encoder import Encoded


class LuongDecoder(Decoder):
    r"""An LSTM that moves on, and then looks at the source with its new state.

    .. math::
        s_t = LSTM(s_{t-1}, [E y_{t-1}; \tilde h_{t-1}]), \quad
        c_t = attend(s_t), \quad
        \tilde h_t = \tanh(W_c [s_t; c_t])

    (Luong et al. 2015, section 3 and equation 5.) The attentional state :math:`\tilde h_t` is the
    readout. It has an embedding's width here, so that the softmax layer is that of the other order,
    and may share the target embedding. Input feeding (section 3.3) shows it to the next step, the
    first step getting zeros; without, the context enters the readout alone, and the states are
    those of a plain language model: they are all known before the first look. What is fed is what
    the softmax layer is shown, dropout included. With several layers
    :math:`\tilde h_{t-1}` enters the first and the query comes from the top.
    """

    def __init__(
        self,
        embedding_size: int,
        summary_size: int,
        context_size: int,
        attention: Attention,
        config: DecoderConfig,
        dropout: float,
    ) -> None:
        fed = embedding_size if config.input_feeding else 0
        super().__init__(
            embedding_size,
            summary_size,
            context_size,
            attention,
            config,
            dropout,
            entering=fed,
            shown=0,
        )
        self.fed_size = fed

    def advance(
        self,
        input_gates: Float[Tensor, "R G"],
        word: Float[Tensor, "R H"] | None,
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """See :class:`Decoder`; ``fed`` is still that of the step before."""
        hidden, cell = self.recur(input_gates, state.fed, state)
        query = self.attention.query_of(hidden[-1], word)
        context, weights = self.attention(query, keys, encoded, state.past)
        past = self.attention.remember(state.past, weights)
        return DecoderState(hidden, cell, past, state.fed), context, weights

    def write(
        self,
        input_gates: Float[Tensor, "R G"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """:meth:`step` for a word whose share of the gates is known."""
        state, context, weights = self.advance(input_gates, None, state, encoded, keys)
        attentional = self.readout(state.hidden[-1], context)
        if self.fed_size:
            state = state._replace(fed=attentional)
        return attentional, state, weights

    def step(
        self,
        embedded: Float[Tensor, "R E"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """See :class:`Decoder`."""
        return self.write(self.input_gates(embedded), state, encoded, keys)

    def unroll(
        self, embedded: Float[Tensor, "B T E"], encoded: Encoded
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """See :class:`Decoder`; with input feeding always a plain loop."""
        state = self.initial_state(encoded)
        if self.fed_size:
            return self._fed(embedded, state, encoded)
        if self.fast:
            hidden = self.states(self.input_gates(embedded.transpose(0, 1)), state)
            keys = self.attention.keys(encoded.memory)
            context, weights = self.attention.unroll(hidden, keys, encoded)
        else:
            hidden, context, weights = self.taped(embedded, state, encoded)
        return self.readout(hidden, context), weights

    def _fed(
        self, embedded: Float[Tensor, "B T E"], state: DecoderState, encoded: Encoded
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """Step by step, as each is shown the readout of the one before."""
        keys = self.attention.keys(encoded.memory)
        outputs, weights = [], []
        for gates in self.input_gates(embedded).unbind(dim=1):
            output, state, step_weights = self.write(gates, state, encoded, keys)
            outputs.append(output)
            weights.append(step_weights)
        return torch.stack(outputs, 1), torch.stack(weights, 1)
