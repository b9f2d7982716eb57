"""A folder of files that is whole or refused: sealed by a manifest, replaced in one stroke.

``manifest.json`` holds the size and SHA-256 of every other file. Writing goes to ``<name>.part``
beside the folder; then ``<name>`` is renamed to ``<name>.old``, the part takes its name, and the
old one is deleted. Whenever that is cut off, one of the three is whole and :func:`locate` finds it.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from seq2seq.errors import UserError
from seq2seq.files import (
    JSON_BYTES,
    file_digest,
    flush_to_disk,
    open_plain,
    parse_object,
    read_plain,
    write_json,
)

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
            path.name: {"bytes": path.stat().st_size, "sha256": _sealed_digest(path)}
            for path in sorted(part.iterdir())
        }
        write_json(part / MANIFEST, {"format": FORMAT, "files": files})
        for path in (*part.iterdir(), part):
            flush_to_disk(path)
        _swap_in(part, folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _swap_in(part: Path, folder: Path) -> None:
    old = _aside(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    try:
        part.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    flush_to_disk(folder.parent)
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


def verify(folder: Path, limits: Mapping[str, int]) -> set[str]:
    """Check files against the manifest and return the names of those it has.

    Args:
        folder: a sealed folder, perhaps a stranger's.
        limits: name -> most bytes of each file to check. No other file is opened.

    Raises:
        UserError: a file is missing, cut short, altered, too large or no plain file.
    """
    manifest = read_json(folder / MANIFEST)
    if manifest.get("format") != FORMAT:
        raise UserError(
            f"{MANIFEST} in {folder} is of format {manifest.get('format')!r}, not {FORMAT}; "
            "use the version of seq2seq that wrote it."
        )
    files = manifest.get("files")
    if not isinstance(files, dict):
        raise UserError(f"{MANIFEST} in {folder} is altered: it lists no files; {REMEDY}.")
    for name in files:
        if name != Path(name).name:
            raise UserError(
                f"{MANIFEST} in {folder} is altered: {name!r} is not a name in that folder; "
                f"{REMEDY}."
            )
    names = files.keys() & limits.keys()
    for name in sorted(names):
        _verify_file(folder, name, files[name], limits[name])
    return names


def _verify_file(folder: Path, name: str, entry: Any, most: int) -> None:
    try:
        size, expected = entry["bytes"], entry["sha256"]
    except (KeyError, TypeError):
        raise UserError(
            f"{MANIFEST} in {folder} is altered: it does not describe {name}; {REMEDY}."
        ) from None
    try:
        with open_plain(folder / name, most) as file:
            actual = os.fstat(file.fileno()).st_size
            if actual != size:
                raise UserError(
                    f"{name} in {folder} is altered: it has {actual} bytes, but {size!r} were "
                    f"written; {REMEDY}."
                )
            if file_digest(file) != expected:
                raise UserError(
                    f"{name} in {folder} is altered: its SHA-256 is not the one in {MANIFEST}; "
                    f"{REMEDY}."
                )
    except FileNotFoundError:
        raise UserError(f"{name} is missing in {folder}; {REMEDY}.") from None


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
        return parse_object(read_plain(path, JSON_BYTES))
    except FileNotFoundError:
        raise UserError(f"{path.name} is missing in {path.parent}; {REMEDY}.") from None
    except ValueError:  # what both broken JSON and broken UTF-8 raise
        raise UserError(
            f"{path.name} in {path.parent} is altered: it holds no JSON object; {REMEDY}."
        ) from None


def _sealed_digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file)
