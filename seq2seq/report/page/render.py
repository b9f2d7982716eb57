"""Content to HTML: one file that asks nobody for anything."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from seq2seq.report.page.content import PageContent
from seq2seq.report.style import COLOURS

HERE = Path(__file__).parent
ON_DARK = {"#000000": "#F5F5F5", "#0072B2": "#4FA8DE"}
"""Colours of the figures that would drown in a dark page -> what stands for them there."""


def render_page(content: PageContent) -> bytes:
    """The page; the same content gives the same bytes."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,  # whatever a test set holds stays text
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _palette() + (HERE / "page.css").read_text(encoding="utf-8")
    script = (HERE / "page.js").read_text(encoding="utf-8")
    page = environment.get_template("page.html.jinja").render(
        page=content,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        map_data=embedded(content.maps.data),
    )
    # A text that is no Unicode, as half a character of a damaged file, must not cost the page.
    return page.encode("utf-8", "replace")


def embedded(data: Any) -> str:
    """JSON for a script element, out of which no text in it can break."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _palette() -> str:
    """The colours of the figures, light and dark."""
    pairs = [f"light-dark({colour}, {ON_DARK.get(colour, colour)})" for colour in COLOURS]
    names = [f"--colour-{number}: {pair};" for number, pair in enumerate(pairs)]
    classes = [
        f".colour-{number} {{ --colour: var(--colour-{number}); }}"
        for number in range(len(COLOURS))
    ]
    return f":root {{ {' '.join(names)} }}\n" + "\n".join(classes) + "\n"


def _hash(text: str) -> str:
    """Of a script or style, for the page's policy: no other is run or applied."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
