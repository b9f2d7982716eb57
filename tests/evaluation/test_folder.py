import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.data.text import content_digest
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.lengths import score_texts
from seq2seq.evaluation.scores import ReferenceScores, Translations

SETTINGS = EvaluationConfig(bootstrap=100)


@pytest.fixture
def texts():
    return Translations(
        sources=["one two", "", "line\u2028separator and\u0085next"],
        references=["eins zwei", "", "Zeile: „ja“"],
        hypotheses=["eins zwo", "", ""],
        capped=[False, True, False],
        log_probabilities=[-1.25, float("-inf"), None],
    )


def test_an_evaluation_survives_the_disk(tmp_path, texts):
    written = write_evaluation(tmp_path / "new" / "folder", texts, SETTINGS, {"system": "größer"})
    read = read_evaluation(tmp_path / "new" / "folder")
    assert read.texts == replace(texts, log_probabilities=[-1.25, None, None])
    assert read.scores == written.scores == score_texts(texts, SETTINGS)
    assert read.record == {"system": "größer"}


def test_scores_of_references_survive_the_disk(tmp_path, texts):
    said = ReferenceScores([-7.5, None, -2.0], [3, 0, 4], [True, True, False])
    settings = replace(SETTINGS, ter=True)
    written = write_evaluation(tmp_path, replace(texts, reference_scores=said), settings, {})
    read = read_evaluation(tmp_path)
    assert read.texts.reference_scores == said
    assert read.scores == written.scores
    assert read.scores.known.sentences == 2
    assert read.scored_with(settings) is read.scores


def test_a_folder_of_before_references_were_scored_still_reads(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    sentences = json.loads((tmp_path / "sentences.json").read_text(encoding="utf-8"))
    del sentences["reference_scores"]
    (tmp_path / "sentences.json").write_text(json.dumps(sentences), encoding="utf-8")
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    scores["sha256"]["sentences.json"] = content_digest(tmp_path / "sentences.json")
    del scores["known"], scores["settings"]["ter"], scores["signatures"]["ter"]
    for row in (scores["overall"], *scores["buckets"]):
        del row["ter"], row["loss"], row["perplexity"]
    (tmp_path / "scores.json").write_text(json.dumps(scores), encoding="utf-8")
    read = read_evaluation(tmp_path)
    assert read.texts.reference_scores is None
    assert read.scored_with(SETTINGS) is read.scores
    assert read.scores == score_texts(texts, SETTINGS)


def test_the_files_are_plain_text_line_by_line(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    assert (tmp_path / "hypotheses.txt").read_bytes() == b"eins zwo\n\n\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hypotheses.txt",
        "references.txt",
        "scores.json",
        "sentences.json",
        "sources.txt",
    ]
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert scores["settings"]["edges"] == [10, 20, 30, 40, 50, 60]
    assert "tok:13a" in scores["signatures"]["bleu"]
    assert scores["buckets"][6]["bleu"] is None


def test_writing_again_replaces_the_evaluation_and_nothing_else(tmp_path, texts):
    (tmp_path / "notes.txt").write_text("mine")
    write_evaluation(tmp_path, texts, SETTINGS, {})
    other = replace(texts, hypotheses=["a", "b", "c"])
    write_evaluation(tmp_path, other, SETTINGS, {"second": True})
    assert read_evaluation(tmp_path).texts.hypotheses == ["a", "b", "c"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_record_that_is_no_json_leaves_the_old_evaluation_alone(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    other = replace(texts, hypotheses=["a", "b", "c"])
    with pytest.raises(TypeError, match="Path"):
        write_evaluation(tmp_path, other, SETTINGS, {"checkpoint": Path("x")})
    assert read_evaluation(tmp_path).texts.hypotheses == texts.hypotheses


def test_a_write_cut_short_is_noticed(tmp_path, texts, monkeypatch):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    other = replace(texts, hypotheses=["a", "b", "c"])
    with monkeypatch.context() as patch:
        patch.setattr("seq2seq.evaluation.folder.write_json", lambda path, data: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            write_evaluation(tmp_path, other, SETTINGS, {})
    with pytest.raises(UserError, match=r"hypotheses.txt is not the file that was scored"):
        read_evaluation(tmp_path)


def refusal(directory: Path) -> str:
    with pytest.raises(UserError) as refused:
        read_evaluation(directory)
    return str(refused.value)


def test_a_missing_folder_is_named(tmp_path):
    missing = tmp_path / "nowhere"
    assert refusal(missing) == f"There is no evaluation folder {missing}; check the path."


def test_a_folder_without_scores_is_unfinished(tmp_path):
    assert refusal(tmp_path) == (
        f"{tmp_path} holds no scores.json, so it is no finished evaluation; run evaluate first."
    )


def test_a_missing_text_is_named(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    (tmp_path / "references.txt").unlink()
    assert str(tmp_path / "references.txt") in refusal(tmp_path)


def test_a_missing_sentences_file_is_named(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    (tmp_path / "sentences.json").unlink()
    assert str(tmp_path / "sentences.json") in refusal(tmp_path)


def test_texts_that_disagree_in_length_are_refused(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    (tmp_path / "hypotheses.txt").write_text("eins zwo\n")
    assert refusal(tmp_path) == (
        f"The files of {tmp_path} disagree in their number of lines "
        "(sources.txt 3, references.txt 3, hypotheses.txt 1); evaluate again."
    )


def test_an_edited_text_is_refused(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    (tmp_path / "hypotheses.txt").write_text("eins zwei\n\n\n")
    assert refusal(tmp_path) == (
        f"{tmp_path / 'hypotheses.txt'} is not the file that was scored; restore it, "
        "or evaluate again."
    )


def test_scores_of_another_format_are_refused(tmp_path, texts):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    (tmp_path / "scores.json").write_text('{"format": 99}')
    assert refusal(tmp_path) == (
        f"{tmp_path / 'scores.json'} has format 99, not 1, the one this version reads; "
        "evaluate again."
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: '{"a":' * 100_000,
        lambda text: text.replace('"overall"', '"everything"'),
        lambda text: text.replace('"chrf"', '"meteor"'),
        lambda text: text.replace('"sha256"', '"md5"'),
        lambda text: text.replace('"record": {}', '"record": 5'),
        lambda text: re.sub(r'"buckets": \[.*?\]', '"buckets": [1]', text, flags=re.DOTALL),
    ],
)
def test_damaged_scores_are_refused_in_one_sentence(tmp_path, texts, damage):
    write_evaluation(tmp_path, texts, SETTINGS, {})
    path = tmp_path / "scores.json"
    path.write_text(damage(path.read_text()))
    assert re.fullmatch(
        rf"{re.escape(str(path))} is damaged \(.+\); restore it, or evaluate again\.",
        refusal(tmp_path),
    )


def test_other_settings_are_scored_afresh(tmp_path):
    evaluation = evaluated(tmp_path, translated({4: 5, 15: 5}, lambda n: 0.9), "one")
    assert evaluation.scored_with(EvaluationConfig(bootstrap=100)) is evaluation.scores
    other = evaluation.scored_with(EvaluationConfig(bootstrap=100, length_buckets=[5]))
    assert [bucket.words for bucket in other.buckets] == ["1-5", "6+"]
