"""Parts of encoder and decoder: LSTM cell, dropout, embedding, and products in float32."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.data.vocabulary import PAD

_LEVELS = 1 << 16


def to_float32(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return ``x`` in float32 if it has 16 bits, else unchanged."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def matmul_dtype(device: torch.device, default: torch.dtype) -> torch.dtype:
    """Type of matrix products on ``device``: autocast's type if it is on, otherwise ``default``."""
    enabled = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if enabled else default


def exact_product(x: Float[Tensor, "*X"], y: Float[Tensor, "*Y"]) -> Float[Tensor, "*Z"]:
    """Matrix product in float32 even under mixed precision; ``y`` may have 16 bits."""
    with torch.autocast(x.device.type, enabled=False):
        return x @ to_float32(y)


def lstm_cell(
    before: Float[Tensor, "R H"], product: Float[Tensor, "R G"], word: Float[Tensor, "R G"] | None
) -> tuple[Float[Tensor, "R H"], Float[Tensor, "R H"]]:
    r"""Hidden state h and cell state c after one LSTM step, in float32.

    .. math::
        c = \sigma(f) c_{before} + \sigma(i) \tanh(g), \quad h = \sigma(o) \tanh(c)

    (Hochreiter & Schmidhuber 1997; Gers et al. 2000.) ``product``, plus ``word`` if given, holds
    i, f, g, o side by side.
    """
    gates = to_float32(product if word is None else word + product)
    i, f, g, o = gates.chunk(4, dim=1)
    cell = f.sigmoid() * before + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


class Projection(nn.Linear):
    """A linear layer whose product may be rounded (autocast) and whose result is float32."""

    def forward(self, x: Float[Tensor, "*N X"]) -> Float[Tensor, "*N Y"]:
        return to_float32(super().forward(x))


class Output(nn.Linear):
    """The softmax layer. In search on a CPU, rows of logits begin at multiples of 64 bytes.

    MKL is then up to 1.5 times as fast; the numbers are the same.
    """

    def forward(self, x: Float[Tensor, "*N X"]) -> Float[Tensor, "*N Y"]:
        exact = matmul_dtype(x.device, x.dtype) == x.dtype == self.weight.dtype == torch.float32
        if x.dim() != 2 or x.is_cuda or torch.is_grad_enabled() or not exact:
            return super().forward(x)
        wide = x.new_empty(len(x), -(-self.out_features // 16) * 16)
        return torch.addmm(self.bias, x, self.weight.t(), out=wide[:, : self.out_features])


class Dropout(nn.Module):
    """Dropout (Srivastava et al. 2014) that draws 16 bits per element on a CPU, to be faster.

    The share is rounded to a multiple of 2^-16, and the scale of the other elements fits.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.share)
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
        bits.random_(-(1 << 63), (1 << 63) - 1)
        levels = bits.view(torch.int16)[: x.numel()].view(x.shape)
        dropped = round(self.share * _LEVELS)
        # The backward pass keeps one byte per element, not the scale of each.
        zeroed = levels < dropped - _LEVELS // 2
        return (x * (_LEVELS / (_LEVELS - dropped))).masked_fill(zeroed, 0)


class Embedding(nn.Embedding):
    """Word vectors, multiplied by ``scale`` as they are read.

    With scale sqrt(E) (Vaswani et al. 2017, section 3.4), they start with standard deviation 1, and
    change sqrt(E) times as fast as the stored rows, whose E^-1/2 suits a tied softmax layer.
    """

    def __init__(self, size: int, width: int, scale: float) -> None:
        # Pass a matrix. Otherwise PyTorch draws values, and for device "meta" loads its compiler.
        super().__init__(size, width, padding_idx=PAD, _weight=torch.empty(size, width))
        self.scale = scale

    def forward(self, ids: Int[Tensor, "*N"]) -> Float[Tensor, "*N E"]:
        return to_float32(super().forward(ids)) * self.scale
