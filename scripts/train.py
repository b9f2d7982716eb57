"""Train one system of an experiment, or resume its training."""

from cli import launch

from seq2seq.config import TrainConfig


def main(config: TrainConfig) -> None:
    """Train into <output>/<name>/<system>/seed-<n>."""
    from seq2seq.training.trainer import train_run

    train_run(config)


if __name__ == "__main__":
    launch("train", main)
