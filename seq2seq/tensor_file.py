"""Tensors from a safetensors file that may come from a stranger."""

from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from seq2seq.errors import UserError
from seq2seq.files import open_plain

TENSOR_BYTES = 1 << 36
"""Most bytes of such a file. It is mapped, not read, and allocates no more than it has."""
KINDS = ("BF16", "BOOL", "F16", "F32", "F64", "I16", "I32", "I64", "I8", "U8")
MOST_DIMENSIONS = 8
LARGEST_DIMENSION = 1 << 48


def read_tensors(path: Path, mend: str) -> dict[str, Tensor]:
    """Every tensor of the file, on the CPU.

    What the header says of sizes is held against the length of the file, by safetensors, and
    against what PyTorch can hold, here; only then is a tensor made.

    Args:
        path: the file.
        mend: what to do about one that is refused.

    Raises:
        UserError: it is missing, no plain file or no safetensors file.
    """
    try:
        open_plain(path, TENSOR_BYTES).close()
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118 - it is no mapping
                tensor = file.get_slice(name)
                _require_usual(name, tensor.get_dtype(), tensor.get_shape())
        return load_file(path)
    except FileNotFoundError:
        raise UserError(f"{path.name} is missing in {path.parent}; {mend}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(
            f"{path.name} in {path.parent} is no safetensors file ({error}); {mend}."
        ) from None


def _require_usual(name: str, kind: str, shape: list[int]) -> None:
    if kind not in KINDS:
        raise ValueError(f"{name} is of the unknown type {kind}")
    if len(shape) > MOST_DIMENSIONS or max(shape, default=0) > LARGEST_DIMENSION:
        raise ValueError(f"{name} has {len(shape)} dimensions, or one beyond all memory")
