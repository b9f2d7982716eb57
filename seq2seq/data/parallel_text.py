"""Text in two languages, what a corpus has of it, and how its files are found by name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.text import COMPRESSIONS, content_digest, count_lines, read_lines
from seq2seq.errors import UserError

SIDES = ("source", "target")


@dataclass(frozen=True)
class ParallelText:
    """Two text files (plain, .gz or .xz), line i of one translating line i of the other."""

    source: Path
    target: Path
    alignments: Path | None = None
    """Word alignments in Pharaoh format, one line per pair: ``0-0 1-2``, source-target, from 0."""


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

    def hashes(self) -> dict[str, str]:
        """SHA-256 of the unpacked training and validation text: ``train.source`` and so on."""
        return {
            f"{name}.{side}": content_digest(getattr(text, side))
            for name, text in (("train", self.train), ("valid", self.valid))
            for side in SIDES
        }


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield line i of one text with line i of the other.

    Raises:
        UserError: a file cannot be read, or they have different numbers of lines.
    """
    try:
        yield from zip(read_lines(source), read_lines(target), strict=True)
    except ValueError:
        raise UserError(
            f"{source} has {count_lines(source):,} lines, {target} has {count_lines(target):,}; "
            "give files that are aligned line by line."
        ) from None


def read_aligned(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Return the lines of two texts; errors as :func:`read_pairs`."""
    pairs = list(read_pairs(source, target))
    return [line for line, _ in pairs], [line for _, line in pairs]


def find_file(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of ``names`` that is a file of ``folder``: plain, else .gz, else .xz."""
    paths = (folder / (name + ending) for name in names for ending in ("", *COMPRESSIONS))
    return next((path for path in paths if path.is_file()), None)


def find_pair(folder: Path, names: Sequence[tuple[str, str]]) -> dict[str, Path | None]:
    """Find the two sides of a text, plain, .gz or .xz, under names that belong together.

    Args:
        folder: an existing folder.
        names: what the two may be called, the usual names first.

    Returns:
        Name -> file of the first two names of which most files are there; None for a file that is
        not.
    """
    found = [{name: find_file(folder, [name]) for name in pair} for pair in names]
    return max(found, key=lambda pair: sum(path is not None for path in pair.values()))
