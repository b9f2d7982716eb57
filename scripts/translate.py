"""Translate a text file, standard input or typed sentences with a checkpoint."""

from cli import launch

from seq2seq.config import TranslateConfig


def main(config: TranslateConfig) -> None:
    """Translate the input; write one line per input line."""
    from seq2seq.decoding.text_stream import answer_prompt, is_typed, translate_text
    from seq2seq.decoding.translator import Translator

    checkpoints = [config.checkpoint, *config.more_checkpoints]
    translator = Translator.load(checkpoints, config.device, config.precision, config.average)
    if is_typed(config):
        answer_prompt(translator, config)
    else:
        translate_text(translator, config)


if __name__ == "__main__":
    launch("translate", main)
