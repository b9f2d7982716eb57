"""Read and write text files: UTF-8, one sentence per line, "\\n" ends a line.

Lines are split only at "\\n". ``str.splitlines`` also splits at U+2028, U+0085 and a few more
characters. Public corpora have these inside sentences, so all later lines would no longer match
their translations.
"""

import codecs
import contextlib
import gzip
import io
import logging
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import category

from seq2seq.config.evaluation import unspaced
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, digest

log = logging.getLogger(__name__)
warn_once = cache(log.warning)

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz"}
"""First bytes of a compressed file -> its format."""
COMPRESSIONS = tuple(_OPENERS)
"""File name endings of compressed files."""
SIDES = ("source", "target")

TextFolder = tuple[Path, Callable[[], object] | None]
"""Folder of text, and the function to make it if missing (None for the user's own folder)."""

LONGEST_LINE = 1 << 20
"""Maximum line length in bytes. It limits the memory for a file without line breaks, for example a
decompression bomb."""


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file to read its bytes; unpack it if its first bytes or name say .gz or .xz.

    UserError if the file is missing, cannot be read, or is compressed and damaged.
    """
    ending = ""
    try:
        with path.open("rb") as raw:
            start = raw.peek(8)  # a pipe cannot be read from the start again
            packed = [end for magic, end in _MAGIC.items() if start.startswith(magic)]
            ending = (packed or [path.suffix])[0]
            unpack = _OPENERS.get(ending)
            with unpack(raw) if unpack else raw as stream:
                yield stream
    except FileNotFoundError:
        raise UserError(f"There is no file {path}; check the path.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise UserError(
            f"{path} is not a complete {ending} file ({error}); copy or download it again."
        ) from error
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror or error}); check its path and permissions."
        ) from error


def bounded_lines(stream: io.BufferedIOBase | BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a stream as bytes; cut a line after :data:`LONGEST_LINE` + 1 bytes."""
    return iter(partial(stream.readline, LONGEST_LINE + 1), b"")


def read_lines(path: Path) -> Iterator[str]:
    """Yield the unpacked lines of a file; errors as in :func:`open_bytes`, :func:`decode_lines`."""
    with open_bytes(path) as stream:
        yield from decode_lines(bounded_lines(stream), str(path))


def decode_lines(raw_lines: Iterable[bytes], where: str) -> Iterator[str]:
    """Decode lines of bytes one by one, and yield each without its line end.

    One "\\n" is removed, and one "\\r" before it; a byte order mark at the start of the first line
    is dropped. UserError if a line is not UTF-8, holds a zero byte (as UTF-16 does) or has more
    than :data:`LONGEST_LINE` bytes; the message begins with ``where`` and the line's number. A
    file whose only line ends are "\\r" is refused, too.
    """
    for number, raw in enumerate(raw_lines, start=1):
        if len(raw) > LONGEST_LINE:
            raise UserError(
                f"{where}, line {number} has more than {LONGEST_LINE:,} bytes; write one sentence "
                "per line."
            )
        try:
            line, bad = raw.decode("utf-8"), raw.find(b"\0")
        except UnicodeDecodeError as error:
            bad = error.start
        if bad >= 0:
            raise UserError(
                f"{where}, line {number}, byte {bad + 1}: 0x{raw[bad]:02x} is not UTF-8 text; "
                f"{_remedy(raw)}."
            )
        if number == 1:
            line = line.removeprefix("\ufeff")
            if "\r" in line.strip("\r") and "\n" not in line:
                raise UserError(
                    f"{where} has the line ends of old Macs, CR without LF; convert it with "
                    r"tr '\r' '\n' < OLD > NEW."
                )
        if line.endswith("\n"):
            line = line[:-1].removesuffix("\r")
        yield line


def _remedy(line: bytes) -> str:
    """Say how to repair a line that is not UTF-8 or holds zero bytes, as UTF-16 does."""
    marked = line[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    zero, whole = line.find(b"\0"), line.decode("utf-8", "ignore").encode() == line
    if not marked and zero >= 0 and whole and line.count(b"\0") < len(line) / 4:
        return "remove the zero bytes, for example with tr -d '\\000'"
    if not marked and zero < 0:
        return "convert it with iconv -f ENCODING -t UTF-8 OLD > NEW (LATIN1, GB18030, ...)"
    kind = "UTF-16" if marked else "UTF-16LE" if zero % 2 else "UTF-16BE"
    return f"if it is {kind}, convert it with iconv -f {kind} -t UTF-8 OLD > NEW"


def count_lines(path: Path) -> int:
    """Count the lines of a plain, .gz or .xz file; errors as in :func:`read_lines`."""
    return sum(1 for _ in read_lines(path))


def content_digest(path: Path) -> str:
    """SHA-256, in hexadecimal, of the content of a file, unpacked if it is compressed."""
    with open_bytes(path) as stream:
        return digest(iter(partial(stream.read, BLOCK), b""))


class LineWriter:
    """Writes a text file completely or not at all; compresses it if its name ends in .gz or .xz.

    Use it in a ``with`` block. Lines go to the file ``part``. At the end of the block, ``part``
    replaces ``path`` (or the file that the link ``path`` points to). If the block or the
    replacement fails, ``part`` is removed. A named pipe, a device, or a file that this process
    has open for writing (/dev/stdout) is written directly. Errors of the disk become
    :class:`UserError`.
    """

    def __init__(self, path: Path, keep_unfinished: bool = False) -> None:
        """Write to ``path``; with ``keep_unfinished``, a failure leaves the lines in ``part``.

        The next writer with ``keep_unfinished`` does not replace them, but raises UserError.
        """
        linked = path.is_symlink() and (path.is_file() or not path.exists())
        self.path = path.resolve() if linked else path
        self.part = self.path.with_name(self.path.name + ".part")
        self.count = 0
        """Number of lines written so far."""
        self._keep_unfinished = keep_unfinished

    def __enter__(self) -> "LineWriter":
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            stream = _open_stream(self.path)
            if stream is not None or (self.path.exists() and not self.path.is_file()):
                self.part = self.path
            elif self._keep_unfinished and self.part.is_file() and self.part.stat().st_size:
                raise UserError(f"{self.part} holds lines of an earlier run; move or delete it.")
            if self.part != self.path:
                self.part.unlink(missing_ok=True)  # another run that writes it keeps its own file
            self._raw = self.part.open("wb") if stream is None else os.fdopen(os.dup(stream), "wb")
        except OSError as error:
            raise self._refused(error) from error
        self._packed = _packing(self._raw, self.path.suffix)
        return self

    def write(self, line: str) -> None:
        """Write ``line`` and a "\\n"; ``line`` itself must not hold one."""
        assert "\n" not in line, f"a line break inside {line!r}"
        try:
            self._packed.write(line.encode("utf-8") + b"\n")
        except OSError as error:
            raise self._refused(error) from error
        self.count += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            with self._raw, self._packed:
                pass  # close both, even if one fails
            if kind is None and self.part != self.path:
                self.part.replace(self.path)
        except OSError as error:
            if kind is None:  # otherwise the error of the block is more useful
                raise self._refused(error) from error
        finally:
            if self.part != self.path and not (self._keep_unfinished and self.count):
                self.part.unlink(missing_ok=True)

    def _refused(self, error: OSError) -> UserError:
        return UserError(
            f"{self.path} cannot be written ({error.strerror or error}); choose another "
            "path, or free some space."
        )


def _open_stream(path: Path) -> int | None:
    """Return this process's open write descriptor of ``path``; None if it has none."""
    streams = Path("/dev/fd")
    if path.is_file() and streams.is_dir():  # not on Windows
        import fcntl

        for descriptor in [int(stream.name) for stream in streams.iterdir()]:
            with contextlib.suppress(OSError):  # iterdir's own descriptor is closed by now
                writes = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
                if writes and os.path.samestat(path.stat(), os.fstat(descriptor)):
                    return descriptor
    return None


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


def _packing(raw: io.BufferedWriter, suffix: str) -> io.BufferedIOBase:
    if suffix == ".gz":
        # No name and no time in the file: equal lines make equal files.
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb")
    return raw


@dataclass(frozen=True)
class ParallelText:
    """Two text files (plain, .gz or .xz); line i of one translates line i of the other."""

    source: Path
    target: Path
    more_targets: tuple[Path, ...] = ()
    """Files of the other references of a test set."""

    @property
    def files(self) -> list[Path]:
        """Source and target."""
        return [self.source, self.target]


@dataclass(frozen=True)
class Corpus:
    """Checked text for training, validation and testing."""

    kind: str
    source_language: str
    target_language: str
    train: ParallelText
    valid: ParallelText
    tests: dict[str, ParallelText]
    """Name of a test set -> its text; at least one."""

    def hashes(self) -> dict[str, str]:
        """Return ``<train|valid>.<source|target>`` -> SHA-256 of the unpacked text."""
        return {
            f"{name}.{side}": content_digest(getattr(text, side))
            for name, text in (("train", self.train), ("valid", self.valid))
            for side in SIDES
        }


def check_text(name: str, text: ParallelText) -> None:
    """Refuse text that is not UTF-8 or is empty, or whose files differ in their line counts."""
    counts = [count_lines(path) for path in text.files]
    for path, count in zip(text.files, counts, strict=True):
        if not count:
            raise UserError(f"{path} is empty; the {name} text needs at least one line.")
        if count != counts[0]:
            raise UserError(
                f"The line counts of the {name} text differ: {text.source} has {counts[0]:,}, "
                f"{path} has {count:,}; line i of each file must belong to pair i."
            )


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """Yield line i of one text with line i of the other.

    UserError if a file cannot be read, or if the numbers of lines differ.
    """
    try:
        yield from zip(read_lines(source), read_lines(target), strict=True)
    except ValueError:
        raise UserError(
            f"{source} has {count_lines(source):,} lines, {target} has {count_lines(target):,}; "
            "line i of one file must translate line i of the other."
        ) from None


def read_aligned(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Return the lines of two texts; errors as in :func:`read_pairs`."""
    pairs = list(read_pairs(source, target))
    return [line for line, _ in pairs], [line for _, line in pairs]


def read_references(text: ParallelText) -> tuple[list[str], list[list[str]]]:
    """Return the sources and the lines of each reference.

    UserError if a line is blank in some references but not in all.
    """
    columns = [read_aligned(text.source, path) for path in (text.target, *text.more_targets)]
    references = [lines for _, lines in columns]
    for number, lines in enumerate(zip(*references, strict=True), start=1):
        if len({bool(line.strip()) for line in lines}) > 1:
            raise UserError(
                f"Line {number} of {text.source} has a blank reference; fill it in, or make all "
                "references of this line blank."
            )
    return columns[0][0], references


def find_file(folder: Path, name: str) -> Path | None:
    """Return the file ``name`` in ``folder``, plain, .gz or .xz; None if there is none."""
    paths = (folder / (name + ending) for ending in ("", *COMPRESSIONS))
    return next((path for path in paths if path.is_file()), None)


def find_text(
    folder: Path, name: str, languages: tuple[str, str]
) -> tuple[ParallelText | None, list[str]]:
    """Find the text ``name`` in a folder; return it and [], or None and the missing file names.

    The names of the two files end in the language codes or in ``source`` and ``target``. Each may
    be plain, .gz or .xz. ``val`` is another name for ``valid``. The first text that has both files
    is used.
    """
    stems = ("valid", "val") if name == "valid" else (name,)
    names = [[f"{stem}.{end}" for end in ends] for ends in (languages, SIDES) for stem in stems]
    found = [{name: find_file(folder, name) for name in pair} for pair in names]
    pair = max(found, key=lambda pair: sum(path is not None for path in pair.values()))
    source, target = pair.values()
    if source is None or target is None:
        return None, [name for name, path in pair.items() if path is None]
    return ParallelText(source, target), []


def find_test_names(folder: Path, languages: Sequence[str]) -> list[str]:
    """List the names of test sets ("test" for test.<language>) that have files for both sides.

    A warning names each file whose other side is missing. If no test set has both files, list all
    test sets that have one file, without a warning.
    """
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("test*")):
        plain = path.stem if path.suffix in COMPRESSIONS else path.name
        stem, _, ending = plain.rpartition(".")
        if ending in (*languages, *SIDES) and path.is_file():
            found.setdefault(stem, {})[ending] = path
    names = [n for n, of in found.items() if {*languages} <= of.keys() or {*SIDES} <= of.keys()]
    for name in sorted(found.keys() - names) if names else ():
        warn_once(f"{next(iter(found[name].values()))} is left out: its translation is missing.")
    return names or [*found]
