"""Files: read within bounds, written whole or not at all."""

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from seq2seq.errors import UserError

BLOCK = 1 << 20
"""Bytes read at a time where lines do not matter."""
JSON_BYTES = 1 << 24
"""Most bytes of a JSON file: read, it takes some twenty times the memory."""
TEXT_BYTES = 1 << 26
"""Most bytes of a vocabulary's file, and of a subword model's."""

# A pipe must not block, a link not lead elsewhere; systems without the flags have no such traps.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, flag, 0) for flag in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")
)


def open_plain(path: Path, most: int) -> BinaryIO:
    """Open a file for reading that may come from a stranger.

    Raises:
        FileNotFoundError: there is none.
        UserError: it is a link, a pipe, a folder or a device, has more than ``most`` bytes, or
            cannot be read.
    """
    try:
        if stat.S_ISLNK(path.lstat().st_mode):  # where opening would follow it
            _refuse_odd(path)
        file = os.fdopen(os.open(path, _FLAGS), "rb")
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        _refuse_odd(path)
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}); mend its rights, or use another copy."
        ) from None
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= most:
        return file
    file.close()
    if not stat.S_ISREG(status.st_mode):
        _refuse_odd(path)
    raise UserError(
        f"{path} has {status.st_size:,} bytes, more than the {most:,} such a file may have; "
        "it was altered, so use another copy."
    )


def _refuse_odd(path: Path) -> NoReturn:
    raise UserError(
        f"{path} is a link, a folder or something else that is no plain file; use a copy that "
        "holds the file itself."
    )


def read_plain(path: Path, most: int) -> bytes:
    """The content of a file that may come from a stranger; errors as :func:`open_plain`."""
    with open_plain(path, most) as file:
        return file.read(most)


def parse_json(content: bytes) -> Any:
    """Decode plain JSON; ValueError for what is none: NaN, infinities and endless nesting too."""
    try:
        return json.loads(content.decode("utf-8"), parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_object(content: bytes) -> dict[str, Any]:
    """Decode plain JSON that is one object; ValueError for anything else."""
    data = parse_json(content)
    if not isinstance(data, dict):
        raise ValueError(f"it holds a {type(data).__name__}, not an object")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no finite number")
    return number


def digest(blocks: Iterable[bytes]) -> str:
    """SHA-256, in hexadecimal, of the blocks one after the other."""
    whole = hashlib.sha256()
    for block in blocks:
        whole.update(block)
    return whole.hexdigest()


def file_digest(file: BinaryIO) -> str:
    """SHA-256, in hexadecimal, of what is left to read of an open file."""
    return digest(iter(lambda: file.read(BLOCK), b""))


def write_whole(path: Path, content: bytes) -> None:
    """Write beside ``path`` and rename, so that a reader never meets half a file."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def encode_json(data: Any) -> bytes:
    """Plain JSON in UTF-8; ValueError or TypeError for what JSON does not know, NaN included."""
    return (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_json(path: Path, data: Any) -> None:
    """Write plain JSON; see the two above."""
    write_whole(path, encode_json(data))


def flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, has reached the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open folders
        return
    # Windows flushes only what may be written.
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
