"""An array written piece by piece loads as if it had been written at once."""

from pathlib import Path

import numpy as np
import pytest

from seq2seq.data.growing_array import GrowingArray


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("lengths", [[], [0], [3], [1, 0, 100_000, 7]])
def test_the_parts_come_back_in_a_row(tmp_path: Path, dtype: type, lengths: list[int]) -> None:
    random = np.random.default_rng(1)
    parts = [random.integers(0, 1 << 16, length) for length in lengths]
    array = GrowingArray(tmp_path / "a.npy", dtype)
    for part in parts:
        array.append(part)
    array.finish()
    wanted = np.concatenate([np.zeros(0, np.int64), *parts])
    assert len(array) == len(wanted)
    for mode in (None, "r"):
        found = np.load(tmp_path / "a.npy", mmap_mode=mode)
        assert found.dtype == dtype
        assert found.tolist() == wanted.tolist()
    np.save(tmp_path / "b.npy", wanted.astype(dtype))
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
