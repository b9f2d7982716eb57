"""One toolkit: the commands that start it, and the log lines that tell how far it is."""

import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from seq2seq.benchmark.peers.setting import PeerSearch, PeerSetting
from seq2seq.benchmark.peers.text import PeerText
from seq2seq.files import write_json


class Toolkit(ABC):
    """A toolkit's training and translating, as this project starts and reads them."""

    name: ClassVar[str]
    """How ``peers=[...]`` calls it."""
    package: ClassVar[str]
    """What ``pip install`` calls it."""
    module: ClassVar[str]
    """The module whose import shows that it is installed: the one that trains."""
    report: ClassVar[re.Pattern[str]]
    """Finds a report in the log, with group ``update``: the updates made so far."""
    size: ClassVar[re.Pattern[str]]
    """Finds the count of parameters in the log, with group ``parameters``."""
    search_time: ClassVar[re.Pattern[str]]
    """Finds the time of a search in the log, with group ``seconds``; of several, the sum counts."""
    perplexity: ClassVar[re.Pattern[str]] = re.compile(
        r"Validation perplexity: (?P<found>[\d.e+]+)"
    )
    """Finds the dev perplexity of a validation in the log, with group ``found``."""
    hypotheses: ClassVar[str] = "output"
    """Name of the file that :meth:`translate_command` leaves, a translation a line."""
    bf16_is_forced: ClassVar[bool] = False
    """Whether bfloat16 on a processor is no setting of the program, but an autocast put around."""
    environment: ClassVar[dict[str, str]] = {}
    """What its processes need besides the environment of this one."""

    @abstractmethod
    def command(
        self, text: PeerText, setting: PeerSetting, precision: str, folder: Path
    ) -> list[str]:
        """Write what the program reads below ``folder``; return its arguments to ``python``.

        Args:
            text: what to train on.
            setting: how, and for how many updates.
            precision: ``fp32``, or ``bf16`` for products in bfloat16 under autocast.
            folder: an empty folder, for the config and for all that the program leaves behind.
        """

    @abstractmethod
    def translate_command(
        self, text: PeerText, setting: PeerSetting, search: PeerSearch, model: Path, folder: Path
    ) -> list[str]:
        """Arguments to ``python`` that translate the test text into ``folder / hypotheses``.

        Args:
            text: its source side is translated.
            setting: how the model was trained.
            search: how to translate.
            model: the folder that :meth:`command` was given, in which the program trained.
            folder: an empty folder, for all that the program reads or leaves behind.
        """

    def read_search_time(self, line: str) -> float:
        """Seconds that a line of the log tells of a search; 0 if it tells none."""
        found = self.search_time.search(line)
        return float(found["seconds"]) if found else 0.0

    def read_report(self, line: str) -> int | None:
        """The updates made so far, by a line of the log; None if it is no report."""
        found = self.report.search(line)
        return int(found["update"]) if found else None

    def read_perplexity(self, line: str) -> float | None:
        """The dev perplexity of a validation, if the line tells one."""
        found = self.perplexity.search(line)
        return float(found["found"]) if found else None

    def read_size(self, line: str) -> int | None:
        """The number of parameters, if the line states it."""
        if found := self.size.search(line):
            return int(found["parameters"].replace(",", ""))
        return None


def write_config(path: Path, config: dict[str, Any]) -> str:
    """Write a config as JSON, which every reader of YAML understands; return its absolute path."""
    write_json(path, config)
    return str(path.absolute())
