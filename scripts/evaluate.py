"""Translate test sets with a checkpoint and score them by source length."""

from launch import launch

from seq2seq.config import EvaluateConfig
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.report.tables import scores_markdown


def main(config: EvaluateConfig) -> None:
    """One evaluation folder per test set; print each one's scores by length."""
    for evaluation in evaluate(config):
        print(f"{evaluation.directory}\n\n{scores_markdown(evaluation.scores)}")


if __name__ == "__main__":
    launch("evaluate", main)
