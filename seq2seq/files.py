"""Files and folders written whole or not at all; strict JSON; SHA-256."""

import contextlib
import errno
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pydantic_core
from filelock import FileLock, Timeout

from seq2seq.errors import UserError

log = logging.getLogger(__name__)

LACKING = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK}
"""Error numbers of a file system that does not support an operation."""
BLOCK = 1 << 20
"""Number of bytes read at a time."""


def digest(blocks: Iterable[bytes]) -> str:
    """SHA-256, in hexadecimal, of the concatenated blocks."""
    whole = hashlib.sha256()
    for block in blocks:
        whole.update(block)
    return whole.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256, in hexadecimal, of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_state(path: Path) -> list[str | int]:
    """Path, size and modification time of a file; while they stay, so does its content."""
    state = path.stat()
    return [str(path.resolve()), state.st_size, state.st_mtime_ns]


def parse_object(content: bytes) -> dict[str, Any]:
    """Decode a JSON object; ValueError for anything else, also for NaN and too deep nesting."""
    data = pydantic_core.from_json(content, allow_inf_nan=False)
    if not isinstance(data, dict):
        raise ValueError(f"it holds a {type(data).__name__}, not an object")
    return data


def read_object(path: Path, remedy: str) -> dict[str, Any]:
    """Read a JSON object from a file; other content raises a UserError that ends in ``remedy``."""
    try:
        return parse_object(path.read_bytes())
    except ValueError:  # raised for both broken JSON and broken UTF-8
        raise UserError(f"{path} is not a valid JSON object; {remedy}.") from None


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Read the updates in a file of JSON lines; skip damaged ones, such as half a line."""
    entries = []
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        with contextlib.suppress(ValueError):
            entry = parse_object(line)
            if isinstance(entry.get("update"), int):
                entries.append(entry)
    return entries


def write_json(path: Path, data: Any) -> None:
    """Write JSON, with dataclasses as objects; ValueError if a number is NaN or infinite."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False, default=asdict)
    write_whole(path, f"{text}\n".encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file next to ``path`` and rename it, so that a reader never sees half a file.

    A symbolic link at ``path`` is replaced, not followed."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            file.write(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; at the end of the block, it replaces ``folder``.

    A power cut always leaves a complete folder, there or as ``<name>.old``."""
    part, old = (folder.with_name(folder.name + suffix) for suffix in (".part", ".old"))
    shutil.rmtree(part, ignore_errors=True)  # left by a process that was killed
    part.mkdir(parents=True)
    try:
        yield part
        for path in part.iterdir():
            with contextlib.suppress(OSError):  # not every file system has modes
                path.chmod(part.stat().st_mode & 0o666)  # some programs' files are private
            _flush(path)
        _flush(part)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        part.rename(folder)
        _flush(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def make_folder(folder: Path, fill: Callable[[Path], object]) -> Path:
    """Return ``folder``; if it is missing, first make it, and let ``fill`` write the files.

    Only one process makes the folder; others that start at the same time wait for it."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.with_name(folder.name + ".lock")):
            if not folder.is_dir():
                with replacing_folder(folder) as part:
                    fill(part)
    return folder


@contextlib.contextmanager
def locked(path: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock file ``path`` during the context; on a file system without locks, warn.

    Without ``wait``, refuse a lock that another process holds."""
    lock = FileLock(path)
    try:
        lock.acquire(blocking=wait)
    except Timeout:
        raise UserError(f"{path.parent} is in use by another process; wait, or stop it.") from None
    except (OSError, NotImplementedError) as error:
        if getattr(error, "errno", errno.ENOSYS) not in LACKING:
            raise
        log.warning("The file system cannot lock %s; run only one process at a time.", path)
    try:
        yield
    finally:
        lock.release()


def _flush(path: Path) -> None:
    """Wait until a file, or a folder's list of names, has reached the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in LACKING:
            raise
    finally:
        os.close(descriptor)


def named_file(key: str, path: str, read_twice: bool = True) -> Path:
    """Return the path that the setting ``key`` names, if a file is there.

    A file that is ``read_twice`` cannot be a pipe, which is empty the second time."""
    file = Path(path)
    if file.is_file() or (file.exists() and not file.is_dir() and not read_twice):
        return file
    raise UserError(f"{key}={path}: there is no such file; check the path.")
