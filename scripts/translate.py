"""Translate a text file, or standard input, with a checkpoint."""

from pathlib import Path

from launch import launch

from seq2seq.config import TranslateConfig
from seq2seq.decoding.translator import Translator, translate_file


def main(config: TranslateConfig) -> None:
    """One line out for each line in."""
    translator = Translator.load(Path(config.checkpoint), config.device, config.precision)
    translate_file(translator, config.decoding, config.input, config.hypotheses)


if __name__ == "__main__":
    launch("translate", main)
