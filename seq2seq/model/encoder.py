"""The LSTM that reads the source sentence, in both directions or in one.

Shape letters, here and in the whole package: B batch, S source length, T target length,
E embedding and readout width, H decoder hidden size, M annotation width (encoder hidden size x
directions), F width of the summary (M, or M x encoder layers), A attention width, V vocabulary,
L decoder layers, G the four gates (4 x hidden size), P width of an attention's state.
The decoder has R = N x W rows: N sentences with W hypotheses each; in training, W = 1 and N = B.
"""

from contextlib import nullcontext
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2seq.config import EncoderConfig
from seq2seq.model.layers import Dropout, exact_product, to_float32

Attended = tuple[Float[Tensor, "R M"], Float[Tensor, "R S"]]
"""Context and weights of a step; the weights are 0 at padding."""


class Source(NamedTuple):
    """A batch of source sentences as the decoder sees it."""

    annotations: Float[Tensor, "N S M"]
    """Annotation of each source position (h_j in the paper); zero at padding."""
    mask: Bool[Tensor, "N S"]
    """True at real tokens."""
    summary: Float[Tensor, "N F"]
    """The sentence as one vector: final states of each direction, in the top layer or all."""
    keys: Float[Tensor, "N S A"]
    """Vectors that queries are compared with; empty until ``Attention.read`` computes them."""

    def select(self, rows: Int[Tensor, "K"]) -> "Source":
        """Return the sentences at ``rows``, in that order."""
        return Source(*(part[rows] for part in self))

    @property
    def last(self) -> Int[Tensor, "N 1 1"]:
        """Position of each sentence's last token."""
        return self.mask.sum(dim=1)[:, None, None] - 1

    def by_sentence(self, rows: Float[Tensor, "R X"]) -> Float[Tensor, "N W X"]:
        """Reshape R hypothesis rows to N sentences x W hypotheses, in float32."""
        return to_float32(rows).unflatten(0, (len(self.mask), -1))

    def softmax(self, scores: Float[Tensor, "N W S"]) -> Float[Tensor, "N W S"]:
        """Softmax over real positions."""
        return scores.masked_fill(~self.mask[:, None], float("-inf")).softmax(dim=2)

    def weighted_sum(self, weights: Float[Tensor, "N W S"]) -> Attended:
        """Weighted sum of the annotations, and the weights themselves; one row per hypothesis."""
        context = exact_product(weights, self.annotations)
        return context.flatten(0, 1), weights.flatten(0, 1)


def length_mask(lengths: Int[Tensor, "B"], width: int) -> Bool[Tensor, "B width"]:
    """Mask that is True at the first ``lengths[b]`` of ``width`` positions."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


class Encoder(nn.Module):
    r"""Stacked bidirectional LSTM over embedded source tokens.

    .. math::
        \overrightarrow{h}_j = LSTM(\overrightarrow{h}_{j-1}, x_j), \quad
        \overleftarrow{h}_j = LSTM(\overleftarrow{h}_{j+1}, x_j), \quad
        h_j = [\overrightarrow{h}_j; \overleftarrow{h}_j]

    (Bahdanau et al. 2014, section 3.2, with LSTM units.) The backward LSTM reads each sentence
    reversed in place, so padding stays on the right. Packing the batch is several times slower.
    """

    def __init__(self, input_size: int, config: EncoderConfig, dropout: float) -> None:
        super().__init__()
        self.annotation_size = config.hidden_size * (2 if config.directions == "both" else 1)
        widths = [input_size] + [self.annotation_size] * (config.layers - 1)

        def lstms(direction: str) -> nn.ModuleList:
            read = widths if config.directions in ("both", direction) else []
            return nn.ModuleList(nn.LSTM(n, config.hidden_size, batch_first=True) for n in read)

        self.forwards, self.backwards = lstms("forward"), lstms("backward")
        self.layers = config.layers
        self.summary_size = self.annotation_size * (config.layers if config.summary == "all" else 1)
        self.dropout = Dropout(dropout)

    def forward(self, embedded: Float[Tensor, "B S E"], lengths: Int[Tensor, "B"]) -> Source:
        """Annotate the source, without keys; ``lengths`` counts real tokens (at least 1)."""
        rows, positions = (torch.arange(n, device=lengths.device) for n in embedded.shape[:2])
        mask = length_mask(lengths, len(positions))
        flip = torch.where(mask, lengths[:, None] - 1 - positions, positions)[:, :, None]
        annotations = embedded
        ends: list[Tensor] = []  # states after the whole sentence
        for layer in range(self.layers):
            entering = self.dropout(annotations) if layer else embedded
            states = []
            if self.forwards:
                states.append(_read(self.forwards[layer], entering))
                ends.append(states[-1][rows, lengths - 1])
            if self.backwards:
                read = _read(self.backwards[layer], entering.gather(1, flip.expand_as(entering)))
                states.append(read.gather(1, flip.expand_as(read)))
                ends.append(states[-1][:, 0])
            annotations = torch.cat(states, dim=2)
        annotations = annotations * mask[:, :, None]
        summary = torch.cat(ends, dim=1)[:, -self.summary_size :]
        return Source(annotations, mask, summary, annotations[:, :, :0])


def _read(lstm: nn.Module, embedded: Float[Tensor, "B S E"]) -> Float[Tensor, "B S H"]:
    """Hidden states of one layer and direction, in float32."""
    # On a GPU, without autocast: with it, cuDNN's LSTM uses float16 even if autocast is set to
    # bfloat16, and small gradients are lost.
    mixed = embedded.device.type == "cpu" and cpu_lstm_supports_bfloat16()
    with nullcontext() if mixed else torch.autocast(embedded.device.type, enabled=False):
        return to_float32(lstm(embedded)[0])


@cache
def cpu_lstm_supports_bfloat16() -> bool:
    """Whether PyTorch's LSTM can run under autocast on this CPU; most x86 CPUs need AVX-512."""
    mkldnn = torch.backends.mkldnn.is_available()
    return mkldnn and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
