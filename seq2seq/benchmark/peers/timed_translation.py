"""This project's part in a comparison of searches: translate a file, and print the seconds.

Run as a module, in a process of its own like the other toolkits' programs. The seconds are those of
``Translator.translate``, from text to text; loading the model and its kernels is not among them.
"""

import argparse
import time
from pathlib import Path

import torch

from seq2seq.config import DecodingConfig
from seq2seq.data.text import read_lines, write_lines
from seq2seq.decoding.translator import Translator
from seq2seq.model.fast.operations import choose_operations


def translate_timed(
    checkpoint: Path, source: Path, output: Path, config: DecodingConfig, precision: str
) -> tuple[int, float]:
    """Translate ``source`` on the CPU into ``output``; return the lines and the seconds.

    Args:
        checkpoint: folder of the model.
        source: text, a sentence a line.
        output: file to write.
        config: how to search.
        precision: auto | fp32 | bf16.

    Raises:
        UserError: there is no whole checkpoint, or the text cannot be read.
    """
    translator = Translator.load(checkpoint, "cpu", precision)
    choose_operations(
        translator.device, torch.float32, translator.precision
    )  # compiled at first use
    sentences = list(read_lines(source))
    start = time.perf_counter()
    hypotheses = translator.translate(sentences, config)
    seconds = time.perf_counter() - start
    write_lines(output, (hypothesis.text for hypothesis in hypotheses))
    return len(sentences), seconds


def main() -> None:
    """Read the command line, translate, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("checkpoint", "source", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("beam", "batch-size", "max-length"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--precision", required=True)
    told = parser.parse_args()
    config = DecodingConfig(beam=told.beam, batch_size=told.batch_size, max_length=told.max_length)
    lines, seconds = translate_timed(
        told.checkpoint, told.source, told.output, config, told.precision
    )
    print(f"translated {lines} lines in {seconds:.4f} s")


if __name__ == "__main__":
    main()
