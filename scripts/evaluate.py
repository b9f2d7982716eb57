"""Translate test sets with a checkpoint and score them by source length."""

from launch import launch

from seq2seq.config import EvaluateConfig
from seq2seq.evaluation.evaluate import evaluate


def main(config: EvaluateConfig) -> None:
    """One evaluation folder per test set."""
    evaluate(config)


if __name__ == "__main__":
    launch("evaluate", main)
