"""The whole translation model: embeddings, encoder, decoder, softmax layer, and initial values."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import ModelConfig
from seq2seq.data.vocabulary import PAD
from seq2seq.model.decoder import BahdanauDecoder, Decoder, DecoderState, LuongDecoder
from seq2seq.model.encoder import Encoder, Source, cpu_lstm_supports_bfloat16
from seq2seq.model.fast import EQUIVALENTS
from seq2seq.model.layers import Dropout, Embedding, Output, to_float32

READOUT_GAIN = 3.0
"""Factor of the readout's initial weights. Xavier's bound is meant for inputs with standard
deviation 1; at the start, the readout's inputs have about 0.1."""


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
        # alike (see :func:`initialize`) and have equal dropout afterwards.
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


@torch.no_grad()
def initialize(model: nn.Module, kind: str) -> None:
    """Draw the initial values of ``model.initialization``; all biases are 0 but forget gates' 1.

    The attention draws its numbers last. So systems of one seed that differ only in attention start
    from equal values elsewhere.
    """
    others: dict[str, Tensor] = {}
    attention: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        nn.init.zeros_(parameter)
        if "bias" not in name:
            (attention if ".attention." in name else others)[name] = parameter
        elif kind == "uniform" and "_gates" in name:
            parameter.chunk(4)[1].fill_(1.0)  # of the gates i, f, g, o
    for weights, deviation in ((others, 0.01), (attention, 0.001)):
        if kind == "uniform":
            _uniform(weights)
        else:
            _paper(weights, deviation)
    for name, weight in others.items():
        if "embedding" in name:
            weight[PAD] = 0


def _uniform(weights: dict[str, Tensor]) -> None:
    """Draw embeddings from N(0, 1/E), LSTMs within H^-1/2, most others within Xavier's bound."""
    for name, weight in weights.items():
        if "embedding" in name:
            nn.init.normal_(weight, std=weight.shape[1] ** -0.5)
        elif weight.dim() == 1:  # v_a
            _spread(weight, len(weight))
        elif "_l0" not in name:
            nn.init.xavier_uniform_(weight)
    for name, weight in weights.items():
        if "_l0" in name or "_gates" in name:
            _spread(weight, len(weight) // 4)
        elif "word_query" in name:
            _spread(weight, len(weight))
        elif "readout_layer" in name:
            weight.mul_(READOUT_GAIN)
        elif name == "output.weight":  # a row per target piece makes Xavier's bound too small
            weight.mul_(weight.shape[1] ** -0.5 / weight.std())


def _spread(weight: Tensor, width: int) -> None:
    nn.init.uniform_(weight, -(width**-0.5), width**-0.5)


def _paper(weights: dict[str, Tensor], deviation: float) -> None:
    """Draw as in Bahdanau et al. 2014, B.1: recurrent matrices are orthogonal, and v_a is 0."""
    for weight in weights.values():
        if weight.dim() > 1:
            nn.init.normal_(weight, std=deviation)
    for name, weight in weights.items():
        if any(part in name for part in ("weight_hh", "state_gates", "upper_gates")):
            for gate in weight[:, -(len(weight) // 4) :].chunk(4):
                nn.init.orthogonal_(gate)
