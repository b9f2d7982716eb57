"""Turns through all programs, several times over, and the medians of what they report."""

import logging
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from seq2seq.benchmark.peers.eole import Eole
from seq2seq.benchmark.peers.joeynmt import JoeyNMT
from seq2seq.benchmark.peers.opennmt import OpenNMT
from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.process import TimedRun, probe, run
from seq2seq.benchmark.peers.setting import PeerSetting
from seq2seq.benchmark.peers.text import PeerText, write_text
from seq2seq.benchmark.peers.toolkit import Toolkit
from seq2seq.benchmark.peers.translation import Program
from seq2seq.data.parallel_text import Corpus
from seq2seq.errors import UserError
from seq2seq.record import environment_record

PEERS: dict[str, Toolkit] = {peer.name: peer for peer in (JoeyNMT(), OpenNMT(), Eole())}
"""Name -> toolkit: what ``peers=[...]`` may name."""
PRECISIONS = ("fp32", "bf16")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PeerComparison:
    """All runs, in the order in which they were made."""

    setting: PeerSetting
    text: PeerText
    runs: list[TimedRun]
    versions: dict[str, dict[str, str]]
    """Name of a program that ran -> versions of its package and of its PyTorch."""
    left_out: list[str]
    """One sentence for each peer that is not installed."""

    def of(self, toolkit: str, precision: str) -> list[TimedRun]:
        """The runs of one program in one precision, by round."""
        return [run for run in self.runs if (run.toolkit, run.precision) == (toolkit, precision)]

    def speed(self, toolkit: str, precision: str) -> float:
        """Median over the rounds, target tokens per second."""
        return statistics.median(run.speed.tokens_per_second for run in self.of(toolkit, precision))

    def ratios(self, toolkit: str, precision: str) -> list[float]:
        """How many times faster this project is, round by round: a machine drifts between them."""
        return [
            ours.speed.tokens_per_second / theirs.speed.tokens_per_second
            for ours, theirs in zip(
                self.of(Ours.name, precision), self.of(toolkit, precision), strict=True
            )
        ]


def find_programs(peers: Sequence[str], python: Path) -> tuple[list[Program], list[str]]:
    """This project and those of ``peers`` that are installed; a sentence for each that is not.

    Args:
        peers: names of :data:`PEERS`.
        python: interpreter of the environment in which the peers are installed. This project runs
            with the one that runs now.

    Raises:
        UserError: the interpreter cannot be started, or this project lacks what it needs.
    """
    programs, left_out = [], []
    for toolkit, interpreter in [
        (Ours(), Path(sys.executable)),
        *((PEERS[name], python.absolute()) for name in dict.fromkeys(peers)),
    ]:
        found = probe(toolkit, interpreter)
        if found.reason and toolkit.name == Ours.name:
            raise UserError(f"There is nothing to compare with: {found.reason}")
        if found.reason:
            log.info("%s", found.reason)
            left_out.append(found.reason)
        else:
            code = _code() if toolkit.name == Ours.name else {}
            programs.append(Program(toolkit, interpreter, {**found.versions, **code}))
    return programs, left_out


def _code() -> dict[str, str]:
    """This project's commit, which says more than its version."""
    commit = environment_record(torch.device("cpu"))["git_commit"]
    return {"code": str(commit)[:10]} if commit else {}


def compare_with_peers(
    peers: Sequence[str],
    corpus: Corpus,
    work: Path,
    python: Path,
    setting: PeerSetting,
    precisions: Sequence[str],
    rounds: int,
) -> PeerComparison:
    """Train with each of ``peers`` and with this project in turns, and time them all.

    Args:
        peers: names of :data:`PEERS`; those that are not installed are left out.
        corpus: the text; it is tokenised and lower-cased first.
        work: folder for the text and the logs; what lies there already is written over.
        python: interpreter of the environment in which the peers are installed. This project runs
            with the one that runs now.
        setting: size of the model, and length of a run.
        precisions: of :data:`PRECISIONS`, which see.
        rounds: how often each program has its turn in each precision.

    Raises:
        UserError: the text is too short, or a program failed.
    """
    programs, left_out = find_programs(peers, python)
    versions = {program.toolkit.name: program.versions for program in programs}
    text = write_text(corpus, work / "text", setting.min_frequency)
    text.require_epoch(setting.total_updates, setting.batch_size)
    runs = []
    for number in range(1, rounds + 1):
        for precision in precisions:
            for toolkit, interpreter, _ in programs:
                timed = run(toolkit, interpreter, text, setting, precision, number, work)
                log.info(
                    "round %d of %d, %s, %s: %.0f target tokens/s",
                    number,
                    rounds,
                    precision,
                    toolkit.name,
                    timed.speed.tokens_per_second,
                )
                runs.append(timed)
    return PeerComparison(setting, text, runs, versions, left_out)
