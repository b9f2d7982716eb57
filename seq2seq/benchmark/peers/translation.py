"""A model trained once and kept, and one timed translation of the test text by it."""

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from sacrebleu.metrics import BLEU

from seq2seq.benchmark.peers.process import execute
from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.benchmark.peers.toolkit import Toolkit
from seq2seq.data.text import content_digest, read_lines
from seq2seq.errors import UserError
from seq2seq.files import write_json

RECORD = "trained.json"


class Program(NamedTuple):
    """A toolkit, where it is installed."""

    toolkit: Toolkit
    python: Path
    """Interpreter of the environment that it is installed in."""
    versions: dict[str, str]
    """Of its package and of PyTorch."""


@dataclass(frozen=True)
class TimedTranslation:
    """The test text, translated once."""

    toolkit: str
    precision: str
    beam: int
    round: int
    sentences: int
    seconds: float
    """Of the search as the program itself tells it; its start and the model's loading apart."""
    bleu: float
    """Corpus BLEU (0 to 100) on the tokens of the lower-cased text."""
    words: float
    """Mean length of a translation."""

    @property
    def speed(self) -> float:
        """Sentences per second."""
        return self.sentences / self.seconds


def train_once(
    program: Program, text: PeerText, setting: PeerSetting, precision: str, work: Path
) -> Path:
    """The folder in which ``program`` has trained by ``setting``: an earlier one, or a new one.

    Args:
        program: what trains; other versions of it train anew.
        text: what it reads.
        setting: how.
        precision: fp32 | bf16.
        work: folder for the new folder, and for the log.

    Raises:
        UserError: the program failed.
    """
    name = f"{program.toolkit.name}-{setting.total_updates}"
    folder = work / name
    record = {
        "setting": asdict(setting),
        "precision": precision,
        "versions": program.versions,
        "text": [
            content_digest(text.path(part, language))
            for part in ("train", "words")
            for language in (text.source, text.target)
        ],
    }
    if _read(folder / RECORD) == record:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arguments = program.toolkit.command(text, setting, precision, folder)
    log = work / f"{name}.log"
    execute(program.toolkit, program.python, arguments, folder, setting.threads, log)
    write_json(folder / RECORD, record)  # last: a training that was cut off is begun again
    return folder


def _read(record: Path) -> object:
    """What an earlier training left; None where there is none."""
    try:
        return json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def translate_once(
    program: Program,
    text: PeerText,
    setting: PeerSetting,
    search: PeerSearch,
    model: Path,
    number: int,
    work: Path,
) -> TimedTranslation:
    """Translate the test text; log and translations stay in ``work``.

    Args:
        program: what translates.
        text: gives source and reference.
        setting: how the model was trained; its threads are the search's, too.
        search: how to translate.
        model: what :func:`train_once` gave.
        number: of the round.
        work: folder for a new folder, which replaces an earlier one.

    Raises:
        UserError: the program failed, told no time, or did not translate each sentence.
    """
    toolkit = program.toolkit
    name = f"{toolkit.name}-{search.precision}-beam{search.beam}-{number}"
    folder, log = work / name, work / f"{name}.log"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arguments = toolkit.translate_command(text, setting, search, model, folder)
    lines = execute(toolkit, program.python, arguments, folder, setting.threads, log)
    seconds = sum(toolkit.read_search_time(line) for line, _ in lines)
    if not seconds:
        raise UserError(
            f"{toolkit.name} ({log}) did not tell the time of its search; does another version of "
            "it run?"
        )
    hypotheses = list(read_lines(folder / toolkit.hypotheses))
    references = list(read_lines(text.path("test", text.target)))
    if len(hypotheses) != len(references):
        raise UserError(
            f"{toolkit.name} ({log}) translated {len(hypotheses)} of {len(references)} sentences."
        )
    return TimedTranslation(
        toolkit=toolkit.name,
        precision=search.precision,
        beam=search.beam,
        round=number,
        sentences=len(references),
        seconds=seconds,
        # The text is tokenised as it is: ``force`` spares a warning that it looks so.
        bleu=BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score,
        words=sum(len(line.split()) for line in hypotheses) / len(hypotheses),
    )
