"""The scripts as a user runs them: an experiment at toy size, a second call, a longer training."""

import json
from pathlib import Path

import pytest
from helpers.commands import TOY, run
from helpers.reversal import write_reversal_corpus

SETTINGS = [*TOY, "corpus.train=60", "corpus.test_per_bucket=1"]
EXPERIMENT = [*SETTINGS, "beams=[5]"]  # no second comparison, for the default greedy search


def made(folder: Path) -> dict[Path, int | bytes]:
    """When data and weights were written, and the scores, which have the seconds of the search."""
    files = [*folder.rglob("manifest.json"), *folder.rglob("model.safetensors")]
    times = {path: path.stat().st_mtime_ns for path in files}
    return times | {path: path.read_bytes() for path in folder.rglob("scores.json")}


@pytest.mark.slow
def test_reproduce_trains_evaluates_and_compares_once(tmp_path):
    first = run(tmp_path, "reproduce", *EXPERIMENT)
    outputs = tmp_path / "outputs" / "quickstart"
    for system in ("attention", "no-attention"):
        folder = outputs / system / "seed-1"
        assert json.loads((folder / "run.json").read_text())["status"] == "finished"
        scores = json.loads((folder / "evaluations/test-beam5/scores.json").read_text())
        assert (scores["record"]["system"], scores["record"]["search"]) == (system, "beam5")
    names = {path.name for path in (outputs / "comparison" / "test-beam5").iterdir()}
    assert {"table.md", "figure.pdf", "scores.json", "page.html"} <= names
    assert {path.name for path in tmp_path.iterdir()} == {"data", "outputs"}  # none of Hydra's

    before = made(tmp_path)
    again = run(tmp_path, "reproduce", *EXPERIMENT)
    run(tmp_path, "prepare", *SETTINGS)
    run(tmp_path, "train", *SETTINGS)
    assert made(tmp_path) == before
    assert again.stdout == first.stdout
    other = run(tmp_path, "train", *SETTINGS, "model.dropout=0.5", ok=False)
    assert other.returncode == 1
    assert "model.dropout=0.0" in other.stderr


@pytest.mark.slow
def test_reproduce_goes_on_and_says_by_which_limits(tmp_path):
    """Also if the best checkpoint is from before: here no update changes anything."""
    still = ["training.optimizer.schedule=constant", "training.optimizer.learning_rate=0"]
    still += [*TOY, "corpus.test_per_bucket=1", "system=attention", "beams=[1]"]
    for updates in (6, 9):
        run(tmp_path, "reproduce", *still, f"training.max_updates={updates}")
    folder = tmp_path / "outputs" / "quickstart" / "attention" / "seed-1"
    record = json.loads((folder / "evaluations/test-greedy/scores.json").read_text())["record"]
    for config in (record["config"], json.loads((folder / "config.json").read_text())):
        assert config["training"]["max_updates"] == 9
    progress = record["training"]["progress"]
    assert (progress["update"], progress["best_update"]) == (9, 5)
    assert [path.name for path in (folder.parents[1] / "comparison").iterdir()] == [
        "attention-test-greedy"
    ]


@pytest.mark.slow
def test_what_is_refused_before_a_training_leaves_no_run(tmp_path):
    """Or the setting that is right would be refused as another run's."""
    for name in ("a", "b"):
        write_reversal_corpus(tmp_path / name, 20)
    for test in (tmp_path / "b").glob("test.*"):
        test.rename(test.with_stem("test_other"))
    own = ["corpus=files", "corpus.source=source", "corpus.target=target"]
    own += ["+systems.attention.corpus.directory=a", "+systems.no-attention.corpus.directory=b"]
    for words, named in (
        ([*TOY, "tokenization=sentencepiece"], "tokenization.vocabulary_size=8000"),
        ([*SETTINGS, "+systems.no-attention.corpus.seed=2"], "test of no-attention"),
        (own, "test, test_other of no-attention"),
    ):
        done = run(tmp_path, "reproduce", *words, ok=False)
        assert done.returncode == 1
        assert named in done.stderr.splitlines()[-1]
    assert not (tmp_path / "outputs").exists()
