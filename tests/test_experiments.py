"""The study's experiments at toy size, up to their pages, and their controls matched."""

import json
import random
from pathlib import Path

import cram
import pytest
import report
import same_content
from helpers.commands import SMALL, run
from helpers.composing import STUDY, runs
from packed import main as pack

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
    settings += [STUDY, "experiment=opponent", "training.keep_epochs=[]"]
    run(tmp_path, "reproduce", *settings)
    run(tmp_path, "reproduce", *settings, "system=attention-50", "baseline=no-attention-50")
    outputs = tmp_path / "outputs" / "figure2"
    test = "test-beam2-ratio0.5"
    names = {test, f"attention-50-no-attention-50-{test}"}
    assert names <= {path.name for path in (outputs / "comparison").iterdir()}
    scores = json.loads((outputs / "comparison" / test / "scores.json").read_text())
    pairs = {gap["system"]: gap["baseline"] for gap in scores["gaps"]}
    for arm in ("30", "50", "30-matched"):
        assert pairs[f"attention-{arm}"] == f"no-attention-{arm}"
    # Joined sentences need no other training.
    for system in ("attention-50", "no-attention-50"):
        evaluation = str(outputs / system / "seed-1" / "evaluations" / test)
        same_content.main(evaluation)
    pages = {"europarl-test", "bits-test", "same-content"}
    assert published(tmp_path) == pages


def small(monkeypatch, folder: Path, experiment: str, *more: str) -> list[str]:
    """Train two or three systems of an experiment in ``folder``; their evaluations."""
    toy = ["corpus.train=60", "corpus.valid=20", "corpus.test_per_bucket=2", "beams=[1]"]
    run(folder, "reproduce", STUDY, f"experiment={experiment}", *toy, *SIZES, *more)
    monkeypatch.chdir(folder)  # the text is below it
    return sorted(map(str, folder.glob("outputs/*/*/seed-1/evaluations/test-greedy")))


@pytest.mark.slow
def test_vectors_are_crammed(tmp_path, monkeypatch):
    attention, encoder, blind = small(monkeypatch, tmp_path, "cram")
    for name, value in {"EACH": 1, "TUNED_ON": 1, "STEPS": 3, "RATES": (0.1,)}.items():
        monkeypatch.setattr(cram, name, value)
    cram.main(encoder, attention, blind, results=tmp_path / "results")
    made = json.loads((tmp_path / "results" / "quickstart" / "cram.json").read_text())
    assert made["bits"].keys() == {"no-attention", "attention", "target-only", "bounded", "free"}
    crammed = zip(made["bits"]["free"], made["bits"]["no-attention"], strict=True)
    assert all(after < before for after, before in crammed)
    assert published(tmp_path) == {"cram"}


@pytest.mark.slow
def test_the_skipped_middle_is_published(tmp_path, monkeypatch):
    chosen = ["system=additive-20", "baseline=additive-40", "corpus.test_per_bucket=20"]
    small(monkeypatch, tmp_path, "middle", *chosen)
    assert published(tmp_path) == {"middle"}


def test_the_matched_control_has_as_many_parameters_as_attention():
    systems = runs("experiment=controls").items()
    models = {name: TranslationModel(system.model, 6000, 6000) for name, system in systems}
    sizes = {name: model.parameter_counts()["total"] for name, model in models.items()}
    assert sizes["fixed"] < 0.98 * sizes["attention"]
    assert sizes["fixed-matched"] == pytest.approx(sizes["attention"], rel=0.01)
    assert {model.encoder.annotation_size for model in models.values()} == {256}
