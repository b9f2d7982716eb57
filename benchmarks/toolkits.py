"""Two programs, run as their users run them: this project, and Eole.

Each has its own command line and process, the same text and vocabulary, and the same sizes.
``configs/toolkits/<name>.yaml`` has its arguments, its config and the patterns of its log lines.
"""

import os
import re
import subprocess
import time
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from omegaconf import OmegaConf
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from seq2seq.data.text import Corpus, read_lines, write_lines
from seq2seq.errors import UserError
from seq2seq.files import write_json

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "benchmarks" / "configs" / "toolkits"
OURS = "seq2seq"
PROGRAMS = (OURS, "eole")
REPORT_EVERY = 20
"""Number of updates between two log lines of a program, and number of warm-up updates."""
NEVER = 10**9
"""Number of updates between two validations that means: no validation."""


class PeerText(NamedTuple):
    """A folder with ``<split>.<language>`` for train, valid and test, and ``words.<language>``.

    ``target_tokens`` counts those of training, ends of sentences included; ``words`` no specials.
    """

    text: Path
    source: str
    target: str
    pairs: int
    target_tokens: int
    words: tuple[int, int]


def write_text(corpus: Corpus, folder: Path, min_frequency: int) -> PeerText:
    """Write ``corpus`` (its first test set) to ``folder``: sacreBLEU's tokens in lower case.

    Pairs with an empty side are left out. Word lists have the most frequent words first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    languages = corpus.source_language, corpus.target_language
    tokenize = Tokenizer13a()
    test = next(iter(corpus.tests.values()))
    splits = {"test": test, "valid": corpus.valid, "train": corpus.train}
    for name, split in splits.items():
        sides = [
            [tokenize(line.lower()).split() for line in read_lines(path)]
            for path in (split.source, split.target)
        ]
        kept = [pair for pair in zip(*sides, strict=True) if all(pair)]
        for language, lines in zip(languages, zip(*kept, strict=True), strict=True):
            write_lines(folder / f"{name}.{language}", map(" ".join, lines))
    counts = [Counter(chain.from_iterable(lines)) for lines in zip(*kept, strict=True)]  # train's
    sizes = []
    for language, counted in zip(languages, counts, strict=True):
        frequent = [word for word, count in counted.most_common() if count >= min_frequency]
        sizes.append(write_lines(folder / f"words.{language}", frequent))
    tokens = counts[1].total() + len(kept)
    return PeerText(folder.resolve(), *languages, len(kept), tokens, (sizes[0], sizes[1]))


class Toolkit:
    """A toolkit as ``configs/toolkits/<name>.yaml`` describes it, run by the program ``python``."""

    def __init__(self, name: str, python: Path) -> None:
        self.name, self.python = name, python
        self._spec = OmegaConf.load(CONFIGS / f"{name}.yaml")

    def version(self) -> str:
        """Versions of the toolkit's package and of PyTorch, from an import of both."""
        package, module = self._spec.package, self._spec.module
        code = f"import {module}, torch, importlib.metadata as m; print(m.version({package!r}))"
        command = [str(self.python), "-c", f"{code}; print(torch.__version__)"]
        given: dict[str, Any] = {"capture_output": True, "text": True, "env": _environment("cpu")}
        try:
            answer = subprocess.run(command, check=True, **given)
        except (OSError, subprocess.CalledProcessError) as error:
            cause = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
            raise UserError(
                f"peers_python={self.python} does not import {module} ({cause}); install "
                f"{package} and what it needs there."
            ) from None
        version, torch_version = answer.stdout.split()[-2:]
        return f"{package} {version}, torch {torch_version}"

    def command(self, folder: Path, variables: dict[str, Any]) -> list[str]:
        """Arguments to Python for a training; writes the config file, if there is one.

        The description's entries of the device's name are added to the others.
        """
        usual = {"validate_every": NEVER, "report_every": REPORT_EVERY, "root": ROOT}
        added = self._spec.get(variables["device"], {})
        merged = OmegaConf.merge(self._spec, added, usual, {"folder": folder}, variables)
        filled: Any = OmegaConf.to_container(merged, resolve=True)
        if "config" in filled:
            write_json(folder / "config.yaml", filled["config"])  # JSON is YAML, too
        return [str(word) for word in filled["arguments"]]

    def train(self, folder: Path, variables: dict[str, Any]) -> list[tuple[str, float]]:
        """Run :meth:`command` in ``folder``, and copy its output to ``<folder>.log``.

        Return each line, with its time on this process's monotonic clock, in seconds.
        """
        log = folder.with_name(f"{folder.name}.log")
        lines: list[tuple[str, float]] = []
        with (
            log.open("w", encoding="utf-8", buffering=1) as record,
            subprocess.Popen(
                [self.python, *self.command(folder, variables)],
                cwd=folder,
                env=_environment(variables["device"]),
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
            raise UserError(
                f"{self.name} ended with status {process.returncode} ({last}); see {log}."
            )
        return lines

    def find(self, kind: str, line: str) -> float | None:
        """Number of this ``kind`` in a log line, if it has one.

        Kinds: update (number so far), parameters, perplexity (of a validation).
        """
        found = re.search(self._spec.log[kind], line)
        return float(found[1].replace(",", "")) if found else None


def _environment(device: str) -> dict[str, str]:
    """Environment of this process, with its number of threads; with ``cpu``, no GPU is seen."""
    threads = str(torch.get_num_threads())
    return {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads),
        **({"CUDA_VISIBLE_DEVICES": ""} if device == "cpu" else {}),
        "PYTHONUNBUFFERED": "1",
    }
