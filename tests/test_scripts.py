"""The scripts as a user runs them: all stages at toy size, pipes, errors, a second call."""

import json
from pathlib import Path

import pytest
from helpers.commands import TOY, run

SETTINGS = [*TOY, "corpus.train=60", "corpus.test_per_bucket=1"]
EXPERIMENT = [*SETTINGS, "beams=[5]"]  # no second comparison, for the default greedy search


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory) -> Path:
    """A folder in which the toy experiment has been reproduced."""
    folder = tmp_path_factory.mktemp("reproduced")
    done = run(folder, "reproduce", *EXPERIMENT)
    assert "Training 1 of 2: attention, seed 1" in done.stderr
    assert "| source words" in done.stdout
    assert "no-attention" in done.stdout
    return folder


@pytest.mark.slow
def test_reproduce_leaves_runs_evaluations_and_comparisons(reproduced):
    for system in ("attention", "no-attention"):
        run_folder = reproduced / "outputs" / "quickstart" / system / "seed-1"
        assert json.loads((run_folder / "run.json").read_text())["status"] == "finished"
        scores = run_folder / "evaluations" / "test-beam5" / "scores.json"
        record = json.loads(scores.read_text())["record"]
        assert (record["system"], record["search"]) == (system, "beam5")
    comparison = reproduced / "outputs" / "quickstart" / "comparison" / "test-beam5"
    names = {path.name for path in comparison.iterdir()}
    assert {"table.md", "figure.pdf", "scores.json", "page.html"} <= names
    assert {path.name for path in reproduced.iterdir()} == {"data", "outputs"}  # none of Hydra's


def speeds(folder):
    scores = sorted(folder.glob("outputs/*/*/*/evaluations/*/scores.json"))
    assert len(scores) == 2
    return [json.loads(path.read_text())["record"]["sentences_per_second"] for path in scores]


@pytest.mark.slow
def test_reproduce_again_does_nothing_twice_and_says_the_same(reproduced):
    weights = reproduced / "outputs/quickstart/attention/seed-1/checkpoints/best/model.safetensors"
    before = weights.stat().st_mtime_ns
    table = reproduced / "outputs/quickstart/comparison/test-beam5/table.md"
    said, searched = table.read_bytes(), speeds(reproduced)
    done = run(reproduced, "reproduce", *EXPERIMENT)
    assert weights.stat().st_mtime_ns == before
    assert done.stderr.count("is already trained") == 2
    assert "no-attention/seed-1 is already trained" in done.stderr
    assert speeds(reproduced) == searched  # nothing was translated again
    assert table.read_bytes() == said
    other = run(reproduced, "train", *SETTINGS, "model.dropout=0.5", ok=False)
    assert other.returncode == 1
    assert "model.dropout=0.0" in other.stderr


@pytest.mark.slow
def test_a_linear_rate_cannot_be_made_longer_but_its_systems_be_trained_further(reproduced):
    """Each system starts from the one of its name."""
    refused = run(reproduced, "reproduce", *EXPERIMENT, "training.max_epochs=2", ok=False)
    assert refused.returncode == 1
    assert "training.max_epochs" in refused.stderr
    parent = "training.init_from=outputs/quickstart/${system}/seed-${seed}"
    run(reproduced, "reproduce", *EXPERIMENT, "name=quickstart-longer", parent)
    for system in ("attention", "no-attention"):
        best, run_folder = (
            reproduced / "outputs" / name / system / "seed-1" / "checkpoints" / "best"
            for name in ("quickstart", "quickstart-longer")
        )
        record = json.loads((run_folder.parents[1] / "run.json").read_text())
        assert record["parent"]["path"] == str(best.relative_to(reproduced))


@pytest.mark.slow
def test_reproduce_goes_on_and_says_by_which_limits(tmp_path):
    """Also if the best checkpoint is from before: here no update changes anything."""
    still = [
        *TOY,
        "corpus.test_per_bucket=1",
        "training.optimizer.schedule=constant",
        "training.optimizer.learning_rate=0",
    ]
    for updates in (6, 9):
        limit = f"training.max_updates={updates}"
        run(tmp_path, "reproduce", *still, "system=attention", limit, "beams=[1]")
    folder = tmp_path / "outputs" / "quickstart" / "attention" / "seed-1"
    record = json.loads((folder / "evaluations/test-greedy/scores.json").read_text())["record"]
    for config in (record["config"], json.loads((folder / "config.json").read_text())):
        assert config["training"]["max_updates"] == 9
    progress = record["training"]["progress"]
    assert (progress["update"], progress["best_update"]) == (9, 5)


@pytest.mark.slow
def test_prepare_is_found_by_train(tmp_path):
    """The first stage alone leaves what the next one needs; an experiment may be one's own."""
    folder = tmp_path / "of mine" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(
        "# @package _global_\nname: mine\nsystem: a\nbaseline: b\n"
        "systems: {a: {}, b: {label: one vector, model: {attention: {kind: fixed}}}}\n"
    )
    mine = ["--config-dir=of mine", "experiment=mine", "system=b", *SETTINGS]
    said = run(tmp_path, "prepare", *mine).stdout
    prepared = list((tmp_path / "data" / "prepared").glob("*/manifest.json"))
    assert len(prepared) == 1
    assert prepared[0].parent.name in said
    run(tmp_path, "train", *mine, "training.max_updates=2")
    assert list((tmp_path / "data" / "prepared").glob("*/manifest.json")) == prepared
    assert (tmp_path / "outputs/mine/b/seed-1/checkpoints/best").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "arguments", "message"),
    [
        ("reproduce", ["training.device=cuda"], "CUDA"),
        # Nothing is left behind, or the setting that is right would be refused as another run's.
        ("reproduce", [*TOY, "tokenization=sentencepiece"], "tokenization.vocabulary_size=8000"),
        ("train", ["--config-dir=nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_one_sentence_and_a_failure(tmp_path, script, arguments, message):
    (tmp_path / "file").write_text("")
    done = run(tmp_path, script, *arguments, ok=False)
    assert done.returncode == 1
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert message in said
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "outputs").exists()
