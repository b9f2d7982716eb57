"""Initial values of the parameters."""

import torch
from torch import Tensor, nn

from seq2seq.model.attention import Attention
from seq2seq.model.decoder import Decoder
from seq2seq.model.layers import spread

READOUT_GAIN = 3.0
"""Factor of the readout's initial weights. Xavier's bound is meant for inputs with standard
deviation 1; at the start, the readout's inputs have about 0.1."""


def _attention_last(model: nn.Module) -> tuple[list[nn.Module], list[nn.Module]]:
    """Modules outside the attention, and those of the attention, which draws its numbers last."""
    # So systems of one seed that differ only in attention start from equal values elsewhere.
    parts: tuple[list[nn.Module], list[nn.Module]] = ([], [])
    for name, module in model.named_modules():
        parts["attention" in name.split(".")].append(module)
    return parts


@torch.no_grad()
def initialize_uniform(model: nn.Module) -> None:
    """Draw the initial values of ``model.initialization=uniform``, the default.

    The weights of LSTMs, and the matrix that adds the word to the query, start from
    U(-1/sqrt(H), 1/sqrt(H)), embeddings from N(0, 1/E), other matrices within Xavier's bound. The
    biases of the decoder's forget gates are 1, all others 0.
    """
    for modules in _attention_last(model):
        for module in modules:
            if isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, Attention):
                module.initialize()
        for module in modules:
            if isinstance(module, nn.LSTM):
                for name, parameter in module.named_parameters():
                    if "weight" in name:
                        spread(parameter, module.hidden_size)
                    else:
                        nn.init.zeros_(parameter)
            elif isinstance(module, Attention) and module.word_query is not None:
                spread(module.word_query.weight, module.word_query.out_features)
            elif isinstance(module, Decoder):
                for linear in [module.input_gates, module.state_gates, *module.upper_gates]:
                    weight, bias = linear.get_parameter("weight"), linear.bias
                    spread(weight, len(weight) // 4)
                    if isinstance(bias, Tensor):  # gates are ordered i, f, g, o
                        bias.chunk(4)[1].fill_(1.0)
                module.readout_layer.weight *= READOUT_GAIN


@torch.no_grad()
def initialize_paper(model: nn.Module) -> None:
    """Draw the initial values of Bahdanau et al. 2014, appendix B.1.

    Recurrent matrices are orthogonal, the attention's are drawn from N(0, 0.001^2), all others from
    N(0, 0.01^2). v_a and all biases are zero.
    """
    shared, attention = _attention_last(model)
    for modules, deviation in ((shared, 0.01), (attention, 0.001)):
        for module in modules:
            for parameter in module.parameters(recurse=False):
                if parameter.dim() < 2:
                    nn.init.zeros_(parameter)
                else:
                    nn.init.normal_(parameter, std=deviation)
        for module in modules:
            for weight in _recurrent_weights(module):
                for gate in weight.chunk(4):
                    nn.init.orthogonal_(gate)


def _recurrent_weights(module: nn.Module) -> list[Tensor]:
    """Recurrent weights of an LSTM or decoder: a matrix per layer, with four gates each."""
    if isinstance(module, nn.LSTM):
        return [p for name, p in module.named_parameters() if name.startswith("weight_hh")]
    if isinstance(module, Decoder):
        hidden = module.state_gates.out_features // 4
        linears = [module.state_gates, *module.upper_gates]
        return [linear.get_parameter("weight")[:, -hidden:] for linear in linears]
    return []
