"""Train one system of an experiment: ``train.py experiment=quickstart system=attention``."""

from pathlib import Path

from cli import launch

from seq2seq.config import ExperimentConfig


def main(config: ExperimentConfig) -> None:
    """Train into <output>/<name>/<system>/seed-<n>; the same command resumes a run cut short."""
    from seq2seq.data.preparation import prepare
    from seq2seq.device import choose_device
    from seq2seq.training.distributed import joined
    from seq2seq.training.trainer import Trainer

    choose_device(config.training.device)  # one that is not there is refused before all work
    with joined(config.training.device) as ranks:
        data = prepare(config.corpus, config.tokenization, Path(config.data))
        Trainer(config, data, ranks).run()


if __name__ == "__main__":
    launch("train", main)
