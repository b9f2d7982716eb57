"""The live page: one HTML file whose script runs small models on what the user types."""

import base64
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int8

from seq2seq.config import DecodingConfig, EvaluationConfig, TrainConfig
from seq2seq.config.settings import unspaced
from seq2seq.data.text import SIDES
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.drawing import DARK, styles
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.folder import Evaluation
from seq2seq.evaluation.scores import source_lengths
from seq2seq.files import file_digest

log = logging.getLogger(__name__)

TEMPLATE = Path(__file__).with_name("live.html")
EACH = 3
"""Maximum number of ready sentences of each length."""
KINDS = ("additive", "fixed")
LARGEST = 3_000_000
"""Maximum number of parameters of a model in a page; each takes about 1.3 bytes (base64)."""


def live_page(comparison: Comparison) -> bytes | None:
    """Live page of the systems that fit into it; None if none fits. Logs the systems left out."""
    systems, languages, left_out = [], ("", ""), []
    for system, style in zip(comparison.systems, styles(comparison.configs), strict=True):
        try:
            model = packed(evaluated_checkpoint(system.first))
        except (UserError, ModuleNotFoundError) as reason:  # scoring needs no PyTorch
            left_out.append(f"{system.name}: {reason}")
        else:
            languages = model.pop("languages")
            look = (style.color, DARK[style.color])
            systems.append({"name": system.name, "colour": look, "model": model})
    if left_out:
        log.info("Not in live.html: %s", " ".join(left_out))
    texts = comparison.systems[0].first.texts
    content = {
        "source": languages[0],
        "target": languages[1],
        "characters": unspaced(languages[1]),
        "systems": systems,
        "ready": ready_sentences(texts.sources, texts.references, comparison.settings),
        "several": any(re.search(r"[.!?]\s+\w", source) for source in texts.sources),
    }
    return render_live(content) if systems else None


def render_live(content: dict[str, Any]) -> bytes:
    """Render the page; each system has a name, two colours (light, dark) and a packed model."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    html = TEMPLATE.read_text(encoding="utf-8")
    # No text may end the script that holds it; a lone surrogate must not stop the page.
    return html.replace("{{ content }}", text.replace("<", "\\u003c")).encode("utf-8", "replace")


def evaluated_checkpoint(evaluation: Evaluation) -> Path:
    """Find the evaluated model; UserError unless it is a single, unchanged checkpoint."""
    match evaluation.record.identity.get("system"):
        case [{"path": str(path), "sha256": str(digest)}] if not evaluation.external:
            from seq2seq.checkpoint import MANIFEST, find_checkpoint

            folder = find_checkpoint(evaluation.directory.parent / path)
            if file_digest(folder / MANIFEST) == digest:
                return folder
            raise UserError(f"{folder} has changed since it was evaluated.")
    raise UserError("its translations are not those of one model.")


def ready_sentences(
    sources: Sequence[str], references: Sequence[str], config: EvaluationConfig
) -> list[dict[str, Any]]:
    """Choose sentences, in a group for each length, such as ``10 words``.

    Lengths are near the upper ends of the default buckets, and midway between the first two.
    """
    lengths = source_lengths(sources, config.unit)
    groups: dict[str, dict[str, Any]] = {}
    first, second, *longer = replace(config, length_buckets=None).edges
    for length in (first, (first + second) // 2, second, *longer):
        near = np.argsort(abs(lengths - length), kind="stable")[:EACH]
        lines = [line for line in near.tolist() if abs(lengths[line] - length) <= length // 10]
        if lines:
            pairs = [{"source": sources[i], "reference": references[i]} for i in lines]
            label = f"{lengths[lines[0]]} {config.unit}"
            groups.setdefault(label, {"length": label, "pairs": pairs})
    return list(groups.values())


def obstacle(config: TrainConfig, size: int) -> str | None:
    """Setting or size that keeps a model out of the page; None if the page can run the model."""
    model, cut = config.model, config.tokenization.kind
    obstacles = {
        f"model.attention.kind={model.attention.kind}": model.attention.kind not in KINDS,
        "several layers": max(model.encoder.layers, model.decoder.layers) > 1,
        f"model.encoder.directions={model.encoder.directions}": model.encoder.directions != "both",
        f"model.decoder.order={model.decoder.order}": model.decoder.order != "bahdanau",
        f"model.decoder.readout={model.decoder.readout}": model.decoder.readout != "linear",
        f"tokenization={cut}": cut != "whitespace",
        f"{size:,} parameters, more than {LARGEST:,}": size > LARGEST,
    }
    return next((reason for reason, stands in obstacles.items() if stands), None)


def packed(folder: Path) -> dict[str, Any]:
    """Pack the model of a checkpoint as JSON; UserError if it has an :func:`obstacle`.

    ``weights`` maps a name to rows, columns (0 of a vector) and bytes in URL-safe base64: float32
    numbers of a vector; of a matrix, a float32 step for each row, then the int8 levels.
    """
    from safetensors.numpy import load_file

    from seq2seq.checkpoint import MODEL, read_config, verify

    verify(folder)
    config, tensors = read_config(folder), load_file(folder / MODEL)
    if reason := obstacle(config, sum(weight.size for weight in tensors.values())):
        raise UserError(f"it has {reason}.")
    weights: dict[str, tuple[int, int, str]] = {}
    for name, weight in tensors.items():
        columns, content = 0, weight.astype("<f4").tobytes()
        if weight.ndim == 2:
            (steps, step), columns = rounded(weight), weight.shape[1]
            content = step.astype("<f4").tobytes() + steps.tobytes()
        weights[name] = len(weight), columns, base64.urlsafe_b64encode(content).decode()
    source, target = (Vocabulary.load(folder / f"vocabulary.{side}.tsv") for side in SIDES)
    return {
        "languages": (config.corpus.source, config.corpus.target),
        "source": source.pieces,
        "target": target.pieces,
        "scale": config.model.embedding_scale,
        "most": config.tokenization.max_pieces,
        "longest": config.corpus.train_max_words or getattr(config.corpus, "max_words", None),
        "ratio": DecodingConfig.max_ratio,
        "extra": DecodingConfig.max_extra,
        "weights": weights,
    }


def rounded(
    weight: Float[np.ndarray, "R C"],
) -> tuple[Int8[np.ndarray, "R C"], Float[np.ndarray, "R"]]:
    """Round each row to 255 levels; return the levels, from -127 to 127, and each row's step."""
    step = np.maximum(abs(weight).max(axis=1) / 127, np.finfo(np.float32).tiny, dtype=np.float32)
    return np.rint(weight / step[:, None]).astype(np.int8), step
