"""Fetch or write a corpus, learn its tokenisation, encode it: ``data/`` is ready to train on."""

from pathlib import Path

from launch import launch

from seq2seq.config import ExperimentConfig
from seq2seq.data.preparation import prepare


def main(config: ExperimentConfig) -> None:
    """Run the first stage; later ones find its result cached."""
    prepare(config.corpus, config.tokenization, Path(config.data))


if __name__ == "__main__":
    launch("prepare", main)
