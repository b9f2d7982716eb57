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

import measure
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
from toolkits import OURS, PEERS, Toolkit

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


@pytest.mark.slow
@pytest.mark.parametrize("steps", STEPS)
def test_a_step_of_the_script_for_a_gpu_where_it_is_the_cpu(steps, call, monkeypatch, capsys):
    monkeypatch.setattr(training, "peak_memory", lambda *_: 2.0)
    for step in steps.split():
        call("gpu", f"{GPU} step={step}")
    said = capsys.readouterr().out
    for pattern in STEPS[steps]:
        assert re.search(pattern, said), pattern


# Other toolkits, none installed: what they are told, and what is read in what they print.
STAMP = "[2024-05-01 10:00:00,123 INFO]"
TRAINING = [
    f"{STAMP} * number of parameters: 11302184",
    f"{STAMP} Step 20/  40; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s;     21 sec;",
    f"{STAMP} Step 40/  40; acc: 11.1; ppl: 590.2; lr: 0.001; 1503/1999 tok/s;     42 sec;",
    f"{STAMP} Validation perplexity: 13.25",
]
"""Lines that OpenNMT-py prints in a training; Eole prints the same."""
TRANSLATION = {
    "opennmt": f"{STAMP} Total translation time (s): 3.5",
    "eole": f"{STAMP} Subsequent prediction time including all (s): 3.5",
}
SETTINGS = {
    **{"embedding": 61, "hidden": 142, "half_hidden": 71, "dropout": 0.37, "label_smoothing": 0.23},
    **{"batch_size": 37, "learning_rate": 0.0123, "clip_norm": 4.5, "min_frequency": 2, "beam": 19},
    **{"updates": 1111, "validate_every": 444, "epochs": 34, "max_length": 41, "seed": 7707},
    **{"embedding_dropout": 0.11, "order": "luong", "schedule": "linear", "half_updates": 555},
    **{"device": "cpu", "beta2": 0.97, "tenth_updates": 108, "warmup_updates": 5, "pairs": 9},
    **{"precision": "bf16", "source": "de", "target": "en", "text": "texts", "model": "made"},
}
TOLD = {
    "train": {61, 142, 0.37, 0.23, 37, 0.0123, 0.97, 4.5, 7707, 1111, 444},
    "translate": {19, 37, 41},
}
"""Numbers that every program has to be told."""


@pytest.mark.parametrize("task", TOLD)
@pytest.mark.parametrize("name", [OURS, *PEERS])
def test_every_program_is_told_the_same(name, task, tmp_path):
    said = " ".join(Toolkit(name, Path("python")).command(task, tmp_path, SETTINGS))
    config = tmp_path / "config.yaml"
    said += config.read_text(encoding="utf-8") if config.exists() else ""
    assert TOLD[task] <= {float(number) for number in re.findall(r"\d+\.?\d*", said)}
    assert "texts" in said
    if task == "train":  # the rate of ours falls in a straight line
        falls = {OURS: "schedule=linear", "opennmt": "555", "eole": "cosine", "joeynmt": ""}
        assert falls[name] in said


class Pretender(Toolkit):
    """A peer as if it were installed; it translates by writing the reference."""

    def version(self):
        return f"{self.name} 1" if self.name in TRANSLATION else super().version()

    def command(self, task, folder, variables):
        if self.name == OURS:
            return super().command(task, folder, variables)
        lines = TRAINING if task == "train" else [TRANSLATION[self.name]]
        if variables["learning_rate"] == 0.001:
            lines = [line.replace("13.25", "15.5") for line in lines]
        code = "import os, shutil, time\nassert not os.environ['CUDA_VISIBLE_DEVICES']\n"
        code += f"for line in {lines!r}: time.sleep(0.02); print(line)\n"
        code += f"shutil.copy('{variables['text']}/test.de', 'output')"
        return ["-I", "-S", "-c", code]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("measure", "shown"),
    [("training", "11,302,184"), ("translation", "100.0"), ("quality", r"13.25 \(0.002\)")],
)
def test_programs_take_turns_and_who_is_left_out_is_named(measure, shown, tmp_path, monkeypatch):
    """Ours trains and translates; lines as the others print them are read."""
    write_reversal_corpus(tmp_path / "corpus")
    monkeypatch.setattr(peers, "Toolkit", Pretender)
    words = f"measure={measure} precisions=[fp32] rounds=2 beams=[1] rates=[0.001,0.002] "
    words += "updates=20 train_updates=40 best.seq2seq.updates=40 validate_every=20 "
    words += "setting.batch_size=3 setting.embedding=6 setting.hidden=14 corpus=files "
    words += f"corpus.directory={tmp_path}/corpus corpus.source=en corpus.target=de "
    config = compose_config("peers", f"{words}data={tmp_path} output={tmp_path}".split())
    table = peers.benchmark_peers(config)
    runs = json.loads(table.with_suffix(".json").read_text())["runs"]
    assert [run["program"] for run in runs] == 2 * [OURS, "opennmt", "eole"]
    text = table.read_text(encoding="utf-8")
    assert "joeynmt is left out" in text
    for name in TRANSLATION:
        assert re.search(rf"^\| {name} .* {shown} ", text, re.MULTILINE)
