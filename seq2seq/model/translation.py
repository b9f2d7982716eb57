"""The whole translation model: embeddings, encoder, decoder and softmax layer."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import ModelConfig
from seq2seq.model.decoder import BahdanauDecoder, Decoder, DecoderState, LuongDecoder
from seq2seq.model.encoder import Encoder, Source, cpu_lstm_supports_bfloat16
from seq2seq.model.fast import EQUIVALENTS
from seq2seq.model.initialization import initialize
from seq2seq.model.layers import Dropout, Embedding, Output, to_float32


class Step(NamedTuple):
    """One decoding step of R hypotheses."""

    logits: Float[Tensor, "R V"]
    """Unnormalised log-probabilities of the next token; under autocast, float32 or its type."""
    state: DecoderState
    weights: Float[Tensor, "R S"]
    """Attention weights; all 0 for the attention kinds fixed, init_only and none."""


class TranslationModel(nn.Module):
    """Encoder and decoder with attention (RNNsearch, Bahdanau et al. 2014) or without (RNNencdec).

    Search calls :meth:`encode` and :meth:`init_state` once, then :meth:`step` word by word.
    """

    def __init__(self, config: ModelConfig, source_size: int, target_size: int) -> None:
        super().__init__()
        width, scale = config.embedding_dim, config.embedding_scale
        kind: type[Decoder] = LuongDecoder if config.decoder.order == "luong" else BahdanauDecoder
        if config.decoder.recurrence == "fast":
            kind = EQUIVALENTS[kind]
        # One number is drawn, whatever the kind of attention. So systems with the same seed start
        # alike (see initialization.py) and have equal dropout afterwards.
        seed = int(torch.randint(1 << 62, (), device="cpu"))
        with torch.random.fork_rng(devices=[]):
            self.source_embedding = Embedding(source_size, width, scale)
            self.target_embedding = Embedding(target_size, width, scale)
            self.dropout = Dropout(config.embedding_dropout)
            self.encoder = Encoder(width, config.encoder, config.dropout)
            self.decoder = kind(config, self.encoder.annotation_size, self.encoder.summary_size)
            self.output = Output(width, target_size)
            if not self.output.weight.is_meta:  # on "meta", only shapes are needed
                torch.default_generator.manual_seed(seed)
                initialize(self, config.initialization)
        if config.decoder.tie_embedding:
            self.output.weight = self.target_embedding.weight

    @property
    def attends(self) -> bool:
        """Whether each weight of a step is the attention to one source word."""
        return self.decoder.attention.attends

    @torch.no_grad()
    def round_weights(self) -> None:
        """Round the matrices to bfloat16, for search on a CPU under mixed precision.

        Else, each batch rounds them again: for one sentence, up to a third of the time.
        """
        exact = set() if cpu_lstm_supports_bfloat16() else {*self.encoder.parameters()}
        for parameter in self.parameters():
            if parameter.dim() == 2 and parameter not in exact:
                parameter.data = parameter.data.bfloat16()

    def encode(self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"]) -> Source:
        """Return what the decoder reads of sources of at least one id, padded on the right."""
        encoded = self.encoder(self.dropout(self.source_embedding(source)), lengths)
        return self.decoder.attention.read(encoded)

    def init_state(self, source: Source) -> DecoderState:
        """State of the decoder before the first word, one hypothesis per sentence."""
        return self.decoder.init_state(source)

    def step(self, token: Int[Tensor, "R"], state: DecoderState, source: Source) -> Step:
        """Score all tokens that may follow, for R = N x W hypotheses of N sentences."""
        word = self.dropout(self.target_embedding(token))
        readout, state, weights = self.decoder.step(word, state, source)
        return Step(self.output(readout), state, weights)

    def forward(
        self, source: Int[Tensor, "B S"], lengths: Int[Tensor, "B"], target: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "B T M"]]:
        """Readouts and attention weights of a known target; the weights may carry no gradient.

        M is S, or the number of vectors that stand for the source.
        """
        embedded = self.dropout(self.target_embedding(target))
        readouts, weights = self.decoder(embedded, self.encode(source, lengths))
        return readouts, weights

    def logits(self, readouts: Float[Tensor, "*N E"]) -> Float[Tensor, "*N V"]:
        """Logits of the softmax layer; in float32 even under mixed precision."""
        with torch.autocast(readouts.device.type, enabled=False):
            arrays = (readouts, self.output.weight, self.output.bias)
            return functional.linear(*map(to_float32, arrays))

    def parameter_counts(self) -> dict[str, int]:
        """Number of trainable parameters by part; a tied matrix counts once, in ``embeddings``."""
        attention = set(self.decoder.attention.parameters())
        parts: dict[str, list[Tensor]] = {
            "embeddings": [self.source_embedding.weight, self.target_embedding.weight],
            "encoder": [*self.encoder.parameters()],
            "attention": [*attention],
            "decoder": [p for p in self.decoder.parameters() if p not in attention],
        }
        counts = {part: sum(p.numel() for p in weights) for part, weights in parts.items()}
        total = sum(p.numel() for p in self.parameters())
        return {**counts, "output": total - sum(counts.values()), "total": total}
