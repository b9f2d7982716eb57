"""Translate a file and print the seconds: this project's part in a comparison of searches.

Arguments: checkpoint, text, output, precision, beam, batch size, maximum length of a translation.
The seconds are those of ``Translator.translate``, from text to text, without loading the model and
its kernels.
"""

import sys
import time
from pathlib import Path

from seq2seq.config import DecodingConfig
from seq2seq.data.text import read_lines, write_lines
from seq2seq.decoding.translator import Translator
from seq2seq.model.fast.compiled import choose_operations


def main(checkpoint: str, source: str, output: str, precision: str, *sizes: str) -> None:
    """Translate the file ``source`` on the CPU into ``output``."""
    beam, batch_size, max_length = map(int, sizes)
    translator = Translator(Path(checkpoint), "cpu", precision)
    choose_operations(translator.device, translator.precision)  # compiled at first use
    sentences = list(read_lines(Path(source)))
    config = DecodingConfig(beam=beam, batch_size=batch_size, max_ratio=0, max_extra=max_length)
    start = time.perf_counter()
    hypotheses = translator.translate(sentences, config)
    seconds = time.perf_counter() - start
    write_lines(Path(output), (hypothesis.text for hypothesis in hypotheses))
    print(f"translated {len(sentences)} lines in {seconds:.4f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
