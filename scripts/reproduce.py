"""Train, evaluate and compare every system of an experiment; goes on where it stopped."""

import logging
from pathlib import Path

from launch import compose_systems, launch

from seq2seq.config import CompareConfig, EvaluateConfig, ExperimentConfig
from seq2seq.data.parallel_text import read_aligned
from seq2seq.data.preparation import prepare
from seq2seq.device import choose_device
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.test_sets import find_test_texts
from seq2seq.report.compare import compare
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

log = logging.getLogger(__name__)


def main(config: ExperimentConfig) -> None:
    """Each stage finds what an earlier call has finished and does not do it again."""
    runs = compose_systems(config)
    evaluations = [
        EvaluateConfig(
            checkpoint=str(RunFolder(run).best),
            decoding=config.decoding,
            evaluation=config.evaluation,
            beams=config.beams,
            data=config.data,
            directory=run.corpus.directory,
            test_texts=config.test_texts,
            device=run.training.device,
            precision=run.training.precision,
        )
        for run in runs
    ]
    # Before hours go into the first, nothing that a later one needs may be amiss.
    for run in runs:
        choose_device(run.training.device)
        for text in find_test_texts(run.test_texts, run.corpus).values():
            read_aligned(text.source, text.target)
    prepared = [prepare(run.corpus, run.tokenization, Path(run.data)) for run in runs]
    for run in runs:
        RunFolder(run).claim()
    folders: dict[tuple[str, str], list[str]] = {}
    for run, data, settings in zip(runs, prepared, evaluations, strict=True):
        Trainer(run, data).run()
        for evaluation in evaluate(settings):
            key = evaluation.record["test_set"], evaluation.record["search"]
            folders.setdefault(key, []).append(str(evaluation.directory))
    root = Path(config.output) / config.name / "comparison"
    for (test_set, search), compared in folders.items():
        side_by_side = CompareConfig(
            evaluations=compared,
            output=str(root / f"{test_set}-{search}"),
            evaluation=config.evaluation,
            baseline=config.baseline,
            baselines=config.baselines,
        )
        print(f"{compare(side_by_side).summary}\n")


if __name__ == "__main__":
    launch("reproduce", main)
