"""The experiments at toy size: whole, the same after a kill, their controls matched."""

import json
import random
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import appearing
import cram
import middle
import moment
import numpy as np
import pytest
import report
from helpers.commands import SMALL, quick, run
from helpers.composing import STUDY, runs
from helpers.reversal import write_reversal_corpus
from middle import read_traced
from omegaconf import OmegaConf
from packed import main as pack

from seq2seq.api import reproduce
from seq2seq.checkpoint import read_config
from seq2seq.composition import read_settings
from seq2seq.config import ATTENTION_KINDS
from seq2seq.data.grammar import banded_pairs
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.model.translation import TranslationModel

TOY = [*SMALL, "training.max_epochs=2", "training.batch_size=20"]
SHORT = ["beams=[2]", "decoding.max_ratio=0.5"]
"""A search that ends soon: models that know nothing would write up to the longest length."""

UNSCORED = [one for one in SMALL if "bootstrap" not in one] + ["training.dev_bleu_sentences=0"]


@pytest.fixture(scope="module")
def europarl(tmp_path_factory) -> list[str]:
    """Settings of a text of Europarl's shape, its sentences of 1 to 60 words."""
    folder = tmp_path_factory.mktemp("europarl")
    words, generator = [f"w{n}" for n in range(40)], random.Random(1)
    for split, count in (("train", 80), ("valid", 6), ("test", 8), ("test_all", 8)):
        lines = [generator.choices(words, k=generator.randint(1, 60)) for _ in range(count)]
        for language, order in (("en", 1), ("fr", -1)):
            # The French side is longer by a word, so that it alone may be too long.
            more = ["oui"] if language == "fr" else []
            text = "".join(" ".join(line[::order] + more) + "\n" for line in lines)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    return ["corpus=europarl", f"corpus.directory={folder}", "tokenization.vocabulary_size=45"]


def study(script: str, folder: Path, *arguments: str) -> None:
    """Run a script of the study in ``folder``."""
    subprocess.run(quick(script, *arguments, room="study"), cwd=folder, check=True)


def only(experiment: str, kept: Sequence[str]) -> list[str]:
    """Settings of an experiment without its other systems."""
    systems = read_settings("reproduce", [STUDY, f"experiment={experiment}"])[0].systems
    parts = {name: OmegaConf.to_container(systems[name]) for name in systems if name in kept}
    added = [f"+systems.{name}={json.dumps(part)}" for name, part in parts.items()]
    return [STUDY, f"experiment={experiment}", "systems={}", *added]


def published(folder: Path) -> set[str]:
    """Pack all evaluations below ``folder``; the pages that are made of them."""
    evaluations = [str(p.parent) for p in (folder / "outputs").rglob("hypotheses.txt")]
    pack(evaluations, folder / "results")
    report.main(folder / "results", folder / "pages")
    return {path.stem for path in (folder / "pages").iterdir()}


@pytest.mark.slow
def test_the_study_resumes_after_a_kill_and_ends_with_the_same_report(europarl, tmp_path):
    """All of it that is trained on Europarl: experiments 1 to 3b and 6."""
    text = Path(europarl[1].partition("=")[2])
    size = "model.encoder.hidden_size=16"
    systems = runs("experiment=opponent")
    toy = [*(one for one in TOY if one != size), *(f"++systems.{name}.{size}" for name in systems)]
    toy += [STUDY, "experiment=opponent", *europarl, *SHORT, "test_sets=[test]", "seeds=[1]"]
    toy += ["training.keep_epochs=[1,1]", "training.dev_bleu_sentences=0"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    printed = run(whole, "reproduce", *toy).stdout
    assert "test · beam2-ratio0.5, 8" in printed
    assert "\nepoch-1-test-beam2-ratio0.5: " in printed

    pair = ["system=attention-50", "baseline=no-attention-50"]
    best = cut / "outputs" / "figure2-cpu" / "attention-50" / "seed-1" / "checkpoints" / "best"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(quick("reproduce", *toy, *pair), cwd=cut, **quiet) as script:
        while not best.exists():
            assert script.poll() is None
            time.sleep(0.01)
        script.kill()
    run(cut, "reproduce", *toy, *pair)
    scores = [one / "scores.json" for one in cut.glob("outputs/*/*/seed-1/*/*-ratio0.5")]
    scores += cut.glob("outputs/*/*/seed-1/epoch-1/*-ratio0.5/scores.json")
    assert len(scores) >= 2
    for path in scores:
        rows = [
            json.loads((root / path.relative_to(cut)).read_text())["rows"] for root in (whole, cut)
        ]
        assert rows[0] == rows[1]
    folder = whole / "outputs/figure2-cpu/comparison/epoch-1-test-beam2-ratio0.5"
    numbers = json.loads((folder / "scores.json").read_text())
    baselines = {gap["system"]: gap["baseline"] for gap in numbers["gaps"]}
    arms = ("30", "50", "30-matched")
    assert baselines == {
        **{f"attention-{arm}": f"no-attention-{arm}" for arm in arms},
        **dict.fromkeys(("strong-no-attention-50", "target-only-50"), "no-attention-50"),
    }
    # Joined and cut sentences need no other training.
    for system in ("attention-50", "no-attention-50"):
        folder = whole / "outputs/figure2-cpu" / system / "seed-1/evaluations"
        study("same_content", whole, str(folder / "test-beam2-ratio0.5"))
        assert (folder / "test-joined-5-apart-beam2-ratio0.5").is_dir()
    study("floors", whole, str(folder / "test-beam2-ratio0.5"))
    europarl_pages = {"europarl-test", "opponent", "matched", "amount", "bits-test", "same-content"}
    assert published(whole) == europarl_pages
    # The limit of words is one of training, and of nothing else.
    manifests = list((whole / "data/prepared").glob("*/manifest.json"))
    lengths = [len(line.split()) for line in (text / "train.fr").read_text().splitlines()]
    assert {
        json.loads(path.read_text())["train_max_words"]: [
            len(np.load(path.with_name(f"{split}.lines.npy"))) for split in ("train", "valid")
        ]
        for path in manifests
    } == {limit: [sum(length <= limit for length in lengths), 6] for limit in (30, 50)}


@pytest.mark.slow
def test_another_rate_has_a_page_like_that_of_figure_2(europarl, tmp_path):
    settings = [STUDY, "experiment=rate", *europarl, *TOY, *SHORT]
    settings += ["training.dev_bleu_sentences=0"]
    run(tmp_path, "reproduce", *settings)
    folder = tmp_path / "outputs/figure2-rate/attention-50/seed-1/evaluations/test-beam2-ratio0.5"
    study("floors", tmp_path, str(folder))
    assert published(tmp_path) == {"rate"}
    page = (tmp_path / "pages" / "rate.md").read_text()
    assert "attention-50 minus no-attention-50" in page
    assert "unrelated" in page


@pytest.mark.slow
def test_kinds_of_attention_are_compared_and_drawn(europarl, tmp_path):
    text = ["corpus=files", *europarl[1:], "corpus.source=en", "corpus.target=fr"]
    settings = [*text, *TOY, *SHORT, "training.max_updates=3"]
    kept = ("additive", "luong-feeding", "uniform", "fixed", "init-only")
    experiment = only("attention_kinds", kept)
    printed = run(tmp_path, "reproduce", *experiment, *settings, "test_sets=[test]").stdout
    drawn = tmp_path / "outputs" / "attention_kinds" / "comparison" / "test-beam2-ratio0.5"
    for system in kept:
        assert f"\n| {system} " in printed
        attends = system not in ("fixed", "init-only")
        assert (drawn / f"attention-{system}.svg").exists() == attends


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Data has no positive values")  # nothing is known as early
def test_memories_are_compared_and_published(tmp_path):
    settings = [one for one in SMALL if "encoder" not in one]
    settings += ["corpus.train=200", "corpus.valid=7", "corpus.test_per_bucket=1", "seeds=[1]"]
    settings += [*SHORT, "training.max_updates=3", "training.dev_bleu_sentences=0"]
    kept = ("fixed", "additive", "none", "slots-1", "width-32")
    kept += ("1x512", "4x128", "8x64", "16x32")  # names that Hydra cannot remove
    run(tmp_path, "reproduce", *only("width", kept), *settings)
    assert published(tmp_path) == {"memory", "bits-grammar", "width"}


@pytest.mark.slow
def test_amounts_of_text_are_compared_and_published(tmp_path):
    kept = ["attention-500", "no-attention-500", "attention-128k", "no-attention-128k"]
    sizes = {"500": 30, "128k": 60}
    settings = [one for one in SMALL if "encoder" not in one and "dev_bleu" not in one]
    settings += ["corpus.valid=7", "corpus.test_per_bucket=2", "seeds=[1]", *SHORT]
    for name in kept:
        settings += [f"systems.{name}.corpus.train={sizes[name.rpartition('-')[2]]}"]
        settings += [f"systems.{name}.training.max_epochs=1"]
    settings += ["baselines={}", "+baselines.attention-500=no-attention-500"]
    run(tmp_path, "reproduce", *only("less_text", kept), *settings)
    assert published(tmp_path) == {"less-text"}


def test_every_kind_of_attention_is_in_an_experiment():
    found = [runs(f"experiment={name}") for name in ("attention_kinds", "width", "longer")]
    kinds = {system.model.attention.kind for systems in found for system in systems.values()}
    assert kinds == set(ATTENTION_KINDS)


def test_other_test_texts_are_refused_before_any_training(tmp_path):
    words = ["corpus.train=60", "corpus.valid=5", "corpus.test_per_bucket=1", "corpus.max_words=10"]
    words += [f"data={tmp_path}/data", f"output={tmp_path}/outputs"]
    with pytest.raises(UserError, match=r"test .*no-attention"):
        reproduce(*words, "+systems.no-attention.corpus.seed=2")
    for name in ("a", "b"):
        write_reversal_corpus(tmp_path / name, 20)
    for test in (tmp_path / "b").glob("test.*"):
        test.rename(test.with_stem("test_other"))
    words = ["corpus=files", "corpus.source=source", "corpus.target=target", *words[4:6]]
    folders = {"attention": "a", "no-attention": "b"}
    own = [f"+systems.{name}.corpus.directory={tmp_path}/{of}" for name, of in folders.items()]
    with pytest.raises(UserError, match=r"test, test_other of no-attention"):
        reproduce(*words, *own)
    assert not (tmp_path / "outputs").exists()


def test_a_comparison_of_some_systems_is_named_by_them(tmp_path, monkeypatch):
    compared = []
    monkeypatch.setattr("seq2seq.report.compare.compare", compared.append)
    words = [STUDY, "experiment=cram", *TOY, "corpus.valid=5", "beams=[1]"]
    words += ["corpus.test_per_bucket=1", "training.max_updates=1", "training.dev_bleu_sentences=0"]
    words += [f"data={tmp_path}/data", f"output={tmp_path}/outputs", "system=target-only"]
    reproduce(*words, "baseline=no-attention", "corpus.train=40")
    assert Path(compared[0].output).name == "target-only-no-attention-test-greedy"


def small(monkeypatch, folder: Path, experiment: str, *more: str) -> list[str]:
    """Train two or three systems of an experiment in ``folder``; their evaluations."""
    toy = ["corpus.train=60", "corpus.valid=20", "corpus.test_per_bucket=2", "beams=[1]"]
    run(folder, "reproduce", STUDY, f"experiment={experiment}", *toy, *UNSCORED, *more)
    monkeypatch.chdir(folder)  # the text is below it
    return sorted(map(str, folder.glob("outputs/*/*/seed-1/evaluations/test-greedy")))


@pytest.mark.slow
def test_vectors_are_crammed_and_after_a_kill_only_those_that_are_missing(tmp_path, monkeypatch):
    attention, encoder, blind = small(monkeypatch, tmp_path, "cram")
    for name, value in {"EACH": 1, "TUNED_ON": 1, "SEEN": 50, "STEPS": 3, "RATES": (0.1,)}.items():
        monkeypatch.setattr(cram, name, value)
    cram.main(encoder, attention, blind)
    made = sorted(Path(encoder).parent.glob("test-cram-greedy-*/scores.json"))
    assert len(made) == 19  # three frames, three starts, rounded or not; and the encoder's, rounded
    bounded = next(path for path in made if path.parent.name.endswith("bounded-zero"))
    assert read_evaluation(bounded.parent).record.config["crammed"]["largest"] == "1.0"
    before = {path: path.read_text() for path in made}
    lost = next(path for path in made if path.parent.name.endswith("within-zero"))
    lost.unlink()
    kept = next(path for path in made if path.parent.name.endswith("free-other"))
    stamp = kept.stat().st_mtime_ns
    cram.main(encoder, attention, blind)
    assert kept.stat().st_mtime_ns == stamp
    rows = [json.loads(text)["rows"] for text in (lost.read_text(), before[lost])]
    assert rows[0] == rows[1]
    assert published(tmp_path) == {"cram"}
    page = (tmp_path / "pages" / "cram.md").read_text()
    assert "free-encoder-rounded" in page
    with pytest.raises(UserError, match="kind fixed"):
        cram.main(attention, encoder, blind)


@pytest.mark.slow
def test_the_skipped_middle_is_traced_once_for_each_system(tmp_path, monkeypatch):
    chosen = ["system=additive-20", "baseline=additive-40", "corpus.test_per_bucket=20"]
    evaluations = small(monkeypatch, tmp_path, "middle", *chosen)
    places = tmp_path / "results" / "middle" / "places.npz.xz"
    middle.main(evaluations[:1], tmp_path / "results")
    one = read_traced(places)
    middle.main(evaluations, tmp_path / "results")
    both = read_traced(places)
    assert len(one.traces) == 3
    assert both.traces.keys() > one.traces.keys()
    stamp = places.stat().st_mtime_ns
    middle.main(evaluations, tmp_path / "results")
    assert places.stat().st_mtime_ns == stamp
    texts = read_evaluation(Path(evaluations[0])).texts
    pairs = banded_pairs(read_config(Path(evaluations[0]).parents[1]).corpus)
    assert [pair.source for pair in pairs] == texts.sources
    for gold, pair in zip(both.gold.sentences, pairs, strict=True):
        for target, place in enumerate(gold):
            sources = [i for i, j in pair.links if j == target]
            assert place == min(sources, default=middle.UNLINKED)
    assert both.traces["additive-20/always"].sizes.tolist() == [
        len(h.split()) for h in texts.hypotheses
    ]
    assert published(tmp_path) == {"middle"}
    assert "Primary test" in (tmp_path / "pages" / "middle.md").read_text()


@pytest.mark.slow
def test_a_training_is_measured_on_its_way_and_goes_on(tmp_path, monkeypatch):
    toy = [*UNSCORED, "corpus.train=60", "corpus.valid=4", "corpus.test_per_bucket=4"]
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
    shutil.rmtree(whole / "results")
    monkeypatch.setattr(moment, "LAST", 2)
    monkeypatch.setattr(moment, "EVERY", 2)
    with pytest.raises(UserError, match="update 2"):
        moment.main(["attention-1"], whole / "results", toy)


def test_the_matched_control_has_as_many_parameters_as_attention():
    controls = runs("experiment=controls")
    totals = {
        system: TranslationModel(controls[system].model, 6000, 6000).parameter_counts()["total"]
        for system in ("attention", "fixed", "fixed-matched")
    }
    assert totals["fixed"] < 0.98 * totals["attention"]
    assert totals["fixed-matched"] == pytest.approx(totals["attention"], rel=0.01)
    for each in controls.values():  # and every control's vector is of one width
        directions = 2 if each.model.encoder.directions == "both" else 1
        assert each.model.encoder.hidden_size * directions == 256


def test_no_strong_baseline_has_more_than_ten_million_parameters_and_none_attends():
    for system, each in runs("experiment=strong_baseline").items():
        model = TranslationModel(each.model, 6000, 6000)
        assert model.parameter_counts()["total"] <= 10_000_000, system
        assert model.attends == (system == "attention")
        handed_over = each.model.encoder.layers * model.encoder.annotation_size
        assert model.decoder.initial.in_features == handed_over, system
