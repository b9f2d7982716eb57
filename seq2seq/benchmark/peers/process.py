"""A training program in a process of its own, timed by one clock: the one of this process."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seq2seq.benchmark.peers.setting import PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit
from seq2seq.errors import UserError


class Probe(NamedTuple):
    """What an interpreter can do with a toolkit."""

    versions: dict[str, str]
    """Of the toolkit and of PyTorch; empty if the toolkit cannot be imported."""
    reason: str
    """Why not, in one sentence; empty if it can."""


class Speed(NamedTuple):
    """Steady state of one run, of its updates after the warm-up."""

    tokens_per_second: float
    """Target tokens: ends of sentence count, padding does not. Every update is counted with the
    text's mean, as all programs train on equally many sentences of one text."""
    seconds: float


@dataclass(frozen=True)
class TimedRun:
    """One program, run once."""

    toolkit: str
    precision: str
    round: int
    speed: Speed
    parameters: int | None
    """As the program counts them."""


def probe(toolkit: Toolkit, python: Path) -> Probe:
    """Ask ``python`` whether it can import ``toolkit``, and in which version."""
    code = (
        f"import {toolkit.module}, importlib.metadata, torch\n"
        f"print(importlib.metadata.version({toolkit.package!r}), torch.__version__)"
    )
    try:
        answer = subprocess.run(
            [str(python), "-c", code], capture_output=True, text=True, env=_environment(1)
        )
    except OSError as error:
        raise UserError(
            f"peers_python={python} cannot be started: {error.strerror}; name a Python interpreter."
        ) from None
    if answer.returncode == 0:
        version, torch_version = answer.stdout.split()[-2:]
        return Probe({toolkit.package: version, "torch": torch_version}, "")
    cause = (answer.stderr.strip().split("\n") or [""])[-1]
    return Probe(
        {},
        f"{toolkit.name} is left out: {python} cannot import {toolkit.module} ({cause}); "
        f"install {toolkit.package} and what it imports there.",
    )


def run(
    toolkit: Toolkit,
    python: Path,
    text: PeerText,
    setting: PeerSetting,
    precision: str,
    number: int,
    work: Path,
) -> TimedRun:
    """Train once with ``toolkit``; its log stays in ``work``, what else it writes is deleted.

    Raises:
        UserError: the program failed, or did not report its speed.
    """
    name = f"{toolkit.name}-{precision}-{number}"
    log = work / f"{name}.log"
    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arguments = toolkit.command(text, setting, precision, folder)
    lines = execute(toolkit, python, arguments, folder, setting.threads, log)
    reports = [(update, clock) for line, clock in lines if (update := toolkit.read_report(line))]
    sizes = [size for line, _ in lines if (size := toolkit.read_size(line))]
    speed = steady_speed(reports, setting, text, f"{toolkit.name} ({log})")
    shutil.rmtree(folder)
    return TimedRun(toolkit.name, precision, number, speed, sizes[0] if sizes else None)


def execute(
    toolkit: Toolkit, python: Path, arguments: list[str], folder: Path, threads: int, log: Path
) -> list[tuple[str, float]]:
    """Run a program of ``toolkit`` in ``folder``: its output, line by line, with arrival times.

    Args:
        toolkit: whose program it is.
        python: interpreter.
        arguments: of the interpreter.
        folder: the process's working folder.
        threads: for PyTorch.
        log: file that the output is written to as it comes.

    Returns:
        Each line and the second of this process's monotonic clock at which it came.

    Raises:
        UserError: the program ended with an error.
    """
    lines: list[tuple[str, float]] = []
    with (
        log.open("w", encoding="utf-8", buffering=1) as record,
        subprocess.Popen(
            [str(python), *arguments],
            cwd=folder,
            env=_environment(threads) | toolkit.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None  # it is a pipe
        try:
            for line in process.stdout:
                lines.append((line, time.monotonic()))
                record.write(line)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        last = lines[-1][0].strip() if lines else "it said nothing"
        raise UserError(
            f"{toolkit.name} ended with status {process.returncode} ({last}); see {log}."
        )
    return lines


def steady_speed(
    reports: Sequence[tuple[int, float]], setting: PeerSetting, text: PeerText, where: str
) -> Speed:
    """Sentences over wall time, from the report after the warm-up to the last one, as tokens.

    What a program says of its own speed is not used: each counts, and stops its clock, in a way of
    its own.

    Args:
        reports: updates made so far, each with the second of its arrival.
        setting: gives the updates at which the timing starts and ends, and their sentences.
        text: gives the mean length of a sentence.
        where: the program, for the message.

    Raises:
        UserError: there is no report at the first or the last of these updates.
    """
    within = [
        (update, clock)
        for update, clock in reports
        if setting.warm_up <= update <= setting.total_updates
    ]
    ends = [within[0][0], within[-1][0]] if within else []
    if ends != [setting.warm_up, setting.total_updates]:
        raise UserError(
            f"{where} did not report at updates {setting.warm_up} and {setting.total_updates}; "
            "does another version of it run?"
        )
    seconds = within[-1][1] - within[0][1]
    tokens = setting.updates * setting.batch_size * text.target_tokens / text.pairs
    return Speed(tokens / seconds, seconds)


def _environment(threads: int) -> dict[str, str]:
    """This process's, with a thread count for PyTorch, no GPU, and log lines that come at once."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
    }
