"""The live page as one HTML file, with models inside or for a server."""

import base64
import hashlib
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import EvaluationConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.scores import source_lengths
from seq2seq.looks import DARK
from seq2seq.report.live.pack import obstacle, packed

log = logging.getLogger(__name__)

TEMPLATE = Path(__file__).with_name("live.html")
EACH = 3
"""Number of sentences of each length."""


def comparison_page(comparison: Comparison) -> bytes | None:
    """Live page of the systems that fit into a page; None if none does. A log line has the rest."""
    systems, languages, left_out = [], ("", ""), []
    for system, (colour, *_) in zip(comparison.systems, comparison.looks, strict=True):
        try:
            checkpoint = evaluated_checkpoint(system.first)
            if reason := obstacle(checkpoint):
                raise UserError(f"it has {reason}.")
        except UserError as reason:
            left_out.append(f"{system.name}: {reason}")
            continue
        languages = checkpoint.source.language, checkpoint.target.language
        kind, attends = checkpoint.config.model.attention.kind, checkpoint.model.attends
        model = {"model": packed(checkpoint)}
        systems.append(describe(system.name, kind, attends, colour) | model)
    if left_out:
        log.info("Not in live.html, but serve shows any model: %s", " ".join(left_out))
    texts = comparison.systems[0].first.texts
    ready = ready_sentences(texts.sources, texts.references, comparison.settings)
    return render_live(systems, languages, ready, "page.html") if systems else None


def evaluated_checkpoint(evaluation: Evaluation) -> Checkpoint:
    """Load the one model that was evaluated; UserError if there is none any more."""
    match evaluation.record.identity.get("system"):
        case [{"path": str(path), "sha256": str(digest)}] if not evaluation.external:
            checkpoint = load_checkpoint(evaluation.directory.parent / path, torch.device("cpu"))
            if checkpoint.sha256 == digest:
                return checkpoint
            raise UserError(f"{checkpoint.directory} has changed since it was evaluated.")
    raise UserError("its translations are not those of one model.")


def describe(name: str, kind: str, attends: bool, colour: str) -> dict[str, Any]:
    """Describe a system for the page; ``colour`` is that of figures in a light scheme."""
    return {"name": name, "kind": kind, "attends": attends, "colour": [colour, DARK[colour]]}


def ready_sentences(
    sources: Sequence[str], references: Sequence[str], config: EvaluationConfig
) -> list[dict[str, Any]]:
    """Choose sentences near the end of each usual bucket: the first of the text.

    There is a length between the first two ends, too, where one vector begins to be too small.
    Returns groups of sentences with the length of their first: ``10 words``.
    """
    lengths = source_lengths(sources, config.unit)
    groups: dict[int, dict[str, Any]] = {}
    first, second, *longer = replace(config, length_buckets=None).edges
    for length in (first, (first + second) // 2, second, *longer):
        near = [line for line in range(len(sources)) if abs(lengths[line] - length) <= length // 10]
        lines = sorted(near, key=lambda line: (abs(lengths[line] - length), line))[:EACH]
        pairs = [{"source": sources[i], "reference": references[i]} for i in lines]
        for line in lines[:1]:
            group = {"length": f"{lengths[line]} {config.unit}", "pairs": pairs}
            groups.setdefault(int(lengths[line]), group)
    return list(groups.values())


def render_live(
    systems: Sequence[dict[str, Any]],
    languages: tuple[str, str],
    ready: Sequence[dict[str, Any]],
    report: str | None = None,
) -> bytes:
    """Render the page; systems without ``model`` are asked of the server that sends the page.

    ``report`` is the page of the comparison, in the same folder. Equal content makes equal bytes.
    """
    source, target = languages
    content = {"source": source, "target": target, "systems": systems, "ready": ready}
    text = json.dumps(content | {"report": report}, ensure_ascii=False, separators=(",", ":"))
    html = TEMPLATE.read_text(encoding="utf-8")
    # No text may end the script that holds it; a lone surrogate must not stop the page.
    return html.replace("{{ content }}", text.replace("<", "\\u003c")).encode("utf-8", "replace")


def content_policy(page: bytes) -> str:
    """Content security policy under which the page runs its own script, and no other."""
    sources = {"script": "", "style": ""}
    for tag, text in re.findall(r"<(script|style)>(.*?)</\1>", page.decode(), re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        sources[tag] += f" 'sha256-{digest}'"
    return (
        f"default-src 'none'; script-src{sources['script']}; style-src{sources['style']}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
