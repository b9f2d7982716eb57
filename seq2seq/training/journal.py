"""A file of JSON objects, one a line, in the order of updates."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seq2seq.files import write_whole


class Journal:
    """Lines that are added as training goes, and forgotten where it goes back."""

    def __init__(self, path: Path, writes: bool = True) -> None:
        """Keep the journal in ``path``, made with the first line; or leave that to another."""
        self.path = path
        self.writes = writes

    def rewind(self, update: int) -> None:
        """Forget what was written after ``update``: those updates are made again."""
        self._keep(lambda entry: entry["update"] <= update)

    def _keep(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        if self.writes and self.path.exists():
            kept = [entry for entry in self.read() if wanted(entry)]
            write_whole(self.path, "".join(json.dumps(entry) + "\n" for entry in kept).encode())

    def sound(self, entry: Any) -> bool:
        """Whether a line holds what its readers count on."""
        return isinstance(entry, dict) and isinstance(entry.get("update"), int)

    def read(self) -> list[dict[str, Any]]:
        """All sound entries; a line cut short by a crash, or altered by hand, is dropped."""
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text(encoding="utf-8").split("\n"):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if self.sound(entry):
                entries.append(entry)
        return entries

    def add(self, entry: dict[str, Any]) -> None:
        """Append one entry; it has at least ``update``."""
        if not self.writes:
            return
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
