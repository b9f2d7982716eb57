"""An evaluation on disk: text files that a person can read side by side, and their scores.

sources.txt, hypotheses.txt, references.txt, references-2.txt and so on
    one sentence per line, aligned
counts.npz
    counts of each sentence for each metric; they are made again if they do not fit
sentences.json
    what else :class:`Translations` has
scores.json
    scores by length, settings, record, and the SHA-256 of the other files, which are written first
"""

import contextlib
import io
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int

from seq2seq.config import DecodingConfig, EvaluationConfig, check
from seq2seq.data.text import decode_lines
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import METRICS, source_lengths
from seq2seq.evaluation.translations import Counts, ScoreRow, Translations, length_pools, score_rows
from seq2seq.files import file_digest, parse_object, write_json, write_whole
from seq2seq.record import EvaluationRecord

TEXTS = ("sources.txt", "references.txt", "hypotheses.txt")
COUNTS, SENTENCES, SCORES = "counts.npz", "sentences.json", "scores.json"
FILES = (*TEXTS, COUNTS, SENTENCES)
OTHERS = "references-{}.txt"
DAMAGE = OSError, KeyError, TypeError, ValueError, AttributeError
"""Errors that reading an altered file may raise."""
EXTERNAL = "given"
"""Value of ``search`` in the record of translations that came without a model."""


@dataclass(frozen=True)
class Evaluation:
    """A translated and scored test set."""

    directory: Path
    texts: Translations
    counts: Counts
    settings: EvaluationConfig
    record: EvaluationRecord

    def __repr__(self) -> str:
        return f"Evaluation({self.directory}, {self.record.system}: {self.overall.summary})"

    @property
    def external(self) -> bool:
        """Whether the translations came without a model, for example from a file."""
        return self.record.search == EXTERNAL

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """Scores of each pool except those of ``translations.ENDS``, without intervals."""
        words = source_lengths(self.texts.sources, self.settings.unit)
        return score_rows([(self.texts, self.counts)], length_pools(words, self.settings))

    @property
    def overall(self) -> ScoreRow:
        return self.rows[-1]


def write_evaluation(
    directory: Path,
    texts: Translations,
    config: EvaluationConfig,
    record: EvaluationRecord,
    counts: Counts | None = None,
) -> Evaluation:
    """Count, score and write a translated test set, over an earlier one; return its evaluation.

    ``counts`` are those of ``texts``, if known.
    """
    if not len(texts):
        raise UserError(f"The test set of {directory} is empty; add at least one sentence.")
    if directory.is_symlink():  # a link in a stranger's run could lead anywhere
        raise UserError(f"{directory} is a link; delete it, or set output=ANOTHER_FOLDER.")
    counts = Counts.of(texts, config, counts)
    evaluation = Evaluation(directory, texts, counts, config, record)
    directory.mkdir(parents=True, exist_ok=True)
    arrays, sentences = io.BytesIO(), asdict(texts)
    np.savez_compressed(arrays, allow_pickle=False, **counts.arrays)
    write_whole(directory / COUNTS, arrays.getvalue())
    columns = {name: sentences.pop(Path(name).stem) for name in TEXTS}
    for number, lines in enumerate(sentences.pop("more_references"), start=2):
        columns[OTHERS.format(number)] = lines
    for name, lines in columns.items():
        write_whole(directory / name, "".join(f"{line}\n" for line in lines).encode())
    write_json(directory / SENTENCES, sentences)
    content = {
        "rows": [row.as_json() for row in evaluation.rows],
        "settings": asdict(config),
        "signatures": counts.signatures,
        "record": record,
        "sha256": {n: file_digest(directory / n) for n in (*columns, COUNTS, SENTENCES)},
    }
    write_json(directory / SCORES, content)
    return evaluation


def find_evaluations(folders: Iterable[Path]) -> list[Path]:
    """Return evaluation folders; a run becomes the one that all runs have, by default search."""
    given = list(folders)
    held = {f: {path.parent.name for path in f.glob(f"evaluations/*/{SCORES}")} for f in given}
    runs = [folder for folder in given if held[folder]]
    shared = sorted(set.intersection(*(held[run] for run in runs))) if runs else []
    usual = [name for name in shared if name.endswith(f"-{DecodingConfig().name}")]
    if runs and len(usual or shared) != 1:
        raise UserError(
            f"{runs[0]} is a run; name one of its evaluations, in the folder evaluations: "
            f"{', '.join(shared or sorted(held[runs[0]]))}."
        )
    return [f / "evaluations" / (usual or shared)[0] if held[f] else f for f in given]


def read_evaluation(directory: Path) -> Evaluation:
    """Read an evaluation; UserError if it is missing, unfinished or altered."""
    if not (directory / SCORES).is_file():
        raise UserError(f"{directory} holds no {SCORES}; check the path, or run evaluate first.")
    try:
        content = parse_object((directory / SCORES).read_bytes())
        digests = content["sha256"]
        others = [OTHERS.format(2 + number) for number in range(len(digests) - len(FILES))]
        for name in (*TEXTS, *others, SENTENCES):
            if file_digest(directory / name) != digests.get(name):
                raise UserError(f"{name} has changed since it was scored")
        sentences = parse_object((directory / SENTENCES).read_bytes())
        sentences |= {Path(name).stem: _plain_lines(directory / name) for name in TEXTS}
        sentences["more_references"] = [_plain_lines(directory / name) for name in others]
        texts = check("", sentences, Translations, sentences=True)
        arrays = _read_counts(directory / COUNTS, digests.get(COUNTS), len(texts))
        settings = check("settings", content["settings"], EvaluationConfig)
        counts = Counts.of(texts, settings, Counts(arrays, dict(content["signatures"])))
        record = check("record", content["record"], EvaluationRecord)
    except (*DAMAGE, UserError) as error:
        raise UserError(
            f"{directory} is damaged or is no evaluation ({str(error).rstrip('.')}); restore it, "
            "or delete the folder and evaluate again."
        ) from None
    return Evaluation(directory, texts, counts, settings, record)


def _plain_lines(path: Path) -> list[str]:
    """Read the lines of a text; unpacked, a stranger's file could fill memory."""
    with path.open("rb") as stream:
        return list(decode_lines(stream, str(path)))


def _read_counts(path: Path, digest: object, size: int) -> dict[str, Int[np.ndarray, "N _"]]:
    """Read the arrays of counts that fit; what does not is not unpacked, and made again."""
    arrays: dict[str, np.ndarray] = {}
    with contextlib.suppress(Exception):
        if file_digest(path) == digest:
            with np.load(path, allow_pickle=False) as stored:
                for key, metric in METRICS.items():
                    limit = 8 * size * metric.columns + 1_000
                    if stored.zip.getinfo(f"{key}.npy").file_size < limit:
                        array = stored[key]
                        if array.shape == (size, metric.columns) and array.dtype.kind in "iuf":
                            arrays[key] = array
    return arrays
