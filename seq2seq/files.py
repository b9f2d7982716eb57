"""Files: read within bounds, written whole or not at all."""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock

from seq2seq.errors import UserError

BLOCK = 1 << 20
"""Bytes read at a time where lines do not matter."""
JSON_BYTES = 1 << 24
"""Most bytes of a JSON file: read, it takes some twenty times the memory."""
TEXT_BYTES = 1 << 26
"""Most bytes of a vocabulary's file, and of a subword model's."""


def open_plain(path: Path, most: int) -> BinaryIO:
    """Open a file of a checkpoint, which may come from somebody else.

    Raises:
        FileNotFoundError: there is none.
        UserError: it is a link or no file, has more than ``most`` bytes, or cannot be read.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UserError(f"{path} is not a plain file; use a copy that holds the file itself.")
    try:
        size = path.stat().st_size
        if size <= most:
            return path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); check its rights.") from None
    raise UserError(
        f"{path} has {size:,} bytes, more than the {most:,} such a file may have; use another copy."
    )


def read_plain(path: Path, most: int) -> bytes:
    """Read a file of a checkpoint; errors as :func:`open_plain`."""
    with open_plain(path, most) as file:
        return file.read()


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
    """Return the SHA-256, in hexadecimal, of the blocks one after the other."""
    whole = hashlib.sha256()
    for block in blocks:
        whole.update(block)
    return whole.hexdigest()


def file_digest(file: BinaryIO) -> str:
    """Return the SHA-256, in hexadecimal, of what is left to read of an open file."""
    return digest(iter(lambda: file.read(BLOCK), b""))


def write_whole(path: Path, content: bytes) -> None:
    """Write next to ``path`` and rename, so that a reader never meets half a file."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def encode_json(data: Any) -> bytes:
    """Encode plain JSON in UTF-8; ValueError or TypeError for what JSON does not know."""
    return (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_json(path: Path, data: Any) -> None:
    """Write plain JSON whole or not at all."""
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


def make_folder(folder: Path, fill: Callable[[Path], object]) -> Path:
    """Return ``folder``; if it is not there, make it by ``fill``, which writes into an empty one.

    Processes started together wait for the one that came first. Files have reached the disk before
    the name does, so that a power cut leaves no folder of half of them.
    """
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if folder.is_dir():
            return folder
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)  # left by a process that was killed
        part.mkdir()
        try:
            fill(part)
            for path in (*part.iterdir(), part):
                flush_to_disk(path)
            part.replace(folder)
            flush_to_disk(folder.parent)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return folder
