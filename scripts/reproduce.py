"""Train, evaluate and compare every system of an experiment; resumes where it stopped."""

import logging
import math
from pathlib import Path
from statistics import fmean

from cli import launch

from seq2seq.config import CompareConfig, EvaluateConfig, ExperimentConfig

log = logging.getLogger(__name__)


def main(runs: list[ExperimentConfig]) -> None:
    """Each stage finds what an earlier call has finished and does not do it again."""
    from seq2seq.data.preparation import prepare
    from seq2seq.evaluation.evaluate import evaluate
    from seq2seq.report.compare import compare
    from seq2seq.report.terminal import show
    from seq2seq.training.run_folder import RunFolder
    from seq2seq.training.trainer import Trainer

    # Check what every run needs before the first one trains for hours.
    evaluate_configs = [_evaluate_config(run) for run in runs]
    prepared = [prepare(run.corpus, run.tokenization, Path(run.data)) for run in runs]
    for run in runs:
        RunFolder(run).claim()
    tests = [*prepared[0].corpus.tests, *runs[0].test_texts]
    for run, data in zip(runs, prepared, strict=True):
        if run is runs[0] or not RunFolder(run).finished:
            log.info("%s", _plan(runs, evaluate_configs[0], tests))
        Trainer(run, data).run()
    evaluations: dict[str, list[str]] = {}
    for settings in evaluate_configs:
        for evaluation in evaluate(settings):
            name = f"{evaluation.record['test_set']}-{evaluation.record['search']}"
            evaluations.setdefault(name, []).append(str(evaluation.directory))
    compared = {}
    for name, directories in evaluations.items():
        output = f"{runs[0].output}/{runs[0].name}/comparison/{name}"
        compared[output] = compare(
            CompareConfig(
                evaluations=directories,
                output=output,
                evaluation=runs[0].evaluation,
                baseline=runs[0].baseline,
                baselines=runs[0].baselines,
            )
        )
    show(compared)


def _plan(runs: list[ExperimentConfig], evaluated: EvaluateConfig, tests: list[str]) -> str:
    """What is trained and tested, what of it is finished, and how long the rest takes."""
    from seq2seq.training.run_folder import RunFolder

    left, limits, seconds = [], {}, {}
    for run in runs:
        name, most, folder = f"{run.system}, seed {run.seed}", run.training, RunFolder(run)
        if folder.finished:
            seconds[name] = folder.record()["progress"]["seconds"]
        else:
            left.append(name)
            key = "max_updates" if most.max_updates else "max_epochs"
            limits[f"{key}={getattr(most, key):,}"] = True
    time = "known after the first updates of each, see its bar or log"
    if seconds:
        minutes = math.ceil(fmean(seconds.values()) * len(left) / 60)
        time = f"about {minutes:,} min, if each takes as long as the finished ones"
    searches = ", ".join(search.name for search in evaluated.searches())
    lines = [
        f"Plan of {run.name}: {len(runs)} trainings, then {searches} of {', '.join(tests)}",
        f"  finished: {'; '.join(seconds) or 'none'}",
        f"  to train: {'; '.join(left) or 'none'}",
    ]
    if left:
        lines += [f"  until: {' or '.join(limits)}", f"  time: {time}"]
    return "\n".join(lines)


def _evaluate_config(run: ExperimentConfig) -> EvaluateConfig:
    """How ``run`` is evaluated; refuses a missing device or test text."""
    from seq2seq.data.text import read_aligned
    from seq2seq.device import choose_device
    from seq2seq.evaluation.test_sets import find_test_texts
    from seq2seq.training.run_folder import RunFolder

    choose_device(run.training.device)
    for text in find_test_texts(run.test_texts, run.corpus).values():
        read_aligned(text.source, text.target)  # only to check the files
    return EvaluateConfig(
        checkpoint=str(RunFolder(run).best),
        decoding=run.decoding,
        evaluation=run.evaluation,
        beams=run.beams,
        data=run.data,
        directory=run.corpus.directory,
        test_texts=run.test_texts,
        device=run.training.device,
        precision=run.training.precision,
    )


if __name__ == "__main__":
    launch("reproduce", main)
