"""A folder of files that is whole or refused: sealed by a manifest, replaced in one stroke.

``manifest.json`` holds the size and SHA-256 of every other file. Writing goes to ``<name>.part``
beside the folder; then ``<name>`` is renamed to ``<name>.old``, the part takes its name, and the
old one is deleted. Whenever that is cut off, one of the three is whole and :func:`locate` finds it.
"""

import contextlib
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, TypeVar

from seq2seq.errors import UserError
from seq2seq.files import write_json

T = TypeVar("T")

logger = logging.getLogger(__name__)

FORMAT = 1
MANIFEST = "manifest.json"
REMEDY = "copy the folder anew, or use another one"


@contextlib.contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; sealed, it takes the place of ``folder`` at the end.

    When the block raises, ``folder`` stays as it was.

    Raises:
        UserError: ``folder`` holds something that is not a sealed folder and would be lost.
    """
    if folder.exists() and not is_sealed(folder) and any(folder.iterdir()):
        raise UserError(
            f"{folder} exists and was not written by seq2seq, so it is not replaced; "
            "move it away or write elsewhere."
        )
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)  # left by a crash
    part.mkdir(parents=True)
    try:
        yield part
        files = {
            path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}
            for path in sorted(part.iterdir())
        }
        write_json(part / MANIFEST, {"format": FORMAT, "files": files})
        for path in (*part.iterdir(), part):
            _flush_to_disk(path)
        _swap_in(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _swap_in(part: Path, folder: Path) -> None:
    old = _aside(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    part.rename(folder)
    _flush_to_disk(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _aside(folder: Path) -> Path:
    """Where the old folder lies between the two renames of a swap."""
    return folder.with_name(folder.name + ".old")


def is_sealed(folder: Path) -> bool:
    """Whether ``folder`` has a manifest; :func:`verify` tells whether it is also intact."""
    return (folder / MANIFEST).is_file()


def remove(folder: Path) -> None:
    """Delete a folder, its manifest first: cut off, that leaves nothing that looks whole."""
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def locate(folder: Path) -> Path | None:
    """``folder`` itself, or its old content that a cut-off swap set aside; None without either."""
    return next((found for found in (folder, _aside(folder)) if is_sealed(found)), None)


def verify(folder: Path, wanted: Collection[str] | None = None) -> set[str]:
    """Check files against the manifest and return their names.

    Args:
        folder: a sealed folder.
        wanted: the files to check, if the manifest has them; None for all.

    Raises:
        UserError: a file is missing, cut short or altered.
    """
    manifest = read_json(folder / MANIFEST)
    try:
        if manifest["format"] != FORMAT:
            raise UserError(
                f"{MANIFEST} in {folder} is of format {manifest['format']!r}, not {FORMAT}; "
                "use the version of seq2seq that wrote it."
            )
        entries = {
            name: (int(entry["bytes"]), str(entry["sha256"]))
            for name, entry in manifest["files"].items()
            if wanted is None or name in wanted
        }
    except (AttributeError, KeyError, TypeError, ValueError):
        raise UserError(f"{MANIFEST} in {folder} is altered; {REMEDY}.") from None
    for name, (size, digest) in entries.items():
        if name != Path(name).name:
            raise UserError(
                f"{MANIFEST} in {folder} is altered: {name!r} is not a name in that folder; "
                f"{REMEDY}."
            )
        path = folder / name
        if not path.is_file():
            raise UserError(f"{name} is missing in {folder}; {REMEDY}.")
        if (actual := path.stat().st_size) != size:
            raise UserError(
                f"{name} in {folder} is altered: it has {actual} bytes, but {size} were written; "
                f"{REMEDY}."
            )
        if _sha256(path) != digest:
            raise UserError(
                f"{name} in {folder} is altered: its SHA-256 is not the one in {MANIFEST}; "
                f"{REMEDY}."
            )
    return set(entries)


def read_undisturbed(find: Callable[[], Path], read: Callable[[Path], T]) -> T:
    """``read`` the folder that ``find`` names; anew when another took its place meanwhile.

    A training run replaces its checkpoints while others translate with them. The folder that is
    swapped in is a new one on disk, with another inode.
    """
    for attempts_left in (4, 3, 2, 1, 0):
        folder = find()
        before = _inode(folder)
        try:
            result = read(folder)
        except (UserError, OSError):
            if _inode(folder) == before or not attempts_left:
                raise
        else:
            if _inode(folder) == before or not attempts_left:
                return result
        logger.info("%s was replaced while it was read; reading it again", folder)
    raise AssertionError("the last attempt returns or raises")


def _inode(folder: Path) -> int | None:
    try:
        return folder.stat().st_ino
    except OSError:
        return None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``, a file of a sealed folder."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path.name} is missing in {path.parent}; {REMEDY}.") from None
    except ValueError:  # what both broken JSON and broken UTF-8 raise
        data = None
    if not isinstance(data, dict):
        raise UserError(
            f"{path.name} in {path.parent} is altered: it holds no JSON object; {REMEDY}."
        )
    return data


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _flush_to_disk(path: Path) -> None:
    """Wait until a file, or the list of names in a folder, has reached the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
