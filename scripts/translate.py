"""Translate a text file, or standard input, with a checkpoint."""

from launch import launch

from seq2seq.config import TranslateConfig
from seq2seq.decoding.translator import translate_file


def main(config: TranslateConfig) -> None:
    """One line out for each line in."""
    translate_file(config)


if __name__ == "__main__":
    launch("translate", main)
