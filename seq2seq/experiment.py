"""An experiment: several trainings, their evaluations and the comparisons."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from seq2seq.config import CompareConfig, EvaluateConfig, ReproduceConfig, TrainConfig
from seq2seq.data.preparation import prepare
from seq2seq.data.text import read_aligned, read_references
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.test_sets import find_test_sets, find_test_texts
from seq2seq.report.terminal import plan
from seq2seq.training.checkpoint_manager import codec_folder
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

log = logging.getLogger(__name__)


def reproduce_runs(config: ReproduceConfig, runs: list[TrainConfig]) -> dict[str, Comparison]:
    """Train, evaluate and compare ``runs``; return folder -> comparison.

    There is one comparison for each test set and search. With ``training.keep_epochs``, each kept
    epoch has its own comparisons, too. Work that an earlier call has finished is skipped.
    """
    # Check what every run needs before the first one trains for hours.
    evaluate_configs = [_evaluate_config(config, run) for run in runs]
    prepared = [
        prepare(run.corpus, run.tokenization, Path(run.data), codec_folder(run)) for run in runs
    ]
    for run, data in zip(runs, prepared, strict=True):
        RunFolder(run).require_text(data.hashes)
    tests = _test_sets(evaluate_configs, runs)
    texts = {
        (data.hashes["train.target"], run.corpus.train_pairs, run.corpus.train_max_words)
        for run, data in zip(runs, prepared, strict=True)
    }
    whole = len(texts) == 1 and all(limit is None for _, *limits in texts for limit in limits)
    # Existing runs are claimed before new ones, so that a refusal leaves no new folder behind. Of
    # these, unfinished ones come first, because their message says to finish them first.
    folders = [RunFolder(run) for run in runs]
    folders.sort(key=lambda one: (not one.path.exists(), one.record().status == "finished"))
    for folder in folders:
        folder.claim()
    searches = [search.name for search in evaluate_configs[0].searches()]
    for run, data in zip(runs, prepared, strict=True):
        if run is runs[0] or not RunFolder(run).finished:
            log.info("%s", plan(runs, searches, tests))
        Trainer(run, data).run()
    evaluations: dict[str, list[str]] = {}
    for run, best in zip(runs, evaluate_configs, strict=True):
        for state, settings in [("", best), *_kept(run, best)]:
            for evaluation in evaluate(settings):
                name = f"{state}{evaluation.record.test_set}-{evaluation.record.search}"
                evaluations.setdefault(name, []).append(str(evaluation.directory))
    # Some trainings may have ended before an epoch that others kept.
    complete = {name: of for name, of in evaluations.items() if len(of) == len(runs)}
    from seq2seq.report.compare import compare  # imports matplotlib

    compared = {}
    systems = {run.system for run in runs}
    some = len(systems) == 1 or len(systems) < len(config.systems)
    chosen = "".join(f"{one}-" for one in dict.fromkeys(run.system for run in runs) if some)
    for name, directories in complete.items():
        output = f"{config.output}/{config.name}/comparison/{chosen}{name}"
        compared[output] = compare(
            CompareConfig(
                evaluations=directories,
                output=output,
                evaluation=config.evaluation,
                baseline=config.baseline,
                baselines=config.baselines,
                labels={s: text for s, text in config.labels.items() if s in systems},
                # Each system's recall is by the counts in the one text that all have read.
                training_text=str(prepared[0].corpus.train.target) if whole else None,
            )
        )
    return compared


def _kept(run: TrainConfig, best: EvaluateConfig) -> Iterator[tuple[str, EvaluateConfig]]:
    """Yield (name prefix, evaluation config) for each checkpoint of ``training.keep_epochs``."""
    folder = RunFolder(run)
    for epoch in dict.fromkeys(run.training.keep_epochs):
        if (kept := folder.epoch(epoch)).is_dir():
            output = str(folder.path / kept.name)
            yield (f"{kept.name}-", replace(best, checkpoint=str(kept), output=output))


def _test_sets(configs: list[EvaluateConfig], runs: list[TrainConfig]) -> list[str]:
    """Return the names of the test sets; UserError if these or a text differ between two runs."""
    texts = [find_test_sets(config, run.corpus) for config, run in zip(configs, runs, strict=True)]
    for run, of in zip(runs, texts, strict=True):
        if of.keys() != texts[0].keys():
            raise UserError(
                f"The test sets of {run.system} ({', '.join(of)}) are not those of "
                f"{runs[0].system} ({', '.join(texts[0])}); name some that all have, with "
                "test_sets=[...], or use one test text for all of them."
            )
    for name in texts[0]:
        first, *others = (of[name] for of in texts)
        for run, text in zip(runs[1:], others, strict=True):
            if text != first and read_references(text) != read_references(first):
                raise UserError(
                    f"The test set {name} of {run.system} differs from that of {runs[0].system}, "
                    "so their scores cannot be compared; use one test text for all of them."
                )
    return [*texts[0]]


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
