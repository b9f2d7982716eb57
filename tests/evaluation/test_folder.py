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
from seq2seq.evaluation.folder import FORMAT, read_evaluation, write_evaluation
from seq2seq.evaluation.translations import AttentionMap, Counts, ReferenceScores, Translations
from seq2seq.files import file_digest
from seq2seq.record import EvaluationRecord

SETTINGS = EvaluationConfig(bootstrap=100)
SAID = ReferenceScores([-7.5, None, -2.0], [3, 0, 4])
TEXTS = Translations(
    sources=["one two", "", "line\u2028separator and\u0085next"],
    references=["eins zwei", "", "Zeile: „ja“"],
    hypotheses=["eins zwo", "", ""],
    capped=[False, True, False],
    log_probabilities=[-1.25, None, None],
    reference_scores=SAID,
    maps=[AttentionMap(0, ["one", "two"], ["eins"], [[0.25, 0.75]])],
    more_references=[["eins zwo", "", "Zeile"], ["zwei", "", "ja"]],
)


def same(one: Counts, other: Counts) -> bool:
    equal = np.array_equal(one.bleu, other.bleu) and np.array_equal(one.chrf, other.chrf)
    return equal and one.signatures == other.signatures


def test_an_evaluation_survives_the_disk(tmp_path):
    folder = tmp_path / "new" / "folder"
    written = write_evaluation(folder, TEXTS, SETTINGS, EvaluationRecord(system="größer"))
    read = read_evaluation(folder)
    assert read.texts == TEXTS
    assert (read.rows, read.settings, read.record) == (written.rows, SETTINGS, written.record)
    assert same(read.counts, written.counts)
    assert read.counts_for(SETTINGS) is read.counts
    assert (folder / "hypotheses.txt").read_bytes() == b"eins zwo\n\n\n"
    scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    assert "tok:13a" in scores["signatures"]["BLEU"]
    assert scores["rows"][6]["bleu"] is None


def test_counts_are_made_again_for_another_tokenisation_or_sacrebleu(tmp_path):
    evaluation = evaluated(tmp_path, translated({4: 5, 15: 5}, lambda n: 0.9), "one")
    settings = replace(SETTINGS, tokenize="char")
    counts = evaluation.counts_for(settings)
    assert same(counts, Counts.of(evaluation.texts, settings))
    assert not same(counts, evaluation.counts)
    old = replace(evaluation.counts, signatures={"BLEU": "version:0", "chrF": "version:0"})
    assert same(replace(evaluation, counts=old).counts_for(SETTINGS), evaluation.counts)


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


def test_what_would_unpack_to_more_than_it_should_is_refused_before(tmp_path):
    """A stranger's arrays of 0.8 GB, and a text of 0.3 GB, in files of less than a megabyte."""
    write_evaluation(tmp_path, TEXTS, SETTINGS, EvaluationRecord())
    scores = (tmp_path / "scores.json").read_text()
    for name in ("counts.npz", "hypotheses.txt"):
        kept = (tmp_path / name).read_bytes()
        if name == "counts.npz":
            header = {"descr": "<i8", "fortran_order": False, "shape": (10_000_000, 10)}
            with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as packed:
                for array in ("bleu", "chrf"):
                    with packed.open(f"{array}.npy", "w") as stream:
                        np.lib.format.write_array_header_1_0(stream, header)
                        for _ in range(800):
                            stream.write(bytes(1_000_000))
        else:
            with gzip.open(tmp_path / name, "wb") as packed:
                for _ in range(300):
                    packed.write(b"\n" * 1_000_000)
        sealed = json.loads(scores)
        sealed["sha256"][name] = file_digest(tmp_path / name)
        (tmp_path / "scores.json").write_text(json.dumps(sealed))
        tracemalloc.start()
        with pytest.raises(UserError, match="damaged"):
            read_evaluation(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()
        (tmp_path / name).write_bytes(kept)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("scores.json", None, "scores.json"),
        ("scores.json", '{"format": 99}', "format 99"),
        ("scores.json", '{"a":', "damaged"),
        ("scores.json", '{"systems": []}', "is a comparison"),
        ("scores.json", f'{{"format": {FORMAT}, "sha256": {{}}}}', "damaged"),
        ("hypotheses.txt", "eins zwei\n\n\n", r"hypotheses\.txt"),
        ("references-3.txt", "zwei\n\nnein\n", r"references-3\.txt"),
        ("counts.npz", "no zip", r"counts\.npz"),
        ("sentences.json", "{}", r"sentences\.json"),
    ],
)
def test_what_is_damaged_is_refused(tmp_path, name, content, said):
    write_evaluation(tmp_path, TEXTS, SETTINGS, EvaluationRecord())
    if content is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=said):
        read_evaluation(tmp_path)
    with pytest.raises(UserError, match=r"evaluations=.*nowhere"):
        read_evaluation(tmp_path / "nowhere")
