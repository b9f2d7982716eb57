"""Other toolkits as programs: what each is told, how it is run, and what its log says.

Each toolkit runs as a user would run it, by its own command line in a process of its own, on the
same text, with the same vocabulary and the same sizes. ``configs/toolkits/<name>.yaml`` has its
commands, its config and the patterns of its log lines; this project is described like any other.
"""

import os
import re
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf

from seq2seq.data.parallel_text import Corpus
from seq2seq.data.text import read_lines, write_lines
from seq2seq.data.tokenization import MosesWordTokenizer
from seq2seq.errors import UserError
from seq2seq.files import write_json

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "benchmarks" / "configs" / "toolkits"
OURS = "seq2seq"
PEERS = ("joeynmt", "opennmt", "eole")
REPORT_EVERY = 20
"""Updates after which each program writes a line; the first so many are its warm-up."""
NEVER = 10**9
"""Updates between two validations where none is wanted."""


@dataclass(frozen=True)
class PeerText:
    """A folder with ``<split>.<language>`` for train, valid and test, and ``words.<language>``."""

    text: Path
    """The folder."""
    source: str
    """Language of the source side: the ending of its files."""
    target: str
    pairs: int
    """Training pairs."""
    target_tokens: int
    """Target tokens of the training pairs, an end of sentence for each included."""
    words: tuple[int, int]
    """Entries of the source and of the target word list, specials not counted."""

    def path(self, name: str, language: str) -> Path:
        """The file ``<name>.<language>``."""
        return self.text / f"{name}.{language}"


def write_text(corpus: Corpus, folder: Path, min_frequency: int) -> PeerText:
    """Write ``corpus`` to ``folder``: Moses tokens in lower case, and the words of each side.

    Pairs with an empty side are left out. Of several test sets the first is taken. A word list
    holds the words of at least ``min_frequency`` training occurrences, the most frequent first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    languages = corpus.source_language, corpus.target_language
    tokenizers = [MosesWordTokenizer(language) for language in languages]
    test = next(iter(corpus.tests.values()))
    splits = {"test": test, "valid": corpus.valid, "train": corpus.train}
    for name, split in splits.items():
        pairs = [
            # Tokens may hold white space of other kinds, at which each toolkit would split.
            [" ".join(tokenizer.tokenize(line.lower())).split() for tokenizer, line in sides]
            for sides in (
                zip(tokenizers, lines, strict=True)
                for lines in zip(read_lines(split.source), read_lines(split.target), strict=True)
            )
        ]
        kept = [pair for pair in pairs if all(pair)]
        for side, language in enumerate(languages):
            write_lines(folder / f"{name}.{language}", (" ".join(pair[side]) for pair in kept))
    counts = [Counter(word for pair in kept for word in pair[side]) for side in range(2)]  # train's
    sizes = [
        write_lines(
            folder / f"words.{language}",
            [word for word, count in counted.most_common() if count >= min_frequency],
        )
        for language, counted in zip(languages, counts, strict=True)
    ]
    tokens = counts[1].total() + len(kept)
    return PeerText(folder.resolve(), *languages, len(kept), tokens, (sizes[0], sizes[1]))


class Toolkit:
    """A toolkit by its description, in the environment of one Python."""

    def __init__(self, name: str, python: Path) -> None:
        self.name, self.python = name, python
        self._spec = OmegaConf.load(CONFIGS / f"{name}.yaml")

    def version(self) -> str:
        """The versions of its package and of PyTorch.

        Raises:
            UserError: this Python cannot be started, or cannot import the toolkit.
        """
        code = (
            f"import {self._spec.module}, torch; from importlib.metadata import version\n"
            f"print('{self._spec.package}', version('{self._spec.package}') + ',', 'torch', "
            "torch.__version__)"
        )
        try:
            answer = subprocess.run(
                [self.python, "-c", code], capture_output=True, text=True, env=_environment()
            )
        except OSError as error:
            raise UserError(f"peers_python={self.python} does not start: {error}.") from None
        if answer.returncode:
            cause = (answer.stderr.strip().splitlines() or [""])[-1]
            raise UserError(
                f"{self.name} is left out: peers_python={self.python} cannot import "
                f"{self._spec.module} ({cause}); install {self._spec.package} and what it needs."
            )
        return answer.stdout.splitlines()[-1]

    def command(self, task: str, folder: Path, variables: dict[str, Any]) -> list[str]:
        """Arguments to Python for ``task``, train or translate; its config goes into ``folder``."""
        usual = {"validate_every": NEVER, "report_every": REPORT_EVERY, "root": ROOT}
        merged = OmegaConf.merge(self._spec, usual, {"folder": folder}, variables)
        filled: Any = OmegaConf.select(merged, task)
        filled = OmegaConf.to_container(filled, resolve=True)
        if "config" in filled:
            write_json(folder / "config.yaml", filled["config"])  # JSON is YAML, too
        program = filled["program"][variables["precision"]]
        return [str(word) for word in (*program, *filled["arguments"])]

    def run(self, task: str, folder: Path, variables: dict[str, Any]) -> list[tuple[str, float]]:
        """Run :meth:`command` in ``folder``, with a copy of its output in ``<folder>.log``.

        It has as many threads as this process.

        Returns:
            Each line, and the second of this process's monotonic clock at which it came.

        Raises:
            UserError: the program ended with an error.
        """
        log = folder.with_name(f"{folder.name}.log")
        lines: list[tuple[str, float]] = []
        with (
            log.open("w", encoding="utf-8", buffering=1) as record,
            subprocess.Popen(
                [self.python, *self.command(task, folder, variables)],
                cwd=folder,
                env=_environment() | dict(self._spec.environment),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None  # it is a pipe
            for line in process.stdout:
                lines.append((line, time.monotonic()))
                record.write(line)
        if process.returncode:
            last = lines[-1][0].strip() if lines else "no output"
            raise UserError(f"{self.name} ended with status {process.returncode} ({last}): {log}")
        return lines

    def find(self, kind: str, line: str) -> float | None:
        """The number of this kind in a line of its log, if there is one.

        Args:
            kind: update (made so far) | parameters | perplexity (of a validation) | seconds (of a
                search; of several, the sum counts).
            line: what the program has written.
        """
        found = re.search(self._spec.log[kind], line)
        return float(found[1].replace(",", "")) if found else None

    def hypotheses(self, folder: Path) -> list[str]:
        """The translations that task ``translate`` has left in its ``folder``."""
        return list(read_lines(folder / self._spec.hypotheses))


def _environment() -> dict[str, str]:
    """This process's, with its number of threads, no GPU, and log lines that come at once."""
    threads = torch.get_num_threads()
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
    }
