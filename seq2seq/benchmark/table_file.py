"""What a benchmark leaves on disk: a table to read, and the numbers that it was made of."""

from pathlib import Path
from typing import Any

from seq2seq.files import write_json, write_whole


def write_table(folder: Path, name: str, markdown: str, data: dict[str, Any]) -> Path:
    """Write ``<name>.json`` and ``<name>.md`` into ``folder``; return the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{name}.json", data)
    table = folder / f"{name}.md"
    write_whole(table, markdown.encode())
    return table
