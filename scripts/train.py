"""Train one system of an experiment, or resume its training."""

from cli import launch

from seq2seq.config import TrainConfig


def main(config: TrainConfig) -> float | None:
    """Train into <output>/<name>/<system>/seed-<n>; return the best dev loss or BLEU."""
    from seq2seq.training.trainer import train_run

    return train_run(config).best_metric


if __name__ == "__main__":
    launch("train", main)
