"""An evaluation folder: what is written is read, and what was changed is refused."""

import gzip
import json
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from helpers.synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.translations import AttentionMap, Counts, ReferenceScores, Translations
from seq2seq.files import file_digest
from seq2seq.record import EvaluationRecord

SETTINGS = EvaluationConfig(bootstrap=100)
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


def same(one: Counts, other: Counts) -> bool:
    equal = one.arrays.keys() == other.arrays.keys() and one.signatures == other.signatures
    return equal and all(np.array_equal(one.arrays[key], other.arrays[key]) for key in one.arrays)


def test_an_evaluation_survives_the_disk(tmp_path):
    folder = tmp_path / "new" / "folder"
    written = write_evaluation(folder, TEXTS, SETTINGS, EvaluationRecord(system="größer"))
    read = read_evaluation(folder)
    assert read.texts == TEXTS
    assert (read.rows, read.settings, read.record) == (written.rows, SETTINGS, written.record)
    assert same(read.counts, written.counts)
    assert (folder / "hypotheses.txt").read_bytes() == b"eins zwo\n\n\n"
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert "tok:13a" in scores["signatures"]["BLEU"]
    assert [row["words"] for row in scores["rows"]] == [row.words for row in read.rows]
    assert "scores" not in scores["rows"][0]
    assert scores["rows"][0]["chrf"] == read.rows[0].chrf > 0
    assert scores["rows"][6]["bleu"] is None


def test_counts_are_made_again_for_another_tokenisation(tmp_path):
    evaluation = evaluated(tmp_path, translated({4: 5, 15: 5}, lambda n: 0.9), "one")
    settings = replace(SETTINGS, tokenize="char")
    counts = Counts.of(evaluation.texts, settings, evaluation.counts)
    assert same(counts, Counts.of(evaluation.texts, settings))
    assert not same(counts, evaluation.counts)


def seal(folder, name):
    """Make the digest of a file that was changed that of its content."""
    scores = json.loads((folder / "scores.json").read_text())
    scores["sha256"][name] = file_digest(folder / name)
    (folder / "scores.json").write_text(json.dumps(scores))


@pytest.mark.parametrize("how", ["version", "missing", "array", "shape", "bytes", "huge"])
def test_counts_that_do_not_fit_are_made_again(tmp_path, how):
    """Also those that would unpack to more than they should: a stranger's 0.8 GB in a megabyte."""
    expected = write_evaluation(tmp_path, TEXTS, SETTINGS, EvaluationRecord()).counts
    path = tmp_path / "counts.npz"
    if how == "version":
        scores = json.loads((tmp_path / "scores.json").read_text())
        scores["signatures"] = {"BLEU": "version:0", "chrF": "version:0"}
        (tmp_path / "scores.json").write_text(json.dumps(scores))
        np.savez_compressed(path, **{key: 0 * array for key, array in expected.arrays.items()})
    elif how == "missing":
        path.unlink()
    elif how == "array":
        np.savez_compressed(path, bleu=expected.arrays["bleu"])
    elif how == "shape":
        np.savez_compressed(path, **{key: array[1:] for key, array in expected.arrays.items()})
    elif how == "bytes":
        path.write_bytes(b"no zip")
    else:
        header = {"descr": "<i8", "fortran_order": False, "shape": (10_000_000, 10)}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for array in ("bleu", "chrf"):
                with packed.open(f"{array}.npy", "w") as stream:
                    np.lib.format.write_array_header_1_0(stream, header)
                    for _ in range(800):
                        stream.write(bytes(1_000_000))
    if path.exists():
        seal(tmp_path, path.name)
    tracemalloc.start()
    assert same(read_evaluation(tmp_path).counts, expected)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_a_text_that_would_fill_memory_is_refused(tmp_path):
    write_evaluation(tmp_path, TEXTS, SETTINGS, EvaluationRecord())
    with gzip.open(tmp_path / "hypotheses.txt", "wb") as packed:
        for _ in range(300):
            packed.write(b"\n" * 1_000_000)
    seal(tmp_path, "hypotheses.txt")
    tracemalloc.start()
    with pytest.raises(UserError, match="damaged"):
        read_evaluation(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


def test_writing_again_replaces_the_evaluation_and_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("mine")
    for texts in (TEXTS, replace(TEXTS, hypotheses=["a", "b", "c"])):
        write_evaluation(tmp_path, texts, SETTINGS, EvaluationRecord())
        assert read_evaluation(tmp_path).texts == texts
    assert (tmp_path / "notes.txt").read_text() == "mine"
    monkeypatch.setattr("seq2seq.evaluation.folder.write_json", lambda path, data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_evaluation(tmp_path, TEXTS, SETTINGS, EvaluationRecord())
    with pytest.raises(UserError, match=r"hypotheses\.txt"):  # cut short
        read_evaluation(tmp_path)


def test_an_empty_test_set_is_refused(tmp_path):
    with pytest.raises(UserError, match="empty"):
        write_evaluation(tmp_path, Translations([], [], [], []), SETTINGS, EvaluationRecord())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scores.json", None),
        ("scores.json", '{"a":'),
        ("scores.json", '{"systems": []}'),
        ("scores.json", '{"sha256": {}}'),
        ("hypotheses.txt", "eins zwei\n\n\n"),
        ("references-3.txt", "zwei\n\nnein\n"),
        ("sentences.json", "{}"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, name, content):
    write_evaluation(tmp_path, TEXTS, SETTINGS, EvaluationRecord())
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=name if name != "scores.json" else str(tmp_path)):
        read_evaluation(tmp_path)
