"""An evaluation on disk: three text files a person can read side by side, and their scores.

sources.txt, references.txt, hypotheses.txt
    one sentence per line, aligned; an empty hypothesis is an empty line. references-2.txt and so on
    hold further references
counts.npz
    counts of each sentence, for corpus BLEU and chrF
sentences.json
    ``capped`` and ``log_probabilities`` of each hypothesis, the model's ``reference_scores``, and
    the attention ``maps`` of a few lines
scores.json
    scores by length, signatures and settings, the record of how the hypotheses were made, and
    the SHA-256 of the files above, which are written first
"""

import io
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from seq2seq.config import DecodingConfig, EvaluationConfig, check, from_json
from seq2seq.data.text import decode_lines
from seq2seq.errors import UserError
from seq2seq.evaluation import lengths
from seq2seq.evaluation.lengths import ALL, ScoreRow
from seq2seq.evaluation.scores import source_lengths
from seq2seq.evaluation.significance import Pool
from seq2seq.evaluation.translations import Counts, Translations
from seq2seq.files import file_digest, parse_object, write_json, write_whole
from seq2seq.record import EvaluationRecord

TEXTS = ("sources.txt", "references.txt", "hypotheses.txt")
COUNTS, SENTENCES, SCORES = "counts.npz", "sentences.json", "scores.json"
FILES = (*TEXTS, COUNTS, SENTENCES)
OTHERS = "references-{}.txt"
FORMAT = 3
COLUMNS = {"bleu": 10, "chrf": 18}
"""Array of counts.npz -> number of its columns."""
DAMAGE = OSError, KeyError, TypeError, ValueError, AttributeError, zipfile.BadZipFile
"""Errors that reading an altered file may raise."""
GIVEN = "given"
"""Value of ``search`` in the record of translations that came without a model."""


@dataclass(frozen=True)
class Evaluation:
    """A translated and scored test set."""

    directory: Path
    texts: Translations
    counts: Counts
    settings: EvaluationConfig
    record: EvaluationRecord
    """Record of how the hypotheses were made."""

    def __repr__(self) -> str:
        return f"Evaluation({self.directory}, {self.record.system}: {self.overall.summary})"

    @property
    def external(self) -> bool:
        """Whether the translations came without a model, for example from a file."""
        return self.record.search == GIVEN

    @cached_property
    def pools(self) -> dict[str, Pool]:
        sizes = source_lengths(self.texts.sources, self.settings.unit)
        return lengths.length_pools(sizes, self.settings)

    @cached_property
    def rows(self) -> list[ScoreRow]:
        """Scores of each pool except those of ``lengths.ENDS``, without intervals."""
        return lengths.score_rows([(self.texts, self.counts)], self.pools)

    @property
    def overall(self) -> ScoreRow:
        return next(row for row in self.rows if row.words == ALL)

    def rows_with_intervals(self) -> list[ScoreRow]:
        """Return ``rows`` with bootstrap intervals of BLEU, as ``settings`` defines them."""
        samples = lengths.bleu_samples(self.counts.bleu[None], self.pools)
        return lengths.with_intervals(self.rows, samples, self.settings.confidence)

    def counts_for(self, config: EvaluationConfig) -> Counts:
        """Return the stored counts if they fit ``config`` and this sacreBLEU, else new ones."""
        same = self.counts.match(self.texts, config)
        return self.counts if same else Counts.of(self.texts, config)


def write_evaluation(
    directory: Path,
    texts: Translations,
    config: EvaluationConfig,
    record: EvaluationRecord,
    counts: Counts | None = None,
) -> Evaluation:
    """Count, score and write a translated test set; return its evaluation.

    ``counts`` are those of ``texts``, if known. ``directory`` is created if missing; files of an
    earlier evaluation are replaced one by one. UserError if the test set is empty or ``directory``
    is a link; ValueError if a sentence of ``texts`` holds a line break.
    """
    if not len(texts):
        raise UserError(f"The test set of {directory} is empty; add at least one sentence.")
    if directory.is_symlink():  # a link in a stranger's run could lead anywhere
        raise UserError(f"{directory} is a link; delete it, or set output=ANOTHER_FOLDER.")
    if counts is None or not counts.match(texts, config):
        counts = Counts.of(texts, config)
    evaluation = Evaluation(directory, texts, counts, config, record)
    directory.mkdir(parents=True, exist_ok=True)
    sentences = asdict(texts)
    arrays = io.BytesIO()
    np.savez_compressed(arrays, bleu=counts.bleu, chrf=counts.chrf)
    write_whole(directory / COUNTS, arrays.getvalue())
    columns = {name: sentences.pop(Path(name).stem) for name in TEXTS}
    for number, lines in enumerate(sentences.pop("more_references"), start=2):
        columns[OTHERS.format(number)] = lines
    for name, lines in columns.items():
        if any("\n" in line for line in lines):
            raise ValueError(f"a sentence of {name} holds a line break")
        write_whole(directory / name, "".join(f"{line}\n" for line in lines).encode())
    write_json(directory / SENTENCES, sentences)
    content = {
        "format": FORMAT,
        "rows": [asdict(row) for row in evaluation.rows],
        "settings": asdict(config),
        "signatures": counts.signatures,
        "record": record,
        "sha256": {n: file_digest(directory / n) for n in (*columns, COUNTS, SENTENCES)},
    }
    write_json(directory / SCORES, content)
    return evaluation


def find_evaluations(folders: Iterable[Path]) -> list[Path]:
    """Return evaluation folders; a run folder becomes its evaluation that all runs here have.

    If there are several, the one with the default search is used; UserError if that is not one.
    """
    given = list(folders)
    held = {
        run: {path.parent.name for path in run.glob(f"evaluations/*/{SCORES}")} for run in given
    }
    names = set.intersection(*filter(None, held.values())) if any(held.values()) else set()
    usual = sorted(name for name in names if name.endswith(f"-{DecodingConfig().name}"))
    chosen = usual or sorted(names)
    if len(chosen) != 1 and (runs := [run for run in given if held[run]]):
        raise UserError(
            f"{runs[0]} is a run; name one of its evaluations, in the folder evaluations: "
            f"{', '.join(sorted(names or held[runs[0]]))}."
        )
    return [path / "evaluations" / chosen[0] if held[path] else path for path in given]


def read_evaluation(directory: Path) -> Evaluation:
    """Read an evaluation; UserError if it is missing, unfinished, altered or of another version."""
    if not directory.is_dir():
        raise UserError(f"evaluations= or sentences= names no folder: {directory}; check the path.")
    if not (directory / SCORES).is_file():
        raise UserError(f"{directory} holds no evaluation (no {SCORES}); run evaluate first.")
    try:
        content = parse_object((directory / SCORES).read_bytes())
        if "systems" in content:
            raise UserError(
                f"{directory} is a comparison, not an evaluation; name the folders it compares."
            )
        version, digests = content["format"], content.get("sha256", {})
        others = [OTHERS.format(2 + number) for number in range(len(digests) - len(FILES))]
        changed = [n for n in (*FILES, *others) if file_digest(directory / n) != digests.get(n)]
    except DAMAGE as error:
        raise _damaged(directory, error) from None
    if version != FORMAT:
        raise UserError(
            f"{directory} is an evaluation of another version (format {version}, here {FORMAT}); "
            "evaluate again into a new folder, or delete this folder."
        )
    if changed:
        raise UserError(
            f"{directory / changed[0]} has changed since it was scored; restore it, or delete the "
            "folder and evaluate again."
        )
    try:
        return _evaluation(directory, content, others)
    except (*DAMAGE, UserError) as error:
        raise _damaged(directory, error) from None


def _evaluation(directory: Path, content: dict[str, Any], others: list[str]) -> Evaluation:
    """Read the files of an evaluation, and check them."""
    sentences = parse_object((directory / SENTENCES).read_bytes())
    sentences |= {Path(name).stem: _plain_lines(directory / name) for name in TEXTS}
    sentences["more_references"] = [_plain_lines(directory / name) for name in others]
    texts = from_json(Translations, sentences)
    bleu, chrf = (_counts(directory / COUNTS, key, (len(texts), n)) for key, n in COLUMNS.items())
    counts = Counts(bleu, chrf, dict(content["signatures"]))
    return Evaluation(
        directory,
        texts,
        counts,
        settings=from_json(EvaluationConfig, content["settings"]),
        record=check("record", content["record"], EvaluationRecord),
    )


def _plain_lines(path: Path) -> list[str]:
    """Read the lines of a text; unpacked, a stranger's file could fill memory."""
    with path.open("rb") as stream:
        return list(decode_lines(stream, str(path)))


def _counts(path: Path, name: str, shape: tuple[int, int]) -> Int[np.ndarray, "N C"]:
    """Read an array of counts; ValueError before it is unpacked if its shape or type is wrong."""
    with zipfile.ZipFile(path) as packed, packed.open(f"{name}.npy") as stream:
        np.lib.format.read_magic(stream)
        found, _, kind = np.lib.format.read_array_header_1_0(stream)
    if found == shape and kind.kind in "iu":
        with np.load(path, allow_pickle=False) as arrays:
            counts: np.ndarray = arrays[name]
        if counts.min() >= 0:
            return counts
    raise ValueError(f"{path.name} does not fit the sentences")


def _damaged(directory: Path, error: Exception) -> UserError:
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return UserError(
        f"{directory} is damaged or is no evaluation ({kind}{str(error).rstrip('.')}); restore it, "
        "use another folder, or evaluate again."
    )
