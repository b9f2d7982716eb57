"""How many threads training uses while other programs take the cores."""

import os

import pytest
import torch

from seq2seq.training import threads as threads_module
from seq2seq.training.threads import Threads

TICKS = os.sysconf("SC_CLK_TCK")


class Machine:
    """A machine of four cores, on which time passes when asked to."""

    def __init__(self, monkeypatch, tmp_path) -> None:
        self.file = tmp_path / "stat"
        self.wall = self.own = 0.0
        self.busy = [0.0] * 6
        monkeypatch.setattr(threads_module.time, "monotonic", lambda: self.wall)
        monkeypatch.setattr(threads_module.time, "process_time", lambda: self.own)
        monkeypatch.setattr(threads_module.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
        self.pass_time(0, own=0, others=[])

    def pass_time(self, seconds: float, own: float, others: list[float]) -> None:
        """``own`` cores are this process's, ``others`` the share of each core that is not."""
        self.wall += seconds
        self.own += seconds * own
        self.busy[0] += seconds * own
        for core, share in enumerate(others):
            self.busy[core] += seconds * share
        rows = [f"cpu{i} 0 0 {round(x * TICKS)} 999 9 9 9" for i, x in enumerate(self.busy)]
        self.file.write_text("cpu  1 2 3 4\n" + "\n".join(rows) + "\nintr 5\n")


@pytest.fixture
def machine(monkeypatch, tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield Machine(monkeypatch, tmp_path)
    torch.set_num_threads(before)


def test_threads_follow_the_load_and_come_back(machine):
    with Threads(adapt=True, statistics=machine.file) as threads:
        for others, expected in (
            ([], 4),
            ([0.1, 0.1], 4),  # what a system does by itself
            ([1.0], 3),
            ([0.5, 0.5, 0.5, 0.5], 2),
            ([1.0, 1.0, 1.0, 1.0], 1),
            ([0.0, 0.0, 0.0, 0.0, 1.0, 1.0], 4),  # cores that this process may not use
        ):
            machine.pass_time(5, own=2, others=others)
            threads.look()
            assert torch.get_num_threads() == expected
        for expected in (4, 2):  # less than a second decides nothing, and is not lost
            machine.pass_time(0.6, own=2, others=[1.0, 1.0])
            threads.look()
            assert torch.get_num_threads() == expected
    # What comes after the training, such as the next one of reproduce, has all of them again.
    assert (torch.get_num_threads(), threads.used) == (4, "1 to 4")


def test_a_fixed_number_stays_and_a_warning_says_once_that_it_is_too_large(machine, caplog):
    fixed = Threads(adapt=False, statistics=machine.file)
    unknown = Threads(adapt=True, statistics=machine.file.with_name("none"))
    for _ in range(2):
        machine.pass_time(5, own=2, others=[1.0, 1.0, 1.0, 1.0])
        for threads in (fixed, unknown):
            threads.look()
            assert (torch.get_num_threads(), threads.used) == (4, "4")
    assert caplog.text.count("training.adapt_threads=true") == 1
