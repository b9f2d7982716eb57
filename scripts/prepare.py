"""Fetch or write a corpus, learn its tokenisation, encode it: ``data/`` is ready to train on."""

from pathlib import Path

from cli import launch

from seq2seq.config import TrainConfig


def main(config: TrainConfig) -> None:
    """Run the first stage and print what it found; later ones find its result cached."""
    from seq2seq.data.preparation import prepare, summary

    print(summary(prepare(config.corpus, config.tokenization, Path(config.data))))


if __name__ == "__main__":
    launch("prepare", main)
