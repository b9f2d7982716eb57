"""The study's experiments at toy size: whole, the same after a kill, their controls matched."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launch import compose_config

from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.translation import TranslationModel

ROOT = Path(__file__).resolve().parent.parent
TOY = [
    "model.embedding_dim=16",
    "model.attention.size=16",
    "training.max_epochs=2",
    "training.batch_size=20",
    "training.validate_every=5",
    "training.dev_bleu_sentences=10",
    "training.device=cpu",
    "evaluation.bootstrap=100",
]
NARROW = ["model.encoder.hidden_size=16", "model.decoder.hidden_size=16"]


def started(folder: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "reproduce.py"), *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "PYTHONWARNINGS": "error", "CUDA_VISIBLE_DEVICES": ""},
    )


def reproduce(folder: Path, *arguments: str) -> str:
    """What the script prints."""
    with started(folder, *arguments) as script:
        out, err = script.communicate(timeout=400)
    assert script.returncode == 0, err
    return out


@pytest.fixture(scope="module")
def europarl(tmp_path_factory) -> Path:
    """A folder of Europarl's shape, its sentences of 1 to 60 words."""
    folder = tmp_path_factory.mktemp("europarl")
    words, generator = [f"w{n}" for n in range(40)], random.Random(1)
    for split, count in (("train", 200), ("valid", 20), ("test", 30), ("test_all", 40)):
        lines = [generator.choices(words, k=generator.randint(1, 60)) for _ in range(count)]
        for language, order in (("en", 1), ("fr", -1)):
            # The French side is longer by a word, so that a limit may be its alone.
            more = ["oui"] if language == "fr" else []
            text = "".join(" ".join(line[::order] + more) + "\n" for line in lines)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    return folder


def figure2(europarl: Path) -> list[str]:
    return [
        *("experiment=figure2", f"corpus.directory={europarl}", "tokenization.vocabulary_size=45"),
        *(f"test_texts.news={europarl}/test_all", "test_texts.other=" + str(europarl / "valid")),
        *(*TOY, *NARROW, "training.max_updates=12", "beams=[2]"),
    ]


@pytest.mark.slow
def test_figure2_goes_on_after_a_kill_and_ends_with_the_same_report(europarl, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.mkdir()
    cut.mkdir()
    printed = reproduce(whole, *figure2(europarl))
    assert printed.count("| words") == 4

    run = cut / "outputs" / "figure2-cpu" / "attention-50" / "seed-1"
    with started(cut, *figure2(europarl)) as script:
        deadline = time.monotonic() + 300
        while not (run / "checkpoints" / "best").exists() and time.monotonic() < deadline:
            assert script.poll() is None
            time.sleep(0.01)
        script.send_signal(signal.SIGKILL)
        script.communicate()
    assert not (cut / "outputs" / "figure2-cpu" / "comparison").exists()
    assert reproduce(cut, *figure2(europarl)) == printed
    for name in ("test-beam2", "test_all-beam2", "news-beam2", "other-beam2"):
        folders = [root / "outputs/figure2-cpu/comparison" / name for root in (whole, cut)]
        for file in ("figure.png", "figure.svg"):
            assert (folders[0] / file).read_bytes() == (folders[1] / file).read_bytes()
    numbers = json.loads((folders[0] / "scores.json").read_text())
    assert {gap["system"]: gap["baseline"] for gap in numbers["gaps"]} == {
        "attention-30": "no-attention-30",
        "attention-50": "no-attention-50",
    }
    # The limit of words is one of training, and of nothing else.
    manifests = [
        json.loads(path.read_text()) for path in (whole / "data/prepared").glob("*/manifest.json")
    ]
    kept = {manifest["train_max_words"]: manifest["pairs"] for manifest in manifests}
    lengths = [len(line.split()) for line in (europarl / "train.fr").read_text().splitlines()]
    for limit, pairs in kept.items():
        assert pairs == {"train": sum(length <= limit for length in lengths), "valid": 20}
    assert kept.keys() == {30, 50}


@pytest.mark.slow
def test_the_width_of_the_bottleneck_is_drawn_as_a_map(tmp_path):
    corpus = ["corpus.train=200", "corpus.valid=20", "corpus.test_per_bucket=5"]
    corpus += ["corpus.max_words=40"]
    printed = reproduce(tmp_path, "experiment=bottleneck_width", *corpus, *TOY)
    root = tmp_path / "outputs" / "bottleneck_width"
    seeds = {
        folder.name: sorted(path.name for path in folder.iterdir())
        for folder in root.iterdir()
        if folder.name != "comparison"
    }
    every, first = ["seed-1", "seed-2", "seed-3"], ["seed-1"]
    assert seeds == {
        **{"width-64": every, "width-128": first, "width-256": every, "width-512": first},
        **{"width-1024": first, "with-attention-64": first, "with-attention-256": first},
    }
    assert (root / "comparison" / "test-beam5" / "heatmap.png").exists()
    gaps = [line for line in printed.splitlines() if line.startswith("| w")]
    assert [line.split()[1] for line in gaps] == [
        *("width-128", "width-256", "width-512", "width-1024"),
        *("with-attention-64", "with-attention-256"),
    ]
    against = {line.split()[1]: line.split()[3] for line in gaps}
    assert (against["width-256"], against["with-attention-256"]) == ("width-64", "width-256")
    number = r"[+-]\d[\d.e-]*"
    growth = re.compile(rf"{number} \[{number}, {number}\] † \|$")  # of few sentences, at this size
    assert all(growth.search(line) for line in gaps)


@pytest.mark.slow
def test_the_controls_train(europarl, tmp_path):
    text = [f"corpus.directory={europarl}", "corpus=europarl", "tokenization.vocabulary_size=45"]
    short = ["training.max_updates=5", "beams=[1]"]
    printed = reproduce(tmp_path, "experiment=controls", *text, *TOY, *short)
    for system in compose_config("reproduce", ["experiment=controls"]).systems:
        assert f" BLEU {system} " in printed


@pytest.mark.slow
def test_the_papers_setting_trains(europarl, tmp_path):
    text = [f"corpus.directory={europarl}", "corpus.train_pairs=100", "training.max_updates=5"]
    printed = reproduce(tmp_path, "experiment=paper", *text, *TOY, *NARROW)
    assert "RNNsearch-50" in printed
    record = json.loads((tmp_path / "outputs/paper/RNNencdec-30/seed-1/config.json").read_text())
    assert record["training"]["optimizer"]["kind"] == "adadelta"
    assert record["model"]["encoder"]["directions"] == "forward"


def test_the_matched_control_has_as_many_parameters_as_attention():
    totals = {
        system: TranslationModel(
            compose_config("train", ["experiment=controls", f"system={system}"]).model, 6000, 6000
        ).parameter_counts()["total"]
        for system in ("attention", "fixed", "fixed-matched")
    }
    assert totals["fixed"] < 0.98 * totals["attention"]
    assert totals["fixed-matched"] == pytest.approx(totals["attention"], rel=0.01)


def test_no_strong_baseline_has_more_than_ten_million_parameters_and_none_attends():
    systems = compose_config("train", ["experiment=strong_baseline"]).systems
    for system in systems:
        config = compose_config("train", ["experiment=strong_baseline", f"system={system}"]).model
        model = TranslationModel(config, 6000, 6000)
        assert model.parameter_counts()["total"] <= 10_000_000, system
        assert model.attends == (system == "attention")
        handed_over = config.encoder.layers * model.encoder.memory_size
        assert model.decoder.initial.in_features == handed_over, system


def test_every_control_has_a_vector_of_one_width():
    systems = compose_config("train", ["experiment=controls"]).systems
    for system in systems:
        encoder = compose_config("train", ["experiment=controls", f"system={system}"]).model.encoder
        assert encoder.hidden * (2 if encoder.directions == "both" else 1) == 256


def test_a_system_with_seeds_of_its_own_is_trained_with_those():
    def seeds(system: str, *asked: str) -> list[int]:
        chosen = ["experiment=bottleneck_width", f"system={system}", *asked]
        return compose_config("reproduce", chosen).seeds

    assert seeds("width-64") == [1, 2, 3]
    assert seeds("width-128") == [1]
    assert seeds("width-64", "seeds=[7]") == seeds("width-128", "seeds=[7]") == [7]


@pytest.mark.slow
def test_every_kind_of_attention_trains_and_translates(europarl, tmp_path):
    text = [f"corpus.directory={europarl}", "corpus=europarl", "tokenization.vocabulary_size=45"]
    short = [*NARROW, "model.decoder.hidden_size=32", "model.attention.heads=4", "beams=[2]"]
    printed = reproduce(
        tmp_path, "experiment=attention_kinds", *text, *TOY, *short, "training.max_updates=5"
    )
    systems = compose_config("reproduce", ["experiment=attention_kinds"]).systems
    assert {settings[0] for settings in systems.values()} == {
        f"model.attention.kind={kind}" for kind in ATTENTION_KINDS
    }
    drawn = tmp_path / "outputs" / "attention_kinds" / "comparison" / "test-beam2"
    for system in systems:
        assert f" BLEU {system} " in printed
        attends = system not in ("fixed", "init-only")
        assert (drawn / f"attention-{system}.png").exists() == attends


@pytest.mark.slow
def test_another_kind_takes_the_place_of_attention_in_a_comparison(tmp_path):
    corpus = ["corpus.train=200", "corpus.valid=20", "corpus.test_per_bucket=5"]
    small = ["model.decoder.hidden_size=32", "model.encoder.hidden_size=16", "beams=[1]"]
    printed = reproduce(
        tmp_path, "model.attention.kind=scaled_dot", *corpus, *TOY, *small, "training.max_updates=5"
    )
    runs = (tmp_path / "outputs" / "quickstart").iterdir()
    assert {run.name for run in runs} == {"no-attention", "scaled_dot", "comparison"}
    assert " BLEU scaled_dot " in printed


def test_a_kind_that_a_comparison_has_already_is_refused(tmp_path):
    with started(tmp_path, "experiment=attention_kinds", "model.attention.kind=dot") as script:
        _, said = script.communicate(timeout=100)
    assert script.returncode == 1
    assert said.strip() == (
        "error: model.attention.kind=dot would have no effect: reproduce runs every system of the "
        "experiment, and dot is one of them; leave it out."
    )
