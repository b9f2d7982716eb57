"""Translate a text file, or standard input, with a checkpoint."""

from launch import launch

from seq2seq.config import TranslateConfig
from seq2seq.decoding.translator import Translator, translate_file


def main(config: TranslateConfig) -> None:
    """One line out for each line in."""
    checkpoints = [config.checkpoint, *config.more_checkpoints]
    translator = Translator.load(checkpoints, config.device, config.precision, config.average)
    translate_file(translator, config.decoding, config.input, config.hypotheses)


if __name__ == "__main__":
    launch("translate", main)
