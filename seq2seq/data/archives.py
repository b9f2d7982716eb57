"""Take text files out of downloaded archives, trusting nothing an archive says.

Only regular files asked for by their exact name are written, to paths chosen here; sizes are
bounded while unpacking, and the checksum at the end of the gzip stream is always reached.
"""

import contextlib
import gzip
import hashlib
import io
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from seq2seq.errors import UserError
from seq2seq.files import BLOCK


def gunzip(archive: Path, path: Path, sha256: str, max_bytes: int, url: str) -> None:
    """Unpack ``archive`` to ``path``, which appears only if its content has the SHA-256 expected.

    An archive that fails is deleted, so that it is downloaded afresh next time. ``url`` is where
    it came from, for the message.
    """
    part = path.with_name(path.name + ".part")
    digest = hashlib.sha256()
    try:
        with _content(archive, max_bytes) as content, part.open("wb") as stream:
            while block := content.read(BLOCK):
                digest.update(block)
                stream.write(block)
    except UserError as error:
        _delete(part, archive)
        raise UserError(f"{url}: {error}") from None
    if digest.hexdigest() != sha256:
        _delete(part, archive)
        raise UserError(
            f"{path.name} from {url} has SHA-256 {digest.hexdigest()}, not {sha256}: it is damaged "
            "or was altered and has been deleted; run again, set corpus.mirror to another base "
            "URL, or use corpus=files for altered text."
        )
    part.replace(path)


def extract(archive: Path, members: dict[str, Path], max_bytes: int) -> None:
    """Write the named members of a .tar.gz to the paths given, reading the archive once.

    Args:
        archive: the .tar.gz file.
        members: exact member name -> file to write. Nothing else in the archive is looked at.
        max_bytes: most bytes the archive may unpack to.

    Raises:
        UserError: a member is missing, a link or a folder, or there twice; the archive is no
            .tar.gz, cut short, damaged, or unpacks to more than ``max_bytes``.
    """
    missing = set(members)
    with (
        _content(archive, max_bytes) as content,
        tqdm(desc=archive.name, unit="B", unit_scale=True, disable=None) as bar,
    ):
        with tarfile.open(fileobj=content, mode="r|") as tar:
            for member in tar:
                if member.name not in members:
                    continue
                if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
                    raise UserError(
                        f"{archive}: {member.name} is not a regular file but a link or something "
                        "else, so it was not unpacked; get the archive from another place."
                    )
                if member.name not in missing:
                    raise UserError(
                        f"{archive}: {member.name} is in it twice; get the archive from another "
                        "place."
                    )
                source = tar.extractfile(member)
                assert source is not None  # it is a regular file
                with source, members[member.name].open("wb") as stream:
                    while block := source.read(BLOCK):
                        stream.write(block)
                        bar.update(len(block))
                missing.remove(member.name)
        # A tar ends before its gzip stream does; only the end of that has the checksum.
        while content.read(BLOCK):
            pass
    if missing:
        raise UserError(
            f"{archive} holds no {' and no '.join(sorted(missing))}; get the archive from another "
            "place."
        )


class _Bounded(io.RawIOBase):
    """The content of a gzip stream, which may not be longer than ``max_bytes``."""

    def __init__(self, name: str, stream: gzip.GzipFile, max_bytes: int) -> None:
        self.name = name
        self.stream = stream
        self.max_bytes = max_bytes
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        block = self.stream.read(size)
        self.count += len(block)
        if self.count > self.max_bytes:
            raise UserError(
                f"{self.name} unpacks to more than the {self.max_bytes:,} bytes it may, so it is "
                "something else; get it from another place."
            )
        return block


@contextlib.contextmanager
def _content(archive: Path, max_bytes: int) -> Iterator[_Bounded]:
    try:
        with gzip.open(archive, "rb") as stream:
            yield _Bounded(archive.name, stream, max_bytes)
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        reason = str(error).rstrip(".")
        raise UserError(
            f"{archive.name} is damaged or no archive of this kind ({reason}); download it again, "
            "or get it from another place."
        ) from None


def _delete(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
