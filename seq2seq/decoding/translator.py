"""Text in, text out: a model with its codecs, and how sentences and files are put through them."""

import contextlib
import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from tqdm import tqdm

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.codec import TextCodec
from seq2seq.data.text import read_lines, write_lines
from seq2seq.data.vocabulary import EOS, PAD
from seq2seq.decoding.search import SearchResult, beam_search
from seq2seq.device import choose_device, choose_precision, mixed_precision
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel

logger = logging.getLogger(__name__)

CHUNK = 4_096
"""Lines of a file translated at a time; within a chunk, sentences of like length go together."""


@dataclass(frozen=True)
class Hypothesis:
    """The translation of one sentence."""

    text: str
    """Running text on one line; empty for a blank source."""
    score: float
    """Log-probability divided by length ** length_normalization."""
    pieces: list[str]
    """What the text was made of, without EOS."""
    capped: bool
    """The search came to its longest allowed hypothesis before the model ended one."""


NOTHING = Hypothesis("", 0.0, [], False)


class Translator:
    """A trained model that translates text.

    Any text is a line to translate: blank lines give empty hypotheses, and lines of more than
    ``max_pieces`` pieces are cut there, with a warning.
    """

    def __init__(
        self,
        model: TranslationModel,
        source: TextCodec,
        target: TextCodec,
        device: torch.device,
        precision: torch.dtype,
        max_pieces: int,
    ) -> None:
        """Use ``model``, which is on ``device``; ``precision`` is that of its products."""
        self.model = model
        self.source = source
        self.target = target
        self.device = device
        self.precision = precision
        self.max_pieces = max_pieces

    @classmethod
    def load(cls, checkpoint: Path, device: str = "auto", precision: str = "auto") -> "Translator":
        """Load a checkpoint folder, or the best checkpoint of a run folder.

        Raises:
            UserError: there is no whole checkpoint, or no such device.
        """
        chosen = choose_device(device)
        found = load_checkpoint(checkpoint, chosen)
        return cls(
            found.model,
            found.source,
            found.target,
            chosen,
            choose_precision(precision, chosen),
            found.config.tokenization.max_pieces,
        )

    def translate(
        self,
        sentences: list[str],
        config: DecodingConfig,
        progress: bool = False,
        first_line: int = 1,
    ) -> list[Hypothesis]:
        """One hypothesis per sentence, in the order of ``sentences``.

        ``first_line`` is the line number that warnings give to the first sentence.
        """
        encoded = [
            self._encode(sentence, line) for line, sentence in enumerate(sentences, first_line)
        ]
        hypotheses = [NOTHING] * len(sentences)
        # Sentences of like length share a batch; the longest first, to run out of memory early.
        order = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: -len(encoded[i]))
        batches = [
            order[start : start + config.batch_size]
            for start in range(0, len(order), config.batch_size)
        ]
        bar = tqdm(total=len(order), unit="sentence", disable=None if progress else True)
        with bar, self._evaluating():
            for batch in batches:
                results = self._search([encoded[i] for i in batch], config)
                for i, result in zip(batch, results, strict=True):
                    hypotheses[i] = self._hypothesis(result)
                bar.update(len(batch))
        return hypotheses

    def _encode(self, sentence: str, line: int) -> list[int]:
        ids = self.source.encode(sentence)
        if len(ids) > self.max_pieces:
            logger.warning(
                "Line %d has %d pieces; only the first %d are translated "
                "(tokenization.max_pieces of the trained model).",
                line,
                len(ids),
                self.max_pieces,
            )
        return ids[: self.max_pieces]

    def _search(self, batch: list[list[int]], config: DecodingConfig) -> list[SearchResult]:
        lengths = [len(ids) + 1 for ids in batch]
        width = max(lengths)
        padded = [[*ids, EOS] + [PAD] * (width - len(ids) - 1) for ids in batch]
        source = torch.tensor(padded, device=self.device)
        return beam_search(self.model, source, torch.tensor(lengths, device=self.device), config)

    def _hypothesis(self, result: SearchResult) -> Hypothesis:
        # A vocabulary may hold pieces with line ends in them; a hypothesis is one line to anyone.
        text = " ".join(self.target.decode(result.ids).splitlines())
        return Hypothesis(text, result.score, self.target.pieces(result.ids), result.capped)

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """No dropout, and products in the chosen precision; training goes on as before."""
        was_training = self.model.training
        self.model.eval()
        try:
            with mixed_precision(self.device, self.precision):
                yield
        finally:
            self.model.train(was_training)


def translate_file(
    translator: Translator, config: DecodingConfig, source: str, hypotheses: str
) -> int:
    """Translate a text line by line, in order, and return the number of lines.

    A file appears whole or not at all. To standard output, lines are written as they come.

    Args:
        translator: the trained model.
        config: how to search.
        source: text file (plain, .gz or .xz), or ``-`` for standard input.
        hypotheses: file to write, its folder is created; or ``-`` for standard output.

    Raises:
        UserError: the text cannot be read, or is not UTF-8.
    """
    lines = _standard_input() if source == "-" else read_lines(Path(source))
    translated = _translate_lines(translator, config, lines)
    if hypotheses == "-":
        return _write_standard_output(translated)
    path = Path(hypotheses)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_lines(path, translated)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error}); choose another file for the hypotheses."
        ) from error


def _translate_lines(
    translator: Translator, config: DecodingConfig, lines: Iterator[str]
) -> Iterator[str]:
    done = capped = 0
    while chunk := list(islice(lines, CHUNK)):
        found = translator.translate(chunk, config, progress=True, first_line=done + 1)
        done += len(chunk)
        capped += sum(hypothesis.capped for hypothesis in found)
        yield from (hypothesis.text for hypothesis in found)
    logger.info("Translated %d lines; %d hypotheses were cut at the length cap", done, capped)


def _standard_input() -> Iterator[str]:
    """Lines of standard input as :func:`read_lines` gives those of a file."""
    for number, raw in enumerate(sys.stdin.buffer, start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"Standard input, line {number}, byte {error.start + 1}: 0x{raw[error.start]:02x} "
                "is not valid UTF-8; convert the text, for example with iconv -f LATIN1 -t UTF-8."
            ) from None
        if number == 1:
            line = line.removeprefix("\ufeff")
        yield line[:-1].removesuffix("\r") if line.endswith("\n") else line


def _write_standard_output(lines: Iterable[str]) -> int:
    # Bytes: on Windows, the text layer would change encoding and line ends.
    count = 0
    for line in lines:
        sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
        count += 1
    sys.stdout.buffer.flush()
    return count
