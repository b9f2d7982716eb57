"""The study's experiments at toy size, up to their pages, and their controls matched."""

import json
import random
from pathlib import Path

import appearing
import cram
import floors
import middle
import moment
import numpy as np
import pytest
import report
import same_content
from helpers.commands import SMALL, run
from helpers.composing import STUDY, runs
from middle import read_traced
from packed import main as pack

from seq2seq.checkpoint import read_config
from seq2seq.data.grammar import banded_pairs
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.model.translation import TranslationModel

SIZES = [one for one in SMALL if "encoder" not in one and "dev_bleu" not in one]
SIZES += ["training.dev_bleu_sentences=0"]
SHORT = ["beams=[2]", "decoding.max_ratio=0.5", "seeds=[1]"]
"""A search that ends soon: models that know nothing would write up to the longest length."""


def published(folder: Path) -> set[str]:
    """Pack all evaluations below ``folder``; the pages that are made of them."""
    evaluations = [str(path.parent) for path in (folder / "outputs").rglob("hypotheses.txt")]
    pack(evaluations, folder / "results")
    report.main(folder / "results", folder / "pages")
    return {path.stem for path in (folder / "pages").iterdir()}


@pytest.mark.slow
def test_systems_on_europarl_are_compared_and_published(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, generator = [f"w{n}" for n in range(40)], random.Random(1)
    for split, count in (("train", 80), ("valid", 6), ("test", 8), ("test_all", 8)):
        lines = [generator.choices(words, k=generator.randint(1, 60)) for _ in range(count)]
        for language, order in (("en", 1), ("fr", -1)):
            text = "".join(" ".join(line[::order]) + "\n" for line in lines)
            Path(f"{split}.{language}").write_text(text, encoding="utf-8")
    settings = ["corpus.directory=.", "tokenization.vocabulary_size=45", "test_sets=[test]"]
    settings += [*SIZES, *SHORT, "training.max_epochs=2", "training.batch_size=20"]
    settings += [STUDY, "experiment=opponent", "training.keep_epochs=[1,1]"]
    run(tmp_path, "reproduce", *settings)
    run(tmp_path, "reproduce", *settings, "system=attention-50", "baseline=no-attention-50")
    outputs = tmp_path / "outputs" / "figure2"
    test = "test-beam2-ratio0.5"
    names = {test, f"epoch-1-{test}", f"attention-50-no-attention-50-{test}"}
    assert names < {path.name for path in (outputs / "comparison").iterdir()}
    scores = json.loads((outputs / "comparison" / test / "scores.json").read_text())
    pairs = {gap["system"]: gap["baseline"] for gap in scores["gaps"]}
    for arm in ("30", "50", "30-matched"):
        assert pairs[f"attention-{arm}"] == f"no-attention-{arm}"
    # Joined and cut sentences need no other training.
    for system in ("attention-50", "no-attention-50"):
        evaluation = str(outputs / system / "seed-1" / "evaluations" / test)
        same_content.main(evaluation)
    floors.main(evaluation)
    pages = {"europarl-test", "opponent", "matched", "amount", "bits-test", "same-content"}
    assert published(tmp_path) == pages


def small(monkeypatch, folder: Path, experiment: str, *more: str) -> list[str]:
    """Train two or three systems of an experiment in ``folder``; their evaluations."""
    toy = ["corpus.train=60", "corpus.valid=20", "corpus.test_per_bucket=2", "beams=[1]"]
    run(folder, "reproduce", STUDY, f"experiment={experiment}", *toy, *SIZES, *more)
    monkeypatch.chdir(folder)  # the text is below it
    return sorted(map(str, folder.glob("outputs/*/*/seed-1/evaluations/test-greedy")))


@pytest.mark.slow
def test_vectors_are_crammed_and_after_a_kill_only_those_that_are_missing(tmp_path, monkeypatch):
    attention, encoder, blind = small(monkeypatch, tmp_path, "cram")
    for name, value in {"EACH": 1, "TUNED_ON": 1, "SEEN": 50, "STEPS": 3, "RATES": (0.1,)}.items():
        monkeypatch.setattr(cram, name, value)
    cram.main(encoder, attention, blind)
    made = {
        path: path.stat().st_mtime_ns
        for path in Path(encoder).parent.glob("test-cram-greedy-*/scores.json")
    }
    assert len(made) == 19  # three frames, three starts, rounded or not; and the encoder's, rounded
    (lost,) = (path for path in made if path.parent.name.endswith("within-zero"))
    before = json.loads(lost.read_text())["rows"]
    lost.unlink()
    cram.main(encoder, attention, blind)
    (kept,) = (path for path in made if path.parent.name.endswith("free-other"))
    assert kept.stat().st_mtime_ns == made[kept]
    assert json.loads(lost.read_text())["rows"] == before
    assert published(tmp_path) == {"cram"}


@pytest.mark.slow
def test_the_skipped_middle_is_traced_for_each_system(tmp_path, monkeypatch):
    chosen = ["system=additive-20", "baseline=additive-40", "corpus.test_per_bucket=20"]
    evaluations = small(monkeypatch, tmp_path, "middle", *chosen)
    places = tmp_path / "results" / "middle" / "places.npz.xz"
    middle.main(evaluations[:1], tmp_path / "results")
    one = read_traced(places)
    middle.main(evaluations, tmp_path / "results")
    both = read_traced(places)
    assert len(one.traces) == 3
    assert both.traces.keys() > one.traces.keys()
    texts = read_evaluation(Path(evaluations[0])).texts
    pairs = banded_pairs(read_config(Path(evaluations[0]).parents[1]).corpus)
    assert [pair.source for pair in pairs] == texts.sources
    for gold, pair in zip(both.gold.sentences, pairs, strict=True):
        for target, place in enumerate(gold):
            sources = [i for i, j in pair.links if j == target]
            assert place == min(sources, default=middle.UNLINKED)
    lengths = [len(line.split()) for line in texts.hypotheses]
    assert both.traces["additive-20/always"].sizes.tolist() == lengths
    assert published(tmp_path) == {"middle"}


@pytest.mark.slow
def test_a_training_is_measured_on_its_way_and_goes_on(tmp_path, monkeypatch):
    toy = [*SIZES, "corpus.train=60", "corpus.valid=4", "corpus.test_per_bucket=4"]
    toy += ["training.batch_size=15", "training.max_epochs=2"]
    for module in (moment, appearing):
        monkeypatch.setattr(module, "SEEDS", (1,))
    monkeypatch.setattr(moment, "SHOWN_WORDS", 7)
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    ways = ((stopped, 2, 2, []), (stopped, 2, 4, []), (whole, 4, 4, ["attention-1"]))
    for folder, every, last, names in ways:
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(moment, "EVERY", every)
        monkeypatch.setattr(moment, "LAST", last)
        moment.main(names, folder / "results", toy)
    states = appearing.read_states(stopped / "results" / "moment")
    attention = states["attention"][0]
    assert [one.updates.tolist() for of in states.values() for one in of] == [[2, 4]] * 3
    direct = moment.States.load(whole / "results" / "moment" / "attention-1.npz.xz")
    for name in ("updates", "losses", "links", "entropies", "weights"):
        assert np.array_equal(getattr(attention, name)[1:], getattr(direct, name)), name
    assert attention.weights.shape[1:] == tuple(len(side) for side in attention.shown[::-1])
    assert report.pages(stopped / "results")["moment"].keys() == {"md", "svg", "gif"}


def test_the_matched_control_has_as_many_parameters_as_attention():
    systems = runs("experiment=controls").items()
    models = {name: TranslationModel(system.model, 6000, 6000) for name, system in systems}
    sizes = {name: model.parameter_counts()["total"] for name, model in models.items()}
    assert sizes["fixed"] < 0.98 * sizes["attention"]
    assert sizes["fixed-matched"] == pytest.approx(sizes["attention"], rel=0.01)
    assert {model.encoder.annotation_size for model in models.values()} == {256}
