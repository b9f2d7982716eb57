"""Where mixed precision must end."""

import torch
from jaxtyping import Float
from torch import Tensor


def widen(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """bfloat16 as float32, for what must not lose digits; float32 and float64 as they are."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
