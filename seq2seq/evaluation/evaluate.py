"""The stage ``evaluate``: translations of test sets, scored by source length."""

import logging
import math
import os
import time
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig, EvaluateConfig
from seq2seq.data.text import content_digest, read_aligned
from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import read_gold, score_alignment
from seq2seq.evaluation.folder import GIVEN, SCORES, Evaluation, read_evaluation, write_evaluation
from seq2seq.evaluation.lengths import lines_by_length
from seq2seq.evaluation.references import draw_maps, reference_links, score_references
from seq2seq.evaluation.same_content import same_content
from seq2seq.evaluation.test_sets import Sentences, find_test_sets
from seq2seq.evaluation.translations import ReferenceScores, Translations
from seq2seq.files import parse_object, write_json
from seq2seq.record import EvaluationRecord, Member, environment_record, read_record

log = logging.getLogger(__name__)

MAPS_PER_BUCKET = 3
"""Attention maps of each bucket of source length, besides those of ``EvaluateConfig.maps``."""
ALIGNMENT = "alignment.json"


def evaluate(config: EvaluateConfig) -> list[Evaluation]:
    """Translate and score each test set asked for, or score the translations given.

    With a checkpoint, each search of each test set has a folder, ``<test set>-<search>``; they are
    returned test set by test set, in the order of ``EvaluateConfig.searches``. Several checkpoints
    are evaluated as one system, in the run folder of the first. Translations that a
    folder holds already are scored again, not made again.

    Raises:
        UserError: no such checkpoint, test set or text, checkpoints that do not go together, texts
            that do not align, ``no_unk`` for a model of subwords, or a folder that holds the
            evaluation of something else.
    """
    if config.hypotheses is not None:
        return [_evaluate_given(config)]
    system = _System.load(config)
    if config.no_unk and isinstance(system.translator.source.tokenizer, SentencePieceTokenizer):
        raise UserError(
            f"no_unk=true needs a vocabulary of words, and {system.checkpoints[0].directory} has "
            "one of subwords; leave no_unk out."
        )
    output = Path(config.output) if config.output else system.runs[0] / "evaluations"
    if config.output is None and output.is_symlink():  # a stranger's run must not choose the place
        raise UserError(f"{output} is a link, which is not followed; give output=FOLDER.")
    found = find_test_sets(config, system.checkpoints[0].config.corpus)
    test_sets = {name: Sentences.read(text) for name, text in found.items()}
    if config.same_content:
        test_sets |= {
            f"{name}-{way}": made for name in found for way, made in same_content(test_sets[name])
        }
    maps = {name: _lines_to_draw(config, name, test_sets[name].sources) for name in found}
    plan = []
    for name, test_set in test_sets.items():
        for search in config.searches():
            directory = output / "-".join([name, search.name, *system.suffix])
            identity = system.identity(search, test_set, output)
            _require_same_subject(directory, identity)  # before the work
            plan.append((directory, identity, name, search))

    @cache
    def reference_scores(name: str) -> ReferenceScores | None:
        whole = test_sets[name]
        if whole.parts is not None:
            return None  # no source of the model is the whole one
        sides = whole.sources, whole.references
        return score_references(system.translator, *sides, config.decoding.batch_size)

    evaluations = []
    for directory, identity, name, search in plan:
        record = system.record(search, name, identity)
        finished = _finished(directory, identity)
        if finished is None:
            work = f"{record.name}: translating {name}, {search.name}"
            texts, seconds = _translate(system.translator, test_sets[name], search, work)
            texts = replace(texts, reference_scores=reference_scores(name))
            record.seconds = round(seconds, 2)
            record.sentences_per_second = round(len(texts) / max(seconds, 1e-9), 1)
        else:
            log.info("%s holds these translations already; scoring them again.", directory)
            texts = finished.texts
            # The run may have continued without a better checkpoint, or have been moved away.
            training = record.training or finished.record.training
            record = replace(finished.record, training=training)
        missing = {*maps.get(name, [])} - {drawn_map.line for drawn_map in texts.maps}
        drawn = draw_maps(system.translator, texts, missing, config.decoding.batch_size)
        texts = replace(
            texts, maps=sorted([*texts.maps, *drawn], key=lambda drawn_map: drawn_map.line)
        )
        record.maps = config.maps or record.maps
        counts = finished.counts if finished else None
        evaluation = write_evaluation(directory, texts, config.evaluation, record, counts)
        log.info("%s: BLEU %.2f", directory, evaluation.overall.bleu or 0.0)
        _write_alignment(config, system.translator, test_sets[name], evaluation)
        evaluations.append(evaluation)
    return evaluations


@dataclass(frozen=True)
class _System:
    """The checkpoint that is evaluated, or several as one system."""

    translator: Translator
    checkpoints: list[Checkpoint]
    suffix: list[str]
    """Ends the names of several as one: ``["ensemble2"]``, ``["average3"]``; [] for one alone."""

    @classmethod
    def load(cls, config: EvaluateConfig) -> "_System":
        device = choose_device(config.device)
        paths = str(config.checkpoint), *config.more_checkpoints
        checkpoints = [load_checkpoint(Path(path), device) for path in paths]
        translator = Translator.of(checkpoints, config.precision, config.average)
        kind = "average" if config.average else "ensemble"
        return cls(translator, checkpoints, [f"{kind}{len(paths)}"] if len(paths) > 1 else [])

    @property
    def runs(self) -> list[Path]:
        """The run folder of each checkpoint, or the checkpoint itself when it stands alone."""
        folders = [checkpoint.directory for checkpoint in self.checkpoints]
        return [f.parent.parent if f.parent.name == "checkpoints" else f for f in folders]

    def identity(self, search: DecodingConfig, test_set: Sentences, output: Path) -> dict[str, Any]:
        """What the translations depend on; paths are relative to ``output``."""
        settings = asdict(search)
        del settings["batch_size"]
        return {
            "system": [
                {"path": os.path.relpath(c.directory, output), "sha256": c.sha256}
                for c in self.checkpoints
            ],
            "combination": self.suffix,
            **test_set.digests(),
            "search": settings,
            "precision": str(self.translator.precision).removeprefix("torch."),
            "device": self.translator.device.type,
        }

    def record(
        self, search: DecodingConfig, test_set: str, identity: dict[str, Any]
    ) -> EvaluationRecord:
        """Who translates, and how."""
        trained = self.checkpoints[0].config
        trainings = [read_record(run, "restore it, or delete it") for run in self.runs]
        members = [
            Member(
                checkpoint.config.system,
                checkpoint.config.seed,
                checkpoint.state.progress.update,
                training,
            )
            for checkpoint, training in zip(self.checkpoints, trainings, strict=True)
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


def _translate(
    translator: Translator, test_set: Sentences, search: DecodingConfig, work: str
) -> tuple[Translations, float]:
    """The translations of a test set by one search, and the seconds that they took."""
    parts = test_set.parts or [[source] for source in test_set.sources]
    started = time.monotonic()
    one_by_one = iter(translator.translate([*chain.from_iterable(parts)], search, progress=work))
    seconds = time.monotonic() - started
    hypotheses = [[*islice(one_by_one, len(of))] for of in parts]
    log_probabilities = [sum(h.log_probability for h in of) for of in hypotheses]
    texts = Translations(
        test_set.sources,
        test_set.references,
        [" ".join(h.text for h in of) for of in hypotheses],
        [any(h.capped for h in of) for of in hypotheses],
        [p if math.isfinite(p) else None for p in log_probabilities],
    )
    return texts, seconds


def _lines_to_draw(config: EvaluateConfig, name: str, sources: list[str]) -> list[int]:
    """Lines, from 0, whose attention is kept: ``config.maps``, and a few of every length."""
    for line in config.maps:
        if line > len(sources):
            raise UserError(
                f"maps={line} is beyond the {len(sources)} lines of {name}; lines count from 1."
            )
    by_length = lines_by_length(sources, config.evaluation.length_buckets, MAPS_PER_BUCKET)
    chosen = {*by_length, *(line - 1 for line in config.maps)}
    return sorted(line for line in chosen if sources[line].strip())


def _evaluate_given(config: EvaluateConfig) -> Evaluation:
    """Score ``config.hypotheses``, into the folder ``<output>/<name of source>-<system>``."""
    source, reference, hypotheses, output = (
        Path(str(path))
        for path in (config.source, config.reference, config.hypotheses, config.output)
    )
    lines = *read_aligned(source, reference), read_aligned(source, hypotheses)[1]
    identity = {
        "system": [
            {"path": os.path.relpath(hypotheses, output), "sha256": content_digest(hypotheses)}
        ],
        "source": content_digest(source),
        "reference": content_digest(reference),
    }
    record = EvaluationRecord(
        system=str(config.system),
        test_set=source.name,
        search=GIVEN,
        identity=identity,
        **environment_record(torch.device("cpu")),
    )
    directory = output / f"{source.name}-{config.system}"
    _require_same_subject(directory, identity)
    return write_evaluation(directory, Translations(*lines, capped=[]), config.evaluation, record)


def _require_same_subject(directory: Path, identity: dict[str, Any]) -> None:
    """Refuse to replace an evaluation of another system, text, search or precision.

    What is at the same path may be evaluated again after it has changed.
    """
    try:
        stored = parse_object((directory / SCORES).read_bytes())["record"]["identity"]
        ours, theirs = (
            {**subject, "system": [part["path"] for part in subject["system"]]}
            for subject in (identity, stored)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return  # there is none, or a damaged one
    different = sorted(
        key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)
    )
    if different:
        raise UserError(
            f"{directory} holds the evaluation of something else (other {', '.join(different)}), "
            "which is not replaced; give output=ANOTHER_FOLDER, or move that folder away."
        )


def _finished(directory: Path, identity: dict[str, Any]) -> Evaluation | None:
    """The evaluation in a folder if it is of these very translations and undamaged."""
    if not (directory / SCORES).exists():
        return None
    try:
        evaluation = read_evaluation(directory)
    except UserError as error:
        log.warning("%s Evaluating again.", error)
        return None
    return evaluation if evaluation.record.identity == identity else None


def _write_alignment(
    config: EvaluateConfig, translator: Translator, test_set: Sentences, evaluation: Evaluation
) -> None:
    """Write alignment.json where the test set has gold links and the model attends."""
    path = evaluation.directory / ALIGNMENT
    gold_file = test_set.file.alignments if test_set.file else None
    if gold_file is None or not translator.model.attends:
        path.unlink(missing_ok=True)
        return
    key = {"identity": evaluation.record.identity, "gold": content_digest(gold_file)}
    try:
        if parse_object(path.read_bytes()).items() >= key.items():
            return
    except (OSError, ValueError):
        pass
    sources, references = evaluation.texts.sources, evaluation.texts.references
    pairs = list(zip(sources, references, strict=True))
    try:
        gold = read_gold(gold_file, pairs)
        links = reference_links(translator, sources, references, config.decoding.batch_size)
    except UserError as error:
        if config.gold is not None:
            raise
        path.unlink(missing_ok=True)
        log.warning("The gold links %s are not scored: %s", gold_file, error)
        return
    content = score_alignment(links, pairs, gold)
    write_json(path, {**key, **content})
    log.info("%s: alignment error rate %.3f", path, content["shifts"]["0"]["aer"])
