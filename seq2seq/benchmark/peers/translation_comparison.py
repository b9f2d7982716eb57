"""Turns through all programs and searches, several times over, on models trained once."""

import logging
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.benchmark.peers.comparison import find_programs
from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText, write_text
from seq2seq.benchmark.peers.translation import TimedTranslation, train_once, translate_once
from seq2seq.data.parallel_text import Corpus

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TranslationComparison:
    """All translations, in the order in which they were made."""

    setting: PeerSetting
    text: PeerText
    searches: list[PeerSearch]
    """In their order within a round."""
    trained_in: str
    """Precision of all trainings, which is of no interest here: the quickest of the searches'."""
    runs: list[TimedTranslation]
    versions: dict[str, dict[str, str]]
    """Name of a program that ran -> versions of its package and of its PyTorch."""
    forced: list[str]
    """Those of them upon which bfloat16 was forced; see ``Toolkit.bf16_is_forced``."""
    left_out: list[str]
    """One sentence for each peer that is not installed."""

    def of(self, toolkit: str, precision: str, beam: int) -> list[TimedTranslation]:
        """The runs of one program and one search, by round."""
        return [
            run
            for run in self.runs
            if (run.toolkit, run.precision, run.beam) == (toolkit, precision, beam)
        ]

    def speed(self, toolkit: str, precision: str, beam: int) -> float:
        """Median over the rounds, sentences per second."""
        return statistics.median(run.speed for run in self.of(toolkit, precision, beam))

    def ratios(self, toolkit: str, precision: str, beam: int) -> list[float]:
        """How many times faster this project is in the same precision, round by round."""
        return [
            ours.speed / theirs.speed
            for ours, theirs in zip(
                self.of(Ours.name, precision, beam),
                self.of(toolkit, precision, beam),
                strict=True,
            )
        ]

    def best_ratio(self, toolkit: str, beam: int, their_precisions: Sequence[str]) -> float:
        """How many times faster this project is, each in the precision that it is faster in.

        The toolkit's is one of ``their_precisions``.
        """
        searched = dict.fromkeys(search.precision for search in self.searches)
        ours = max(self.speed(Ours.name, precision, beam) for precision in searched)
        theirs = max(
            self.speed(toolkit, precision, beam)
            for precision in searched
            if precision in their_precisions
        )
        return ours / theirs


def compare_translations(
    peers: Sequence[str],
    corpus: Corpus,
    work: Path,
    python: Path,
    setting: PeerSetting,
    searches: Sequence[PeerSearch],
    rounds: int,
) -> TranslationComparison:
    """Let each of ``peers`` and this project translate the test text in turns, and time them all.

    Args:
        peers: names of :data:`PEERS`; those that are not installed are left out.
        corpus: the text; it is tokenised and lower-cased first.
        work: folder for the text, the models and the translations. Models stay, for the next call.
        python: interpreter of the environment in which the peers are installed.
        setting: size of the model, and length of its training.
        searches: each is made by each program in each round.
        rounds: how often.

    Raises:
        UserError: a program failed.
    """
    programs, left_out = find_programs(peers, python)
    text = write_text(corpus, work / "text", setting.min_frequency)
    models = {}
    precisions = {search.precision for search in searches}
    trained_in = "bf16" if "bf16" in precisions else "fp32"
    for program in programs:
        log.info("training, %d updates: %s", setting.total_updates, program.toolkit.name)
        models[program.toolkit.name] = train_once(
            program, text, setting, trained_in, work / "models"
        )
    runs = []
    for number in range(1, rounds + 1):
        for search in searches:
            for program in programs:
                model = models[program.toolkit.name]
                found = translate_once(
                    program, text, setting, search, model, number, work / "translations"
                )
                log.info(
                    "round %d of %d, %s, beam %d, %s: %.1f sentences/s, BLEU %.2f",
                    number,
                    rounds,
                    search.precision,
                    search.beam,
                    found.toolkit,
                    found.speed,
                    found.bleu,
                )
                runs.append(found)
    versions = {program.toolkit.name: program.versions for program in programs}
    forced = [program.toolkit.name for program in programs if program.toolkit.bf16_is_forced]
    return TranslationComparison(
        setting, text, list(searches), trained_in, runs, versions, forced, left_out
    )
