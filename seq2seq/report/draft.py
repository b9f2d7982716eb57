"""A document that is being filled: its marked parts, and the figures that it shows."""

import os
import re
from pathlib import Path

from seq2seq.errors import UserError
from seq2seq.files import write_whole


class Draft:
    """Text and figures of a document; nothing is written before all of it is made."""

    def __init__(self, document: Path, pictures: Path) -> None:
        """Read ``document``; its figures go to the folder ``pictures``.

        Raises:
            UserError: there is no such document, or it is not text.
        """
        if not document.is_file():
            raise UserError(f"There is no document {document}; give document=... a Markdown file.")
        self.document = document
        self._filled: set[str] = set()
        self._text = read_markdown(document)
        self._folder = pictures
        self._pictures: dict[Path, bytes] = {}

    @property
    def filled(self) -> int:
        """Parts so far."""
        return len(self._filled)

    def has(self, name: str) -> bool:
        """Whether the document has a place for the part ``name``."""
        return f"<!-- {name} -->" in self._text

    def fill(self, name: str, part: str, end: str | None = None) -> None:
        """Put ``part`` between ``<!-- name -->`` and ``<!-- /name -->``, or ``<!-- /end -->``.

        Raises:
            UserError: the document lacks one of the two lines, or this part has been put there.
        """
        if name in self._filled:
            raise UserError(
                f"Two results are called {name}, and {self.document} has place for one; leave one "
                "out, or publish them into different documents."
            )
        marks = f"<!-- {name} -->", f"<!-- /{end or name} -->"
        self._text = replace_part(self._text, marks, part, self.document)
        self._filled.add(name)

    def show(self, name: str, picture: bytes, description: str) -> str:
        """Keep a PNG as ``name`` and return the Markdown that shows it."""
        path = self._folder / f"{name}.png"
        self._pictures[path] = picture
        link = Path(os.path.relpath(path, self.document.parent)).as_posix()
        return f"![{description}]({link})"

    def write(self) -> None:
        """Write the figures and then the document."""
        for path, content in self._pictures.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        write_whole(self.document, self._text.encode())


def read_markdown(path: Path) -> str:
    """A text file with line feeds alone.

    Raises:
        UserError: it is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text; convert it, or name another file.") from None


def replace_part(text: str, marks: tuple[str, str], part: str, document: Path) -> str:
    """Put ``part`` between the two ``marks`` of ``text``."""
    start, end = marks
    # Up to the next end mark; another part's mark on the way means that this one has no end.
    pattern = re.compile(
        re.escape(start) + r"\n(?:(?!<!-- \w+:).)*?" + re.escape(end),
        re.DOTALL,
    )
    if not pattern.search(text):
        raise UserError(
            f"{document} has no place for this result; add the two lines {start} and {end}."
        )
    return pattern.sub(lambda _: f"{start}\n{part}\n{end}", text, count=1)
