"""Encoded pairs are views of flat arrays, mapped from disk."""

from pathlib import Path

import numpy as np
import pytest

from seq2seq.data.dataset import EncodedPairs

ARRAYS = {
    "source": np.array([7, 8, 3, 9, 3, 3], np.int32),
    "source.offsets": np.array([0, 3, 5, 6]),
    "target": np.array([4, 5, 6, 7], np.int32),
    "target.offsets": np.array([0, 1, 1, 4]),
    "lines": np.array([1, 2, 5]),
}


def test_pairs_are_cut_by_the_offsets() -> None:
    pairs = EncodedPairs(*ARRAYS.values())
    assert len(pairs) == 3
    assert [pairs.source(i).tolist() for i in range(3)] == [[7, 8, 3], [9, 3], [3]]
    assert [pairs.target(i).tolist() for i in range(3)] == [[4], [], [5, 6, 7]]
    assert pairs.source_lengths.tolist() == [3, 2, 1]
    assert pairs.target_lengths.tolist() == [1, 0, 3]
    assert pairs.line_numbers.tolist() == [1, 2, 5]


def test_loaded_pairs_are_mapped_read_only(tmp_path: Path) -> None:
    for part, array in ARRAYS.items():
        np.save(tmp_path / f"valid.{part}.npy", array)
    pairs = EncodedPairs.load(tmp_path, "valid")
    assert [pairs.source(i).tolist() for i in range(3)] == [[7, 8, 3], [9, 3], [3]]
    assert type(pairs.source_ids) is np.ndarray
    assert isinstance(pairs.source_ids.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        pairs.source(0)[0] = 1
