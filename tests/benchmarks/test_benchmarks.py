"""Each benchmark runs at toy size and writes its table, from timings that were taken in turns."""

import json
import re
import shlex
import sys
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median

import harness
import numpy as np
import peers
import pytest
import torch
import training
from harness import compose_config, main
from helpers.commands import TOY
from helpers.pages import COMMANDS, SCRIPT
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_checkpoint import experiment, save
from toolkits import OURS, PROGRAMS, Toolkit

from seq2seq.errors import UserError

CPU = torch.device("cpu")
MODEL = "checkpoint=FOLDER/model data=FOLDER"
CASES = {
    "training": "sizes=[tiny] paths=[plain,fast] attention=[fixed] device=cpu updates=2 rounds=3",
    "translation": f"{MODEL} batch_sizes=[10] rounds=3 device=cpu",
}
"""Settings of each benchmark; ``FOLDER`` has a corpus and a model."""
FOUND = [
    r"facts +\| +kernels for torch.bfloat16 \| +(native|torch) ",
    r"equality +\| +cpu, fp32, \w+ \| +0.0e\+00 ",
    r"equality +\| +cpu, bf16, \w+ \| +[1-9]",
    r"resuming +\| +unlike \| +0 ",
    r"translation +\| +cpu, fp32, beam5 \| +(\d+) of \1 equal",
]
"""What the script for a GPU finds where the GPU is the CPU."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Folder of a corpus, and of a model that has learnt nothing."""
    folder = tmp_path_factory.mktemp("trained")
    write_reversal_corpus(folder / "corpus", train=20)
    save(folder / "model", config=replace(experiment(), corpus=reversal_experiment(folder).corpus))
    return folder


@pytest.fixture
def call(trained, tmp_path, monkeypatch):
    """Call a benchmark as its script does, in this process and an empty folder."""

    def run(name, line):
        words = re.split(r" (?=~?\w+[.=])", line.replace("FOLDER", str(trained)))
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *words, f"output={tmp_path}"])
        monkeypatch.chdir(tmp_path)
        main(name, getattr(import_module(name), f"benchmark_{name}"))

    return run


def headline(run):
    """The number that a table shows of the timings of a run."""
    if "rounds_seconds" in run:
        return f"{1e3 * median(second for turn in run['rounds_seconds'] for second in turn):,.1f}"
    return f"{run['sentences'] / median(run['seconds']):,.1f}"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
@pytest.mark.parametrize("name", CASES)
def test_a_benchmark_writes_its_table(name, call, tmp_path, capsys):
    call(name, CASES[name])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")][2:]
    (written,) = tmp_path.glob("*.json")
    runs = json.loads(written.read_text())["runs"]
    assert len(runs) == 2
    for run, row in zip(runs, rows, strict=True):
        assert re.search(rf"\| +{re.escape(headline(run))} +\|", row)


def test_cases_take_turns_after_a_warm_up(monkeypatch):
    diary, clock = [], [0.0]

    def case(name, seconds):
        diary.append(name)
        clock[0] += seconds

    monkeypatch.setattr(harness.time, "perf_counter", lambda: clock[0])
    cases = {"a": partial(case, "a", 4.0), "b": partial(case, "b", 1.0)}
    seconds = harness.time_in_turns(cases, calls=3, rounds=2, device=CPU)
    assert seconds == {"a": [[4.0] * 3] * 2, "b": [[1.0] * 3] * 2}
    assert "".join(diary) == "aabb" + 2 * "aaabbb"


def test_ratios_are_not_moved_by_a_machine_that_slows_down():
    assert harness.ratio_by_round([6.0, 12.0, 60.0], [2.0, 4.0, 20.0]) == "3.00 [3.00, 3.00]"
    assert harness.ratio_by_round([6.0, 12.0, 60.0], [2.0, 2.0, 2.0]) == "6.00 [3.00, 30.00]"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
def test_the_peak_is_that_of_the_work_and_not_of_this_process():
    ballast = np.ones(1_000_000_000, np.uint8)
    peak = harness.peak_memory(partial(np.full, 400_000_000, 1, np.uint8), CPU)
    assert 400 < peak < len(ballast) / 1e6


def weights_after(path, kind, updates):
    workload = training.Workload(training.SIZES["tiny"], kind, 5, CPU)
    made = training.start(path, workload)
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


def test_every_command_of_the_pages_composes():
    shown = [found.groups() for command in COMMANDS if (found := SCRIPT.search(command))]
    commands = [(name, given) for place, name, given in shown if place == "benchmarks"]
    assert {name for name, _ in commands} == {"training", "translation", "peers", "gpu"}
    for name, given in commands:
        compose_config(name, shlex.split(given))


@pytest.mark.slow
def test_the_steps_for_a_gpu_where_it_is_the_cpu(call, capsys):
    call("gpu", f"device=cpu updates=4 train_updates=20 settings={TOY}")
    said = capsys.readouterr().out
    assert [pattern for pattern in FOUND if not re.search(pattern, said)] == []


# Another toolkit, not installed: what it is told, and what is read in what it prints.
STAMP = "[2024-05-01 10:00:00,123 INFO]"
TRAINING = [
    f"{STAMP} * number of parameters: 11302184",
    f"{STAMP} Step 20/  40; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s;     21 sec;",
    f"{STAMP} Step 40/  40; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s;     42 sec;",
    f"{STAMP} Validation perplexity: 13.25",
]
"""Lines that Eole prints in a training."""
SETTINGS = {
    **{"embedding": 61, "hidden": 142, "half_hidden": 71, "dropout": 0.37, "label_smoothing": 0.23},
    **{"batch_size": 37, "learning_rate": 0.0123, "clip_norm": 4.5, "min_frequency": 2},
    **{"updates": 1111, "validate_every": 444, "seed": 7707, "warmup_updates": 5, "pairs": 9},
    **{"embedding_dropout": 0.11, "order": "luong", "schedule": "linear", "beta2": 0.97},
    **{"precision": "bf16", "source": "de", "target": "en", "text": "texts", "device": "cpu"},
}
TOLD = {61, 142, 0.37, 0.23, 37, 0.0123, 0.97, 4.5, 7707, 1111, 444}
"""Numbers that every program has to be told."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_told_the_same(name, tmp_path):
    said = " ".join(Toolkit(name, Path("python")).command(tmp_path, SETTINGS))
    config = tmp_path / "config.yaml"
    said += config.read_text(encoding="utf-8") if config.exists() else ""
    assert {float(number) for number in re.findall(r"\d+\.?\d*", said)} >= TOLD
    assert "texts" in said
    assert {OURS: "schedule=linear", "eole": "cosine"}[name] in said  # of ours, a straight line


class Pretender(Toolkit):
    """Eole as if it were installed."""

    def version(self):
        return f"{self.name} 1"

    def command(self, folder, variables):
        if self.name == OURS:
            return super().command(folder, variables)
        lines = TRAINING
        if variables["learning_rate"] == 0.001:
            lines = [line.replace("13.25", "15.5") for line in lines]
        code = "import os, time\nassert not os.environ['CUDA_VISIBLE_DEVICES']\n"
        code += f"for line in {lines!r}: time.sleep(0.02); print(line)\n"
        return ["-I", "-S", "-c", code]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "shown"), [("training", "11,302,184"), ("quality", r"13.25 \(0.002\)")]
)
def test_programs_take_turns(measure, shown, tmp_path, monkeypatch):
    """Ours trains; lines as Eole prints them are read."""
    write_reversal_corpus(tmp_path / "corpus")
    monkeypatch.setattr(peers, "Toolkit", Pretender)
    words = f"measure={measure} precisions=[fp32] rounds=2 rates=[0.001,0.002] "
    words += "updates=20 train_updates=40 best.seq2seq.updates=40 validate_every=20 "
    words += "setting.batch_size=3 setting.embedding=6 setting.hidden=14 corpus=files "
    words += f"corpus.directory={tmp_path}/corpus corpus.source=en corpus.target=de "
    config = compose_config("peers", f"{words}data={tmp_path} output={tmp_path}".split())
    table = peers.benchmark_peers(config)
    runs = json.loads(table.with_suffix(".json").read_text())["runs"]
    assert [run["program"] for run in runs] == 2 * list(PROGRAMS)
    text = table.read_text(encoding="utf-8")
    assert re.search(rf"^\| eole .* {shown} ", text, re.MULTILINE)


def test_a_program_that_is_not_installed_is_named(tmp_path):
    with pytest.raises(UserError, match="eole"):
        Toolkit("eole", Path(sys.executable)).version()
