"""The study's pairs of Europarl are found by their hashes, in the study's order."""

import tarfile

import numpy as np
import sample

from seq2seq.data.europarl import ARCHIVE, NAME
from seq2seq.data.text import read_pairs, write_lines


def test_pairs_are_found_by_their_digests_in_their_order(tmp_path, monkeypatch, capsys):
    pairs = [(f"Line {n} , in English .", f"Ligne {n} , en français .") for n in range(60)]
    with tarfile.open(tmp_path / ARCHIVE, "w:gz") as tar:
        for language, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
            name = f"{NAME}.{language}"
            write_lines(tmp_path / name, lines)
            tar.add(tmp_path / name, name)
    chosen = {"train": [40, 3, 17, 22], "valid": [5], "test": [59, 0]}
    digests = {
        split: [sample.pair_digest(f"line {n},  in English.", pairs[n][1]) for n in numbers]
        for split, numbers in chosen.items()
    }
    digests["train"].insert(1, sample.pair_digest("elsewhere", "ailleurs"))
    np.savez(tmp_path / "digests.npz", **digests)
    monkeypatch.setattr(sample, "DIGESTS", tmp_path / "digests.npz")
    made = tmp_path / "made"
    sample.main(str(made), str(tmp_path))
    for split, numbers in chosen.items():
        found = [*read_pairs(made / f"{split}.en", made / f"{split}.fr")]
        assert found == [pairs[n] for n in numbers]
    assert len([*made.iterdir()]) == 6
    assert "4 of 5" in capsys.readouterr().out
