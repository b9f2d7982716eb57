"""Initial values of the parameters."""

import torch
from torch import Tensor, nn

from seq2seq.data.vocabulary import PAD

READOUT_GAIN = 3.0
"""Factor of the readout's initial weights. Xavier's bound is meant for inputs with standard
deviation 1; at the start, the readout's inputs have about 0.1."""


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
