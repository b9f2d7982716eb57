"""The script for a GPU, on a CPU: what its steps find, and that none is lost with another."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import gpu
import pytest
import training
import translation
from gpu import benchmark_gpu
from harness import compose_config, main
from helpers.commands import TOY
from helpers.composing import compose_runs
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_checkpoint import experiment, save

SMALL = ["device=cpu", "updates=4", "train_updates=20", "timed=1"]
SETTINGS = ["corpus.max_words=10", "training.validate_every=100", "training.dev_bleu_sentences=0"]
SMALL.append(f"settings={[*TOY, *SETTINGS, 'training.max_epochs=2']}")


def found(folder: Path, step: str) -> dict:
    """What a step, made in this process, has found."""
    config = compose_config("gpu", [*SMALL, f"output={folder}", f"step={step}"])
    return json.loads(benchmark_gpu(config).read_text())


def test_the_machine_and_its_kernels_are_named(tmp_path):
    facts = found(tmp_path, "facts")
    assert facts["hardware"]["device"] == "cpu"
    assert {facts[f"kernels for torch.{kind}"] for kind in ("float32", "bfloat16")} <= {
        "native",
        "torch",
    }


def test_losses_are_those_of_the_cpu_where_it_is_the_cpu(tmp_path):
    equality = found(tmp_path, "equality")
    first, second, rounded = equality["losses"]
    assert first == second != rounded
    assert len(first) == 4
    (exact,) = [value for key, value in equality.items() if key.startswith("cpu, fp32")]
    (unlike,) = [value for key, value in equality.items() if key.startswith("cpu, bf16")]
    assert float(exact) == 0
    expected = max(abs(one / other - 1) for one, other in zip(rounded, first, strict=True))
    assert float(unlike) == pytest.approx(expected, rel=0.1)


def test_a_stopped_training_ends_with_equal_weights(tmp_path, caplog):
    with caplog.at_level("INFO"):
        resuming = found(tmp_path, "resuming")
    assert "from update 10" in caplog.text
    assert resuming["weights"] > 0
    assert resuming["unlike"] == 0


def test_translations_are_those_of_the_cpu_where_it_is_the_cpu(tmp_path):
    texts = found(tmp_path, "translation")
    for search in ("greedy", "beam5"):
        assert texts[f"cpu, fp32, {search}"].startswith("6 of 6 equal")
        assert f"cpu, bf16, {search}" in texts


def test_every_way_to_train_is_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "peak_memory", lambda *_: 2.0)
    speed = found(tmp_path, "speed-tiny")
    timed = {run["path"]: run for runs in speed.values() if isinstance(runs, list) for run in runs}
    assert timed.keys() == training.PATHS.keys()
    for path, run in timed.items():
        shown = speed[f"{path} ({run['kernels']})"]
        assert shown.startswith(f"{1e3 * run['median_seconds']:.2f} ms, ")


def test_searches_are_timed_with_the_trained_model(tmp_path, monkeypatch):
    monkeypatch.setattr(translation, "peak_memory", lambda *_: 2.0)
    for text in write_reversal_corpus(tmp_path / "corpus", train=5).glob("test.*"):
        text.write_text("".join(text.read_text().splitlines(keepends=True)[:5]))
    config = replace(experiment(), corpus=reversal_experiment(tmp_path).corpus)
    save(tmp_path / "translation" / "quickstart" / "attention" / "seed-1", config=config)
    searches = found(tmp_path, "search")
    assert len(searches) == 1 + len(searches["runs"]) == 5
    assert searches["beam 5, batch 64"].endswith(" sentences/s")


def test_no_step_is_lost_with_another(tmp_path, monkeypatch):
    """One is killed, one hangs after its first finding, and one comes too late."""
    ends = {
        "facts": {"outcome": "done"},
        "tests": {"outcome": "status -9", "last_lines": ["a", "Killed"]},
        "equality": {"outcome": "out of time", "last_lines": ["in the driver"]},
    }
    limits = compose_config("gpu", ["output=a"]).limits
    timed = [step for step in limits if step.startswith(("speed", "search"))]
    before = {}

    def run(command, seconds, log):
        step, work = (word.partition("=")[2] for word in (command[-1], command[-2]))
        written = tmp_path / "gpu.json"
        before[step] = len(json.loads(written.read_text())["runs"]) if written.exists() else 0
        assert seconds <= limits[step]
        if step in ("facts", "equality"):
            Path(work, f"{step}.json").write_text(json.dumps({"number": 3, "many": [1, 2]}))
        return {"seconds": 1.5, **ends.get(step, {"outcome": "no time left", "last_lines": []})}

    monkeypatch.setattr(gpu, "run_within", run)
    page = benchmark_gpu(compose_config("gpu", [*SMALL, f"output={tmp_path}", "minutes=3"]))
    written = json.loads((tmp_path / "gpu.json").read_text())
    runs = {run["step"]: run for run in written["runs"]}
    assert list(runs) == list(limits)
    # The file was written after the steps that run side by side, and after each of the others.
    after = {step: len(limits) - len(timed) + place for place, step in enumerate(timed)}
    assert before == dict.fromkeys(limits, 0) | after
    assert runs["equality"]["found"] == {"number": 3, "many": [1, 2]}
    assert runs["tests"]["last_lines"] == ["a", "Killed"]
    assert written["environment"].keys() >= {"command", "git_commit", "versions", "hardware"}
    rows = [line.split("|")[1:6] for line in page.read_text().splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in row] for row in rows]
    assert ["tests", "status -9", "1.5", "", "Killed"] in table
    assert ["equality", "out of time", "1.5", "number", "3"] in table
    assert ["sharing", "no time left", "1.5", "", ""] in table


def test_steps_that_measure_speed_alone(tmp_path, monkeypatch):
    made = {"outcome": "status 1", "seconds": 2.5, "last_lines": ["no memory"]}
    monkeypatch.setattr(gpu, "run_within", lambda *_: made)
    limits = compose_config("gpu", ["output=a"]).limits
    without = [f"~limits.{step}" for step in limits if step != "speed-m"]
    page = benchmark_gpu(compose_config("gpu", [*SMALL, f"output={tmp_path}", *without]))
    assert "no memory" in page.read_text()


def test_two_processes_share_a_training_that_composes(tmp_path, monkeypatch):
    """How fast they are is measured, and tested, by ``processes``."""
    asked = []
    monkeypatch.setattr(gpu, "tokens_per_second", lambda *given, **s: asked.append((given, s)) or 7)
    assert found(tmp_path, "sharing") == {"target tokens/s": 7}
    (((config,), shares),) = asked
    assert shares["processes"] == 2
    assert config.device == "cpu"
    assert compose_runs(list(config.settings))[0].corpus.max_words == 10


def test_those_marked_are_run_and_counted(tmp_path, monkeypatch):
    file = tmp_path / "tests" / "test_one.py"
    file.parent.mkdir()
    file.write_text(
        "import pytest\n\n@pytest.mark.gpu\ndef test_a(): pass\n\ndef test_b(): assert False\n"
    )
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="0"):
        found(tmp_path, "tests")
    counts = {"tests": "1", "failures": "0", "errors": "0", "skipped": "0"}
    assert json.loads((tmp_path / "tests.json").read_text()) == counts


@pytest.mark.slow
def test_a_dry_run(tmp_path, monkeypatch, capsys):
    """The script as it is called, with the only step in a process of its own."""
    limits = compose_config("gpu", ["output=a"]).limits
    steps = [f"~limits.{name}" for name in limits if name != "facts"]
    given = [f"output={tmp_path}", "minutes=60", "limits.facts=600", *SMALL, *steps]
    monkeypatch.setattr(sys, "argv", [gpu.__file__, *given])
    main("gpu", benchmark_gpu)
    assert capsys.readouterr().out.startswith("# One GPU")
    (run,) = json.loads((tmp_path / "gpu.json").read_text())["runs"]
    assert (run["step"], run["outcome"]) == ("facts", "done")
    assert {path.name for path in tmp_path.iterdir()} == {"gpu.json", "gpu.md", "facts.log"}
