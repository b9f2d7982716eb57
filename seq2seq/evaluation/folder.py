"""An evaluation on disk: three text files a person can read side by side, and their scores.

sources.txt, references.txt, hypotheses.txt
    one sentence a line, aligned; an empty hypothesis is an empty line
sentences.json
    what the search said of each hypothesis, ``capped`` and ``log_probabilities``, what the model
    said of each reference, ``reference_scores``, and where it looked in a few lines, ``maps``
scores.json
    scores by length, signatures and settings, the record of how the hypotheses came about, and
    the SHA-256 of the four files above; it is written last
"""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq.config import EvaluationConfig, from_json
from seq2seq.data.text import content_digest, read_lines, write_lines
from seq2seq.errors import UserError
from seq2seq.evaluation.lengths import LengthScore, Scores, score_texts
from seq2seq.evaluation.scores import (
    AttentionMap,
    ReferenceScores,
    Signatures,
    Translations,
    signatures,
)
from seq2seq.files import encode_json, parse_object, write_json

SOURCES, REFERENCES, HYPOTHESES = "sources.txt", "references.txt", "hypotheses.txt"
SENTENCES, SCORES = "sentences.json", "scores.json"
FORMAT = 1
GIVEN = "given"
"""What records call the search of a text that was given: nobody knows how it was found."""


@dataclass(frozen=True)
class Evaluation:
    """A translated and scored test set."""

    directory: Path
    texts: Translations
    scores: Scores
    record: dict[str, Any]
    """How the hypotheses came about; plain JSON. Comparisons read ``experiment``, ``system``,
    ``seed``, ``corpus``, ``test_set``, ``search`` and ``config``, each of them optional. Of several
    models as one, ``members`` has a record for each."""

    @property
    def system(self) -> str:
        """Who translated, as tables call it: the system, and its seed where it has one.

        Several models as one have that of all of them, if they have one.
        """
        seed = self.record.get("seed")
        return str(self.record.get("system")) + ("" if seed is None else f", seed {seed}")

    @property
    def given(self) -> bool:
        """Whether it is of translations that were given, without a model."""
        return self.record.get("search") == GIVEN

    def scored_with(self, config: EvaluationConfig) -> Scores:
        """Scores under other settings than the stored ones; computed only where they differ."""
        signed = signatures(config.tokenize, config.ter)
        if (self.scores.settings, self.scores.signatures) == (config, signed):
            return self.scores
        return score_texts(self.texts, config)


def write_evaluation(
    directory: Path, texts: Translations, config: EvaluationConfig, record: dict[str, Any]
) -> Evaluation:
    """Score translations and write the evaluation folder.

    Args:
        directory: made where it is missing; an earlier evaluation in it is replaced file by file,
            anything else in it is left alone.
        texts: the translated test set.
        config: buckets and intervals.
        record: plain JSON data; see :class:`Evaluation`.

    Raises:
        ValueError: a text holds a line break, or the record is not plain JSON.
    """
    scores = score_texts(texts, config)
    # Finite numbers are plain JSON; a search that returns minus infinity has nothing to say.
    log_probabilities = [
        None if value is None or not math.isfinite(value) else float(value)
        for value in texts.log_probabilities
    ]
    said = texts.reference_scores
    sentences = {
        "capped": [bool(flag) for flag in texts.capped],
        "log_probabilities": log_probabilities,
        "reference_scores": None if said is None else dataclasses.asdict(said),
        "maps": [dataclasses.asdict(one) for one in texts.maps],
    }
    content = {"format": FORMAT, **dataclasses.asdict(scores), "record": record}
    encode_json(content)  # a record that cannot be written must not cost the folder its old scores

    directory.mkdir(parents=True, exist_ok=True)
    write_lines(directory / SOURCES, texts.sources)
    write_lines(directory / REFERENCES, texts.references)
    write_lines(directory / HYPOTHESES, texts.hypotheses)
    write_json(directory / SENTENCES, sentences)
    files = (SOURCES, REFERENCES, HYPOTHESES, SENTENCES)
    content["sha256"] = {name: content_digest(directory / name) for name in files}
    write_json(directory / SCORES, content)
    return Evaluation(directory, texts, scores, record)


def read_evaluation(directory: Path) -> Evaluation:
    """Read an evaluation folder; :class:`UserError` where it is missing, unfinished or altered."""
    if not directory.is_dir():
        raise UserError(f"There is no evaluation folder {directory}; check the path.")
    if not (directory / SCORES).is_file():
        raise UserError(
            f"{directory} holds no {SCORES}, so it is no finished evaluation; run evaluate first."
        )
    content = _read_json(directory / SCORES)
    if content.get("format") != FORMAT:
        raise UserError(
            f"{directory / SCORES} has format {content.get('format')!r}, not {FORMAT}, the one "
            "this version reads; evaluate again."
        )

    # Whole files first: a cut one is better named as such than by the error that follows from it.
    columns = {
        name: list(read_lines(directory / name)) for name in (SOURCES, REFERENCES, HYPOTHESES)
    }
    counts = {name: len(lines) for name, lines in columns.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise UserError(
            f"The files of {directory} disagree in their number of lines ({listed}); "
            "evaluate again."
        )
    try:
        digests = {name: str(content["sha256"][name]) for name in (*columns, SENTENCES)}
        scores = _scores(content, str(directory / SCORES))
        record = dict(content["record"])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(directory / SCORES, f"{type(error).__name__}: {error}") from None
    for name, digest in digests.items():
        if content_digest(directory / name) != digest:
            raise UserError(
                f"{directory / name} is not the file that was scored; restore it, "
                "or evaluate again."
            )

    sentences = _read_json(directory / SENTENCES)
    try:
        said = sentences.get("reference_scores")  # folders of earlier versions have none
        texts = Translations(
            sources=columns[SOURCES],
            references=columns[REFERENCES],
            hypotheses=columns[HYPOTHESES],
            capped=list(sentences["capped"]),
            log_probabilities=list(sentences["log_probabilities"]),
            reference_scores=None if said is None else ReferenceScores(**said),
            maps=[AttentionMap(**one) for one in sentences.get("maps", [])],
        )
    except (KeyError, TypeError) as error:
        raise _damaged(directory / SENTENCES, f"{type(error).__name__}: {error}") from None
    return Evaluation(directory, texts, scores, record)


def _scores(content: dict[str, Any], where: str) -> Scores:
    return Scores(
        overall=LengthScore(**content["overall"]),
        buckets=[LengthScore(**bucket) for bucket in content["buckets"]],
        empty_sources=int(content["empty_sources"]),
        signatures=Signatures(**content["signatures"]),
        settings=from_json(EvaluationConfig, content["settings"], where),
        known=LengthScore(**known) if (known := content.get("known")) else None,
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return parse_object(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); evaluate again.") from None
    except ValueError as error:  # not JSON, or not UTF-8
        raise _damaged(path, str(error)) from None


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(f"{path} is damaged ({reason}); restore it, or evaluate again.")
