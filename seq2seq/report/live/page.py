"""The live page as one HTML file, with small models inside."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.config.evaluation import unspaced
from seq2seq.looks import DARK

TEMPLATE = Path(__file__).with_name("live.html")


def describe(name: str, colour: str, model: dict[str, Any]) -> dict[str, Any]:
    """Describe a system: ``colour`` of its line in light figures, packed ``model``."""
    return {"name": name, "colour": [colour, DARK[colour]], "model": model}


def render_live(
    systems: Sequence[dict[str, Any]],
    languages: tuple[str, str],
    ready: Sequence[dict[str, Any]],
    report: str | None = None,
) -> bytes:
    """Render the page; equal content makes equal bytes.

    ``systems`` come from :func:`describe`. ``ready`` has the groups of ready sentences. ``report``
    is the file name of the comparison's page, in the same folder.
    """
    source, target = languages
    content = {"source": source, "target": target, "characters": unspaced(target)}
    content |= {"systems": systems, "ready": ready, "report": report}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    html = TEMPLATE.read_text(encoding="utf-8")
    # No text may end the script that holds it; a lone surrogate must not stop the page.
    return html.replace("{{ content }}", text.replace("<", "\\u003c")).encode("utf-8", "replace")
