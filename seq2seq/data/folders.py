"""Folders of corpora: made whole or not at all, by one process at a time; files found by name."""

import contextlib
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from seq2seq.data.text import COMPRESSIONS

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

    What an earlier, broken-off attempt left is deleted first.
    """
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield part
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def find_file(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of ``names`` that is a file of ``folder``: plain, else .gz, else .xz."""
    for name in names:
        for ending in ("", *COMPRESSIONS):
            if (path := folder / (name + ending)).is_file():
                return path
    return None


def plain_name(path: Path) -> str:
    """File name without a .gz or .xz at its end."""
    return path.stem if path.suffix in COMPRESSIONS else path.name
