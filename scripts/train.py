"""Train one system of an experiment; resumes where it stopped."""

from pathlib import Path

from cli import launch

from seq2seq.config import TrainConfig


def main(config: TrainConfig) -> float | None:
    """Train into <output>/<name>/<system>/seed-<n>; return the best dev loss or BLEU.

    Running the same command again resumes an interrupted training.
    """
    from seq2seq.data.preparation import prepare
    from seq2seq.device import choose_device
    from seq2seq.distributed import process_group
    from seq2seq.training.parent import codec_folder
    from seq2seq.training.trainer import Trainer

    choose_device(config.training.device)  # refuse a missing device before any work
    with process_group(config.training.device) as group:
        data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
        return Trainer(config, data, group).run().best_metric


if __name__ == "__main__":
    launch("train", main)
