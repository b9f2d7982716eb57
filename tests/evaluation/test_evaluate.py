"""The stage evaluate: the right checkpoint and text, nothing lost; losses and maps of the model."""

import dataclasses
import itertools
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import sacrebleu
import torch
from helpers.reversal import evaluation_of
from sacrebleu.utils import DATASETS

from seq2seq.checkpoint import load_checkpoint, newest_checkpoints
from seq2seq.config import DecodingConfig, EvaluationConfig
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation import evaluate as stage
from seq2seq.evaluation.evaluate import draw_maps, evaluate, score_references
from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.model.translation import TranslationModel
from seq2seq.report.live import evaluated_checkpoint

SEARCH = DecodingConfig(beam=1, max_ratio=0, max_extra=2)


def write(path: Path, *lines: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def own_text(path: Path, *lines: str) -> dict[str, str]:
    """Settings for a text of the user's, which the toy run can read."""
    targets = [line.upper()[::-1] for line in lines]
    source = write(path.with_suffix(".source"), *lines)
    return {"source": source, "reference": write(path.with_suffix(".target"), *targets)}


@pytest.fixture(scope="module")
def found(run, tmp_path_factory) -> Evaluation:
    """The test set of the corpus, by a search that cuts some hypotheses, into a linked folder."""
    folder = tmp_path_factory.mktemp("linked")
    (folder / "far" / "away").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "far" / "away")
    clock = SimpleNamespace(monotonic=itertools.count(10, 2).__next__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "time", clock)  # the speed is that of the search
        (made,) = evaluate(evaluation_of(run, decoding=SEARCH, output=str(folder / "link")))
    return made


def test_an_evaluation_says_what_it_is_of_and_all_that_the_search_said(run, found):
    record, texts = found.record, found.texts
    assert (record.system, record.seed, record.search) == ("attention", 1, SEARCH.name)
    assert (record.seconds, record.sentences_per_second) == (2, 50)
    assert record.training.status == "finished"
    assert record.parameters["attention"] > 0
    assert evaluated_checkpoint(found).samefile(run / "checkpoints" / "best")
    said = Translator(run, "cpu", "fp32").translate(texts.sources, SEARCH)
    assert found.overall.sentences == len(said) == 100
    assert texts.hypotheses == [one.text for one in said]
    assert texts.capped == [one.capped for one in said]
    assert set(texts.capped) == {True, False}
    assert texts.log_probabilities == [one.log_probability for one in said]


def test_several_checkpoints_are_one_system_of_another_name(runs, found, tmp_path):
    run, last = runs[0], str(newest_checkpoints(runs[0])[0])
    config = evaluation_of(run, more_checkpoints=[last], output=str(tmp_path))
    (together,) = evaluate(config)
    record, alone = together.record, found.record
    assert together.directory.name == "test-greedy-ensemble2"
    assert record.system == "attention-ensemble2"
    # Of one training, whose seed and record are thus those of all.
    assert (record.seed, record.training) == (alone.seed, alone.training)
    assert record.parameters == {part: 2 * count for part, count in alone.parameters.items()}
    states = [load_checkpoint(Path(place), torch.device("cpu")).state for place in (run, last)]
    assert [member.update for member in record.members] == [s.progress.update for s in states]
    assert evaluate(config)[0].record == record
    seeds = {"more_checkpoints": [str(runs[1])], "output": str(tmp_path / "seeds")}
    (other,) = evaluate(dataclasses.replace(config, **seeds))
    assert other.record.seed is other.record.training is None


def test_an_evaluation_is_scored_again_but_not_translated(run, tmp_path, monkeypatch):
    run = shutil.copytree(run, tmp_path / "run")
    (first,) = evaluate(evaluation_of(run))
    monkeypatch.setattr(Translator, "translate", None)
    assert first.directory == run / "evaluations" / "test-greedy"
    (again,) = evaluate(evaluation_of(run, decoding=DecodingConfig(beam=1, batch_size=7)))
    assert (again.texts, again.record) == (first.texts, first.record)
    # A map that is asked for is added.
    drawn = [one.line for one in first.texts.maps]
    line = next(i for i, said in enumerate(first.texts.hypotheses) if said and i not in drawn)
    (more,) = evaluate(evaluation_of(run, maps=[line + 1]))
    assert [one.line for one in more.texts.maps] == sorted([*drawn, line])
    assert more.record.maps == [line + 1]
    other = EvaluationConfig(length_buckets=[3], bootstrap=100)
    (scored,) = evaluate(evaluation_of(run, evaluation=other))
    assert [row.words for row in scored.rows] == ["1-3", "4+", "all"]
    assert read_evaluation(scored.directory).rows == scored.rows
    # What the run says of itself is brought up to date; without its run, it is kept.
    path = run / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "reason": "max_epochs=99"}))
    (again,) = evaluate(evaluation_of(run))
    assert again.record.training.reason == "max_epochs=99"
    path.unlink()
    assert evaluate(evaluation_of(run))[0].record == again.record


def test_what_has_changed_or_is_damaged_is_translated_again(runs, tmp_path):
    run = shutil.copytree(runs[0], tmp_path / "run")
    (first,) = evaluate(evaluation_of(run))
    for name in ("hypotheses.txt", "scores.json"):
        (first.directory / name).write_text("{", encoding="utf-8")
        assert evaluate(evaluation_of(run))[0].texts == first.texts
        assert read_evaluation(first.directory).rows == first.rows
    for path in (runs[1] / "checkpoints" / "best").iterdir():
        shutil.copy(path, run / "checkpoints" / "best")
    (second,) = evaluate(evaluation_of(run))
    assert second.directory == first.directory
    assert second.texts.hypotheses != first.texts.hypotheses


def test_a_result_is_never_replaced_by_one_of_something_else(runs, tmp_path):
    """Each of these shares the name of its folder with the one before it."""
    here, there = (own_text(tmp_path / side / "own", side, "") for side in ("a", "b"))
    ours, other = evaluation_of(runs[0], **here, output=str(tmp_path / "out")), str(runs[1])
    pair = dataclasses.replace(ours, more_checkpoints=[str(newest_checkpoints(runs[0])[0])])
    for what, first, changes in (
        ("source", ours, there),
        ("system", ours, {"checkpoint": other}),
        ("precision", ours, {"precision": "bf16"}),
        ("system", pair, {"more_checkpoints": [other]}),
    ):
        (made,) = evaluate(first)
        with pytest.raises(UserError, match=rf"other .*{what}.*output="):
            evaluate(dataclasses.replace(first, **changes))
        assert read_evaluation(made.directory).record == made.record


def test_what_is_odd_about_each_text_is_said(run, tmp_path, caplog):
    """Sources that were learned, or that are translated in part; pieces that are not known."""
    caplog.set_level("INFO")
    learned = (run.parents[3] / "corpus" / "train.source").read_text().upper().splitlines()[:4]
    for name, way in {
        "own.source": own_text(tmp_path / "own", *learned, "z " * 250, "b " * 251),
        "news": {"test_sets": [], "test_texts": {"news": str(tmp_path / "news")}},
        "test": {"directory": str(tmp_path)},  # without a training text
    }.items():
        own_text(tmp_path / name, *learned, "z " * 250, "b " * 251)
        (made,) = evaluate(evaluation_of(run, output=str(tmp_path / "out"), **way))
        assert made.directory.name == f"{name}-greedy"
        assert read_evaluation(made.directory).record.cut_sources == 1
        leaked, unknown = (line for line in caplog.messages if line.startswith(f"{name}: "))
        assert "4 of 6" in leaked
        assert "lack" in unknown


@pytest.mark.parametrize("name", ["wmt14", "wmt20/tworefs"])
def test_a_test_set_of_sacrebleu_is_scored(run, tmp_path, monkeypatch, name):
    public = DATASETS[name]
    monkeypatch.setattr(public, "_outdir", str(tmp_path))
    monkeypatch.setattr(public, "_rawdir", str(tmp_path))
    config = evaluation_of(run, output=str(tmp_path / "out"), test_sets=[name, "test"])
    for field in public.fieldnames("en-de"):  # as if the text had been fetched
        write(Path(public._get_txt_file_path("en-de", field)), "a b", field)
    first, second = evaluate(config)
    assert first.directory.name == f"{name.replace('/', '_')}-greedy"
    assert (first.texts.sources, second.overall.sentences) == (["a b", "src"], 100)
    assert len(first.texts.all_references) == 1 + name.endswith("tworefs")
    alone = dataclasses.replace(config, test_sets=[name], directory="gone")  # is not needed
    assert evaluate(alone)[0].texts == first.texts
    with pytest.raises(UserError, match="test_sets=wmt21/dev "):  # of other languages
        evaluate(dataclasses.replace(config, test_sets=["wmt21/dev"]))


def test_given_translations_are_scored_without_a_model(tmp_path):
    columns = {
        "source.en": ["we left", "hello"],
        "said.zh": ["我 们走。", "你好，世界！"],
        "right.zh": ["我们走了。", "你好世界！"],
        "other.zh": ["我们走。", "您好，世界！"],
    }
    source, said, *references = (write(tmp_path / name, *of) for name, of in columns.items())
    given = {"source": source, "reference": references, "hypotheses": said, "system": "moses"}
    config = evaluation_of(tmp_path, checkpoint=None, output=str(tmp_path / "others"), **given)
    (found,) = evaluate(config)
    assert found.directory == tmp_path / "others" / "source.en-moses"
    names = ("sources.txt", "hypotheses.txt", "references.txt", "references-2.txt")
    stored = [(found.directory / name).read_text(encoding="utf-8").splitlines() for name in names]
    assert stored == [*columns.values()]
    metric = sacrebleu.BLEU(tokenize="zh")  # by the name of the file
    assert found.overall.bleu == pytest.approx(metric.corpus_score(stored[1], stored[2:]).score)
    assert found.counts.signatures["BLEU"] == str(metric.get_signature())
    assert found.overall.loss is found.overall.capped is None
    described = found.record.system, found.record.test_set, found.record.search
    assert described == ("moses", "source.en", "given")
    # A file that was improved replaces its own scores, another file does not.
    write(tmp_path / "said.zh", *columns["right.zh"])
    assert evaluate(config)[0].overall.bleu == pytest.approx(100)
    with pytest.raises(UserError, match="output="):
        evaluate(dataclasses.replace(config, hypotheses=references[1]))


PLAIN, BPE, ODD = "Café, und mehr.", "Ca@@ fé, und mehr.", "▁Cafe\u0301, ▁und\u200b ▁mehr ."


@pytest.mark.parametrize(
    ("said", "right", "warned"),
    [(BPE, PLAIN, ["said"]), (PLAIN, ODD, ["right"] * 4), (ODD, ODD, [])],
)
def test_text_that_is_still_in_pieces_is_pointed_out(said, right, warned, tmp_path, caplog):
    columns = {"source": "x", "said": said, "right": right}
    files = [write(tmp_path / name, *[line] * 12) for name, line in columns.items()]
    given = dict(zip(("source", "hypotheses", "reference"), files, strict=True))
    evaluate(evaluation_of(tmp_path, checkpoint=None, system="x", output=str(tmp_path), **given))
    assert [Path(line.partition(":")[0]).name for line in caplog.messages] == warned


SOURCES = ["a b c", "", "h", "b b a c d e f", "g"]
REFERENCES = ["C B A", "A", "H H", "", "G"]


@torch.no_grad()
def unrolled(
    model: TranslationModel, translator: Translator, source: str, target: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each piece of ``target`` and its end, its probability, and where the model looks."""
    read = torch.tensor([[*translator.source.encode(source), EOS]])
    said = torch.tensor([BOS, *translator.target.encode(target), EOS])
    outputs, weights = model.eval()(read, torch.tensor([read.shape[1]]), said[None, :-1])
    probabilities = model.output(outputs[0]).softmax(dim=-1)
    return probabilities.gather(1, said[1:, None])[:, 0], weights[0]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("batch_size", [2, 64])
def test_each_reference_has_the_log_probability_of_the_models_alone(runs, count, batch_size):
    """With the mean probability of several models; without dropout, which is left as it was."""
    translator = Translator(runs[:count], "cpu", "fp32")
    models = [load_checkpoint(path, torch.device("cpu")).model for path in runs[:count]]
    translator.model.train()
    found = score_references(translator, SOURCES, REFERENCES, batch_size)
    assert translator.model.training
    assert found.pieces == [4, 0, 3, 0, 2]
    for source, reference, value in zip(SOURCES, REFERENCES, found.log_probabilities, strict=True):
        if source and reference:
            each = [unrolled(model, translator, source, reference)[0] for model in models]
            mean = torch.stack(each).mean(dim=0).log().sum()
            assert value == pytest.approx(float(mean), abs=1e-4)
        else:
            assert value is None


def test_a_map_shows_where_the_model_looked_for_each_word_of_a_hypothesis(run, monkeypatch):
    translator, hypotheses = Translator(run, "cpu", "fp32"), ["C B", "A", "", "E", "G G"]
    texts = Translations(SOURCES, REFERENCES, hypotheses, [])
    found = draw_maps(translator, texts, [4, 2, 1, 0], 2)
    assert sorted(one.line for one in found) == [0, 4]
    for one in found:
        assert one.source == SOURCES[one.line].split()
        assert one.hypothesis == hypotheses[one.line].split()
        looks = unrolled(translator.model, translator, SOURCES[one.line], hypotheses[one.line])[1]
        weights = torch.tensor(one.weights)
        torch.testing.assert_close(weights, looks[:-1, :-1], atol=1e-4, rtol=0)
    monkeypatch.setattr(type(translator.model), "attends", False)
    assert draw_maps(translator, texts, [0], 1) == []


def test_a_source_is_cut_where_translating_cuts_it(run, caplog):
    translator, twice = Translator(run, "cpu", "fp32"), ["E D C B A"] * 2
    translator.max_pieces = 3
    texts = Translations(["a b c d", "a b c"], twice, twice, [])
    scores = score_references(translator, texts.sources, twice, 64).log_probabilities
    assert scores[0] == pytest.approx(scores[1])
    long, short = draw_maps(translator, texts, [0, 1], 1)
    assert (long.source, long.weights) == (short.source, short.weights)
    assert not caplog.records  # translating has warned
