"""The stage ``evaluate``: translations of test sets, scored by source length."""

import logging
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig, EvaluateConfig, ExperimentConfig
from seq2seq.data.parallel_text import ParallelText
from seq2seq.data.text import content_digest
from seq2seq.data.tokenization import SentencePieceTokenizer
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation, write_evaluation
from seq2seq.evaluation.given import evaluate_given
from seq2seq.evaluation.named_texts import find_test_texts
from seq2seq.evaluation.own_texts import find_own_texts
from seq2seq.evaluation.scores import Translations
from seq2seq.evaluation.test_set import TestSet
from seq2seq.files import JSON_BYTES, parse_object, read_plain
from seq2seq.record import environment_record

log = logging.getLogger(__name__)


def evaluate(config: EvaluateConfig) -> list[Evaluation]:
    """Translate and score each test set asked for, or score the translations given.

    With a checkpoint, each search of each test set has a folder, ``<test set>-<search>``; they are
    returned test set by test set, in the order of ``EvaluateConfig.searches``. Several checkpoints
    are evaluated as one system, in the run folder of the first. A folder that already holds these
    translations (same checkpoint, text, search, precision and kind of device) is not translated
    again; it is scored again where the settings differ, and completed where the version that wrote
    it did not score references.

    Raises:
        UserError: no such checkpoint, test set or text, checkpoints that do not go together, texts
            that do not align, or ``no_unk`` for a model of subwords.
    """
    if config.hypotheses is not None:
        return [evaluate_given(config)]
    subject = _Subject.load(config)
    if config.no_unk and isinstance(subject.translator.source.tokenizer, SentencePieceTokenizer):
        raise UserError(
            f"no_unk=true is for vocabularies of words, and {subject.checkpoint.directory} cuts "
            "text into subwords, which leave no word unknown; leave no_unk out."
        )
    if config.output is None:
        output = _run_folder(subject.checkpoint.directory) / "evaluations"
    else:
        output = Path(config.output)
    test_sets = [
        TestSet(name, texts, subject.translator, config)
        for name, texts in _test_sets(config, subject.checkpoint.config, subject.hashes()).items()
    ]
    for test_set in test_sets:
        test_set.lines_to_draw()  # a line that is not there is refused before the work
    evaluations = []
    for test_set in test_sets:
        for search in config.searches():
            directory = output / "-".join([test_set.name, search.name, *subject.together])
            identity = subject.identity(search, test_set.texts)
            evaluation = _reuse(config, subject, test_set, directory, identity)
            if evaluation is None:
                evaluation = _make(config, subject, test_set, search, directory, identity)
            test_set.write_alignment(directory, identity)
            evaluations.append(evaluation)
    return evaluations


@dataclass(frozen=True)
class _Subject:
    """What is evaluated: a checkpoint, or several as one system."""

    translator: Translator
    checkpoint: Checkpoint
    others: list[Checkpoint]
    together: list[str]
    """How several are called beside one: ``ensemble2``, ``average3``; else nothing."""

    @classmethod
    def load(cls, config: EvaluateConfig) -> "_Subject":
        assert config.checkpoint is not None  # the config sees to it
        device = choose_device(config.device)
        paths = config.checkpoint, *config.more_checkpoints
        first, *others = [load_checkpoint(Path(path), device) for path in paths]
        translator = Translator.of([first, *others], config.precision, config.average)
        kind = "average" if config.average else "ensemble"
        return cls(translator, first, others, [f"{kind}{len(paths)}"] if others else [])

    def identity(self, search: DecodingConfig, texts: ParallelText) -> dict[str, Any]:
        """What translations depend on; all else may differ between two equal evaluations."""
        identity = {
            "checkpoint_sha256": self.checkpoint.sha256,
            "source_sha256": content_digest(texts.source),
            "reference_sha256": content_digest(texts.target),
            "search": _search(search),
            "precision": str(self.translator.precision).removeprefix("torch."),
            "device": self.translator.device.type,
        }
        if self.together:
            identity["together"] = [*self.together, *(other.sha256 for other in self.others)]
        return identity

    def record(self, search: DecodingConfig) -> dict[str, Any]:
        """Who translates, and how."""
        trained = self.checkpoint.config
        return {
            "experiment": trained.name,
            "system": "-".join([trained.system, *self.together]),
            **self.origin(),
            "corpus": trained.corpus.kind,
            "search": search.name,
            "checkpoint": str(self.checkpoint.directory),
            "config": {**asdict(trained), "decoding": asdict(search)},
            "parameters": self.translator.model.parameter_counts(),
            **environment_record(self.translator.device),
        }

    def origin(self) -> dict[str, Any]:
        """Of which training or trainings it is."""
        seed = self.checkpoint.config.seed
        alike = all(other.config.seed == seed for other in self.others)
        return {
            "seed": seed if alike else None,
            "members": [_member(one) for one in (self.checkpoint, *self.others) if self.others],
            "training": self.training(),
        }

    def training(self) -> dict[str, Any] | None:
        """The record of the one training behind it; None where it is not known, or not one."""
        runs = {_run_folder(one.directory) for one in (self.checkpoint, *self.others)}
        return _training_record(self.checkpoint.directory) if len(runs) == 1 else None

    def hashes(self) -> list[dict[str, str]]:
        """Of the text that each of the models was trained on, where its run says so."""
        records = [_training_record(one.directory) for one in (self.checkpoint, *self.others)]
        return [record["data_sha256"] for record in records if record and "data_sha256" in record]


def _member(checkpoint: Checkpoint) -> dict[str, Any]:
    """What is told of one of several models that are evaluated as one system."""
    return {
        "system": checkpoint.config.system,
        "seed": checkpoint.config.seed,
        "update": checkpoint.state.get("progress", {}).get("update"),
        "training": _training_record(checkpoint.directory),
    }


def _run_folder(checkpoint: Path) -> Path:
    """The run a checkpoint belongs to, or the checkpoint itself when it stands alone."""
    return checkpoint.parent.parent if checkpoint.parent.name == "checkpoints" else checkpoint


def _training_record(checkpoint: Path) -> dict[str, Any] | None:
    """The record of the run that made a checkpoint; None when it has been taken elsewhere."""
    path = _run_folder(checkpoint) / "run.json"
    if not path.exists():
        return None
    try:
        return parse_object(read_plain(path, JSON_BYTES))
    except ValueError:
        raise UserError(f"{path} is not JSON; restore it, or delete it to do without.") from None


def _test_sets(
    config: EvaluateConfig, trained: ExperimentConfig, hashes: list[dict[str, str]]
) -> dict[str, ParallelText]:
    """Which texts to translate, by name; ``hashes`` as for :func:`find_own_texts`."""
    if config.source is not None and config.reference is not None:
        source = Path(config.source)
        gold = None if config.gold is None else Path(config.gold)
        return {source.name: ParallelText(source, Path(config.reference), gold)}
    texts = find_test_texts(config.test_texts, trained.corpus)
    if config.test_sets == []:
        return texts
    tests = find_own_texts(config, trained, hashes)
    if config.test_sets is None:
        return {**tests, **texts}
    for name in config.test_sets:
        if name not in tests:
            raise UserError(
                f"test_sets names {name}, but corpus {trained.corpus.kind} has only: "
                f"{', '.join(tests)}."
            )
    return {**{name: tests[name] for name in config.test_sets}, **texts}


def _reuse(
    config: EvaluateConfig,
    subject: _Subject,
    test_set: TestSet,
    directory: Path,
    identity: dict[str, Any],
) -> Evaluation | None:
    """What a folder holds of these very translations, brought up to date; None for others."""
    found = _read_if_whole(directory)
    if found is None or _with_defaults(found.record.get("identity")) != identity:
        return None
    log.info("%s is already evaluated.", directory)
    texts = test_set.complete(found.texts)
    # The run may have gone on since, without a better checkpoint.
    training = subject.training()
    known = training is None or training == found.record.get("training")
    # Folders of earlier versions take the training of the first of several models for theirs.
    told = not subject.others or "members" in found.record
    scored = found.scored_with(config.evaluation) is found.scores
    if known and told and texts is found.texts and scored:
        return found
    record = found.record if known else {**found.record, "training": training}
    if not told:
        record = {**record, **subject.origin()}
    return write_evaluation(directory, texts, config.evaluation, record)


def _make(
    config: EvaluateConfig,
    subject: _Subject,
    test_set: TestSet,
    search: DecodingConfig,
    directory: Path,
    identity: dict[str, Any],
) -> Evaluation:
    """Translate and score a test set by one search."""
    sources, references = test_set.lines
    started = time.monotonic()
    hypotheses = subject.translator.translate(sources, search, progress=True)
    seconds = time.monotonic() - started
    translations = Translations(
        sources,
        references,
        [hypothesis.text for hypothesis in hypotheses],
        [hypothesis.capped for hypothesis in hypotheses],
        [hypothesis.log_probability for hypothesis in hypotheses],
        test_set.reference_scores,
        test_set.draw_maps([hypothesis.text for hypothesis in hypotheses]),
    )
    record = {
        **subject.record(search),
        "test_set": test_set.name,
        "identity": identity,
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sources) / max(seconds, 1e-9), 1),
    }
    evaluation = write_evaluation(directory, translations, config.evaluation, record)
    overall = evaluation.scores.overall
    log.info(
        "%s, %s: BLEU %.2f, perplexity %.2f, %.0f sentences/s, into %s",
        test_set.name,
        search.name,
        overall.bleu or 0.0,
        overall.perplexity or math.nan,
        len(sources) / seconds,
        directory,
    )
    return evaluation


def _read_if_whole(directory: Path) -> Evaluation | None:
    """The evaluation in a folder; None where there is none, or one damaged or cut short."""
    if not (directory / "scores.json").exists():
        return None
    try:
        return read_evaluation(directory)
    except UserError as error:
        log.warning("%s That is done now.", error)
        return None


def _with_defaults(identity: Any) -> Any:
    """A recorded identity as one of today: a setting that it does not know had its default."""
    if not isinstance(identity, dict) or not isinstance(identity.get("search"), dict):
        return identity
    return {**identity, "search": {**_search(DecodingConfig()), **identity["search"]}}


def _search(decoding: DecodingConfig) -> dict[str, Any]:
    """What the translations depend on."""
    search = asdict(decoding)
    del search["batch_size"]
    return search
