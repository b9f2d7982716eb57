"""A flat array that is written to disk piece by piece, its length known only at the end."""

from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Integer
from numpy.lib import format as npy


class GrowingArray:
    """A .npy file to append to; nothing of it stays in memory.

    The file can be loaded once :meth:`finish` has put the length into its header. NumPy pads the
    header, so that the longer one takes the place of the one that was there.
    """

    def __init__(self, path: Path, dtype: type[np.integer]) -> None:
        """Begin an empty array of ``dtype`` at ``path``."""
        self._path = path
        self._dtype = np.dtype(dtype)
        self._length = 0
        with path.open("wb") as stream:
            self._write_header(stream)

    def __len__(self) -> int:
        """Count the elements so far."""
        return self._length

    def append(self, part: Integer[np.ndarray, "_"]) -> None:
        """Write ``part`` behind what is there."""
        with self._path.open("ab") as stream:
            part.astype(self._dtype, copy=False).tofile(stream)
        self._length += len(part)

    def finish(self) -> None:
        """Write the length down."""
        with self._path.open("r+b") as stream:
            self._write_header(stream)

    def _write_header(self, stream: BinaryIO) -> None:
        header = {
            "descr": npy.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (self._length,),
        }
        npy.write_array_header_1_0(stream, header)
