"""Train, evaluate and compare every system of an experiment; resumes where it stopped."""

from pathlib import Path

from cli import launch

from seq2seq.config import CompareConfig, EvaluateConfig, ExperimentConfig


def main(runs: list[ExperimentConfig]) -> None:
    """Each stage finds what an earlier call has finished and does not do it again."""
    from seq2seq.data.parallel_text import read_aligned
    from seq2seq.data.preparation import prepare
    from seq2seq.device import choose_device
    from seq2seq.evaluation.test_sets import find_test_texts
    from seq2seq.training.run_folder import RunFolder
    from seq2seq.training.trainer import Trainer

    evaluations = [
        EvaluateConfig(
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
        for run in runs
    ]
    # Whatever a later run needs is looked at before hours go into the first.
    for run in runs:
        choose_device(run.training.device)
        for text in find_test_texts(run.test_texts, run.corpus).values():
            read_aligned(text.source, text.target)
    prepared = [prepare(run.corpus, run.tokenization, Path(run.data)) for run in runs]
    for run in runs:
        RunFolder(run).claim()
    for run, data in zip(runs, prepared, strict=True):
        Trainer(run, data).run()
    _compare(runs[0], evaluations)


def _compare(config: ExperimentConfig, evaluations: list[EvaluateConfig]) -> None:
    from seq2seq.evaluation.evaluate import evaluate
    from seq2seq.report.compare import compare

    folders: dict[tuple[str, str], list[str]] = {}
    for settings in evaluations:
        for evaluation in evaluate(settings):
            key = evaluation.record["test_set"], evaluation.record["search"]
            folders.setdefault(key, []).append(str(evaluation.directory))
    for (test_set, search), compared in folders.items():
        comparison = CompareConfig(
            evaluations=compared,
            output=f"{config.output}/{config.name}/comparison/{test_set}-{search}",
            evaluation=config.evaluation,
            baseline=config.baseline,
            baselines=config.baselines,
        )
        print(f"{compare(comparison).summary}\n")


if __name__ == "__main__":
    launch("reproduce", main)
