"""A command line becomes one config; whatever stops a script becomes a line and a status."""

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from helpers.composing import STUDY, compose, compose_config, compose_runs

from seq2seq.command import exit_status
from seq2seq.composition import SETTINGS
from seq2seq.config import setting_names
from seq2seq.errors import UserError
from seq2seq.help import OFTEN, help_page
from seq2seq.interruption import Interrupted

ROOT = Path(__file__).resolve().parent.parent
PATHS = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'scripts'}"}


@pytest.mark.parametrize("script", SETTINGS)
def test_help_shows_examples_that_compose_and_what_the_script_reads(monkeypatch, script):
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "seq2seq"])
    often, everything = (help_page(script, [], more).split("\n") for more in (False, True))
    assert max(map(len, [*often, *everything])) <= 100
    examples = [line.partition(f" {script} ")[2] for line in often if line.startswith("  python ")]
    assert len(examples) == 3
    for example in examples:
        compose_config(script, shlex.split(example.partition("<")[0]))
    keys, most = (
        set(re.findall(r"^  ([\w.]+)=", "\n".join(page), re.M)) for page in (often, everything)
    )
    names = {*setting_names(SETTINGS[script])}
    assert keys < most <= {"experiment", *names}
    assert {*OFTEN[script]} <= names
    assert {one.name for one in fields(SETTINGS[script])} - {"training", "evaluation", "seed"} <= {
        key.partition(".")[0] for key in most
    }


def test_reproduce_runs_each_system_with_each_seed_and_a_chosen_one_alone():
    def runs(*more: str) -> list[tuple[int, str]]:
        return [(run.seed, run.system) for run in compose_runs(more)]

    own = "+systems.attention.seeds=[1,2]"
    assert runs(own) == [(1, "attention"), (1, "no-attention"), (2, "attention")]
    assert runs(own, "seeds=[7]") == [(7, "attention"), (7, "no-attention")]
    alone, runs_alone = compose("reproduce", [STUDY, "experiment=controls", "system=uniform"])
    assert [alone.baseline] == [run.system for run in runs_alone] == ["uniform"]
    pair, both = compose(
        "reproduce", [STUDY, "experiment=controls", "system=uniform", "baseline=init-only"]
    )
    assert [run.system for run in both] == ["uniform", "init-only"]
    assert (pair.baseline, pair.baselines) == ("init-only", {})
    (kind,) = compose_runs(["system=general"])
    assert kind.model.attention.kind == "general"
    followed = compose_runs(["corpus.seed=${seed}", "seeds=[5]"])
    assert [run.corpus.seed for run in followed] == [5, 5]
    parents = "systems.no-attention.training.init_from=outputs/${system}/seed-${seed}"
    own_parents = [run.training.init_from for run in compose_runs([parents, "seeds=[4,5]"])]
    assert own_parents == [
        None, "outputs/no-attention/seed-4", None, "outputs/no-attention/seed-5"
    ]  # fmt: skip


TEXTS = {
    "2024_11_25": "2024_11_25",
    "1.10": "1.10",
    "TRUE": "TRUE",
    "no": "no",
    "my file, part=2 (a).txt": "my file, part=2 (a).txt",
    "it's": "it's",
    "'in quotes'": "in quotes",
    "'~/a'": "/home/me/a",
    "~/a": "/home/me/a",
    r"\${x}": "${x}",
}


@pytest.mark.parametrize("given", TEXTS)
def test_a_setting_that_is_text_is_taken_as_it_is_written(monkeypatch, given):
    monkeypatch.setenv("HOME", "/home/me")
    words = [f"input={given}", "checkpoint=c", f"more_checkpoints=[{TEXTS[given]}]"]
    assert compose_config("translate", words[:2]).input == TEXTS[given]


def test_lists_and_groups_of_texts_are_taken_as_they_are_written(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    words = ["evaluations=[2024_11, ~/b ,c d,*/seed-*,'it s, 1e3']", "output=1.0"]
    words += ["labels={a: 1e-3, b: 'x: y', c: 2024_11}"]
    config = compose_config("compare", words)
    assert config.evaluations == ["2024_11", "/home/me/b", "c d", "*/seed-*", "it s, 1e3"]
    assert (config.output, config.labels) == ("1.0", {"a": "1e-3", "b": "x: y", "c": "2024_11"})
    words = ["checkpoint=c", "+test_texts.news=~/n", "directory=null", "test_sets=[]"]
    evaluate = compose_config("evaluate", words)
    assert (evaluate.directory, evaluate.test_sets) == (None, [])
    assert evaluate.test_texts == {"news": "/home/me/n"}
    assert (
        compose_config("reproduce", [STUDY, "experiment=controls", "baselines={}"]).baselines == {}
    )


def test_an_experiment_on_own_text_has_the_name_of_its_folder(tmp_path):
    (folder := tmp_path / "europarl.v7").mkdir()
    words = ["corpus.source=en", "corpus.target=fr", f"corpus.directory={folder}"]
    assert compose_config("train", ["experiment=own_text", *words]).name == "europarl.v7"


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


RUN = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as stop:
    print(stop.code)
assert "torch" not in sys.modules
"""


@pytest.mark.parametrize(
    ("words", "said"), [("--help all", "  corpus.kind=grammar"), ("lr=3", "error: lr")]
)
def test_help_and_a_refusal_come_without_importing_torch(tmp_path, words, said):
    command = [sys.executable, "-c", RUN, str(ROOT / "scripts" / "train.py"), *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", env=PATHS)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{said}" in f"\n{done.stdout}"
    assert not list(tmp_path.iterdir())


def test_without_the_environment_one_line_says_how_to_make_it():
    train = [sys.executable, "-S", "-E", str(ROOT / "scripts" / "train.py")]  # without packages
    done = subprocess.run(train, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "make install" in done.stderr


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UserError("There is no text."), "There is no text."),
        (OSError(errno.ENOSPC, "No space left", "a/b"), "a/b"),
        (OSError(errno.EACCES, "Permission denied", "a/b"), "a/b .*Permission denied"),
        (MemoryError(), "training.batch_size"),
        (torch.OutOfMemoryError("CUDA out of memory."), "training.batch_size"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "training.batch_size"),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED"), "training.batch_size"),
        (Interrupted(signal.SIGINT, "Stopped."), 130),
        (Interrupted(signal.SIGTERM, "Stopped."), 0),
        (KeyboardInterrupt(), 130),
        (RuntimeError("a fault"), None),
        (OSError("without a file"), None),
    ],
    ids=repr,
)
def test_what_stops_a_script_becomes_one_line_and_a_status(error, status):
    if status is None:  # a defect of the program keeps its traceback
        with pytest.raises(type(error), match=str(error)), exit_status():
            raise error
        return
    with pytest.raises(SystemExit) as stop, exit_status():
        raise error
    if isinstance(status, int):
        assert stop.value.code == status
    else:
        assert stop.match(f"^error: .*{status}")
        assert "\n" not in stop.value.code


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


WORK = """
import sys, tempfile, time
from seq2seq.command import exit_status
with exit_status(), tempfile.TemporaryDirectory(dir=sys.argv[1]):
    print("at work", flush=True)
    time.sleep(600)
"""


def test_sigterm_cleans_up(tmp_path):
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    with subprocess.Popen(command, env=PATHS, stdout=subprocess.PIPE) as script:
        assert script.stdout.readline() == b"at work\n"
        script.terminate()
        assert script.wait() == 143
    assert not list(tmp_path.iterdir())
