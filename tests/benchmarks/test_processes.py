"""Trainings by several processes are timed in turns."""

import json
import subprocess
from types import SimpleNamespace

import processes
import pytest
from harness import compose_config
from helpers.commands import TOY
from helpers.launching import torchrun
from processes import TRAIN, benchmark_processes

from seq2seq.errors import UserError


@pytest.mark.slow
def test_each_number_of_processes_has_a_row(tmp_path, monkeypatch):
    def at_once(command, **settings):
        place = command.index(str(TRAIN))
        assert command[1:3] == ["-m", "torch.distributed.run"]
        command = torchrun(command[3:place], "train", *command[place + 1 :])
        return subprocess.run(command, **settings)

    monkeypatch.setattr(processes, "subprocess", SimpleNamespace(run=at_once))
    monkeypatch.chdir(tmp_path)
    settings = [f"settings={TOY}", f"output={tmp_path}", "updates=4"]
    cases = ["processes=[2]", "threads_each=[1]", "rounds=1"]
    table = benchmark_processes(compose_config("processes", [*settings, *cases]))
    runs = json.loads(table.with_suffix(".json").read_text())["runs"]
    assert [(run["processes"], run["threads"]) for run in runs] == [(2, 1)]
    for run in runs:
        (speed,) = run["tokens_per_second"]
        assert f" {speed:,.0f} |" in table.read_text()
    wrong = ["settings=['corpus.trian=1']", "processes=[1]", *cases[1:]]
    with pytest.raises(UserError, match="trian"):
        benchmark_processes(compose_config("processes", wrong))
