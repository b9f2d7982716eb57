"""The stage evaluate: every line kept, the right checkpoint and text, nothing done twice."""

import gzip
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from sacrebleu.metrics import BLEU
from toy_evaluation import settings

from seq2seq.checkpoint import load_checkpoint, newest_checkpoints
from seq2seq.config import DecodingConfig
from seq2seq.data.preparation import prepare
from seq2seq.data.tokenization import WhitespaceTokenizer
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation import evaluate as stage
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.training.trainer import Trainer


def test_the_corpus_test_set_is_scored_into_the_run_folder(run):
    (evaluation,) = evaluate(settings(run))
    assert evaluation.directory == run / "evaluations" / "test-greedy"
    assert evaluation.scores.overall.sentences == 100
    assert [bucket.words for bucket in evaluation.scores.buckets] == ["1-2", "3-4", "5+"]
    record = evaluation.record
    assert (record["system"], record["seed"], record["search"]) == ("attention", 1, "greedy")
    assert record["training"]["status"] == "finished"
    assert record["parameters"]["attention"] > 0


def test_what_the_search_said_of_each_line_is_kept(run, tmp_path):
    search = DecodingConfig(sample=True, max_length=2)
    (found,) = evaluate(settings(run, decoding=search, output=str(tmp_path)))
    said = Translator.load(run, "cpu", "fp32").translate(found.texts.sources, search)
    assert found.texts.hypotheses == [one.text for one in said]
    assert found.texts.capped == [one.capped for one in said]
    assert found.texts.log_probabilities == [one.log_probability for one in said]
    assert set(found.texts.capped) == {True, False}
    assert found.texts.log_probabilities != [one.score for one in said]


def test_the_speed_is_that_of_the_search(run, tmp_path, monkeypatch):
    clock = SimpleNamespace(monotonic=itertools.count(10, 2).__next__)
    monkeypatch.setattr(stage, "time", clock)
    (found,) = evaluate(settings(run, output=str(tmp_path)))
    assert (found.record["seconds"], found.record["sentences_per_second"]) == (2, 50)


def test_searches_that_may_differ_do_not_replace_each_other(run):
    searches = [DecodingConfig(beam=1), DecodingConfig(beam=1, max_length=3)]
    searches += [DecodingConfig(sample=True, seed=seed) for seed in (1, 2)]
    folders = {evaluate(settings(run, decoding=search))[0].directory for search in searches}
    assert len(folders) == len(searches)


def test_several_checkpoints_are_one_system_of_another_name(run):
    last = str(newest_checkpoints(run)[0])
    (alone,) = evaluate(settings(run))
    for average, name in ((False, "ensemble2"), (True, "average2")):
        config = settings(run, more_checkpoints=[last], average=average)
        (together,) = evaluate(config)
        assert together.directory == run / "evaluations" / f"test-greedy-{name}"
        assert together.record["system"] == f"attention-{name}"
        # Of one training, whose seed and record are thus those of all.
        assert together.record["seed"] == alone.record["seed"]
        assert together.record["training"] == alone.record["training"]
        models = 1 if average else 2
        assert together.record["parameters"] == {
            part: models * count for part, count in alone.record["parameters"].items()
        }
        for place, member in zip((run, last), together.record["members"], strict=True):
            state = load_checkpoint(Path(place), torch.device("cpu")).state
            assert member["update"] == state["progress"]["update"]
        before = (together.directory / "scores.json").stat().st_mtime_ns
        evaluate(config)
        assert (together.directory / "scores.json").stat().st_mtime_ns == before
    assert alone.directory.name == "test-greedy"
    with pytest.raises(UserError, match="needs more than one checkpoint"):
        settings(run, average=True)


def test_greedy_and_beam_are_one_call_and_one_model(run, monkeypatch, tmp_path):
    loaded = []
    load = load_checkpoint
    monkeypatch.setattr(
        "seq2seq.evaluation.evaluate.load_checkpoint",
        lambda *arguments: loaded.append(arguments) or load(*arguments),
    )
    together = evaluate(settings(run, beams=[1, 3], output=str(tmp_path / "both")))
    assert len(loaded) == 1
    assert [e.record["search"] for e in together] == ["greedy", "beam3"]
    for evaluation, beam in zip(together, (1, 3), strict=True):
        search = DecodingConfig(beam=beam)
        (alone,) = evaluate(settings(run, decoding=search, output=str(tmp_path / "alone")))
        assert alone.directory.name == evaluation.directory.name
        assert (alone.texts, alone.scores) == (evaluation.texts, evaluation.scores)


@pytest.fixture
def strange(tmp_path) -> dict[str, str]:
    """Text of one's own with words that the toy vocabulary lacks in lines 2 and 3."""
    (tmp_path / "own.src").write_text("a b\na zebra c\nc d\nb\n", encoding="utf-8")
    (tmp_path / "own.ref").write_text("B A\nC A\nDEER C\nB\n", encoding="utf-8")
    names = {"source": "own.src", "reference": "own.ref", "output": "out"}
    return {key: str(tmp_path / name) for key, name in names.items()}


@pytest.mark.parametrize("side", ["source", "reference"])
def test_a_text_that_has_changed_is_evaluated_anew(run, strange, side):
    evaluate(settings(run, **strange))
    path = Path(strange[side])
    lines = ["d c", *path.read_text(encoding="utf-8").splitlines()[1:]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (again,) = evaluate(settings(run, **strange))
    assert getattr(again.texts, f"{side}s") == lines


def test_both_columns_of_table_1_come_from_two_searches(run, strange):
    ordinary, without = evaluate(settings(run, no_unk=True, **strange))
    assert ordinary.directory.name == "own.src-greedy"
    assert without.directory.name == "own.src-greedy-no-unk"
    assert without.record["config"]["decoding"]["forbid_unknown"]
    assert not any("<unk>" in line for line in without.texts.hypotheses)
    for evaluation in (ordinary, without):
        assert evaluation.texts.reference_scores.known == [True, False, False, True]
        row = evaluation.scores.known
        assert row.sentences == 2
        chosen = [evaluation.texts.hypotheses[i] for i in (0, 3)]
        expected = BLEU().corpus_score(chosen, [["B A", "B"]]).score
        assert row.bleu == pytest.approx(expected)
    again = evaluate(settings(run, no_unk=True, **strange))
    assert again == [ordinary, without]


def test_no_unk_of_a_model_of_subwords_is_refused(run, monkeypatch):
    monkeypatch.setattr("seq2seq.evaluation.evaluate.SentencePieceTokenizer", WhitespaceTokenizer)
    with pytest.raises(
        UserError, match=r"no_unk=true is for vocabularies of words, and .*leave no"
    ):
        evaluate(settings(run, no_unk=True))


def test_checkpoints_of_other_vocabularies_are_no_ensemble(run, tmp_path):
    corpus = write_reversal_corpus(tmp_path / "corpus")
    text = (corpus / "train.source").read_text(encoding="utf-8")
    (corpus / "train.source").write_text(text.replace("a", "x"), encoding="utf-8")
    config = reversal_experiment(tmp_path, max_updates=1)
    other = Trainer(config, prepare(config.corpus, config.tokenization, tmp_path / "data")).run()
    with pytest.raises(UserError, match="do not cut the source text into the same pieces, so"):
        evaluate(settings(run, more_checkpoints=[str(other.path)]))


def test_text_of_ones_own_keeps_every_line(run, tmp_path):
    """An empty source gives an empty hypothesis line, never a dropped one."""
    (tmp_path / "own.src").write_text("a b\n\nc d e\n", encoding="utf-8")
    (tmp_path / "own.ref").write_text("B A\n\nE D C\n", encoding="utf-8")
    config = settings(
        run,
        source=str(tmp_path / "own.src"),
        reference=str(tmp_path / "own.ref"),
        output=str(tmp_path / "out"),
    )
    (evaluation,) = evaluate(config)
    assert evaluation.directory == tmp_path / "out" / "own.src-greedy"
    lines = (evaluation.directory / "hypotheses.txt").read_text(encoding="utf-8").split("\n")
    assert len(lines) == 4
    assert lines[1] == ""
    assert evaluation.scores.empty_sources == 1


def test_files_of_different_length_are_refused(run, tmp_path):
    (tmp_path / "a").write_text("a\nb\n")
    (tmp_path / "b").write_text("a\n")
    config = settings(run, source=str(tmp_path / "a"), reference=str(tmp_path / "b"))
    with pytest.raises(UserError, match=r"a has 2 lines, .*b has 1; give files that are aligned"):
        evaluate(config)


def test_an_unknown_test_set_is_refused(run):
    with pytest.raises(UserError, match=r"names dev, but corpus files has only: test\."):
        evaluate(settings(run, test_sets=["dev"]))


def test_the_corpus_may_have_moved(run, tmp_path):
    moved = write_reversal_corpus(tmp_path / "moved")
    config = json.loads((run / "config.json").read_text())
    assert config["corpus"]["directory"] != str(moved)
    (evaluation,) = evaluate(settings(run, directory=str(moved), output=str(tmp_path / "out")))
    assert evaluation.scores.overall.sentences == 100


def test_a_text_beside_the_corpus_is_a_test_set_of_its_own(run, tmp_path):
    corpus = load_checkpoint(run / "checkpoints" / "best", torch.device("cpu")).config.corpus
    for language, text in ((corpus.source, "a b c\n"), (corpus.target, "c b a\n")):
        (tmp_path / f"news.{language}").write_text(text * 3)
    texts = {"news": str(tmp_path / "news")}
    both = evaluate(settings(run, output=str(tmp_path / "out"), test_texts=texts))
    assert [evaluation.directory.name for evaluation in both] == ["test-greedy", "news-greedy"]
    (alone,) = evaluate(settings(run, output=str(tmp_path), test_texts=texts, test_sets=[]))
    assert alone.texts == both[1].texts
    assert alone.texts.references == ["c b a"] * 3


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"test": "{}/news"},
            "names test, but names that begin with test are those of the corpus",
        ),
        ({"news": "{}/olds"}, r"there is no .*/olds\.\w+, nor with \.gz or \.xz; give news=PATH"),
        ({"a/b": "{}/news"}, "test_texts names a/b, which is no name"),
        (
            {"twice": "{}/twice"},
            r"twice\.\w+ and twice\.\w+\.gz are both there, and are not of one",
        ),
    ],
)
def test_a_text_beside_the_corpus_has_a_name_and_two_files(run, tmp_path, texts, said):
    corpus = load_checkpoint(run / "checkpoints" / "best", torch.device("cpu")).config.corpus
    for language in (corpus.source, corpus.target):
        (tmp_path / f"news.{language}").write_text("a b\n")
        (tmp_path / f"twice.{language}").write_text("a b\n")
        (tmp_path / f"twice.{language}.gz").write_bytes(gzip.compress(b"another\n"))
    named = {name: path.format(tmp_path) for name, path in texts.items()}
    with pytest.raises(UserError, match=said):
        evaluate(settings(run, test_texts=named))
