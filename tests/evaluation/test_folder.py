"""An evaluation folder: what is written is read, and what was changed is refused."""

import gzip
import io
import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic_translations import evaluated

from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.translations import AttentionMap, ReferenceScores, Translations
from seq2seq.files import file_digest

TEXTS = Translations(
    sources=["one two", "", "line\u2028separator and\u0085next"],
    references=["eins zwei", "", "Zeile: „ja“"],
    hypotheses=["eins zwo", "", ""],
    capped=[False, True, False],
    log_probabilities=[-1.25, None, None],
    reference_scores=ReferenceScores([-7.5, None, -2.0], [3, 0, 4]),
    maps=[AttentionMap(0, ["one", "two"], ["eins"], [[0.25, 0.75]])],
    more_references=[["eins zwo", "", "Zeile"], ["zwei", "", "ja"]],
)


def plant(folder: Path, name: str, content: bytes, **changes: object) -> None:
    """Change a file, its digest, and values of scores.json, as a stranger could."""
    (folder / name).write_bytes(content)
    scores = json.loads((folder / "scores.json").read_text()) | changes
    scores["sha256"][name] = file_digest(folder / name)
    (folder / "scores.json").write_text(json.dumps(scores))


def test_an_evaluation_survives_the_disk(tmp_path):
    folder = tmp_path / "new" / "folder"
    written = evaluated(folder, TEXTS, "größer")
    read = read_evaluation(folder)
    assert replace(read, counts=written.counts) == written
    for key, array in written.counts.arrays.items():
        np.testing.assert_array_equal(read.counts.arrays[key], array)
    assert (folder / "hypotheses.txt").read_bytes() == b"eins zwo\n\n\n"
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert [row["words"] for row in scores["rows"]] == [row.words for row in read.rows]
    assert scores["rows"][0]["chrf"] == read.rows[0].chrf > 0


@pytest.mark.slow
def test_counts_that_do_not_fit_are_made_again(tmp_path):
    expected = evaluated(tmp_path, TEXTS, "one")
    arrays, old = expected.counts.arrays, {"BLEU": "version:0", "chrF": "version:0"}
    for planted, changes in (
        ({"bleu": arrays["bleu"]}, {}),
        ({key: array[1:] for key, array in arrays.items()}, {}),
        ({key: np.broadcast_to(0, (10**6, array.shape[1])) for key, array in arrays.items()}, {}),
        ({key: 0 * array for key, array in arrays.items()}, {"signatures": old}),
    ):
        packed = io.BytesIO()
        np.savez_compressed(packed, **planted)
        plant(tmp_path, "counts.npz", packed.getvalue(), **changes)
        tracemalloc.start()
        assert read_evaluation(tmp_path).rows == expected.rows
        assert tracemalloc.get_traced_memory()[1] < 50_000_000  # what is huge is not unpacked
        tracemalloc.stop()
    plant(tmp_path, "counts.npz", b"no zip", signatures=expected.counts.signatures)
    assert read_evaluation(tmp_path).rows == expected.rows
    (tmp_path / "counts.npz").write_bytes(packed.getvalue())  # zeros, and not of the digest
    assert read_evaluation(tmp_path).rows == expected.rows
    (tmp_path / "counts.npz").unlink()
    assert read_evaluation(tmp_path).rows == expected.rows


def test_writing_again_replaces_the_evaluation_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("mine")
    for texts in (TEXTS, replace(TEXTS, hypotheses=["a", "b", "c"])):
        evaluated(tmp_path, texts, "one")
        assert read_evaluation(tmp_path).texts == texts
    assert (tmp_path / "notes.txt").read_text() == "mine"
    monkeypatch.setattr("seq2seq.evaluation.folder.write_json", lambda path, data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        evaluated(tmp_path, TEXTS, "one")
    with pytest.raises(UserError, match=r"hypotheses\.txt"):  # cut short
        read_evaluation(tmp_path)


def test_what_has_changed_or_would_fill_memory_is_refused(tmp_path):
    for name in ("references-3.txt", "sentences.json"):
        evaluated(tmp_path, TEXTS, "one")
        (tmp_path / name).write_text("{}\n")
        with pytest.raises(UserError, match=name):
            read_evaluation(tmp_path)
    evaluated(tmp_path, TEXTS, "one")
    plant(tmp_path, "hypotheses.txt", gzip.compress(b"\n" * 10**7))
    tracemalloc.start()
    with pytest.raises(UserError, match="damaged"):
        read_evaluation(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
