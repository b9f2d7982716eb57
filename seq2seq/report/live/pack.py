"""Small models as text inside a web page: weights in 8 bits, and the words of both sides.

The page's own program computes what the default model computes, see ``live.html``.
"""

import base64
from typing import Any

import torch
from jaxtyping import Float, Int8
from torch import Tensor

from seq2seq.checkpoint import Checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.tokenization import WhitespaceTokenizer

KINDS = ("additive", "fixed")
LARGEST = 3_000_000
"""Maximum number of parameters of a model in a page, a byte each."""


def obstacle(checkpoint: Checkpoint) -> str | None:
    """Setting or size of a model that the page cannot compute; None if it can."""
    model, tokenizers = checkpoint.config.model, (checkpoint.source, checkpoint.target)
    size = checkpoint.model.parameter_counts()["total"]
    obstacles = {
        f"model.attention.kind={model.attention.kind}": model.attention.kind not in KINDS,
        "several layers": max(model.encoder.layers, model.decoder.layers) > 1,
        f"model.encoder.directions={model.encoder.directions}": model.encoder.directions != "both",
        f"model.decoder.order={model.decoder.order}": model.decoder.order != "bahdanau",
        f"model.decoder.readout={model.decoder.readout}": model.decoder.readout != "linear",
        f"tokenization={checkpoint.config.tokenization.kind}": any(
            codec.tokenizer.kind != WhitespaceTokenizer.kind for codec in tokenizers
        ),
        f"{size:,} parameters": size > LARGEST,
    }
    return next((reason for reason, stands in obstacles.items() if stands), None)


def packed(checkpoint: Checkpoint) -> dict[str, Any]:
    """Pack a model without :func:`obstacle` as JSON.

    ``weights`` has rows, columns and bytes of each parameter: a float32 step for each row, then the
    numbers of steps as int8. A vector has 0 columns and float32 numbers. The base64 is URL-safe, so
    that no chance text in it looks like a path.
    """
    weights: dict[str, tuple[int, int, str]] = {}
    for name, parameter in checkpoint.model.named_parameters():
        weight, columns = parameter.detach().cpu(), 0
        content = weight.numpy().astype("<f4").tobytes()
        if weight.ndim == 2:
            (steps, step), columns = rounded(weight), weight.shape[1]
            content = step.numpy().astype("<f4").tobytes() + steps.numpy().tobytes()
        weights[name] = len(weight), columns, base64.urlsafe_b64encode(content).decode()
    return {
        "source": checkpoint.source.vocabulary.pieces,
        "target": checkpoint.target.vocabulary.pieces,
        "scale": checkpoint.model.target_embedding.scale,
        "most": checkpoint.config.tokenization.max_pieces,
        "ratio": DecodingConfig.max_ratio,
        "extra": DecodingConfig.max_extra,
        "weights": weights,
    }


def rounded(weight: Float[Tensor, "R C"]) -> tuple[Int8[Tensor, "R C"], Float[Tensor, "R"]]:
    """Round each row to 255 levels; return the numbers of steps, and each row's step."""
    step = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny)
    return (weight / step[:, None]).round().to(torch.int8), step
