"""The stage evaluate: every line kept, the right checkpoint and text, nothing lost."""

import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from helpers.reversal import write_reversal_corpus
from helpers.synthetic_translations import translated
from helpers.toy_evaluation import SETTINGS, settings

from seq2seq.checkpoint import load_checkpoint, newest_checkpoints
from seq2seq.config import DecodingConfig, EvaluationConfig
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation import evaluate as stage
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.report.live import evaluated_checkpoint
from seq2seq.report.tables import notes


@pytest.fixture
def searches(monkeypatch) -> list[DecodingConfig]:
    """The searches made in a test."""
    translate, made = Translator.translate, []

    def recorded(translator, lines, search, **keys):
        made.append(search)
        return translate(translator, lines, search, **keys)

    monkeypatch.setattr(Translator, "translate", recorded)
    return made


def test_the_corpus_test_set_is_scored_into_the_run_folder(run):
    (evaluation,) = evaluate(settings(run))
    assert evaluation.directory == run / "evaluations" / "test-greedy"
    assert evaluation.overall.sentences == 100
    assert [row.words for row in evaluation.rows] == ["1-2", "3-4", "5+", "all"]
    record = evaluation.record
    assert (record.system, record.seed, record.search) == ("attention", 1, "greedy")
    assert record.training.status == "finished"
    assert record.parameters["attention"] > 0


def test_what_the_search_said_of_each_line_is_kept(run, tmp_path, monkeypatch):
    search = DecodingConfig(beam=1, max_ratio=0, max_extra=2)
    clock = SimpleNamespace(monotonic=itertools.count(10, 2).__next__)
    monkeypatch.setattr(stage, "time", clock)  # the speed is that of the search
    (found,) = evaluate(settings(run, decoding=search, output=str(tmp_path)))
    assert (found.record.seconds, found.record.sentences_per_second) == (2, 50)
    said = Translator(run, "cpu", "fp32").translate(found.texts.sources, search)
    assert found.texts.hypotheses == [one.text for one in said]
    assert found.texts.capped == [one.capped for one in said]
    assert found.texts.log_probabilities == [one.log_probability for one in said]
    assert set(found.texts.capped) == {True, False}


def test_several_checkpoints_are_one_system_of_another_name(run, tmp_path, searches):
    last = str(newest_checkpoints(run)[0])
    (alone,) = evaluate(settings(run, output=str(tmp_path)))
    config = settings(run, more_checkpoints=[last], output=str(tmp_path))
    (together,) = evaluate(config)
    assert together.directory.name == "test-greedy-ensemble2"
    assert together.record.system == "attention-ensemble2"
    # Of one training, whose seed and record are thus those of all.
    assert together.record.seed == alone.record.seed
    assert together.record.training == alone.record.training
    assert together.record.parameters == {p: 2 * n for p, n in alone.record.parameters.items()}
    for place, member in zip((run, last), together.record.members, strict=True):
        state = load_checkpoint(Path(place), torch.device("cpu")).state
        assert member.update == state.progress.update
    assert evaluate(config)[0].record == together.record
    assert len(searches) == 2


def test_an_evaluation_is_scored_again_but_not_translated(run, tmp_path, searches):
    run = shutil.copytree(run, tmp_path / "run")
    (first,) = evaluate(settings(run))
    searched = len(searches)
    again = evaluate(settings(run, decoding=DecodingConfig(beam=1, batch_size=7)))[0]
    assert (again.texts, again.record) == (first.texts, first.record)
    other = EvaluationConfig(length_buckets=[3], bootstrap=100)
    (scored,) = evaluate(settings(run, evaluation=other))
    assert [row.words for row in scored.rows] == ["1-3", "4+", "all"]
    assert read_evaluation(scored.directory).rows == scored.rows
    # What the run says of itself is brought up to date; without its run, it is kept.
    path = run / "run.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**said, "reason": "max_epochs=99"}), encoding="utf-8")
    (again,) = evaluate(settings(run))
    assert again.record.training.reason == "max_epochs=99"
    path.unlink()
    assert evaluate(settings(run))[0].record == again.record
    assert len(searches) == searched


def test_a_checkpoint_is_found_again_from_an_output_behind_a_link(run, tmp_path):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    (found,) = evaluate(settings(run, output=str(tmp_path / "link")))
    assert evaluated_checkpoint(found).directory.samefile(run / "checkpoints" / "best")


def test_what_has_changed_or_is_damaged_is_translated_again(run, other_checkpoint, tmp_path):
    run = shutil.copytree(run, tmp_path / "run")
    (first,) = evaluate(settings(run))
    for name in ("hypotheses.txt", "scores.json"):
        (first.directory / name).write_text("{", encoding="utf-8")
        (again,) = evaluate(settings(run))
        assert again.texts.hypotheses == first.texts.hypotheses
        assert read_evaluation(first.directory).rows == first.rows
    shutil.rmtree(run / "checkpoints" / "best")
    shutil.copytree(other_checkpoint, run / "checkpoints" / "best")
    (second,) = evaluate(settings(run))
    assert second.directory == first.directory
    assert second.texts.hypotheses != first.texts.hypotheses


def own_text(folder: Path, name: str = "own", source: str = "a b\n\nc d e\n") -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(source, encoding="utf-8")
    (folder / f"{name}.ref").write_text("B A\n\nE D C\n", encoding="utf-8")
    return {"source": str(folder / name), "reference": str(folder / f"{name}.ref")}


def test_sources_that_are_translated_in_part_are_counted_and_said(run, tmp_path):
    longest = Translator(run).max_pieces
    text = own_text(tmp_path, source="a " * longest + "\n\n" + "b " * (longest + 1) + "\n")
    search = DecodingConfig(beam=1, max_ratio=0, max_extra=2)
    config = settings(run, **text, decoding=search, output=str(tmp_path / "out"))
    (evaluation,) = evaluate(config)
    assert read_evaluation(evaluation.directory).record.cut_sources == 1
    found = notes(compare_systems([evaluation], None, SETTINGS))
    assert any(re.search(r": 1 of \d .*max_pieces", sentence) for sentence in found)


def test_a_result_is_never_replaced_by_one_of_something_else(run, other_checkpoint, tmp_path):
    """Each of these shares the name of its folder with the one before it."""
    output = {"output": str(tmp_path / "out")}
    last = str(newest_checkpoints(run)[0])
    here, there = own_text(tmp_path / "a"), own_text(tmp_path / "b", source="b a\n\nc d e\n")
    ours = settings(run, **here, **output)
    pair = dataclasses.replace(ours, more_checkpoints=[last])
    other_pair = dataclasses.replace(ours, more_checkpoints=[str(other_checkpoint)])
    cases = (
        ("source", ours, settings(run, **there, **output)),
        ("system", ours, settings(other_checkpoint, **here, **output)),
        ("precision", ours, dataclasses.replace(ours, precision="bf16")),
        ("system", pair, other_pair),
    )
    for what, first, second in cases:
        (made,) = evaluate(first)
        before = {path: path.read_bytes() for path in made.directory.iterdir()}
        with pytest.raises(UserError, match=rf"other {what}.*output="):
            evaluate(second)
        assert {path: path.read_bytes() for path in made.directory.iterdir()} == before


def test_the_training_text_is_neither_read_nor_needed(run, tmp_path):
    folder = write_reversal_corpus(tmp_path / "moved")
    for side in ("source", "target"):
        (folder / f"train.{side}").write_bytes(b"\xff")  # no text
    config = settings(run, directory=str(folder), output=str(tmp_path / "out"))
    assert evaluate(config)[0].overall.sentences == 100


def test_more_texts_are_test_sets_of_their_own(run, tmp_path, caplog):
    corpus = load_checkpoint(run / "checkpoints" / "best", torch.device("cpu")).config.corpus
    for language, text in ((corpus.source, "a b z\n"), (corpus.target, "Z B A\n")):
        (tmp_path / f"news.{language}").write_text(text * 3)
    texts = {"news": str(tmp_path / "news")}
    with caplog.at_level("INFO"):
        both = evaluate(settings(run, output=str(tmp_path / "out"), test_texts=texts))
    assert [evaluation.directory.name for evaluation in both] == ["test-greedy", "news-greedy"]
    assert "news: the model's vocabularies lack 33%" in caplog.text
    (alone,) = evaluate(settings(run, output=str(tmp_path), test_texts=texts, test_sets=[]))
    assert alone.texts == both[1].texts
    for name, path in (("test", "news"), ("olds", "olds")):
        with pytest.raises(UserError, match=name):
            evaluate(settings(run, test_texts={name: str(tmp_path / path)}))


def test_attention_is_kept_for_a_few_lines_of_every_length(run, tmp_path, searches):
    config = settings(run, output=str(tmp_path))
    (found,) = evaluate(config)
    lengths = [len(found.texts.sources[one.line].split()) for one in found.texts.maps]
    assert len(lengths) <= 9
    assert {length > 2 for length in lengths} == {True, False}
    for one in found.texts.maps:
        assert one.source == found.texts.sources[one.line].split()
        assert one.hypothesis == found.texts.hypotheses[one.line].split()
    drawn = {one.line for one in found.texts.maps}
    other = next(i for i, said in enumerate(found.texts.hypotheses) if said and i not in drawn)
    (more,) = evaluate(dataclasses.replace(config, maps=[other + 1]))
    assert {one.line for one in more.texts.maps} == drawn | {other}
    assert more.record.maps == [other + 1]
    assert read_evaluation(more.directory).texts == more.texts
    assert len(searches) == 1
    with pytest.raises(UserError, match="maps=101"):
        evaluate(settings(run, maps=[101], output=str(tmp_path / "new")))
    assert not (tmp_path / "new").exists()


def test_given_translations_are_scored_without_a_model(tmp_path):
    texts = translated({4: 6, 15: 5, 35: 4}, lambda length: 0.8)
    files = {"source": "test.en", "reference": "test.de", "hypotheses": "out.de"}
    columns = zip(files.values(), (texts.sources, texts.references, texts.hypotheses), strict=True)
    for name, lines in columns:
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    given = {key: str(tmp_path / name) for key, name in files.items()}
    given |= {"checkpoint": None, "system": "moses", "output": str(tmp_path / "others")}
    config = settings(tmp_path, **given)
    (evaluation,) = evaluate(config)
    assert evaluation.directory == tmp_path / "others" / "test.en-moses"
    assert evaluation.texts.hypotheses == texts.hypotheses
    assert evaluation.overall.loss is evaluation.overall.capped is None
    record = evaluation.record
    assert (record.system, record.test_set, record.search) == ("moses", "test.en", "given")
    assert record.experiment is record.seed is None
    (other,) = evaluate(dataclasses.replace(config, system="marian"))
    assert other.directory.name == "test.en-marian"
    # A file that was improved replaces its own scores, another file does not.
    (tmp_path / "out.de").write_bytes((tmp_path / "test.de").read_bytes())
    assert evaluate(config)[0].overall.bleu == pytest.approx(100)
    another = dataclasses.replace(config, hypotheses=str(tmp_path / "out2.de"))
    for content, said in (("x\n" * 15, "output="), ("one line\n", r"test\.en .*out2\.de")):
        (tmp_path / "out2.de").write_text(content)
        with pytest.raises(UserError, match=said):
            evaluate(another)
    os.mkfifo(tmp_path / "pipe")  # its second reader would find nothing
    for key in files:
        with pytest.raises(UserError, match=f"^{key}="):
            evaluate(dataclasses.replace(config, **{key: str(tmp_path / "pipe")}))


def test_text_that_is_still_in_pieces_is_pointed_out(tmp_path, caplog):
    count = 12
    forms = {
        "plain": "das Café, und mehr.",
        "bpe": "das Ca@@ fé, und mehr.",
        "sentencepiece": "▁das ▁Café, ▁und ▁mehr.",
        "words": "das Café , und mehr .",
        "decomposed": "das Cafe\u0301, und mehr.",
        "unseen": "\ufeffdas Café, und mehr.",
    }
    (tmp_path / "source").write_text("x\n" * count)
    for name, text in forms.items():
        (tmp_path / name).write_text(f"{text}\n" * count)
    given = {"checkpoint": None, "source": str(tmp_path / "source"), "output": str(tmp_path)}
    for name in forms:
        for said, right in ((name, "plain"), ("plain", name), (name, name)):
            caplog.clear()
            files = {"hypotheses": str(tmp_path / said), "reference": str(tmp_path / right)}
            evaluate(settings(tmp_path, **given, **files, system=f"{said}-{right}"))
            warned = [line for line in caplog.messages if line.startswith(str(tmp_path / name))]
            assert bool(warned) == (said != right), (said, right)


def test_learned_sources_are_found_in_every_test_set_and_told_of_once(run, tmp_path, caplog):
    caplog.set_level("INFO")
    learned = (run.parents[3] / "corpus" / "train.source").read_text().splitlines()[:4]
    (tmp_path / "mine.source").write_text("\n".join([*learned, "new words"]).upper())
    (tmp_path / "mine.target").write_text("x\n" * 5)
    shutil.copytree(run, tmp_path / "run")
    named = {"source": str(tmp_path / "mine.source"), "reference": str(tmp_path / "mine.target")}
    for more in (named, {"test_sets": [], "test_texts": {"news": str(tmp_path / "mine")}}):
        caplog.clear()
        evaluate(settings(tmp_path / "run", output=str(tmp_path / "out"), **more))
        assert sum("4 of 5" in line for line in caplog.messages) == 1
    (tmp_path / "run" / "learned.npy").unlink()
    caplog.clear()
    evaluate(settings(tmp_path / "run", output=str(tmp_path / "out2"), **named))
    assert any("learned.npy" in line for line in caplog.messages)


LANGUAGES = {
    "zh": (
        "zh",
        ["我 们走。", "你好，世界！"],
        ["我们走了。", "你好世界！"],
        ["我们走。", "您好，世界！"],
    ),
    "ja": ("ja-mecab", ["猫が好きです。"], ["猫が大好きです。"], ["私は猫が好きだ。"]),
    "ko": ("ko-mecab", ["고양이를 좋아해요."], ["고양이를 좋아합니다."], ["나는 고양이를 좋아해."]),
    "en": ("13a", ["A cat, here."], ["The cat is here now."], ["A cat is here."]),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_sacrebleus_command_scores_the_stored_texts_alike(tmp_path, language):
    """With one reference and with two, in the tokens of the language at the end of their names."""
    if language in ("ja", "ko"):
        pytest.importorskip({"ja": "MeCab", "ko": "mecab_ko"}[language])
    tokenize, *columns = LANGUAGES[language]
    names = f"out.{language}", f"a.{language}", f"b.{language}"
    for name, lines in zip(("src.en", *names), (columns[0], *columns), strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    hypotheses, *references = (str(tmp_path / name) for name in names)
    given = {"checkpoint": None, "system": "x", "hypotheses": hypotheses}
    for reference in (references[0], references):
        output = str(tmp_path / str(len(reference)))
        subject = {"source": str(tmp_path / "src.en"), "reference": reference, "output": output}
        (evaluation,) = evaluate(settings(tmp_path, **given, **subject))
        stored = [*map(str, evaluation.directory.glob("references*.txt"))]
        assert len(stored) == len(evaluation.texts.all_references)
        command = [sys.executable, "-m", "sacrebleu", *stored, "-tok", tokenize]
        command += ["-i", str(evaluation.directory / "hypotheses.txt"), "-w", "6"]
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert evaluation.overall.bleu == pytest.approx(said["score"], abs=1e-6)
        assert said["signature"] == evaluation.counts.signatures["BLEU"]
    again = compare_systems([read_evaluation(evaluation.directory)], None, SETTINGS)
    assert again.systems[0].overall.bleu == evaluation.overall.bleu
    (tmp_path / names[2]).write_text("\n" * len(columns[0]), encoding="utf-8")
    with pytest.raises(UserError, match=r"Line 1 of .*src\.en"):
        evaluate(settings(tmp_path, **given, **{**subject, "output": str(tmp_path / "blank")}))
