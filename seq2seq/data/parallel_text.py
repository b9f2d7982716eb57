"""Text in two languages, and what a corpus has of it."""

from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.text import content_digest, read_lines
from seq2seq.errors import UserError

SIDES = ("source", "target")


@dataclass(frozen=True)
class ParallelText:
    """Two text files (plain, .gz or .xz), line i of one translating line i of the other."""

    source: Path
    target: Path
    alignments: Path | None = None
    """Word alignments in Pharaoh format, one line per pair: ``0-0 1-2``, source-target, from 0."""


def read_aligned(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """The lines of two texts, as many of one as of the other.

    Raises:
        UserError: a file cannot be read, or they are not as many.
    """
    sources, targets = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(targets):
        raise UserError(
            f"{source} has {len(sources)} lines, {target} has {len(targets)}; "
            "give files that are aligned line by line."
        )
    return sources, targets


@dataclass(frozen=True)
class Corpus:
    """Checked text to train, validate and test on."""

    kind: str
    source_language: str
    target_language: str
    train: ParallelText
    valid: ParallelText
    tests: dict[str, ParallelText]
    """Name of the test set -> its text; at least one."""

    @property
    def trained_on(self) -> dict[str, Path]:
        """The files that a training reads, ``train.source`` and so on."""
        return {
            f"{name}.{side}": getattr(text, side)
            for name, text in (("train", self.train), ("valid", self.valid))
            for side in SIDES
        }

    def hashes(self) -> dict[str, str]:
        """Of each of them the digest of its content, to tell one training text from another."""
        return {name: content_digest(path) for name, path in self.trained_on.items()}
