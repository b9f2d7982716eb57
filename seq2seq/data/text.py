"""Text files as this project reads and writes them: UTF-8, one sentence a line, "\\n" ends a line.

Lines are split on "\\n" alone. ``str.splitlines`` also splits on U+2028, U+0085 and a few more,
which do occur inside sentences of public corpora and would shift every later line against its
translation.
"""

import codecs
import contextlib
import errno
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from seq2seq.errors import UserError
from seq2seq.files import BLOCK, digest

COMPRESSIONS = (".gz", ".xz")
"""File name endings that are unpacked while reading and packed while writing."""

LONGEST_LINE = 1 << 20
"""Bytes: a file without line breaks, such as one packed to unpack without end, fills no memory."""


def open_bytes(path: Path) -> io.BufferedIOBase:
    """Open a plain, .gz or .xz file for reading the bytes of its content."""
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rb")
        if path.suffix == ".xz":
            return lzma.open(path, "rb")
        return path.open("rb")
    except FileNotFoundError:
        raise UserError(f"There is no file {path}; check the path.") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from None


def bounded_lines(stream: io.BufferedIOBase | BinaryIO) -> Iterator[bytes]:
    """The lines of a stream as bytes, none read much beyond :data:`LONGEST_LINE`."""
    return iter(partial(stream.readline, LONGEST_LINE + 1), b"")


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a plain, .gz or .xz file, see :func:`decode_lines`.

    Raises:
        UserError: not UTF-8, or a line without end; or a compressed file that is cut short.
    """
    return decode_lines(_raw_lines(path), str(path))


def decode_lines(raw_lines: Iterable[bytes], where: str) -> Iterator[str]:
    """Yield the text of lines of bytes, each as it comes, without their line ends.

    One "\\n" is removed, and one "\\r" before it; a byte order mark at the start of the first line
    is dropped. Bytes that are not UTF-8 raise :class:`UserError` with ``where``, line and byte,
    both counted from 1; so does a line of more than :data:`LONGEST_LINE` bytes.
    """
    for number, raw in enumerate(raw_lines, start=1):
        if len(raw) > LONGEST_LINE:
            raise UserError(
                f"{where}, line {number} has more than {LONGEST_LINE:,} bytes; put one sentence on "
                "a line."
            )
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{where}, line {number}, byte {error.start + 1}: 0x{raw[error.start]:02x} is not "
                "valid UTF-8; convert the text, for example with iconv -f LATIN1 -t UTF-8."
            ) from None
        if number == 1:
            line = line.removeprefix("\ufeff")
        if line.endswith("\n"):
            line = line[:-1].removesuffix("\r")
        yield line


def count_lines(path: Path) -> int:
    """Count the lines of a plain, .gz or .xz file; raises what :func:`read_lines` raises."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    count, last, begun = 0, b"", 0
    try:
        for block in read_blocks(path):
            decoder.decode(block)
            count, last = count + block.count(b"\n"), block
            begun = len(block) - 1 - block.rfind(b"\n") + (begun if b"\n" not in block else 0)
            if begun > LONGEST_LINE:
                break
        else:
            decoder.decode(b"", final=True)
            return count + (last[-1:] not in (b"", b"\n"))
    except UnicodeDecodeError:
        pass
    # Only now do line numbers matter: the slow reader names the place and raises.
    return sum(1 for _ in read_lines(path))


def content_digest(path: Path) -> str:
    """SHA-256, in hexadecimal, of the content: of the unpacked bytes where the file is packed."""
    return digest(read_blocks(path))


class LineWriter:
    """A text file that appears whole or not at all; packed when its name ends in .gz or .xz.

    Used with ``with``: lines go to ``part``, which takes the place of ``path`` at the end of the
    block, and is removed when the block fails. A link stays one: its target is replaced. What is no
    ordinary file, such as a named pipe or a device, is written to as it is. What the disk refuses
    is a :class:`UserError`.
    """

    def __init__(self, path: Path, keep_unfinished: bool = False) -> None:
        """Write to ``path``; ``keep_unfinished`` leaves lines in ``part`` when the block fails."""
        self.path = path.resolve() if path.is_symlink() else path
        self.part = self.path.with_name(self.path.name + ".part")
        self.count = 0
        """Lines written so far."""
        self._keep_unfinished = keep_unfinished

    def __enter__(self) -> "LineWriter":
        """Open ``part``; its folder is created."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if self.path.exists() and not self.path.is_file():
                self.part = self.path
            self._raw = self.part.open("wb")
        except OSError as error:
            raise self._refused(error) from error
        self._packed = _packing(self._raw, self.path.suffix)
        return self

    def write(self, line: str) -> None:
        """Add a line; :class:`ValueError` for one with a "\\n" inside, which would become two."""
        if "\n" in line:
            place = f"line {self.count + 1} for {self.path}"
            raise ValueError(f"{place} holds a line break: {line!r}")
        try:
            self._packed.write(line.encode("utf-8") + b"\n")
        except OSError as error:
            raise self._refused(error) from error
        self.count += 1

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Rename, keep or remove ``part``."""
        keep = self.part == self.path
        try:
            with self._raw, self._packed:
                pass  # both are closed, whatever either says
            keep = keep or (self._keep_unfinished and kind is not None and self.count > 0)
            if kind is None and self.part != self.path:
                self.part.replace(self.path)
        except OSError as error:
            if kind is None:  # else the block's own failure says more
                raise self._refused(error) from error
        finally:
            if not keep:
                self.part.unlink(missing_ok=True)

    def _refused(self, error: OSError) -> UserError:
        return UserError(
            f"{self.path} cannot be written ({error.strerror or error}); choose another place, or "
            "make room there."
        )


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write ``lines`` to a file that appears whole or not at all; return how many there were."""
    with LineWriter(path) as writer:
        for line in lines:
            writer.write(line)
    return writer.count


def word_count(text: str) -> int:
    """Words of a sentence, separated by white space: what every length limit and bucket counts."""
    return len(text.split())


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yield the content of a plain, .gz or .xz file in blocks of bytes."""
    with _reading(path) as stream:
        yield from iter(partial(stream.read, BLOCK), b"")


def _raw_lines(path: Path) -> Iterator[bytes]:
    with _reading(path) as stream:
        yield from bounded_lines(stream)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[io.BufferedIOBase]:
    with open_bytes(path) as stream:
        try:
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
            reason = str(error).rstrip(".")
            raise UserError(
                f"{path} is not a whole {path.suffix} file ({reason}); copy or download it again."
            ) from None


def _packing(raw: io.BufferedWriter, suffix: str) -> io.BufferedIOBase:
    if suffix == ".gz":
        # No name and no time inside: equal lines make equal files.
        return gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
    if suffix == ".xz":
        return lzma.LZMAFile(raw, "wb")
    return raw
