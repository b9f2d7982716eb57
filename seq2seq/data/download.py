"""Download one file: resumed, bounded, and under its real name only when it is complete.

The bytes go to ``<name>.part``. A broken connection leaves that file behind and the next attempt,
in this process or a later one, asks the server for the rest only. Every failure ends in one
sentence that names the URL and the two ways around the network.
"""

import logging
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import requests
import urllib3
from tqdm import tqdm

from seq2seq.errors import UserError
from seq2seq.files import BLOCK

logger = logging.getLogger(__name__)

WAYS_OUT = (
    "set corpus.mirror to another base URL, or corpus.directory to a folder that holds the files"
)


@dataclass(frozen=True)
class Patience:
    """How long to insist on an answer."""

    attempts: int = 4
    """Connections tried before giving up."""
    backoff: float = 0.5
    """Seconds before the second attempt; doubles with each further one."""
    timeout: float = 20.0
    """Seconds of silence after which a connection counts as broken."""


USUAL = Patience()


class _BrokenError(Exception):
    """A failure that may pass: worth another attempt."""


def fetch(url: str, path: Path, max_bytes: int, patience: Patience = USUAL) -> None:
    """Download ``url`` (http, https or file) to ``path``, which appears only when complete.

    Args:
        url: where the file is.
        path: where it goes; its folder is made if need be.
        max_bytes: a longer answer is refused, before it fills the disk.
        patience: attempts, waits and timeouts.

    Raises:
        UserError: no such file, no answer, an answer cut short, or one that is too long.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    scheme = urllib.parse.urlsplit(url).scheme
    if scheme == "file":
        _copy(url, part, max_bytes)
    elif scheme in ("http", "https"):
        _insist(url, part, max_bytes, patience)
    else:
        raise UserError(
            f"{url} cannot be downloaded: only http, https and file URLs are known; "
            "correct corpus.mirror."
        )
    part.replace(path)
    logger.info("Downloaded %s (%d bytes) from %s", path, path.stat().st_size, url)


def _insist(url: str, part: Path, max_bytes: int, patience: Patience) -> None:
    """Connect until the file is complete or the attempts are used up."""
    wait = patience.backoff
    for attempt in range(1, patience.attempts + 1):
        try:
            _transfer(url, part, max_bytes, patience.timeout)
            return
        except _BrokenError as error:
            reason = str(error)
            logger.warning("%s: %s (attempt %d of %d)", url, reason, attempt, patience.attempts)
        if attempt < patience.attempts:
            time.sleep(wait)
            wait *= 2
    times = "1 attempt" if patience.attempts == 1 else f"{patience.attempts} attempts"
    raise UserError(f"{url} could not be downloaded in {times} ({reason}); {WAYS_OUT}.")


def _transfer(url: str, part: Path, max_bytes: int, timeout: float) -> None:
    """Make one connection, and add what it sends to ``part``; returns when that is complete."""
    # The file as it lies on the server: no compression on the way, so that lengths can be compared.
    headers = {"Accept-Encoding": "identity"}
    origin, version = _recall(part)
    offset = part.stat().st_size if origin == url else 0
    if offset:
        headers["Range"] = f"bytes={offset}-"
        if version:
            headers["If-Range"] = version  # "the rest if it is this version still, else all of it"
    try:
        with requests.get(url, headers=headers, stream=True, timeout=timeout) as response:
            _require_secure(url, response)
            status = response.status_code
            if status == 416:  # what lies here is not a beginning of what lies there
                _forget(part)
                raise _BrokenError("the server could not resume; starting over")
            if status in (408, 429) or status >= 500:
                raise _BrokenError(f"the server answered {status} {response.reason}")
            if status not in (200, 206):
                raise UserError(
                    f"{url} could not be downloaded: the server answered {status} "
                    f"{response.reason}; {WAYS_OUT}."
                )
            if status == 200:
                offset = 0
            elif _range_start(response) != offset:
                _forget(part)
                raise _BrokenError("the server sent another part than asked for; starting over")
            length = response.headers.get("Content-Length", "")
            total = offset + int(length) if length.isdecimal() else None
            if (total or 0) > max_bytes:
                _refuse_size(url, part, max_bytes)
            if not offset:
                _remember(url, response, part)
            _append(url, response, part, offset, total, max_bytes)
    except requests.exceptions.SSLError as error:
        raise UserError(
            f"{url} could not be downloaded: no secure connection ({_cause(error)}); {WAYS_OUT}."
        ) from None
    except (
        requests.ConnectionError,
        requests.Timeout,
        urllib3.exceptions.HTTPError,
    ) as error:
        raise _BrokenError(_cause(error)) from None
    except requests.RequestException as error:
        reason = str(error).rstrip(".")
        raise UserError(f"{url} could not be downloaded: {reason}; {WAYS_OUT}.") from None
    _note(part).unlink()


def _require_secure(url: str, response: requests.Response) -> None:
    """Refuse to be led from https to a connection on which anybody may answer."""
    for hop in (*response.history, response):
        if urllib.parse.urlsplit(url).scheme == "https" and not hop.url.startswith("https:"):
            raise UserError(
                f"{url} could not be downloaded: the server points to {hop.url}, which is not "
                f"secure; {WAYS_OUT}."
            )


def _append(
    url: str, response: requests.Response, part: Path, offset: int, total: int | None, limit: int
) -> None:
    """Write the body of ``response`` to ``part`` from ``offset`` on, and see that it is whole."""
    # Undecoded: a server that labels a .gz file "Content-Encoding: gzip" still sends the file.
    blocks: Iterator[bytes] = response.raw.stream(BLOCK // 16, decode_content=False)
    # Bytes that came before a break are kept for the next attempt; lengths are compared below.
    response.raw.enforce_content_length = False
    size = offset
    with (
        part.open("ab" if offset else "wb") as stream,
        tqdm(
            desc=part.name.removesuffix(".part"),
            initial=offset,
            total=total,
            unit="B",
            unit_scale=True,
            disable=None,
        ) as bar,
    ):
        for block in blocks:
            size += len(block)
            if size > limit:
                _refuse_size(url, part, limit)
            stream.write(block)
            bar.update(len(block))
    if total is not None and size != total:
        raise _BrokenError(f"the answer ended after {size} of {total} bytes")


def _copy(url: str, part: Path, max_bytes: int) -> None:
    """Copy what a file URL names."""
    parts = urllib.parse.urlsplit(url)
    origin = Path(urllib.request.url2pathname(parts.path))
    if parts.netloc not in ("", "localhost") or not origin.is_file():
        raise UserError(f"{url} names no file on this machine; {WAYS_OUT}.")
    size = 0
    with origin.open("rb") as source, part.open("wb") as stream:
        while block := source.read(BLOCK):
            size += len(block)
            if size > max_bytes:
                _refuse_size(url, part, max_bytes)
            stream.write(block)


def _range_start(response: requests.Response) -> int | None:
    """First byte of a partial answer: ``Content-Range: bytes 500-999/1000`` -> 500."""
    unit, _, span = response.headers.get("Content-Range", "").partition(" ")
    start = span.partition("-")[0]
    return int(start) if unit == "bytes" and start.isdecimal() else None


def _note(part: Path) -> Path:
    """Two lines beside ``part``: its URL, and what identifies its version on the server."""
    return part.with_name(part.name + ".origin")


def _remember(url: str, response: requests.Response, part: Path) -> None:
    part.unlink(missing_ok=True)  # never a note beside bytes of another file
    version = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
    if version.startswith("W/"):  # a weak tag does not promise equal bytes
        version = ""
    _note(part).write_text(f"{url}\n{version}", encoding="utf-8", newline="\n")


def _recall(part: Path) -> tuple[str, str]:
    """URL and version of what ``part`` holds; two empty strings when it cannot be continued."""
    if not part.is_file() or not _note(part).is_file():
        return "", ""
    url, _, version = _note(part).read_text(encoding="utf-8", errors="replace").partition("\n")
    return url, version


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _refuse_size(url: str, part: Path, max_bytes: int) -> NoReturn:
    _forget(part)
    raise UserError(
        f"{url} sends more than the {max_bytes:,} bytes this file may have, so it is something "
        f"else; {WAYS_OUT}."
    )


def _cause(error: BaseException) -> str:
    """Say why in a few words: requests wraps the system's own message several times over."""
    chain: list[BaseException] = []
    innermost: BaseException | None = error
    while innermost is not None:
        chain.append(innermost)
        innermost = innermost.__cause__ or innermost.__context__
    for link in chain:
        if isinstance(link, OSError) and link.strerror:
            return link.strerror
    if any(isinstance(link, requests.Timeout | urllib3.exceptions.TimeoutError) for link in chain):
        return "the server did not answer in time"
    return "the connection broke"
