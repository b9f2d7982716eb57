"""Read and write text files: UTF-8, one sentence per line.

Only "\\n" ends a line: public corpora have U+2028 and U+0085, at which ``str.splitlines`` would
split, inside sentences. All later lines would no longer match their translations.
"""

import contextlib
import gzip
import logging
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import category

from seq2seq.config.settings import unspaced
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, digest

warn_once = cache(logging.getLogger(__name__).warning)

SIDES = ("source", "target")

TextFolder = tuple[Path, Callable[[Path], object] | None]
"""Folder of text, and the function that fills it if it is missing (None: the user's own)."""


UNPACK: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"\xfd7": lzma.open}
"""First two bytes of a packed file -> function that opens it."""


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes; unpack it if it is .gz or .xz."""
    with path.open("rb") as raw:
        unpack = UNPACK.get(raw.peek(2)[:2])  # a pipe cannot be read from the start again
        try:
            yield unpack(raw) if unpack else raw
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise UserError(f"{path} is damaged ({error}); copy it again.") from error


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, unpacked and without line ends."""
    with open_bytes(path) as stream:
        yield from decode_lines(stream, str(path))


def decode_lines(raw_lines: Iterable[bytes], where: str) -> Iterator[str]:
    """Yield lines of UTF-8 without line ends (LF or CR LF) and without a byte order mark."""
    for number, raw in enumerate(raw_lines, start=1):
        try:
            line = raw.decode().removeprefix("\ufeff" if number == 1 else "")
        except UnicodeDecodeError:
            line = "\0"
        if "\0" in line:
            raise UserError(
                f"{where}, line {number} is not UTF-8 text; convert it, for example with iconv -f "
                "UTF-16 -t UTF-8 OLD > NEW (or LATIN1, GB18030, ...)."
            )
        yield line[:-1].removesuffix("\r") if line.endswith("\n") else line


def count_lines(path: Path) -> int:
    return sum(1 for _ in read_lines(path))


def content_digest(path: Path) -> str:
    """SHA-256, in hexadecimal, of the unpacked content of a file."""
    with open_bytes(path) as stream:
        return digest(iter(partial(stream.read, BLOCK), b""))


class LineWriter:
    """Context that writes a text file: at its end, ``part`` replaces ``path``.

    A failure leaves the lines in ``part``, which the next writer refuses. Pipes and devices are
    written directly.
    """

    def __init__(self, path: Path) -> None:
        self._direct = path.exists() and not path.is_file()
        self.path = path if self._direct else path.resolve()
        self.part = self.path.with_name(f"{self.path.name}.part")
        self.count = 0

    def __enter__(self) -> "LineWriter":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._direct:
            if self.part.exists() and self.part.stat().st_size:
                raise UserError(f"{self.part} holds lines of an earlier run; delete it.")
            self.part.unlink(missing_ok=True)  # another run that writes it keeps its own file
        self._stream = (self.path if self._direct else self.part).open("wb")
        return self

    def write(self, line: str) -> None:
        """Write ``line`` and a "\\n"."""
        assert "\n" not in line, f"a line break inside {line!r}"
        self._stream.write(line.encode() + b"\n")
        self.count += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stream.close()
        if not self._direct and kind is None:
            self.part.replace(self.path)
        elif not self._direct and not self.count:
            self.part.unlink(missing_ok=True)


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write ``lines`` to a file, completely or not at all; return their number."""
    with LineWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return writer.count


def word_count(text: str, language: str = "") -> int:
    """Number of words (``str.split``); half the characters, rounded up, in unspaced languages."""
    words = text.split()
    return -(-len("".join(words)) // 2) if unspaced(language) else len(words)


@cache
def word_pattern() -> re.Pattern[str]:
    """Pattern of a word: letters, digits and "_", with the accents and vowel signs after them."""
    planes = range(0x20000), range(0xE0000, 0xF0000)  # no other plane of Unicode has marks
    marks = "".join(c for c in map(chr, chain(*planes)) if category(c)[0] == "M")
    # No mark is ASCII. The search is several times faster if it tests this first.
    return re.compile(rf"\w+(?:(?=[^\x00-\x7f])[{marks}]\w*)*")


@dataclass(frozen=True)
class ParallelText:
    """Two text files (plain, .gz or .xz); line i of one translates line i of the other."""

    source: Path
    target: Path
    more_targets: tuple[Path, ...] = ()
    """Files of the other references of a test set."""


@dataclass(frozen=True)
class Corpus:
    """Checked text for training, validation and at least one test."""

    kind: str
    source_language: str
    target_language: str
    train: ParallelText
    valid: ParallelText
    tests: dict[str, ParallelText]


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield line i of one text with line i of the other; UserError if the numbers differ."""
    try:
        yield from zip(read_lines(source), read_lines(target), strict=True)
    except ValueError:
        raise UserError(
            f"{source} has {count_lines(source):,} lines, {target} has {count_lines(target):,}; "
            "line i of one file must translate line i of the other."
        ) from None


def read_aligned(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Return the lines of two texts; UserError if their numbers differ."""
    pairs = list(read_pairs(source, target))
    return [line for line, _ in pairs], [line for _, line in pairs]


def read_references(text: ParallelText) -> tuple[list[str], list[list[str]]]:
    """Return the sources and the lines of each reference; a line is blank in all or in none."""
    columns = [read_aligned(text.source, path) for path in (text.target, *text.more_targets)]
    references = [lines for _, lines in columns]
    for number, lines in enumerate(zip(*references, strict=True), start=1):
        if len({bool(line.strip()) for line in lines}) > 1:
            raise UserError(f"Line {number} of {text.source} has a blank reference; fill it in.")
    return columns[0][0], references


def find_texts(folder: Path, languages: tuple[str, str]) -> dict[str, ParallelText]:
    """Find texts: "train" is train.LANGUAGE of both languages (or source, target), or .gz, .xz."""
    files: dict[str, dict[str, Path]] = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        plain = Path(path.stem if path.suffix in (".gz", ".xz") else path.name)
        if (ending := plain.suffix[1:]) in (*languages, *SIDES):
            files.setdefault(plain.stem, {}).setdefault(ending, path)
    texts: dict[str, ParallelText] = {}
    for name, by_ending in files.items():
        for source, target in (languages, SIDES):
            if {source, target} <= by_ending.keys():
                texts.setdefault(name, ParallelText(by_ending[source], by_ending[target]))
        if name not in texts and name.startswith("test"):
            warn_once(f"{next(iter(by_ending.values()))} is left out: its translation is missing.")
    if "val" in texts:
        texts.setdefault("valid", texts.pop("val"))
    return texts
