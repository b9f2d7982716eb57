"""The stage ``evaluate``: translations of test sets, scored by source length."""

import logging
import math
import os
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seq2seq.checkpoint import Checkpoint, load_checkpoint, read_config
from seq2seq.config import DecodingConfig, EvaluateConfig, TrainConfig
from seq2seq.data.splits import read_learned, warn_if_learned
from seq2seq.data.text import ParallelText, content_digest, read_aligned, read_references
from seq2seq.data.vocabulary import UNK
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.distributed import SINGLE, ProcessGroup
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import GIVEN, SCORES, Evaluation, read_evaluation, write_evaluation
from seq2seq.evaluation.lengths import lines_by_length
from seq2seq.evaluation.references import draw_maps, score_references
from seq2seq.evaluation.scores import signatures
from seq2seq.evaluation.test_sets import find_test_sets, given_text
from seq2seq.evaluation.translations import Translations
from seq2seq.files import named_file, parse_object
from seq2seq.record import EvaluationRecord, Member, TrainingRecord, environment_record, read_record

log = logging.getLogger(__name__)

MAPS_PER_BUCKET = 3
"""Maximum number of attention maps of each bucket of source length, besides the setting maps."""


def evaluate(config: EvaluateConfig, group: ProcessGroup = SINGLE) -> list[Evaluation]:
    """Translate and score the test sets of ``config``, or score ``config.hypotheses``.

    With a checkpoint, each search of each test set has a folder, ``<test set>-<search>``, in
    ``config.output`` or else in ``evaluations`` of the run folder. Several checkpoints are
    evaluated as an ensemble: the folder's name then ends in ``-ensemble2`` or the like,
    and the run folder is that of the first checkpoint. The evaluations are returned test set by
    test set, in the order of ``EvaluateConfig.searches``. Translations that a folder already holds
    are scored again, but not made again. The processes of ``group`` divide the sentences. The first
    process writes; the others return [].

    UserError if a checkpoint, test set or text does not exist, if checkpoints do not fit together,
    if texts do not align, or if a folder holds the evaluation of another system, text or search.
    """
    if config.hypotheses is not None:
        return [_evaluate_given(config)] if group.is_first else []
    system = _System.load(config)
    with system.translator.sharing(group) as first:
        return _evaluate_system(system.config, system) if first else []


def _evaluate_system(config: EvaluateConfig, system: "_System") -> list[Evaluation]:
    corpus = system.checkpoints[0].config.corpus
    texts = find_test_sets(config, corpus, system.trainings[0])
    sides = {name: read_references(text) for name, text in texts.items()}
    lines = {name: _lines_to_draw(config, name, sources) for name, (sources, _) in sides.items()}
    for name, text in texts.items():
        for search in config.searches():  # before any work
            _require_same_subject(system.folder(name, search), system.identity(search, text))
    evaluations = []
    learned = np.concatenate([read_learned(run) for run in dict.fromkeys(system.runs)])
    for name, text in texts.items():
        warn_if_learned(name, sides[name][0], learned)
        codecs = (system.translator.source, system.translator.target)
        sources, references = sides[name]
        coded = zip(codecs, (sources, references[0]), strict=True)
        ids = [i for codec, side in coded for sentence in side for i in codec.encode(sentence)]
        if ids and (share := ids.count(UNK) / len(ids)) > 0.01:
            log.info("%s: the model's vocabularies lack %.0f%% of the pieces.", name, 100 * share)
        for evaluation in system.evaluate(name, text, sides[name], lines[name]):
            log.info("%s: BLEU %.2f", evaluation.directory, evaluation.overall.bleu or 0.0)
            evaluations.append(evaluation)
    return evaluations


@dataclass(frozen=True)
class _System:
    """The system under evaluation: one checkpoint, or an ensemble."""

    config: EvaluateConfig
    translator: Translator
    checkpoints: list[Checkpoint]
    suffix: list[str]
    """Suffix of folder names: ``["ensemble2"]`` or the like; [] for a single checkpoint."""

    @classmethod
    def load(cls, config: EvaluateConfig) -> "_System":
        device = choose_device(config.device)
        paths = str(config.checkpoint), *config.more_checkpoints
        checkpoints = [load_checkpoint(Path(path), device) for path in paths]
        corpus = checkpoints[0].config.corpus
        scoring = config.evaluation.for_languages(corpus.source, corpus.target)
        signatures(scoring.tokenize)  # a missing tokenizer is found before any work
        config = replace(config, evaluation=scoring)
        translator = Translator.of(checkpoints, config.precision)
        translator.as_written = True
        suffix = [f"ensemble{len(paths)}"] if len(paths) > 1 else []
        system = cls(config, translator, checkpoints, suffix)
        if config.output is None and system.output.is_symlink():  # in a stranger's run folder
            raise UserError(f"{system.output} is a link and is not followed; set output=FOLDER.")
        return system

    @property
    def runs(self) -> list[Path]:
        """Run folder of each checkpoint; the checkpoint's own folder if it is outside of a run."""
        folders = [checkpoint.directory for checkpoint in self.checkpoints]
        return [f.parent.parent if f.parent.name == "checkpoints" else f for f in folders]

    @property
    def trainings(self) -> list[TrainingRecord | None]:
        """Record of each checkpoint's training; None if the run has none."""
        return [read_record(run, "restore it, or delete it") for run in self.runs]

    @property
    def trained(self) -> TrainConfig:
        """Config of the first run, or of the first checkpoint if the run has no config.json.

        The config of a continued run may have larger limits than that of its checkpoint.
        """
        run = self.runs[0]
        return read_config(run) if (run / "config.json").is_file() else self.checkpoints[0].config

    @property
    def output(self) -> Path:
        """Folder that holds the folders of the evaluations."""
        return Path(self.config.output) if self.config.output else self.runs[0] / "evaluations"

    def folder(self, test_set: str, search: DecodingConfig) -> Path:
        return self.output / "-".join([test_set, search.name, *self.suffix])

    def identity(self, search: DecodingConfig, text: ParallelText) -> dict[str, Any]:
        """Models, texts, search, precision, device, as JSON; paths are relative to ``output``."""
        settings = asdict(search)
        del settings["batch_size"]
        return {
            "system": [
                {"path": _relative(c.directory, self.output), "sha256": c.sha256}
                for c in self.checkpoints
            ],
            "combination": self.suffix,
            **_text_digests(text),
            "search": settings,
            "precision": str(self.translator.precision).removeprefix("torch."),
            "device": self.translator.device.type,
        }

    def record(
        self, search: DecodingConfig, test_set: str, identity: dict[str, Any]
    ) -> EvaluationRecord:
        """Build the record of an evaluation: system, seed, trainings, search and environment."""
        trained, trainings = self.trained, self.trainings
        members = [
            Member(c.config.system, c.config.seed, c.state.progress.update, training)
            for c, training in zip(self.checkpoints, trainings, strict=True)
        ]
        return EvaluationRecord(
            experiment=trained.name,
            system="-".join([trained.system, *self.suffix]),
            seed=trained.seed if len({member.seed for member in members}) == 1 else None,
            training=trainings[0] if len(set(self.runs)) == 1 else None,
            members=members if len(members) > 1 else [],
            corpus=trained.corpus.kind,
            test_set=test_set,
            search=search.name,
            checkpoint=str(self.checkpoints[0].directory),
            config={**asdict(trained), "decoding": asdict(search)},
            identity=identity,
            parameters=self.translator.model.parameter_counts(),
            **environment_record(self.translator.device),
        )

    def evaluate(
        self,
        name: str,
        text: ParallelText,
        sides: tuple[list[str], list[list[str]]],
        lines: set[int],
    ) -> Iterator[Evaluation]:
        """Evaluate each search of one test set, with attention maps of ``lines`` (counted from 0).

        ``sides`` has the sources of ``text``, and its references.
        """
        batch_size, scores = self.config.decoding.batch_size, None
        sources, (first, *more) = sides
        for search in self.config.searches():
            directory, identity = self.folder(name, search), self.identity(search, text)
            record, counts = self.record(search, name, identity), None
            if (finished := _finished(directory, identity)) is not None:
                log.info("%s holds these translations already; scoring them again.", directory)
                texts, counts = finished.texts, finished.counts
                # Since that evaluation, run.json may have been lost, or the run may have been
                # continued without a better checkpoint.
                training = record.training or finished.record.training
                settings = asdict(self.trained.training)
                config = {**(finished.record.config or {}), "training": settings}
                record = replace(finished.record, training=training, config=config)
            else:
                started = time.monotonic()
                work = f"{record.name}: translating {name}, {search.name}"
                said = self.translator.translate(sources, search, progress=work)
                seconds = time.monotonic() - started
                pieces = [len(self.translator.cut(source)) for source in sources]
                record.cut_sources = sum(n > self.translator.max_pieces for n in pieces)
                record.seconds = round(seconds, 2)
                record.sentences_per_second = round(len(said) / max(seconds, 1e-9), 1)
                scores = scores or score_references(self.translator, sources, first, batch_size)
                texts = Translations(
                    sources,
                    first,
                    [h.text for h in said],
                    [h.capped for h in said],
                    [h.log_probability if math.isfinite(h.log_probability) else None for h in said],
                    scores,
                    more_references=more,
                )
            record.maps = self.config.maps or record.maps
            missing = lines - {one.line for one in texts.maps}
            maps = [*texts.maps, *draw_maps(self.translator, texts, missing, batch_size)]
            texts = replace(texts, maps=sorted(maps, key=lambda one: one.line))
            yield write_evaluation(directory, texts, self.config.evaluation, record, counts)


def _lines_to_draw(config: EvaluateConfig, name: str, sources: list[str]) -> set[int]:
    """Numbers (from 0) of lines whose maps are kept: ``config.maps`` and some of each bucket."""
    for line in config.maps:
        if line > len(sources):
            raise UserError(
                f"maps={line} is beyond the {len(sources)} lines of {name}; set only lines that "
                "every test set has, counted from 1."
            )
    by_length = lines_by_length(sources, config.evaluation, MAPS_PER_BUCKET)
    chosen = {*by_length, *(line - 1 for line in config.maps)}
    return {line for line in chosen if sources[line].strip()}


def _evaluate_given(config: EvaluateConfig) -> Evaluation:
    """Score ``config.hypotheses``; write to the folder ``<output>/<name of source>-<system>``."""
    text, output = given_text(config), str(config.output)
    hypotheses = named_file("hypotheses", str(config.hypotheses))
    sources, (first, *more) = read_references(text)
    said = read_aligned(text.source, hypotheses)[1]
    _warn_of_marks(hypotheses, said, first)
    _warn_of_marks(text.target, first, said)
    texts = Translations(sources, first, said, capped=[], more_references=more)
    path, digest = _relative(hypotheses, Path(output)), content_digest(hypotheses)
    identity = {"system": [{"path": path, "sha256": digest}], **_text_digests(text)}
    record = EvaluationRecord(
        system=str(config.system),
        test_set=text.source.name,
        search=GIVEN,
        identity=identity,
        **environment_record(torch.device("cpu")),
    )
    names = [re.sub(r"\.[gx]z$", "", path.name) for path in (text.source, text.target)]
    scoring = config.evaluation.for_languages(*(name.rpartition(".")[2] for name in names))
    directory = Path(output, f"{text.source.name}-{config.system}")
    _require_same_subject(directory, identity)
    return write_evaluation(directory, texts, scoring, record)


MARKS = {
    "marks of subwords (@@ or ▁); join the pieces": re.compile("@@( |$)|▁"),
    "spaces before its final full stop; detokenise it": re.compile(r"\s[.。]\s*$"),
    "accents in characters of their own (NFD); bring both files to NFC": re.compile(
        "[A-Za-z][\u0300-\u036f]"
    ),
    "characters that nobody sees, such as U+FEFF; remove them": re.compile(
        "[\u00ad\u200b\u200e\u200f\u2060\ufeff]"
    ),
}
"""What a text has that is scored by mistake, in words -> its pattern."""


def _warn_of_marks(path: Path, lines: list[str], others: list[str]) -> None:
    """Warn if many lines of the file ``path`` have marks that the ``others`` do not have."""
    for what, pattern in MARKS.items():
        here, there = (sum(map(bool, map(pattern.search, of))) for of in (lines, others))
        if here > 0.1 * len(lines) and there < 0.1 * here:
            log.warning("%s: %d of %d lines have %s.", path, here, len(lines), what)


def _relative(path: Path, folder: Path) -> str:
    """Path relative to a folder, either of which may be a symbolic link."""
    return os.path.relpath(path.resolve(), folder.resolve())


def _text_digests(text: ParallelText) -> dict[str, str]:
    references = map(content_digest, (text.target, *text.more_targets))
    return {"source": content_digest(text.source), "reference": " ".join(references)}


def _require_same_subject(directory: Path, identity: dict[str, Any]) -> None:
    """Refuse to replace an evaluation of another system, text, search, precision or device.

    A changed checkpoint (or hypotheses file) at the same path may be evaluated again; a changed
    source or reference text is refused.
    """
    try:
        stored = parse_object((directory / SCORES).read_bytes())["record"]["identity"]
        ours, theirs = (
            {**subject, "system": [part["path"] for part in subject["system"]]}
            for subject in (identity, stored)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return  # there is no evaluation, or a damaged one
    both = ours.keys() | theirs.keys()
    if different := sorted(key for key in both if ours.get(key) != theirs.get(key)):
        raise UserError(
            f"{directory} holds another evaluation (other {', '.join(different)}), which is not "
            "replaced; set output=ANOTHER_FOLDER, or move that folder away."
        )


def _finished(directory: Path, identity: dict[str, Any]) -> Evaluation | None:
    """Evaluation in a folder, if it is undamaged and has this ``identity``; else None."""
    if not (directory / SCORES).exists():
        return None
    try:
        evaluation = read_evaluation(directory)
    except UserError as error:
        log.warning("%s This command now evaluates again and replaces the files.", error)
        return None
    return evaluation if evaluation.record.identity == identity else None
