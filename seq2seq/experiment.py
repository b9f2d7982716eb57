"""An experiment: several trainings, their evaluations and the comparisons."""

import logging
from dataclasses import replace
from pathlib import Path

from seq2seq.config import CompareConfig, EvaluateConfig, ReproduceConfig, TrainConfig
from seq2seq.data.preparation import prepare
from seq2seq.data.text import read_aligned, read_references
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.evaluate import evaluate, find_test_sets, find_test_texts
from seq2seq.training.run_folder import RunFolder, codec_folder
from seq2seq.training.trainer import Trainer

log = logging.getLogger(__name__)


def reproduce_runs(config: ReproduceConfig, runs: list[TrainConfig]) -> dict[str, Comparison]:
    """Train, evaluate and compare ``runs``; skip what an earlier call has finished.

    Return folder -> comparison, one for each test set, search and epoch of ``keep_epochs``."""
    # Check what every run needs before the first one trains for hours.
    evaluations = [_evaluate_config(config, run) for run in runs]
    prepared = [
        prepare(run.corpus, run.tokenization, Path(run.data), codec_folder(run)) for run in runs
    ]
    _require_equal_tests(evaluations, runs)
    # Existing runs are claimed first, so that a refusal leaves no new folder behind.
    folders = zip(map(RunFolder, runs), prepared, strict=True)
    for folder, data in sorted(folders, key=lambda pair: not pair[0].path.exists()):
        folder.claim(data.hashes)
    for number, (run, data) in enumerate(zip(runs, prepared, strict=True), 1):
        log.info("Training %d of %d: %s, seed %d", number, len(runs), run.system, run.seed)
        Trainer(run, data).run()
    made: dict[str, list[str]] = {}
    for run, best in zip(runs, evaluations, strict=True):
        folder, states = RunFolder(run), {"": best}
        for epoch in map(folder.epoch, run.training.keep_epochs):
            if epoch.is_dir():
                output = str(folder.path / epoch.name)
                states[f"{epoch.name}-"] = replace(best, checkpoint=str(epoch), output=output)
        for state, settings in states.items():
            for one in evaluate(settings):
                name = f"{state}{one.record.test_set}-{one.record.search}"
                made.setdefault(name, []).append(str(one.directory))
    from seq2seq.report.compare import compare  # imports matplotlib

    systems = dict.fromkeys(run.system for run in runs)
    some = len(systems) == 1 or len(systems) < len(config.systems)
    chosen = "".join(f"{system}-" for system in systems if some)
    compared = {}
    for name, directories in made.items():
        if len(directories) == len(runs):  # some may have ended before an epoch that others kept
            output = f"{config.output}/{config.name}/comparison/{chosen}{name}"
            compared[output] = compare(
                CompareConfig(
                    evaluations=directories,
                    output=output,
                    evaluation=config.evaluation,
                    baseline=config.baseline,
                    baselines=config.baselines,
                    labels={s: text for s, text in config.labels.items() if s in systems},
                )
            )
    return compared


def _require_equal_tests(evaluations: list[EvaluateConfig], runs: list[TrainConfig]) -> None:
    """Refuse test sets that differ between two runs."""
    first, *others = (
        find_test_sets(one, run.corpus) for one, run in zip(evaluations, runs, strict=True)
    )
    for run, texts in zip(runs[1:], others, strict=True):
        differ = sorted(texts.keys() ^ first.keys()) or [
            name
            for name, text in texts.items()
            if text != first[name] and read_references(text) != read_references(first[name])
        ]
        if differ:
            raise UserError(
                f"The test sets {', '.join(differ)} of {run.system} and {runs[0].system} differ, "
                "so their scores cannot be compared; use one test text for all systems, or name "
                "test sets that are equal, with test_sets=[...]."
            )


def _evaluate_config(config: ReproduceConfig, run: TrainConfig) -> EvaluateConfig:
    """Build the config that evaluates ``run``; refuse a missing device or test text."""
    choose_device(run.training.device)
    for text in find_test_texts(config.test_texts, run.corpus).values():
        read_aligned(text.source, text.target)  # only to check the files
    return EvaluateConfig(
        checkpoint=str(RunFolder(run).best),
        decoding=config.decoding,
        evaluation=run.evaluation,
        beams=config.beams,
        data=run.data,
        directory=run.corpus.directory,
        test_sets=config.test_sets,
        test_texts=config.test_texts,
        device=run.training.device,
        precision=run.training.precision,
    )
