"""How parameters start."""

import torch
from torch import nn

from seq2seq.model.attention.additive import CoverageAttention, NetworkAttention
from seq2seq.model.decoder import Decoder


def _gate_blocks(weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The four square (or rectangular) gate matrices stacked in an LSTM weight."""
    return weight.chunk(4, dim=0)


def _attention_last(model: nn.Module) -> tuple[list[nn.Module], list[nn.Module]]:
    """All modules, those of the attention apart.

    They draw their random numbers last: systems that differ in their attention alone then start,
    at the same seed, from equal values everywhere else.
    """
    parts: tuple[list[nn.Module], list[nn.Module]] = ([], [])
    for name, module in model.named_modules():
        parts["attention" in name.split(".")].append(module)
    return parts


def initialize_xavier(model: nn.Module) -> None:
    """Xavier-uniform products, orthogonal recurrences, forget gates open (bias 1).

    Gates are initialised one by one: as one matrix of four,
    Xavier's bound and orthogonality would be those of the wrong shape.
    """
    for modules in _attention_last(model):
        for module in modules:
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, NetworkAttention | CoverageAttention):
                nn.init.uniform_(module.score, -(module.key_size**-0.5), module.key_size**-0.5)
        for module in modules:
            if isinstance(module, nn.LSTM):
                _initialize_lstm(module)
            elif isinstance(module, Decoder):
                _initialize_decoder(module)


@torch.no_grad()
def _initialize_lstm(lstm: nn.LSTM) -> None:
    for name, parameter in lstm.named_parameters():
        if name.startswith("weight_ih"):
            for gate in _gate_blocks(parameter):
                nn.init.xavier_uniform_(gate)
        elif name.startswith("bias"):
            nn.init.zeros_(parameter)
            if name.startswith("bias_ih"):
                _gate_blocks(parameter)[1].fill_(1.0)
    _make_orthogonal(lstm)


@torch.no_grad()
def _initialize_decoder(decoder: Decoder) -> None:
    for linear in [decoder.input_gates, decoder.state_gates, *decoder.upper_gates]:
        for gate in _gate_blocks(linear.weight):
            nn.init.xavier_uniform_(gate)
        if linear.bias is not None:
            _gate_blocks(linear.bias)[1].fill_(1.0)
    _make_orthogonal(decoder)


def _make_orthogonal(module: nn.LSTM | Decoder) -> None:
    """Draw the recurrent matrix of each gate anew, as an orthogonal one."""
    if isinstance(module, nn.LSTM):
        recurrent = [p for name, p in module.named_parameters() if name.startswith("weight_hh")]
    else:
        hidden = module.state_gates.out_features // 4
        linears = [module.state_gates, *module.upper_gates]
        # Columns: [input or context; own state].
        recurrent = [linear.weight[:, -hidden:] for linear in linears]
    for weight in recurrent:
        for gate in _gate_blocks(weight):
            nn.init.orthogonal_(gate)


@torch.no_grad()
def initialize_paper(model: nn.Module) -> None:
    """Appendix B.1 of Bahdanau et al. 2014.

    Recurrent matrices orthogonal; the attention's (W_a and U_a) from N(0, 0.001^2); v_a and all
    biases zero; everything else from N(0, 0.01^2).
    """
    shared, attention = _attention_last(model)
    for modules, deviation in ((shared, 0.01), (attention, 0.001)):
        for module in modules:
            for parameter in module.parameters(recurse=False):
                if parameter.dim() == 1:
                    nn.init.zeros_(parameter)
                else:
                    nn.init.normal_(parameter, std=deviation)
        for module in modules:
            if isinstance(module, nn.LSTM | Decoder):
                _make_orthogonal(module)
