"""A test set as a model sees it: what is the same for every search of it is made once."""

import logging
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from seq2seq.config import EvaluateConfig
from seq2seq.data.parallel_text import ParallelText, read_aligned
from seq2seq.data.text import content_digest
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import diagonal, read_gold, score_links, shifted
from seq2seq.evaluation.lengths import lines_by_length
from seq2seq.evaluation.references import draw_maps, reference_links, score_references
from seq2seq.evaluation.scores import AttentionMap, ReferenceScores, Translations
from seq2seq.files import parse_object, write_json

log = logging.getLogger(__name__)

MAPS_OF_A_BUCKET = 3
"""Attention maps of each bucket of source length, beside those of ``EvaluateConfig.maps``."""

SHIFTS = (-1, 0, 1)
"""Words by which links are moved before they are scored: an attention that is one off shows."""

ALIGNMENT = "alignment.json"


class TestSet:
    """A text, its references and the model that is asked about them."""

    def __init__(
        self, name: str, texts: ParallelText, translator: Translator, config: EvaluateConfig
    ) -> None:
        self.name = name
        self.texts = texts
        self._translator = translator
        self._config = config

    @cached_property
    def lines(self) -> tuple[list[str], list[str]]:
        """Sources and references."""
        return read_aligned(self.texts.source, self.texts.target)

    @cached_property
    def reference_scores(self) -> ReferenceScores:
        """What the model says of the references."""
        return score_references(self._translator, *self.lines, self._config.decoding.batch_size)

    def complete(self, texts: Translations) -> Translations:
        """Add what an earlier version did not ask the model, and the maps that are now asked for.

        Returns ``texts`` itself where nothing is missing.
        """
        said = texts.reference_scores
        if said is None or said.piece_losses is None:
            texts = replace(texts, reference_scores=self.reference_scores)
        drawn = {one.line for one in texts.maps}
        missing = [
            line
            for line in self.lines_to_draw()
            if line not in drawn and texts.hypotheses[line].strip()
        ]
        if self._translator.model.attends and missing:
            maps = [*texts.maps, *self._draw(missing, texts.hypotheses)]
            texts = replace(texts, maps=sorted(maps, key=lambda one: one.line))
        return texts

    def draw_maps(self, hypotheses: list[str]) -> list[AttentionMap]:
        """Where the model looks for the words of a few hypotheses; see :meth:`lines_to_draw`."""
        return self._draw(self.lines_to_draw(), hypotheses)

    def _draw(self, lines: list[int], hypotheses: list[str]) -> list[AttentionMap]:
        sources, _ = self.lines
        drawn = {line: (sources[line], hypotheses[line]) for line in lines}
        return draw_maps(self._translator, drawn, self._config.decoding.batch_size)

    def lines_to_draw(self) -> list[int]:
        """Those of ``EvaluateConfig.maps`` and a few of every length, from 0.

        Raises:
            UserError: a line of choice that the test set does not have.
        """
        sources, _ = self.lines
        for line in self._config.maps:
            if line > len(sources):
                raise UserError(
                    f"maps names line {line}, but {self.name} has {len(sources)}; lines count "
                    "from 1."
                )
        by_length = lines_by_length(
            sources, self._config.evaluation.length_buckets, MAPS_OF_A_BUCKET
        )
        chosen = {*by_length, *(line - 1 for line in self._config.maps)}
        return sorted(line for line in chosen if sources[line].strip())

    def write_alignment(self, directory: Path, identity: dict[str, Any]) -> None:
        """Write alignment.json where the test set has gold links and the model attends.

        One of another model or other links is replaced, or removed; one of these is left alone.
        ``identity`` is that of the evaluation in the folder.
        """
        gold, path = self.texts.alignments, directory / ALIGNMENT
        if gold is not None and path.exists():
            try:
                found = parse_object(path.read_bytes())
                if (found["identity"], found["gold_sha256"]) == (identity, content_digest(gold)):
                    return
            except (ValueError, KeyError, TypeError):
                log.warning("%s is damaged; it is made again.", path)
        if self.alignment is not None:
            write_json(path, {**self.alignment, "identity": identity})
        else:
            path.unlink(missing_ok=True)

    @cached_property
    def alignment(self) -> dict[str, Any] | None:
        """The attention's links on the references against gold ones; None where there are none.

        ``shifts`` has the scores of the links moved by so many target words; ``diagonal`` those of
        a straight line from the first words to the last, which knows no language.

        Raises:
            UserError: the gold links of ``EvaluateConfig.gold`` do not fit this text or this model.
        """
        gold = self.texts.alignments
        if gold is None or not self._translator.model.attends:
            return None
        sources, references = self.lines
        try:
            people = read_gold(gold, list(zip(sources, references, strict=True)))
            links = reference_links(
                self._translator, sources, references, self._config.decoding.batch_size
            )
        except UserError as error:
            if self._config.gold is not None:
                raise
            log.warning("The links of %s are not scored: %s", self.name, error)  # nobody asked
            return None
        words = [
            (len(source.split()), len(target.split()))
            for source, target in zip(sources, references, strict=True)
        ]
        scores = {
            by: score_links(
                [shifted(line, by, count) for line, (_, count) in zip(links, words, strict=True)],
                people,
            )
            for by in SHIFTS
        }
        log.info(
            "%s: alignment error rate %.3f, %s when moved by one word",
            self.name,
            scores[0].aer,
            " and ".join(f"{scores[by].aer:.3f}" for by in SHIFTS if by),
        )
        return {
            "format": 1,
            "gold": str(gold),
            "gold_sha256": content_digest(gold),
            "sentences": len(links),
            "shifts": {str(by): asdict(score) for by, score in scores.items()},
            "diagonal": asdict(score_links([diagonal(*pair) for pair in words], people)),
        }
