"""Where mixed precision must end, and where it may begin."""

import torch
from jaxtyping import Float
from torch import Tensor


def widen(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """bfloat16 as float32, for what must not lose digits; float32 and float64 as they are."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def product_type(device: torch.device, usual: torch.dtype) -> torch.dtype:
    """The type of matrix products on ``device``: autocast's where it is on, else ``usual``."""
    enabled = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if enabled else usual
