"""All paths make the same update; the table follows from the timings, which are all kept."""

import json
import shlex
from statistics import median

import pytest
import torch
import training
from harness import compose_config
from helpers.pages import COMMANDS, SCRIPT
from training import PATHS, SIZES, Workload, benchmark_training, start

from seq2seq.errors import UserError


def weights_after(path: str, kind: str, updates: int) -> dict[str, torch.Tensor]:
    made = start(path, Workload(SIZES["tiny"], kind, 5, torch.device("cpu")))
    torch.manual_seed(6)  # of dropout
    for _ in range(updates):
        made.update()
    return {name: weight.clone() for name, weight in made.model.state_dict().items()}


@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_all_paths_arrive_near_the_same_weights(kind):
    begin, expected = (weights_after("plain", kind, updates) for updates in (0, 3))
    moved = sum((expected[name] - begin[name]).square().sum() for name in begin)
    torch.testing.assert_close(weights_after("fast-fp32", kind, 3), expected, rtol=0, atol=1e-4)
    for path in ("plain-bf16", "fast-torch", "fast"):
        found = weights_after(path, kind, 3)
        assert sum((expected[name] - found[name]).square().sum() for name in begin) < 0.1 * moved


def test_every_path_is_measured_and_every_timing_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "peak_memory", lambda *_: 2.0)
    given = ["sizes=[tiny]", f"paths=[{','.join(PATHS)}]", "attention=[dot,fixed]", "device=cpu"]
    config = compose_config("training", [*given, "updates=2", "rounds=3", f"output={tmp_path}"])
    table = benchmark_training(config)
    assert table == tmp_path / "training-tiny-dot-fixed.md"
    assert table.with_suffix(".png").stat().st_size > 1_000
    rows = [line for line in table.read_text(encoding="utf-8").split("\n") if "|" in line][2:]
    runs = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))["runs"]
    expected = [(kind, path) for kind in ("dot", "fixed") for path in PATHS]
    assert [(run["attention"], run["path"]) for run in runs] == expected
    for row, run in zip(rows, runs, strict=True):
        seconds = [second for turn in run["rounds_seconds"] for second in turn]
        assert len(seconds) == 6
        assert f" {1e3 * median(seconds):,.1f} " in row


def test_every_command_of_the_pages_composes():
    shown = [found.groups() for command in COMMANDS if (found := SCRIPT.search(command))]
    commands = [(name, given) for place, name, given in shown if place == "benchmarks"]
    assert {name for name, _ in commands} >= {"training", "translation", "peers", "large_corpus"}
    for name, given in commands:
        compose_config(name, shlex.split(given))


@pytest.mark.parametrize("given", ["sizes=[m3]", "paths=[fst]", "attention=[dto]", "size=[m]"])
def test_an_unknown_name_is_refused_before_anything_runs(tmp_path, given):
    with pytest.raises(UserError, match=given.split("=")[0]):
        benchmark_training(compose_config("training", [given, f"output={tmp_path / 'output'}"]))
    assert not (tmp_path / "output").exists()
