"""The LSTM that reads the source sentence, in both directions or in one.

Shape letters, here and in the whole package: B batch, S source length, T target length,
E embedding and readout width, H decoder hidden, M memory width (encoder hidden x directions),
F width of the summary (M, or M x encoder layers),
A attention width, V vocabulary, L decoder layers, G the four gates (4 x hidden); in search, R rows,
one a hypothesis.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.config import EncoderConfig
from seq2seq.model.dropout import Dropout
from seq2seq.model.precision import widen


class Encoded(NamedTuple):
    """What the decoder may know of a batch of source sentences."""

    memory: Float[Tensor, "B S M"]
    """One annotation per source position (h_j in the paper); zero at padding."""
    mask: Bool[Tensor, "B S"]
    """True at real tokens."""
    summary: Float[Tensor, "B F"]
    """The final state of each direction, of the top layer or of all: the sentence squeezed through
    one fixed vector."""

    def select(self, rows: Int[Tensor, "N"]) -> "Encoded":
        """The sentences at ``rows``, in that order; a row may be named more than once."""
        return Encoded(self.memory[rows], self.mask[rows], self.summary[rows])


def length_mask(lengths: Int[Tensor, "B"], width: int) -> Bool[Tensor, "B width"]:
    """True at the first ``lengths[b]`` of ``width`` positions."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def flip_index(lengths: Int[Tensor, "B"], width: int) -> Int[Tensor, "B width"]:
    """Positions that reverse each sentence in place and keep its padding on the right.

    ``x.gather(1, index)`` read twice gives back ``x`` at every real position.
    """
    position = torch.arange(width, device=lengths.device).expand(len(lengths), width)
    last = lengths[:, None] - 1
    return torch.where(position <= last, last - position, position)


class Encoder(nn.Module):
    r"""Stacked bidirectional LSTM over embedded source tokens.

    .. math::
        \overrightarrow{h}_j = LSTM(\overrightarrow{h}_{j-1}, x_j), \quad
        \overleftarrow{h}_j = LSTM(\overleftarrow{h}_{j+1}, x_j), \quad
        h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]

    (Bahdanau et al. 2014, section 3.2, with LSTM units.) With one direction there is no other
    half; position j stays that of the source's word j.

    Padding must not reach the backward direction. Instead of packing the batch, which PyTorch runs
    several times slower on a CPU, each sentence is reversed in place and read by a second forward
    LSTM: padding stays on the right, after every real token, where it can change nothing. The
    result equals the packed one.
    """

    def __init__(self, input_size: int, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        self.ahead = config.directions != "backward"
        self.behind = config.directions != "forward"
        self.memory_size = (self.ahead + self.behind) * config.hidden_size
        widths = [input_size] + [self.memory_size] * (config.layers - 1)
        self.forwards = nn.ModuleList(
            nn.LSTM(width, config.hidden_size, batch_first=True) for width in widths if self.ahead
        )
        self.backwards = nn.ModuleList(
            nn.LSTM(width, config.hidden_size, batch_first=True) for width in widths if self.behind
        )
        self.layers = config.layers
        self.all_layers = config.summary == "all"
        self.summary_size = self.memory_size * (config.layers if self.all_layers else 1)
        self.dropout = Dropout(dropout)

    def forward(self, embedded: Float[Tensor, "B S E"], lengths: Int[Tensor, "B"]) -> Encoded:
        """Annotate each position; ``lengths`` counts real tokens and is at least 1."""
        batch, width, _ = embedded.shape
        flip = flip_index(lengths, width)[:, :, None]
        mask = length_mask(lengths, width)
        layer_input = embedded
        rows = torch.arange(batch, device=lengths.device)
        ends: list[Tensor] = []  # where each direction has read the whole sentence
        for layer in range(self.layers):
            if layer:
                layer_input = self.dropout(layer_input)
            read = []
            if not self.all_layers:
                ends.clear()
            if self.ahead:
                states = _read(self.forwards[layer], layer_input)
                ends.append(widen(states[rows, lengths - 1]))
                read.append(states)
            if self.behind:
                backwards = layer_input.gather(1, flip.expand_as(layer_input))
                flipped = _read(self.backwards[layer], backwards)
                states = flipped.gather(1, flip.expand_as(flipped))
                ends.append(widen(states[:, 0]))
                read.append(states)
            layer_input = widen(torch.cat(read, dim=2))
        memory = layer_input * mask[:, :, None]
        return Encoded(memory, mask, torch.cat(ends, dim=1))


def _read(lstm: nn.Module, embedded: Float[Tensor, "B S E"]) -> Float[Tensor, "B S H"]:
    """One direction's states.

    On CUDA in float32 whatever autocast says: PyTorch hands cuDNN's LSTM float16 there, also where
    bfloat16 was asked for, and without loss scaling small gradients would be lost in it.
    """
    if not embedded.is_cuda:
        states: Tensor = lstm(embedded)[0]
        return states
    with torch.autocast("cuda", enabled=False):
        states = lstm(embedded)[0]
    return states
