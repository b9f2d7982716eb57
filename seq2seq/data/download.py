"""Download one file of a public corpus."""

import sys
from pathlib import Path

import pooch

from seq2seq.errors import UserError


def fetch(base: str, name: str, folder: Path) -> Path:
    """Download ``<base>/<name>`` (http or https) into ``folder``, if it is not there yet."""
    base = base.rstrip("/") + "/"
    source = pooch.create(folder, base, registry={name: None}, retry_if_failed=3)
    try:
        return Path(source.fetch(name, progressbar=sys.stderr.isatty()))
    except (OSError, ValueError) as error:  # errors of requests are OSErrors
        raise UserError(
            f"{base}{name} could not be downloaded ({error}); check the network, or set "
            "corpus.mirror to another base URL, or corpus.directory to a folder of the files."
        ) from error
