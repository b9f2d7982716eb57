"""The decoder in the order of Bahdanau et al. 2014: it attends before each step."""

from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from seq2seq.config import DecoderConfig
from seq2seq.model.attention import Attention, ConstantContext, ScoredAttention
from seq2seq.model.decoder import Decoder, DecoderState
from seq2seq.model.encoder import Encoded
from seq2seq.model.recurrence import AlignmentInput, attention_scan


class BahdanauDecoder(Decoder):
    r"""An LSTM that looks at the source with the state that it has, and then moves on.

    .. math::
        c_i = attend(s_{i-1} + W_y E y_{i-1}), \quad
        s_i = LSTM(s_{i-1}, [E y_{i-1}; c_i]), \quad
        t_i = readout(s_i, c_i, E y_{i-1})

    The query is the state *before* the step, and the word that the step reads, which that state
    does not know yet (``model.decoder.query=state``: the state alone, as in the paper). The context
    enters both the recurrence and the readout. With several layers the context enters the first and
    the query comes from the top.
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
        super().__init__(
            embedding_size,
            summary_size,
            context_size,
            attention,
            config,
            dropout,
            entering=context_size,
            shown=embedding_size,
        )

    def advance(
        self,
        input_gates: Float[Tensor, "R G"],
        word: Float[Tensor, "R H"] | None,
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[DecoderState, Float[Tensor, "R M"], Float[Tensor, "R S"]]:
        """See :class:`Decoder`."""
        context, weights = self.attention(
            self.attention.query_of(state.hidden[-1], word), keys, encoded, state.past
        )
        past = self.attention.remember(state.past, weights)
        hidden, cell = self.recur(input_gates, context, state)
        return DecoderState(hidden, cell, past, state.fed), context, weights

    def step(
        self,
        embedded: Float[Tensor, "R E"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> tuple[Float[Tensor, "R E"], DecoderState, Float[Tensor, "R S"]]:
        """See :class:`Decoder`."""
        word = self.attention.word_share(embedded)
        gates = self.input_gates(embedded)
        state, context, weights = self.advance(gates, word, state, encoded, keys)
        return self.readout(state.hidden[-1], context, embedded), state, weights

    def unroll(
        self, embedded: Float[Tensor, "B T E"], encoded: Encoded
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T S"]]:
        """See :class:`Decoder`; on the fast path the weights carry no gradient."""
        state = self.initial_state(encoded)
        if self.fast and self.layers == 1 and isinstance(self.attention, ScoredAttention):
            hidden, context, weights = self._scan_scored(embedded, state, encoded, self.attention)
        elif self.fast and isinstance(self.attention, ConstantContext):
            hidden, context, weights = self._scan_constant(
                embedded, state, *self.attention.constant(encoded)
            )
        else:
            hidden, context, weights = self.taped(embedded, state, encoded)
        return self.readout(hidden, context, embedded), weights

    def _scan_scored(
        self,
        embedded: Float[Tensor, "B T E"],
        state: DecoderState,
        encoded: Encoded,
        attention: ScoredAttention,
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "B T M"], Float[Tensor, "B T S"]]:
        """The same numbers by one operation with its own gradient."""
        inputs = embedded.transpose(0, 1)
        query_weight, word = attention.query_weight(), attention.word_query
        word_weight = None if word is None else word.weight
        if word_weight is not None and query_weight is not None:
            word_weight = query_weight @ word_weight
        scan = attention_scan(
            self.input_gates(inputs),
            state.hidden[0],
            state.cell[0],
            self.state_gates.weight,
            AlignmentInput(
                encoded.memory,
                encoded.mask,
                query_weight,
                attention.scan_score(attention.keys(encoded.memory)),
                None if word_weight is None else functional.linear(inputs, word_weight),
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
        inputs = self.input_gates(embedded.transpose(0, 1))
        context_weight = self.state_gates.weight[:, : context.shape[1]]
        inputs = inputs + functional.linear(context, context_weight)
        steps = embedded.shape[1]
        repeated = [each[:, None].expand(-1, steps, -1) for each in (context, weights)]
        return self.states(inputs, state), repeated[0], repeated[1]
