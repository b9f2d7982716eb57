"""The whole translation model: embeddings, encoder, decoder and softmax layer."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import ModelConfig
from seq2seq.data.vocabulary import PAD
from seq2seq.model.attention import FixedContext, build_attention
from seq2seq.model.bahdanau import BahdanauDecoder
from seq2seq.model.decoder import Decoder, DecoderState
from seq2seq.model.dropout import Dropout
from seq2seq.model.encoder import Encoded, Encoder
from seq2seq.model.initialization import initialize_paper, initialize_uniform
from seq2seq.model.luong import LuongDecoder


class Step(NamedTuple):
    """One decoding step of R hypotheses."""

    logits: Float[Tensor, "R V"]
    """Unnormalised log-probabilities of the next piece; under autocast in its type."""
    state: DecoderState
    weights: Float[Tensor, "R S"]
    """Where the step looked; all 0 for a model without attention."""


class Embedding(nn.Embedding):
    """Rows of a matrix, times ``scale`` as they are read.

    With sqrt(E) as scale (Vaswani et al. 2017, section 3.4) a row is read at deviation 1 and stored
    at E^-1/2, the deviation that suits the softmax layer, which may be the same matrix. Adam's
    steps, of one size for all parameters, then change what is read sqrt(E) times as fast.
    """

    def __init__(self, size: int, width: int, scale: float) -> None:
        super().__init__(size, width, padding_idx=PAD)
        self.scale = scale

    def forward(self, ids: Int[Tensor, "*N"]) -> Float[Tensor, "*N E"]:
        """The rows of ``ids``."""
        return super().forward(ids) * self.scale


class TranslationModel(nn.Module):
    """RNNsearch or RNNencdec, as ``config.attention`` says (Bahdanau et al. 2014).

    Training calls the model (``forward``) on a whole target; search calls :meth:`encode`,
    :meth:`keys` and :meth:`initial_state` once and then :meth:`step` word by word. No method keeps
    anything of a sentence in the module.
    """

    def __init__(self, config: ModelConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        # One number is drawn, whatever the attention: systems of one seed start alike (see
        # initialization.py), and go on alike with their dropout.
        start = int(torch.randint(1 << 62, (), device="cpu"))
        with torch.random.fork_rng(devices=[]):
            self._build(config, source_size, target_size)
            for parameter in self.parameters():  # so that one which nothing starts is found out
                nn.init.constant_(parameter, math.nan)
            torch.default_generator.manual_seed(start)
            (initialize_paper if config.initialization == "paper" else initialize_uniform)(self)
            if config.initialization == "uniform" and not config.decoder.tie_embedding:
                # As where it is the target embedding: Xavier's bound is far too small for so many
                # rows, and the first updates would do nothing but raise it.
                nn.init.normal_(self.output.weight, std=config.embedding_dim**-0.5)
        for name, parameter in self.named_parameters():
            if not parameter.is_meta and bool(parameter.isnan().any()):
                raise ValueError(f"{name} has no start; give it one in model/initialization.py")
        if config.decoder.tie_embedding:
            self.output.weight = self.target_embedding.weight
        with torch.no_grad():
            self.source_embedding.weight[PAD] = 0
            self.target_embedding.weight[PAD] = 0

    def _build(self, config: ModelConfig, source_size: int, target_size: int) -> None:
        scale = config.embedding_dim**0.5 if config.scale_embedding else 1.0
        self.source_embedding = Embedding(source_size, config.embedding_dim, scale)
        self.target_embedding = Embedding(target_size, config.embedding_dim, scale)
        self.encoder = Encoder(config.embedding_dim, config.encoder, config.dropout)
        memory_size = self.encoder.memory_size
        decoder = config.decoder
        # In Luong's order the state has read the word.
        asks = decoder.order == "bahdanau" and decoder.query == "state_and_word"
        order = LuongDecoder if decoder.order == "luong" else BahdanauDecoder
        attention = build_attention(
            config.attention,
            decoder.hidden_size,
            memory_size,
            config.embedding_dim if asks else None,
        )
        fixed = isinstance(attention, FixedContext)
        self.decoder: Decoder = order(
            config.embedding_dim,
            self.encoder.summary_size,
            self.encoder.summary_size if fixed else memory_size,
            attention,
            decoder,
            config.dropout,
        )
        self.output = nn.Linear(config.embedding_dim, target_size)
        self.dropout = Dropout(config.embedding_dropout)

    @property
    def attends(self) -> bool:
        """Whether a step looks anywhere: False for a model without attention."""
        return self.decoder.attention.attends

    def encode(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"]) -> Encoded:
        """Read source ids, padded on the right; ``lengths`` counts real ones, at least 1 each."""
        return self.encoder(self.dropout(self.source_embedding(source)), lengths)

    def keys(self, memory: Float[Tensor, "B S M"]) -> Float[Tensor, "B S A"]:
        """What the attention compares queries with; computed once per sentence."""
        return self.decoder.attention.keys(memory)

    def initial_state(self, encoded: Encoded) -> DecoderState:
        """The decoder's state before its first word."""
        return self.decoder.initial_state(encoded)

    def step(
        self,
        token: Int[Tensor, "R"],
        state: DecoderState,
        encoded: Encoded,
        keys: Float[Tensor, "N S A"],
    ) -> Step:
        """Score the piece that follows ``token``.

        R = N x W: W hypotheses for each of the N sentences of ``encoded`` and ``keys``, sentence by
        sentence. What is known of a sentence is never repeated for its hypotheses.
        """
        embedded = self.dropout(self.target_embedding(token))
        output, state, weights = self.decoder.step(embedded, state, encoded, keys)
        return Step(self.logits(output), state, weights)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, "B"],
        target_input: Int[Tensor, "B T"],
    ) -> Float[Tensor, "B T E"]:
        """Readouts for every position of a known target; :meth:`logits` turns them into scores.

        They are kept apart so that scores are only computed where the target is real.
        """
        encoded = self.encode(source, source_lengths)
        embedded = self.dropout(self.target_embedding(target_input))
        outputs, _ = self.decoder.unroll(embedded, encoded)
        return outputs

    def logits(self, outputs: Float[Tensor, "*N E"]) -> Float[Tensor, "*N V"]:
        """The softmax layer's input."""
        return functional.linear(outputs, self.output.weight, self.output.bias)

    def parameter_counts(self) -> dict[str, int]:
        """Trainable numbers by part; a tied matrix counts once, in ``embeddings``."""
        attention = set(self.decoder.attention.parameters())
        parts = {
            "embeddings": [
                *self.source_embedding.parameters(),
                *self.target_embedding.parameters(),
            ],
            "encoder": list(self.encoder.parameters()),
            "attention": list(attention),
            "decoder": [p for p in self.decoder.parameters() if p not in attention],
        }
        counts = {part: sum(p.numel() for p in found) for part, found in parts.items()}
        total = sum(p.numel() for p in self.parameters())
        return {**counts, "output": total - sum(counts.values()), "total": total}
