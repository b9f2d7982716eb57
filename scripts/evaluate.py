"""Translate test sets with a checkpoint, or read translations from a file; score them by length."""

from cli import launch

from seq2seq.config import EvaluateConfig


def main(config: EvaluateConfig) -> None:
    """Write an evaluation folder for each search of each test set; print all scores by length."""
    from seq2seq.distributed import process_group
    from seq2seq.evaluation.evaluate import evaluate
    from seq2seq.report.tables import evaluation_table

    with process_group(config.device) as group:
        evaluations = evaluate(config, group)
    for evaluation in evaluations:
        print(evaluation_table(evaluation).markdown())


if __name__ == "__main__":
    launch("evaluate", main)
