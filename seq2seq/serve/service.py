"""The translators of a server, and their answers."""

import logging
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig, ServeConfig, between, require_choice
from seq2seq.config.checks import Settings
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import SCORES, read_evaluation
from seq2seq.looks import looks
from seq2seq.report.live.page import describe, ready_sentences, render_live

log = logging.getLogger(__name__)

CHOICES = 5
"""Number of likeliest pieces that are listed for each position."""


def _at_most(most: int, unit: str) -> Any:
    """Return a check that a text or list has at most ``most`` characters or items."""

    def rule(key: str, value: Sequence[Any]) -> None:
        if len(value) > most:
            raise UserError(f"{key} has {len(value):,} {unit}; send at most {most:,}.")

    return rule


@dataclass(kw_only=True)
class Question(Settings):
    """Body of a request to translate."""

    text: Annotated[str, _at_most(2_000, "characters")]
    systems: list[str] | None = None
    """Names of the systems that answer; null for all."""
    beam: Annotated[int, between(1, 10)] | None = None
    """Number of hypotheses that the search keeps; null for the server's setting."""
    prefix: Annotated[list[str], _at_most(500, "pieces")] = field(default_factory=list)
    """Pieces with which the translation begins."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.text.strip():
            raise UserError("text is blank; send a sentence.")


@dataclass(frozen=True)
class Service:
    """Translators by the names of their systems, and the page that shows them."""

    config: ServeConfig
    translators: dict[str, Translator]
    systems: list[dict[str, Any]]
    """Description of each system, for the page and the interface."""
    page: bytes
    pool: ThreadPoolExecutor
    """Threads in which the systems answer side by side; they share PyTorch's threads equally."""

    @classmethod
    def load(cls, config: ServeConfig) -> "Service":
        """Load the checkpoints of ``config``; UserError if one is missing or does not fit."""
        device = choose_device(config.device)
        groups = [one if isinstance(one, list) else [one] for one in config.checkpoint]
        loaded = [[load_checkpoint(Path(path), device) for path in group] for group in groups]
        firsts = [checkpoints[0] for checkpoints in loaded]
        drawn = looks([asdict(first.config) for first in firsts])
        translators: dict[str, Translator] = {}
        systems: list[dict[str, Any]] = []
        for checkpoints, (colour, *_) in zip(loaded, drawn, strict=True):
            first, count = checkpoints[0], len(checkpoints)
            name = system = first.config.system + (f"-ensemble{count}" if count > 1 else "")
            number = 2
            while name in translators:
                name, number = f"{system} {number}", number + 1
            translators[name] = Translator.of(checkpoints, config.precision)
            # One model may answer twice at once; no answer may put it back into training mode.
            model = translators[name].model.eval()
            kind = first.config.model.attention.kind
            systems.append(
                describe(name, kind, model.attends, colour)
                | {
                    "tokenization": first.target.tokenizer.kind,
                    "parameters": model.parameter_counts()["total"],
                    "source": first.source.language,
                    "target": first.target.language,
                }
            )
        languages = {(system["source"], system["target"]) for system in systems}
        if len(languages) > 1:
            raise UserError(
                f"checkpoint has systems of different languages ({sorted(languages)}); serve only "
                "systems of one pair of languages."
            )
        # Without ``sentences``, take them from the first run's first evaluation, if it has one.
        run, ready = firsts[0].directory.parent.parent, []
        found = [path.parent for path in sorted(run.glob(f"evaluations/*/{SCORES}"))]
        for folder in [Path(config.sentences)] if config.sentences else found[:1]:
            one = read_evaluation(folder)
            ready = ready_sentences(one.texts.sources, one.texts.references, one.settings)
        page = render_live(systems, languages.pop(), ready)
        threads = torch.get_num_threads()
        workers = min(len(translators), threads)
        share = (threads // workers,)
        pool = ThreadPoolExecutor(workers, "system", torch.set_num_threads, share)
        return cls(config, translators, systems, page, pool)

    def answer(self, question: Question) -> list[dict[str, Any]]:
        """Return the answer of each requested system, as JSON; UserError if a name is unknown."""
        names = question.systems or list(self.translators)
        for name in names:
            require_choice("systems", name, self.translators)
        search = self.config.decoding
        if question.beam:
            search = replace(search, beam=question.beam, n_best=1)
        return list(self.pool.map(lambda name: self._answer(name, question, search), names))

    def _answer(self, name: str, question: Question, search: DecodingConfig) -> dict[str, Any]:
        started = time.perf_counter()
        translator = self.translators[name]
        found = translator.translate(
            question.text, search, prefix=question.prefix, attention=True, choices=CHOICES
        )
        length = len(translator.cut(question.text))
        rows = None if found.attention is None else found.attention.tolist()
        return {
            "name": name,
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
