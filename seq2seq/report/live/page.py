"""The live page as one HTML file, with small models in the file or models on a server."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.config.evaluation import unspaced
from seq2seq.looks import DARK

TEMPLATE = Path(__file__).with_name("live.html")


def describe(name: str, kind: str, attends: bool, colour: str) -> dict[str, Any]:
    """Describe a system: ``kind`` of its attention, ``colour`` of its line in light figures."""
    return {"name": name, "kind": kind, "attends": attends, "colour": [colour, DARK[colour]]}


def render_live(
    systems: Sequence[dict[str, Any]],
    languages: tuple[str, str],
    ready: Sequence[dict[str, Any]],
    report: str | None = None,
) -> bytes:
    """Render the page; equal content makes equal bytes.

    ``systems`` come from :func:`describe`; one without the key ``model`` runs on the server that
    sends the page. ``ready`` has the groups of ready sentences. ``report`` is the file name of the
    comparison's page, in the same folder.
    """
    source, target = languages
    content = {"source": source, "target": target, "characters": unspaced(target)}
    content |= {"systems": systems, "ready": ready, "report": report}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    html = TEMPLATE.read_text(encoding="utf-8")
    # No text may end the script that holds it; a lone surrogate must not stop the page.
    return html.replace("{{ content }}", text.replace("<", "\\u003c")).encode("utf-8", "replace")


def content_policy(page: bytes) -> str:
    """Content security policy that lets the page run its own script and no other."""
    sources = {"script": "", "style": ""}
    for tag, text in re.findall(r"<(script|style)>(.*?)</\1>", page.decode(), re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources[tag] += f" 'sha256-{digest}'"
    return (
        f"default-src 'none'; script-src{sources['script']}; style-src{sources['style']}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
