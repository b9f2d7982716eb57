"""Each benchmark runs at toy size and writes its table, from timings that were taken in turns."""

import json
import re
import shlex
import sys
from dataclasses import replace
from functools import partial
from importlib import import_module
from statistics import median

import measure
import numpy as np
import pytest
import torch
import training
from harness import compose_config, main
from helpers.commands import TOY
from helpers.pages import COMMANDS, SCRIPT
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_checkpoint import experiment, save

CPU = torch.device("cpu")
MODEL = "checkpoint=FOLDER/model data=FOLDER"
GPU = f"device=cpu updates=4 train_updates=20 timed=1 settings={TOY}"
OTHERS = ("tests", "equality", "resuming", "translation", "sharing", "search")
OTHERS += ("speed-m", "speed-l", "speed-m30")
CASES = {
    "training": "sizes=[tiny] paths=[plain,fast] attention=[fixed] device=cpu updates=2 rounds=3",
    "translation": f"{MODEL} batch_sizes=[10] rounds=3 device=cpu",
    "busy": f"{MODEL} sentences=2 seconds=0.01 rounds=1 loops=[1] "
    "environments=['OMP_NUM_THREADS=1']",
    "large_corpus": "corpus=files corpus.directory=FOLDER/corpus data=FOLDER pairs=[20] "
    "tokenization.kind=whitespace tokenization.vocabulary_size=null",
    "processes": f"settings={TOY} processes=[2] threads_each=[1] updates=4 rounds=1",
    "gpu": f"{GPU} minutes=60 limits.facts=600 {' '.join(f'~limits.{name}' for name in OTHERS)}",
}
"""Settings of each benchmark; ``FOLDER`` has a corpus and a model."""
STEPS = {
    "facts": ['torch.bfloat16": "(native|torch)'],
    "equality": [r'"cpu, fp32, \w+": "0.0e\+00', r'"cpu, bf16, \w+": "[1-9]'],
    "resuming": [r'"weights": \d', '"unlike": 0,'],
    "translation search": [r'"cpu, fp32, beam5": "(\d+) of \1 eq', r'"beam 5, batch 64": "\d'],
    "speed-tiny": [r'"plain \(.* ms, ', r'"fast \(.* ms, '],
}
"""Steps of the script for a GPU, and what they find where the GPU is the CPU."""
REFUSED = [
    ("training", "sizes=[m3]", "sizes"),
    ("training", "paths=[fst]", "paths"),
    ("training", "attention=[dto]", "attention"),
    ("training", "size=[m]", "size"),
    ("translation", "checkpoint=nowhere", "nowhere"),
    ("translation", f"{MODEL} test_set=tset", "tset"),
    ("peers", "peers=[openmt]", "peers"),
    ("peers", "updates=30", "updates"),
    ("peers", "measure=speed", "measure"),
    ("peers", "measure=quality validate_every=1020", "validate_every"),
    ("peers", "device=cuda peers=[joeynmt]", "joeynmt"),
]


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
    """The number, or the word, that a table shows of the timings of a run."""
    if "rounds_seconds" in run:
        return f"{1e3 * median(second for turn in run['rounds_seconds'] for second in turn):,.1f}"
    if "sentences" in run:
        return f"{run['sentences'] / median(run['seconds']):,.1f}"
    if "tokens_per_second" in run:
        return f"{median(run['tokens_per_second']):,.0f}"
    return run.get("outcome") or run.get("stage") or "1.00 [1.00, 1.00]"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
@pytest.mark.parametrize("name", CASES)
def test_a_benchmark_writes_its_table(name, call, tmp_path, capsys):
    call(name, CASES[name])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")][2:]
    (written,) = tmp_path.glob("*.json")
    runs = json.loads(written.read_text())["runs"]
    assert len(runs) == (1 if name in ("busy", "processes", "gpu") else 2)
    for run, row in zip(runs, rows, strict=name != "gpu"):
        assert re.search(rf"\| +{re.escape(headline(run))} +\|", row)


def test_cases_take_turns_after_a_warm_up(monkeypatch):
    diary, clock = [], [0.0]

    def case(name, seconds):
        diary.append(name)
        clock[0] += seconds

    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    cases = {"a": partial(case, "a", 4.0), "b": partial(case, "b", 1.0)}
    seconds = measure.time_in_turns(cases, calls=3, rounds=2, device=CPU)
    assert seconds == {"a": [[4.0] * 3] * 2, "b": [[1.0] * 3] * 2}
    assert "".join(diary) == "aabb" + 2 * "aaabbb"


def test_ratios_are_not_moved_by_a_machine_that_slows_down():
    assert measure.ratio_by_round([6.0, 12.0, 60.0], [2.0, 4.0, 20.0]) == "3.00 [3.00, 3.00]"
    assert measure.ratio_by_round([6.0, 12.0, 60.0], [2.0, 2.0, 2.0]) == "6.00 [3.00, 30.00]"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
def test_the_peak_is_that_of_the_work_and_not_of_this_process():
    ballast = np.ones(1_000_000_000, np.uint8)
    peak = measure.peak_memory(partial(np.full, 400_000_000, 1, np.uint8), CPU)
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
    assert {name for name, _ in commands} >= {"training", "translation", "peers", "large_corpus"}
    for name, given in commands:
        compose_config(name, shlex.split(given))


@pytest.mark.parametrize(("name", "line", "named"), REFUSED)
def test_what_cannot_be_measured_is_one_sentence(name, line, named, call, tmp_path):
    with pytest.raises(SystemExit, match=f"^error: .*{named}.*[.?]$"):
        call(name, line)
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("steps", STEPS)
def test_a_step_of_the_script_for_a_gpu_where_it_is_the_cpu(steps, call, monkeypatch, capsys):
    monkeypatch.setattr(training, "peak_memory", lambda *_: 2.0)
    for step in steps.split():
        call("gpu", f"{GPU} step={step}")
    said = capsys.readouterr().out
    for pattern in STEPS[steps]:
        assert re.search(pattern, said), pattern
