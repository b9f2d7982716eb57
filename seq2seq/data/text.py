"""Text files as this project reads and writes them: UTF-8, one sentence a line, "\\n" ends a line.

Lines are split on "\\n" alone. ``str.splitlines`` also splits on U+2028, U+0085 and a few more,
which do occur inside sentences of public corpora and would shift every later line against its
translation.
"""

import codecs
import contextlib
import gzip
import io
import logging
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from seq2seq.errors import UserError
from seq2seq.files import BLOCK, digest

log = logging.getLogger(__name__)

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz"}
"""How a packed file begins."""
COMPRESSIONS = tuple(_OPENERS)
"""File name endings that are unpacked while reading and packed while writing."""
SIDES = ("source", "target")

TextFolder = tuple[Path, Callable[[], object] | None]
"""A folder of text, and what makes it, unless it is the user's own."""

LONGEST_LINE = 1 << 20
"""Bytes: a file without line breaks, such as one packed to unpack without end, fills no memory."""


@contextlib.contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a plain, .gz or .xz file for reading the bytes of its content, whatever its name.

    Raises:
        UserError: it is not there or cannot be read, or a compressed file is damaged.
    """
    ending = ""
    try:
        with path.open("rb") as raw:
            start = raw.peek(8)  # a pipe has no second beginning
            packed = [end for magic, end in _MAGIC.items() if start.startswith(magic)]
            ending = (packed or [path.suffix])[0]
            unpack = _OPENERS.get(ending)
            with unpack(raw) if unpack else raw as stream:
                yield stream
    except FileNotFoundError:
        raise UserError(f"There is no file {path}; check the path.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise UserError(
            f"{path} is not a whole {ending} file ({error}); copy or download it again."
        ) from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def bounded_lines(stream: io.BufferedIOBase | BinaryIO) -> Iterator[bytes]:
    """The lines of a stream as bytes, none read much beyond :data:`LONGEST_LINE`."""
    return iter(partial(stream.readline, LONGEST_LINE + 1), b"")


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a plain, .gz or .xz file; raises what :func:`decode_lines` does."""
    with open_bytes(path) as stream:
        yield from decode_lines(bounded_lines(stream), str(path))


def decode_lines(raw_lines: Iterable[bytes], where: str) -> Iterator[str]:
    """Yield the text of lines of bytes, each as it comes, without their line ends.

    One "\\n" is removed, and one "\\r" before it; a byte order mark at the start of the first line
    is dropped. Bytes that are not UTF-8, or are zero as in UTF-16, raise :class:`UserError` with
    ``where``, line and byte, both counted from 1; so does a line of more than :data:`LONGEST_LINE`
    bytes.
    """
    for number, raw in enumerate(raw_lines, start=1):
        if len(raw) > LONGEST_LINE:
            raise UserError(
                f"{where}, line {number} has more than {LONGEST_LINE:,} bytes; put one sentence on "
                "a line."
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
        if line.endswith("\n"):
            line = line[:-1].removesuffix("\r")
        yield line


def _remedy(line: bytes) -> str:
    """What to do with a text of which a line is not UTF-8; half of UTF-16 may be zeros."""
    marked = line[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    zero = line.find(b"\0")
    if zero >= 0 and not marked and line.count(b"\0") < len(line) / 4:
        return "remove zeros, for example with tr -d '\\000'"
    encoding = "LATIN1" if zero < 0 else "UTF-16LE" if zero % 2 else "UTF-16BE"
    return f"convert it, for example with iconv -f {'UTF-16' if marked else encoding} -t UTF-8"


def count_lines(path: Path) -> int:
    """Count the lines of a plain, .gz or .xz file; raises what :func:`read_lines` raises."""
    return sum(1 for _ in read_lines(path))


def content_digest(path: Path) -> str:
    """SHA-256, in hexadecimal, of the content: of the unpacked bytes where the file is packed."""
    with open_bytes(path) as stream:
        return digest(iter(partial(stream.read, BLOCK), b""))


class LineWriter:
    """A text file that appears whole or not at all; packed when its name ends in .gz or .xz.

    Used with ``with``: lines go to ``part``, which replaces ``path`` (of a link, the target) at the
    end of the block, and is removed when the block fails. A named pipe or a device is written to as
    it is, and so is a file that this process has open for writing, such as that of /dev/stdout.
    What the disk refuses is a :class:`UserError`.
    """

    def __init__(self, path: Path, keep_unfinished: bool = False) -> None:
        """Write to ``path``; ``keep_unfinished`` leaves lines in ``part`` when the block fails."""
        linked = path.is_symlink() and (path.is_file() or not path.exists())
        self.path = path.resolve() if linked else path
        self.part = self.path.with_name(self.path.name + ".part")
        self.count = 0
        """Lines written so far."""
        self._keep_unfinished = keep_unfinished

    def __enter__(self) -> "LineWriter":
        """Open ``part``; its folder is created."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            stream = _open_stream(self.path)
            if stream is not None or (self.path.exists() and not self.path.is_file()):
                self.part = self.path
            self._raw = self.part.open("wb") if stream is None else os.fdopen(os.dup(stream), "wb")
        except OSError as error:
            raise self._refused(error) from error
        self._packed = _packing(self._raw, self.path.suffix)
        return self

    def write(self, line: str) -> None:
        """Add a line, without its "\\n"."""
        assert "\n" not in line, f"a line break inside {line!r}"
        try:
            self._packed.write(line.encode("utf-8") + b"\n")
        except OSError as error:
            raise self._refused(error) from error
        self.count += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Rename, keep or remove ``part``."""
        unfinished = self._keep_unfinished and kind is not None and self.count > 0
        try:
            with self._raw, self._packed:
                pass  # both are closed, whatever either says
            if kind is None and self.part != self.path:
                self.part.replace(self.path)
        except OSError as error:
            if kind is None:  # else the block's own failure says more
                raise self._refused(error) from error
        finally:
            if self.part != self.path and not unfinished:
                self.part.unlink(missing_ok=True)

    def _refused(self, error: OSError) -> UserError:
        return UserError(
            f"{self.path} cannot be written ({error.strerror or error}); choose another place, or "
            "make room there."
        )


def _open_stream(path: Path) -> int | None:
    """The descriptor under which this process is writing to the file ``path``, if there is one."""
    streams = Path("/dev/fd")
    if path.is_file() and streams.is_dir():  # not on Windows
        import fcntl

        for descriptor in [int(stream.name) for stream in streams.iterdir()]:
            with contextlib.suppress(OSError):  # that of the listing is closed
                writes = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
                if writes and os.path.samestat(path.stat(), os.fstat(descriptor)):
                    return descriptor
    return None


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write ``lines`` to a file that appears whole or not at all; return how many there were."""
    with LineWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return writer.count


def word_count(text: str) -> int:
    """Words of a sentence, separated by white space: what every length limit and bucket counts."""
    return len(text.split())


def _packing(raw: io.BufferedWriter, suffix: str) -> io.BufferedIOBase:
    if suffix == ".gz":
        # No name and no time inside: equal lines make equal files.
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb")
    return raw


@dataclass(frozen=True)
class ParallelText:
    """Two text files (plain, .gz or .xz), line i of one translating line i of the other."""

    source: Path
    target: Path
    alignments: Path | None = None
    """Word alignments in Pharaoh format, one line per pair: ``0-0 1-2``, source-target, from 0."""

    @property
    def files(self) -> list[Path]:
        """Those of the three that are there, the source first."""
        return [path for path in (self.source, self.target, self.alignments) if path]


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


def find_text(
    folder: Path, name: str, languages: tuple[str, str]
) -> tuple[ParallelText | None, list[str]]:
    """A text of a folder by its name, or None and the files that it lacks.

    The files end in the two language codes or else in ``source`` and ``target``, plain or with .gz
    or .xz; that of the gold alignments, if any, in ``align``. ``val`` is another name for
    ``valid``. Of several texts the first with most files counts.
    """
    stems = ("valid", "val") if name == "valid" else (name,)
    names = [[f"{stem}.{end}" for end in ends] for ends in (languages, SIDES) for stem in stems]
    found = [{name: find_file(folder, [name]) for name in pair} for pair in names]
    pair = max(found, key=lambda pair: sum(path is not None for path in pair.values()))
    source, target = pair.values()
    if source is None or target is None:
        return None, [name for name, path in pair.items() if path is None]
    stem = next(iter(pair)).rpartition(".")[0]
    return ParallelText(source, target, find_file(folder, [f"{stem}.align"])), []


def find_test_names(folder: Path, languages: Sequence[str]) -> list[str]:
    """Names before the last dot of the files test*.<language> that are there for both sides.

    A warning names each file whose other side is missing. If there is no whole pair, the names of
    all these files are returned.
    """
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.glob("test*")):
        plain = path.stem if path.suffix in COMPRESSIONS else path.name
        stem, _, ending = plain.rpartition(".")
        if ending in (*languages, *SIDES) and path.is_file():
            found.setdefault(stem, {})[ending] = path
    names = [n for n, of in found.items() if {*languages} <= of.keys() or {*SIDES} <= of.keys()]
    for name in found.keys() - names if names else ():
        _warn(f"{next(iter(found[name].values()))} is left out: its other side is missing.")
    return names or [*found]


@cache
def _warn(message: str) -> None:
    log.warning(message)
