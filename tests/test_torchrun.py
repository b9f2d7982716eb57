"""Work shared by torchrun's processes, as a user starts it: stopped, killed, and started again."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import torch
from helpers.commands import TOY, command, run
from helpers.small_checkpoint import save_tiny
from helpers.small_training import metrics, outcome, weights

from seq2seq import device
from seq2seq.checkpoint import RNG, read_config
from seq2seq.device import ProcessGroup
from seq2seq.errors import UserError
from seq2seq.training.run_folder import RunFolder

TWO = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def start(folder: Path, script: str, *arguments: str) -> subprocess.Popen:
    """Start a script in two processes; its log comes line by line."""
    return subprocess.Popen(
        [*TWO, *command(script, *arguments)[1:]],
        cwd=folder,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(started: subprocess.Popen, status: int = 0) -> str:
    _, log = started.communicate()
    assert started.returncode == status, log
    return log


def trained(folder: Path, name: str) -> RunFolder:
    config = read_config(folder / "outputs" / name / "attention" / "seed-1")
    return RunFolder(dataclasses.replace(config, output=str(folder / "outputs")))


@pytest.mark.slow
def test_processes_make_the_updates_of_one(tmp_path):
    """The last batch has one pair; Adam would enlarge rounding."""
    settings = ["training.batch_size=23", "training.gradient_accumulation=2", "model.dropout=0"]
    settings += ["training.loss_normalization=sentence", "training.optimizer.kind=sgd"]
    settings += ["training.log_every=1", "training.max_epochs=1", "training.precision=fp32"]
    run(tmp_path, "train", *TOY, *settings, "name=one")
    finish(start(tmp_path, "train", *TOY, *settings, "name=two"))
    one, two = trained(tmp_path, "one"), trained(tmp_path, "two")
    for mine, theirs in zip(metrics(one), metrics(two), strict=True):
        assert theirs["kind"] == mine["kind"]
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-5)
        assert theirs.get("bleu") == mine.get("bleu")
    torch.testing.assert_close(weights(two), weights(one), atol=1e-4, rtol=1e-4)
    assert two.record().progress.target_tokens == one.record().progress.target_tokens
    assert two.record().processes == 2


@pytest.mark.slow
@pytest.mark.edition
def test_a_signal_or_death_of_one_stops_all_and_nothing_is_lost(tmp_path):
    """With dropout: each process has random numbers of its own."""
    settings = ["training.log_every=1", "training.save_minutes=0", "training.validate_every=20"]
    words = tmp_path, "train", *TOY, *settings, "model.dropout=0.3", "training.max_epochs=3"

    stopped = start(*words)
    assert any("update 3 of" in line for line in stopped.stderr)
    stopped.send_signal(signal.SIGTERM)
    stopped.communicate()
    cut = trained(tmp_path, "quickstart")
    assert cut.record().status == "interrupted"

    killed = start(*words)
    assert any("update 9 of" in line for line in killed.stderr)
    psutil.Process(killed.pid).children()[0].kill()  # it writes
    finish(killed, status=1)

    assert finish(start(*words)).count("Resuming outputs") == 1
    finish(start(*words, "name=whole"))
    assert outcome(cut) == outcome(trained(tmp_path, "whole"))
    states = weights(cut, RNG)
    assert not torch.equal(states["cpu"], states["rank-1/cpu"])


@pytest.mark.slow
def test_processes_share_an_evaluation_and_a_translation(tmp_path):
    checkpoint = save_tiny(tmp_path / "tiny")
    sentences = [" ".join(["a dog barks"] * (1 + line % 7)) for line in range(20)]
    settings = [f"checkpoint={checkpoint}", "decoding.batch_size=4", "device=cpu"]
    evaluation = ["source=text.src", "reference=text.tgt", "beams=[1,3]", "output=out"]
    translation = ["input=text.src", "hypotheses=out/text", "alignments=out/links"]
    found = []
    for together in (False, True):
        folder = tmp_path / str(together)
        folder.mkdir()
        for language in ("src", "tgt"):
            (folder / f"text.{language}").write_text("\n".join([*sentences, "", "a"]) + "\n")
        for script, own in (("evaluate", evaluation), ("translate", translation)):
            words = folder, script, *settings, *own
            finish(start(*words)) if together else run(*words)
        files = [file for file in (folder / "out").rglob("*") if file.is_file()]
        times = rb'"(seconds|sentences_per_second|threads)": .*'
        found.append({f.relative_to(folder): re.sub(times, b"", f.read_bytes()) for f in files})
    assert found[0] == found[1]
    assert len(found[0]) == 2 * 6 + 2


def test_gradients_are_summed_where_they_are(monkeypatch):
    """A recorded CUDA graph writes to the memory that a gradient had when it was recorded."""
    used, unused = (torch.nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    used.grad = torch.full((2, 3), 2.0)
    place = used.grad.data_ptr()
    monkeypatch.setattr(device.dist, "all_reduce", lambda tensor: tensor.mul_(3))
    ProcessGroup(0, 2).sum_gradients([used, unused])
    assert used.grad.data_ptr() == place
    assert used.grad.unique().tolist() == [6]
    assert unused.grad.unique().tolist() == [0]


def test_processes_that_differ_are_refused(monkeypatch):
    monkeypatch.setattr(ProcessGroup, "gather", lambda self, value: [value, {**value, "seed": 2}])
    with pytest.raises(UserError, match="seed"):
        ProcessGroup(0, 2).require_equal({"text": "a", "seed": 1})
