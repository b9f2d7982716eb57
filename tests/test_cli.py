"""A command line becomes one config; whatever stops a script becomes a line and a status."""

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import fields

import pytest
import torch
from helpers.commands import ROOT, run
from helpers.composing import STUDY, compose, compose_config

from seq2seq.composition import SETTINGS
from seq2seq.config import setting_names
from seq2seq.errors import UserError
from seq2seq.help import OFTEN, help_page
from seq2seq.interruption import Interrupted
from seq2seq.stages import STAGES

PATHS = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"}
CONTROLS = [STUDY, "experiment=controls", "seeds=[1]"]


@pytest.mark.parametrize("script", SETTINGS)
@pytest.mark.slow
def test_help_shows_examples_that_compose_and_what_the_script_reads(script):
    often, everything = (help_page(script, [], more) for more in (False, True))
    examples = re.findall(rf"^  .* {script} (.*=[^<\n]*)", often, re.MULTILINE)
    assert examples
    for example in examples:
        compose_config(script, shlex.split(example))
    few, keys = ({*re.findall(r"^  ([\w.]+)=", page, re.M)} for page in (often, everything))
    names = {*setting_names(SETTINGS[script])}
    assert {*OFTEN[script]} <= names
    assert few < keys <= {"experiment", *names}
    parts = {one.name for one in fields(SETTINGS[script])} - {"training", "evaluation", "seed"}
    assert parts <= {key.partition(".")[0] for key in keys}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["+systems.attention.seeds=[1,2]"], ["1 attention", "1 no-attention", "2 attention"]),
        (["+systems.attention.seeds=[1,2]", "seeds=[7]"], ["7 attention", "7 no-attention"]),
        ([*CONTROLS, "system=uniform"], ["1 uniform"]),
        ([*CONTROLS, "system=uniform", "baseline=init-only"], ["1 uniform", "1 init-only"]),
    ],
    ids=str,
)
def test_reproduce_runs_each_system_with_each_seed_and_a_chosen_one_alone(words, expected):
    config, runs = compose("reproduce", words)
    assert [f"{run.seed} {run.system}" for run in runs] == expected
    if "system=" in words[-1]:
        assert (config.baseline, config.baselines) == (runs[-1].system, {})


def test_a_setting_may_follow_the_system_and_the_seed_of_its_run():
    _, (kind,) = compose("reproduce", ["system=general"])
    assert kind.model.attention.kind == "general"
    parents = "systems.no-attention.training.init_from=outputs/${system}/seed-${seed}"
    words = [parents, "corpus.seed=${seed}", "seeds=[4,5]"]
    _, (attended, _, _, blind) = compose("reproduce", words)
    assert (attended.training.init_from, attended.corpus.seed) == (None, 4)
    assert (blind.training.init_from, blind.corpus.seed) == ("outputs/no-attention/seed-5", 5)


TEXTS = {text: text for text in ("2024_11", "1.10", "TRUE", "no", "my file, part=2 (a)", "it's")}
TEXTS |= {"'in quotes'": "in quotes", "'~/a'": "/home/me/a", r"\${x}": "${x}"}


@pytest.mark.slow
def test_texts_their_lists_and_groups_are_taken_as_they_are_written(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    for given, meant in TEXTS.items():
        assert compose_config("translate", [f"input={given}", "checkpoint=c"]).input == meant
    words = ["evaluations=[2024_11, ~/b ,c d,*/seed-*,'it s, 1e3']", "output=1.0"]
    words += ["labels={a: 1e-3, b: 'x: y', c: 2024_11}"]
    config = compose_config("compare", words)
    assert config.evaluations == ["2024_11", "/home/me/b", "c d", "*/seed-*", "it s, 1e3"]
    assert (config.output, config.labels) == ("1.0", {"a": "1e-3", "b": "x: y", "c": "2024_11"})
    words = ["checkpoint=c", "+test_texts.news=~/n", "directory=null", "test_sets=[]"]
    evaluate = compose_config("evaluate", words)
    assert (evaluate.directory, evaluate.test_sets) == (None, [])
    assert evaluate.test_texts == {"news": "/home/me/n"}
    assert compose_config("reproduce", [*CONTROLS, "baselines={}"]).baselines == {}


YAML = """name: 2024_11_25
systems: {a: {training: {optimizer: {learning_rate: 1e-3}}}, no: {}, 2014: {}}
system: a
baseline: no
defaults: [override /corpus: files]
corpus: {source: no, target: en, directory: ., train_pairs: 1_000}
training: {deterministic: yes, clip_norm: 1_6, max_updates: null}
baselines: {2014: no}
"""


def test_a_file_of_settings_may_begin_with_a_mark_and_keeps_its_texts(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(YAML, encoding="utf-8-sig")
    chosen = [f"--config-dir={tmp_path}", "experiment=mine"]
    config = compose_config("train", [*chosen, "training.optimizer.learning_rate=1e-3"])
    experiment = compose_config("reproduce", chosen)
    assert (config.name, experiment.baseline, config.corpus.source) == ("2024_11_25", "no", "no")
    assert (config.corpus.train_pairs, config.training.deterministic) == (1_000, True)
    assert config.training.optimizer.learning_rate == 1e-3
    assert (config.training.clip_norm, experiment.baselines) == (16, {"2014": "no"})
    with pytest.raises(UserError, match=r"learning_rate=0\.002"):
        compose_config("train", [*chosen, "training.optimizer.learning_rate=0.002"])


FRESH = """
import sys
def expect_none(*names):
    found = [name for name in sys.modules if name.startswith(names)]
    assert not found, found
import seq2seq
expect_none("torch", "hydra", "numpy")
import seq2seq.config
expect_none("torch", "numpy")
import seq2seq.data.encoding
from seq2seq.command import launch
for words in (["--help", "all"], ["lr=3"]):
    sys.argv = ["train.py", *words]
    try:
        launch("train")
    except SystemExit as stop:
        print(stop.code)
expect_none("torch")
import seq2seq.training.trainer  # which imports the kind of corpus and the tracker when it runs
kinds = [f"seq2seq.data.{kind}" for kind in seq2seq.config.CORPORA]
expect_none(*kinds, "seq2seq.report", "seq2seq.drawing", "matplotlib", "tensorboard")
import seq2seq.drawing  # although a notebook has named a backend that is not here
"""


@pytest.mark.slow
def test_imports_are_cheap_and_help_and_refusals_come_without_torch(tmp_path):
    fresh = [sys.executable, "-c", FRESH]
    environment = {**PATHS, "MPLBACKEND": "nothing"}
    done = subprocess.run(fresh, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n  corpus.kind=grammar" in done.stdout
    assert "\nerror: lr" in done.stdout
    assert not list(tmp_path.iterdir())


def test_without_the_environment_one_line_says_how_to_make_it():
    train = [sys.executable, "-S", "-E", str(ROOT / "scripts" / "train.py")]  # without packages
    done = subprocess.run(train, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "make install" in done.stderr


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UserError("There is no text."), 1, "error: There is no text."),
        (OSError(errno.ENOSPC, "No space left"), 1, "error: a file"),
        (OSError(errno.EACCES, "Permission denied", "a/b"), 1, "error: a/b .*Permission denied"),
        (MemoryError(), 1, "error: .*training.batch_size"),
        (torch.OutOfMemoryError("CUDA out of memory."), 1, "error: .*training.batch_size"),
        (RuntimeError("can't allocate memory"), 1, "error: .*training.batch_size"),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED"), 1, "error: .*training.batch_size"),
        (Interrupted(signal.SIGINT, "Stopped."), 130, "Stopped.*/prepare.py"),
        (Interrupted(signal.SIGTERM, "Stopped."), 0, "Stopped.*/prepare.py"),
        (KeyboardInterrupt(), 130, ""),
        (RuntimeError("a fault"), None, ""),
        (OSError("without a file"), None, ""),
    ],
    ids=repr,
)
def test_what_stops_a_script_becomes_one_line_and_a_status(
    error, status, said, tmp_path, monkeypatch
):
    def stage(config):
        raise error

    monkeypatch.setitem(STAGES, "prepare", stage)
    if status is None:  # a defect of the program keeps its traceback
        with pytest.raises(type(error), match=str(error)):
            run(tmp_path, "prepare")
        return
    done = run(tmp_path, "prepare", ok=False)
    assert done.returncode == status
    assert re.fullmatch(f"{said}.*\n|", done.stderr)
    assert bool(said) == bool(done.stderr)


def test_sigterm_ends_a_script_in_order(tmp_path, monkeypatch):
    monkeypatch.setitem(STAGES, "prepare", lambda config: signal.raise_signal(signal.SIGTERM))
    assert run(tmp_path, "prepare", ok=False).returncode == 143


STAGE = """
import os, sys
from cli import launch
from seq2seq.config import TrainConfig
from seq2seq.stages import STAGES
def stage(config: TrainConfig):
    with open("file", "x"):
        os.write(1, b"said, ")  # as libraries in C do
        os.write(2, b"logged, ")
        print("said")
        sys.stderr.write("logged")
STAGES["prepare"] = stage
launch("prepare")
"""


@pytest.mark.parametrize("closed", ["2>&-", ">&-"])
def test_a_stream_that_the_shell_has_closed_stops_no_script(tmp_path, closed):
    """And what goes there comes into no file that is opened later."""
    (tmp_path / "script.py").write_text(STAGE)
    command = ["bash", "-c", f"{sys.executable} script.py {closed}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=PATHS)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) in ((b"said, said\n", b""), (b"", b"logged, logged"))
    assert (tmp_path / "file").read_text() == ""
