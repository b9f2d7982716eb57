"""Translate test sets with a checkpoint, or take given translations; score them by length."""

from cli import launch

from seq2seq.config import EvaluateConfig


def main(config: EvaluateConfig) -> None:
    """One evaluation folder per test set and search; print each one's scores by length."""
    from seq2seq.evaluation.evaluate import evaluate
    from seq2seq.report.tables import scores_markdown, unknown_words_markdown

    evaluations = evaluate(config)
    for evaluation in evaluations:
        print(f"{evaluation.directory}\n\n{scores_markdown(evaluation.scores)}")
    if config.no_unk:
        pairs = list(zip(evaluations[::2], evaluations[1::2], strict=True))
        print(unknown_words_markdown(pairs))


if __name__ == "__main__":
    launch("evaluate", main)
