"""Translate a text file, standard input or typed sentences with a checkpoint."""

from cli import launch

from seq2seq.config import TranslateConfig


def main(config: TranslateConfig) -> None:
    """Translate the input line by line; at a terminal, answer each line that is typed."""
    from seq2seq.decoding.text_stream import translate_text
    from seq2seq.decoding.translator import Translator
    from seq2seq.distributed import process_group

    checkpoints = [config.checkpoint, *config.more_checkpoints]
    with process_group(config.device) as group:
        translator = Translator.load(checkpoints, config.device, config.precision)
        with translator.sharing(group) as first:
            if first:
                translate_text(translator, config)


if __name__ == "__main__":
    launch("translate", main)
