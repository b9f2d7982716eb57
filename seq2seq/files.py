"""Files that appear whole or not at all."""

import json
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: bytes) -> None:
    """Write beside ``path`` and rename, so that a reader never meets half a file."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def encode_json(data: Any) -> bytes:
    """Plain JSON in UTF-8; ValueError or TypeError for what JSON does not know, NaN included."""
    return (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_json(path: Path, data: Any) -> None:
    """Write plain JSON; see the two above."""
    write_whole(path, encode_json(data))
