"""The stage ``evaluate``: a checkpoint's translations of test sets, scored by source length."""

import json
import logging
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig, EvaluateConfig, ExperimentConfig, FilesCorpus
from seq2seq.data.corpora import ParallelText, obtain
from seq2seq.data.text import content_digest, read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.record import environment_record

log = logging.getLogger(__name__)


def evaluate(config: EvaluateConfig) -> list[Evaluation]:
    """Translate and score each test set asked for; one folder each, ``<test set>-<search>``.

    Several checkpoints are evaluated as one system, in the run folder of the first.

    A folder that already holds these translations (same checkpoint, text, search, precision and
    kind of device) is not translated again; it is scored again where the settings differ.

    Raises:
        UserError: no such checkpoint, test set or text, or texts that do not align.
    """
    device = choose_device(config.device)
    checkpoint, *others = [
        load_checkpoint(Path(path), device)
        for path in (config.checkpoint, *config.more_checkpoints)
    ]
    translator = Translator.of([checkpoint, *others], config.precision, config.average)
    if config.output is None:
        output = _run_folder(checkpoint.directory) / "evaluations"
    else:
        output = Path(config.output)
    return [
        _evaluate_one(config, translator, checkpoint, others, name, texts, output)
        for name, texts in _test_sets(config, checkpoint.config).items()
    ]


def _run_folder(checkpoint: Path) -> Path:
    """The run a checkpoint belongs to, or the checkpoint itself when it stands alone."""
    return checkpoint.parent.parent if checkpoint.parent.name == "checkpoints" else checkpoint


def _training_record(checkpoint: Path) -> dict[str, Any] | None:
    """The record of the run that made a checkpoint; None when it has been taken elsewhere."""
    path = _run_folder(checkpoint) / "run.json"
    if not path.exists():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise UserError(f"{path} is not JSON; restore it, or delete it to do without.") from None


def _test_sets(config: EvaluateConfig, trained: ExperimentConfig) -> dict[str, ParallelText]:
    """Which texts to translate, by name."""
    if config.source is not None and config.reference is not None:
        source = Path(config.source)
        return {source.name: ParallelText(source, Path(config.reference))}
    corpus = trained.corpus
    if config.directory is not None:
        corpus = replace(corpus, directory=config.directory)
        if isinstance(corpus, FilesCorpus):
            corpus = FilesCorpus(
                source=corpus.source, target=corpus.target, directory=config.directory
            )
    tests = obtain(corpus, Path(config.data)).tests
    if config.test_sets is None:
        return tests
    for name in config.test_sets:
        if name not in tests:
            raise UserError(
                f"test_sets names {name}, but corpus {corpus.kind} has only: {', '.join(tests)}."
            )
    return {name: tests[name] for name in config.test_sets}


def _evaluate_one(
    config: EvaluateConfig,
    translator: Translator,
    checkpoint: Checkpoint,
    others: list[Checkpoint],
    name: str,
    texts: ParallelText,
    output: Path,
) -> Evaluation:
    together = _together(config)
    directory = output / "-".join([name, config.decoding.name, *together])
    identity = _identity(config, translator, checkpoint, texts)
    if together:
        identity["together"] = [*together, *(other.sha256 for other in others)]
    if (directory / "scores.json").exists():
        evaluation = read_evaluation(directory)
        if _with_defaults(evaluation.record.get("identity")) == identity:
            log.info("%s is already evaluated.", directory)
            if evaluation.scores.settings == config.evaluation:
                return evaluation
            return write_evaluation(
                directory, evaluation.texts, config.evaluation, evaluation.record
            )
    sources, references = list(read_lines(texts.source)), list(read_lines(texts.target))
    if len(sources) != len(references):
        raise UserError(
            f"{texts.source} has {len(sources)} lines, {texts.target} has {len(references)}; "
            "give files that are aligned line by line."
        )
    started = time.monotonic()
    hypotheses = translator.translate(sources, config.decoding, progress=True)
    seconds = time.monotonic() - started
    trained = checkpoint.config
    record = {
        "experiment": trained.name,
        "system": "-".join([trained.system, *together]),
        "seed": trained.seed,
        "corpus": trained.corpus.kind,
        "test_set": name,
        "search": config.decoding.name,
        "identity": identity,
        "checkpoint": str(checkpoint.directory),
        "config": asdict(replace(trained, decoding=config.decoding)),
        "training": _training_record(checkpoint.directory),
        "parameters": translator.model.parameter_counts(),
        "seconds": round(seconds, 2),
        "sentences_per_second": round(len(sources) / seconds, 1),
        **environment_record(translator.device),
    }
    translations = Translations(
        sources,
        references,
        [hypothesis.text for hypothesis in hypotheses],
        [hypothesis.capped for hypothesis in hypotheses],
        [hypothesis.score for hypothesis in hypotheses],
    )
    evaluation = write_evaluation(directory, translations, config.evaluation, record)
    log.info(
        "%s: BLEU %.2f, %.0f sentences/s, into %s",
        name,
        evaluation.scores.overall.bleu or 0.0,
        len(sources) / seconds,
        directory,
    )
    return evaluation


def _together(config: EvaluateConfig) -> list[str]:
    """How several checkpoints are called beside one: ``ensemble2``, ``average3``; else nothing."""
    if not config.more_checkpoints:
        return []
    kind = "average" if config.average else "ensemble"
    return [f"{kind}{1 + len(config.more_checkpoints)}"]


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


def _identity(
    config: EvaluateConfig, translator: Translator, checkpoint: Checkpoint, texts: ParallelText
) -> dict[str, Any]:
    """What the translations depend on; everything else may differ between two equal evaluations."""
    return {
        "checkpoint_sha256": checkpoint.sha256,
        "source_sha256": content_digest(texts.source),
        "reference_sha256": content_digest(texts.target),
        "search": _search(config.decoding),
        "precision": str(translator.precision).removeprefix("torch."),
        "device": translator.device.type,
    }
