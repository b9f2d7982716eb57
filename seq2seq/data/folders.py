"""Folders of corpora: made whole or not at all, by one process at a time; files found by name."""

import contextlib
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2seq.data.text import COMPRESSIONS, content_digest
from seq2seq.errors import UserError
from seq2seq.files import flush_to_disk

try:
    import fcntl
except ImportError:  # Windows: two runs must not be started on an empty data folder at once
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Let one process in at a time; others wait, so that runs started together share one download.

    The lock belongs to the open file, not to its existence: it ends with the process that holds
    it, however that ends.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as stream:
        if fcntl is not None:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logger.info("Waiting for another process to finish below %s", lock.parent)
                fcntl.flock(stream, fcntl.LOCK_EX)
            except OSError:  # some network file systems know no locks
                logger.warning("No locks below %s: do not start two runs at once", lock.parent)
        yield


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes ``folder`` when the block ends without an error.

    What an earlier, broken-off attempt left is deleted first. Files have reached the disk before
    the name does, so that a power cut leaves no folder of half of them.
    """
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        for path in (*part.iterdir(), part):
            flush_to_disk(path)
        part.replace(folder)
        flush_to_disk(folder.parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def find_file(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of ``names`` that is a file of ``folder``: plain, else .gz, else .xz."""
    return next((path for name in names for path in _forms(folder, name)), None)


def find_pair(folder: Path, names: Sequence[tuple[str, str]]) -> dict[str, Path | None]:
    """Find the two sides of a text, plain, .gz or .xz, under names that belong together.

    Args:
        folder: an existing folder.
        names: what the two may be called, the usual names first.

    Returns:
        Name -> file of the first two that are there. Where there are none, of the first two of
        which one is there, else of the first two; None stands for a file that is not.

    Raises:
        UserError: a side is there plain and packed, and one is not the other.
    """
    candidates = [{name: _forms(folder, name) for name in pair} for pair in names]
    pair = max(candidates, key=lambda forms: sum(map(bool, forms.values())))
    for forms in pair.values():
        if len(forms) > 1 and len({content_digest(path) for path in forms}) > 1:
            raise UserError(
                f"{forms[0]} and {forms[1].name} are both there, and are not of one text; "
                "remove the one that does not belong to the text of the other language."
            )
    return {name: forms[0] if forms else None for name, forms in pair.items()}


def _forms(folder: Path, name: str) -> list[Path]:
    paths = [folder / (name + ending) for ending in ("", *COMPRESSIONS)]
    return [path for path in paths if path.is_file()]


def plain_name(path: Path) -> str:
    """File name without a .gz or .xz at its end."""
    return path.stem if path.suffix in COMPRESSIONS else path.name
