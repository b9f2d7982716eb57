"""An evaluation that is there already: when it serves again, and when it is made anew."""

import dataclasses
import json
import shutil

import pytest
import torch
from toy_evaluation import SETTINGS, settings

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig, EvaluationConfig
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.folder import read_evaluation, write_evaluation


def test_an_evaluation_is_not_made_twice_but_another_is(run):
    (first,) = evaluate(settings(run))
    before = (first.directory / "scores.json").stat().st_mtime_ns
    (again,) = evaluate(settings(run, decoding=DecodingConfig(beam=1, batch_size=7)))
    assert (again.directory / "scores.json").stat().st_mtime_ns == before
    (other,) = evaluate(
        settings(run, evaluation=EvaluationConfig(length_buckets=[3], bootstrap=100))
    )
    assert [bucket.words for bucket in other.scores.buckets] == ["1-3", "4+"]
    (beam,) = evaluate(settings(run, decoding=DecodingConfig(beam=3)))
    assert beam.directory.name == "test-beam3"


def test_scores_of_another_sacrebleu_are_made_again(run, tmp_path):
    (first,) = evaluate(settings(run, output=str(tmp_path)))
    path = first.directory / "scores.json"
    now = path.read_text()
    path.write_text(now.replace("version:", "version:0."))
    assert evaluate(settings(run, output=str(tmp_path)))[0].scores == first.scores
    assert json.loads(path.read_text())["signatures"] == json.loads(now)["signatures"]


def test_one_checkpoint_does_not_serve_for_another(run, other_checkpoint, tmp_path):
    for path in (run, other_checkpoint):
        sha256 = load_checkpoint(path, torch.device("cpu")).sha256
        (alone,) = evaluate(settings(path, output=str(tmp_path)))
        assert alone.record["identity"]["checkpoint_sha256"] == sha256
        (both,) = evaluate(settings(run, more_checkpoints=[str(path)], output=str(tmp_path)))
        assert both.record["identity"]["together"] == ["ensemble2", sha256]
        # Of two trainings, none of which is that of the whole; those of the members are kept.
        of_one = path == run
        assert (both.record["training"] is None) == (not of_one)
        trainings = [member["training"] for member in both.record["members"]]
        assert trainings[0] == evaluate(settings(run))[0].record["training"]
        assert trainings[1] == alone.record["training"]
        # A folder of a version that took the first training for that of all is told the truth.
        old = {k: v for k, v in both.record.items() if k != "members"} | {"training": {"seed": 5}}
        write_evaluation(both.directory, both.texts, both.scores.settings, old)
        (again,) = evaluate(settings(run, more_checkpoints=[str(path)], output=str(tmp_path)))
        assert again.record == both.record


def test_one_precision_does_not_serve_for_another(run, tmp_path):
    for name, kind in (("fp32", "float32"), ("bf16", "bfloat16")):
        (found,) = evaluate(settings(run, precision=name, output=str(tmp_path)))
        assert found.record["identity"]["precision"] == kind


def test_one_kind_of_device_does_not_serve_for_another(run, monkeypatch):
    class Asked(Exception):  # noqa: N818 - no error
        pass

    def translate(translator, *_, **__):
        raise Asked(translator.device)

    def moved(*arguments):
        translator = load(*arguments)
        translator.device = torch.device("cuda")
        return translator

    evaluate(settings(run))
    load = Translator.of
    monkeypatch.setattr(Translator, "of", moved)
    monkeypatch.setattr(Translator, "translate", translate)
    with pytest.raises(Asked, match="cuda"):
        evaluate(settings(run))


def test_what_the_run_says_of_itself_is_brought_up_to_date(run, tmp_path):
    """Training may have gone on without a better checkpoint: the translations are still its own."""
    run = shutil.copytree(run, tmp_path / "run")
    (first,) = evaluate(settings(run))
    path = run / "run.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**said, "reason": "max_epochs=99"}), encoding="utf-8")
    (again,) = evaluate(settings(run))
    assert again.record["training"]["reason"] == "max_epochs=99"
    assert again.texts == first.texts
    assert read_evaluation(first.directory).record == again.record
    path.unlink()  # a checkpoint without its run keeps what was known of it
    (without,) = evaluate(settings(run))
    assert without.record == again.record


@pytest.mark.parametrize(
    ("name", "content"),
    [("hypotheses.txt", "other\n"), ("scores.json", "{"), ("scores.json", '{"format": 0}')],
)
def test_a_damaged_evaluation_is_made_again_as_its_message_says(run, caplog, name, content):
    (first,) = evaluate(settings(run))
    (first.directory / name).write_text(content, encoding="utf-8")
    (again,) = evaluate(settings(run))
    assert "That is done now." in caplog.text
    assert again.texts.hypotheses == first.texts.hypotheses
    assert read_evaluation(first.directory).scores == first.scores


def test_an_evaluation_of_before_a_setting_existed_holds_with_its_default(run):
    (first,) = evaluate(settings(run))
    path = first.directory / "scores.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    del content["record"]["identity"]["search"]["coverage_penalty"]
    path.write_text(json.dumps(content), encoding="utf-8")
    before = path.stat().st_mtime_ns
    evaluate(settings(run))
    assert path.stat().st_mtime_ns == before
    content["record"]["identity"]["search"]["coverage_penalty"] = 0.5
    path.write_text(json.dumps(content), encoding="utf-8")
    before = path.stat().st_mtime_ns
    evaluate(settings(run))
    assert path.stat().st_mtime_ns > before


@pytest.mark.parametrize("older", [None, True], ids=["not scored", "scored as a whole"])
def test_a_folder_of_before_references_were_scored_is_completed_not_translated(
    run, older, monkeypatch
):
    (whole,) = evaluate(settings(run))
    path = whole.directory
    said = dataclasses.replace(
        whole.texts.reference_scores, piece_losses=None, entropy=None, off_diagonal=None
    )
    assert whole.texts.maps
    old = dataclasses.replace(whole.texts, reference_scores=older and said, maps=[])
    write_evaluation(path, old, SETTINGS, whole.record)
    with monkeypatch.context() as patch:
        patch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("translated again"))
        (again,) = evaluate(settings(run))
        assert again == whole
        assert read_evaluation(path) == whole
        before = (path / "scores.json").stat().st_mtime_ns
        evaluate(settings(run))
        assert (path / "scores.json").stat().st_mtime_ns == before
        (scored,) = evaluate(settings(run, evaluation=dataclasses.replace(SETTINGS, ter=True)))
        assert scored.scores.overall.ter > 0
