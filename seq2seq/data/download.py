"""Download one file of a public corpus."""

import shutil
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pooch

from seq2seq.errors import UserError
from seq2seq.files import set_usual_mode

RETRIES = 3
TIMEOUT = 20.0
"""Seconds without data after which a connection counts as broken."""


def fetch(base: str, name: str, folder: Path) -> Path:
    """Download ``<base>/<name>`` (http, https, file) into ``folder``, if it is not there yet."""
    base = base.rstrip("/") + "/"
    source = pooch.create(folder, base, registry={name: None}, retry_if_failed=RETRIES)
    remote = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), timeout=TIMEOUT)
    try:
        downloader = _copy if base.startswith("file:") else remote
        path = Path(source.fetch(name, downloader=downloader))
    except (OSError, ValueError) as error:  # errors of requests are OSErrors
        raise UserError(
            f"{base}{name} could not be downloaded ({error}); check the network, or set "
            "corpus.mirror to another base URL, or corpus.directory to a folder of the files."
        ) from error
    set_usual_mode(path)
    return path


def _copy(url: str, output: Any, _: pooch.Pooch) -> None:
    path = urllib.request.url2pathname(urllib.parse.urlsplit(url).path)
    shutil.copyfile(path, output if isinstance(output, str) else output.name)
