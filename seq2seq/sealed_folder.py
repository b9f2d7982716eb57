"""A folder that is whole or refused: written next to its place, flushed, renamed, with a manifest.

``manifest.json`` holds the SHA-256 of every other file. A folder is written to ``<name>.part``;
then ``<name>`` is renamed to ``<name>.old``, the part takes its name, and the old one is deleted.
Wherever that is cut off, ``<name>`` or ``<name>.old`` is whole, and :func:`locate` finds it.
"""

import contextlib
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from seq2seq.errors import UserError
from seq2seq.files import file_digest, flush_to_disk, parse_object, write_json

FORMAT = 2
MANIFEST = "manifest.json"
REMEDY = "copy the folder again, or use another one"


@contextlib.contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; sealed, it replaces ``folder``, unless the block raises."""
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # left by a crash
    part.mkdir(parents=True)
    try:
        yield part
        files = {path.name: _sha256(path) for path in sorted(part.iterdir())}
        write_json(part / MANIFEST, {"format": FORMAT, "files": files})
        for path in (*part.iterdir(), part):
            flush_to_disk(path)
        if folder.exists():
            shutil.rmtree(_old(folder), ignore_errors=True)
            folder.rename(_old(folder))
        part.rename(folder)
        flush_to_disk(folder.parent)
        shutil.rmtree(_old(folder), ignore_errors=True)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def _old(folder: Path) -> Path:
    """Where the replaced folder lies between the two renames."""
    return folder.with_name(f"{folder.name}.old")


def is_sealed(folder: Path) -> bool:
    """Whether ``folder`` has a manifest; :func:`verify` says whether it is also intact."""
    return (folder / MANIFEST).is_file()


def locate(folder: Path) -> Path | None:
    """``folder`` itself, or what a cut-off replacement set aside; None without either."""
    return next((found for found in (folder, _old(folder)) if is_sealed(found)), None)


def remove(folder: Path) -> None:
    """Delete a folder, its manifest first: cut off, that leaves nothing that looks whole."""
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def verify(folder: Path, names: Collection[str]) -> set[str]:
    """Check these files of a sealed folder by its manifest; return those that it lists.

    Raises:
        UserError: a listed file is missing or altered, or there is no valid manifest.
    """
    manifest = read_json(folder / MANIFEST)
    if manifest.get("format") != FORMAT or not isinstance(files := manifest.get("files"), dict):
        raise UserError(
            f"{MANIFEST} in {folder} is not of format {FORMAT}; use the version of seq2seq that "
            f"wrote it, or {REMEDY}."
        )
    for name in sorted(listed := files.keys() & set(names)):
        if not (folder / name).is_file():
            raise UserError(f"{name} is missing in {folder}; {REMEDY}.")
        if _sha256(folder / name) != files[name]:
            raise UserError(
                f"{name} in {folder} is altered: its SHA-256 is not that in {MANIFEST}; {REMEDY}."
            )
    return listed


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a sealed folder; UserError where there is none."""
    try:
        return parse_object(path.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{path.name} is missing in {path.parent}; {REMEDY}.") from None
    except ValueError:  # what both broken JSON and broken UTF-8 raise
        raise UserError(f"{path.name} in {path.parent} is not JSON; {REMEDY}.") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file)
