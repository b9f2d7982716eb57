"""One system of the server: a translator that answers in a process of its own."""

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.evaluation.folder import SCORES, read_evaluation
from seq2seq.report.live.contents import ready_sentences

CHOICES = 5
"""Number of likeliest pieces that are listed for each position."""


@dataclass(frozen=True)
class System:
    """A translator, alone in its process."""

    translator: Translator
    facts: dict[str, Any]
    """Name, training settings, size and languages; and sentences of an evaluation."""

    @classmethod
    def load(
        cls,
        folders: Sequence[str],
        device: str,
        precision: str,
        sentences: str | None,
        share: int,
        search: DecodingConfig,
    ) -> "System":
        """Load one checkpoint or an ensemble; UserError if one is missing or unlike the others.

        ``sentences`` is an evaluation folder; None for the first one in the run of the first
        checkpoint, if any. ``share`` is the number of systems that share the processor's cores.
        UserError, too, if the model cannot ``search`` like this.
        """
        torch.set_num_threads(max(1, torch.get_num_threads() // share))
        checkpoints = [load_checkpoint(Path(path), choose_device(device)) for path in folders]
        translator, first = Translator.of(checkpoints, precision), checkpoints[0]
        run, ready = first.directory.parent.parent, []
        found = [path.parent for path in sorted(run.glob(f"evaluations/*/{SCORES}"))]
        for folder in [Path(sentences)] if sentences else found[:1]:
            one = read_evaluation(folder)
            ready = ready_sentences(one.texts.sources, one.texts.references, one.settings)
        ensemble = f"-ensemble{len(checkpoints)}" if len(checkpoints) > 1 else ""
        facts = {
            "name": first.config.system + ensemble,
            "settings": asdict(first.config),
            "attends": translator.model.attends,
            "tokenization": first.target.tokenizer.kind,
            "parameters": translator.model.parameter_counts()["total"],
            "source": first.source.language,
            "target": first.target.language,
            "ready": ready,
        }
        system = cls(translator, facts)
        for _ in range(2):  # the first sentences take longer
            system.answer("a first sentence .", (), search)
        return system

    def answer(self, text: str, prefix: Sequence[str], search: DecodingConfig) -> dict[str, Any]:
        """Translate ``text`` with a forced beginning; return the answer without the system name."""
        started, translator = time.perf_counter(), self.translator
        found = translator.translate(text, search, prefix=prefix, attention=True, choices=CHOICES)
        length = len(translator.cut(text))
        rows = None if found.attention is None else found.attention.tolist()
        return {
            "text": found.text,
            "pieces": found.pieces,
            "source_pieces": found.source_pieces,
            "source_length": length,
            "source_read": min(length, translator.max_pieces),
            "attention": rows and [[round(weight, 4) for weight in row] for row in rows],
            "choices": [[(piece, round(p, 4)) for piece, p in row] for row in found.choices],
            "score": found.score if math.isfinite(found.score) else None,
            "capped": found.capped,
            "unknown": found.unknown,
            "milliseconds": round(1000 * (time.perf_counter() - started), 1),
        }
