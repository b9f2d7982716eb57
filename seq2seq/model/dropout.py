"""Dropout whose random numbers come cheap on a processor."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

_LEVELS = 1 << 16


class Dropout(nn.Module):
    """Zeroes a share of the numbers in training and scales up the rest (Srivastava et al. 2014).

    On a processor PyTorch draws one random number per element, serially, and takes longer for it
    than the model does for its attention. Here a 64-bit draw serves four elements; the share is
    thus a multiple of 2^-16, and the scale is that of the share really dropped.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """``x`` with zeros; unchanged outside of training."""
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.share)
        bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64)
        bits.random_(-(1 << 63), (1 << 63) - 1)
        levels = bits.view(torch.int16)[: x.numel()].view(x.shape)
        dropped = round(self.share * _LEVELS)
        # The way back keeps one byte per element, and not the scale of each.
        zeroed = levels < dropped - _LEVELS // 2
        return (x * (_LEVELS / (_LEVELS - dropped))).masked_fill(zeroed, 0)
