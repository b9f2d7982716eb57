"""Text in, text out: a model with its codecs, and how sentences and files are put through them."""

import contextlib
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import overload

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.codec import TextCodec
from seq2seq.data.text import read_lines, write_lines
from seq2seq.data.vocabulary import EOS, PAD, SPECIALS, UNK
from seq2seq.decoding.ensemble import combine
from seq2seq.decoding.forced import force
from seq2seq.decoding.hypothesis import NOTHING, Hypothesis, make_hypothesis
from seq2seq.decoding.result import SearchResult
from seq2seq.decoding.sampling import sample
from seq2seq.decoding.search import beam_search
from seq2seq.device import choose_device, choose_precision, mixed_precision
from seq2seq.errors import UserError
from seq2seq.model.ensemble import Ensemble
from seq2seq.model.translation import TranslationModel

logger = logging.getLogger(__name__)

CHUNK = 4_096
"""Lines of a file translated at a time; within a chunk, sentences of like length go together."""
END = SPECIALS[EOS]


class Translator:
    """A trained model that translates text.

    Any text is a line to translate: blank lines give empty hypotheses, and lines of more than
    ``max_pieces`` pieces are cut there, with a warning.
    """

    def __init__(
        self,
        model: TranslationModel | Ensemble,
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
    def load(
        cls,
        checkpoint: str | Path | Sequence[str | Path],
        device: str = "auto",
        precision: str = "auto",
        average: bool = False,
    ) -> "Translator":
        """Load a checkpoint folder, or the best checkpoint of a run folder.

        Args:
            checkpoint: one, or several that become one translator, see
                :func:`~seq2seq.decoding.ensemble.combine`.
            device: auto | cpu | cuda.
            precision: auto | fp32 | bf16.
            average: of several, average the weights, not the probabilities.

        Raises:
            UserError: there is no whole checkpoint, or no such device; or they do not go together.
        """
        paths = [checkpoint] if isinstance(checkpoint, str | Path) else checkpoint
        chosen = choose_device(device)
        return cls.of([load_checkpoint(Path(path), chosen) for path in paths], precision, average)

    @classmethod
    def of(
        cls, checkpoints: Sequence[Checkpoint], precision: str = "auto", average: bool = False
    ) -> "Translator":
        """Use loaded checkpoints, all on one device; see :meth:`load`."""
        first = checkpoints[0]
        device = next(first.model.parameters()).device
        return cls(
            combine(checkpoints, average),
            first.source,
            first.target,
            device,
            choose_precision(precision, device),
            first.config.tokenization.max_pieces,
        )

    @overload
    def translate(
        self,
        text: str,
        config: DecodingConfig | None = None,
        *,
        attention: bool = False,
        progress: bool = False,
        first_line: int = 1,
    ) -> Hypothesis: ...

    @overload
    def translate(
        self,
        text: list[str],
        config: DecodingConfig | None = None,
        *,
        attention: bool = False,
        progress: bool = False,
        first_line: int = 1,
    ) -> list[Hypothesis]: ...

    def translate(
        self,
        text: str | list[str],
        config: DecodingConfig | None = None,
        *,
        attention: bool = False,
        progress: bool = False,
        first_line: int = 1,
    ) -> Hypothesis | list[Hypothesis]:
        """Translate one sentence, or a list of them: one hypothesis for each, in their order.

        Args:
            text: a sentence, or sentences; the model reads each by itself.
            config: how to search; None for ``DecodingConfig()``, a beam of 5.
            attention: tell, too, where each piece looked. Takes one more pass over the results.
            progress: show a bar on a terminal.
            first_line: the line number of the first sentence, for warnings and for sampling.
        """
        if isinstance(text, str):
            return self.translate([text], config, attention=attention, first_line=first_line)[0]
        config = config or DecodingConfig()
        encoded = [self._encode(sentence, line) for line, sentence in enumerate(text, first_line)]
        hypotheses = [NOTHING] * len(text)
        # Sentences of like length share a batch; the longest first, to run out of memory early.
        order = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: -len(encoded[i]))
        batches = [
            order[start : start + config.batch_size]
            for start in range(0, len(order), config.batch_size)
        ]
        bar = tqdm(total=len(order), unit="sentence", disable=None if progress else True)
        with bar, self._evaluating():
            for batch in batches:
                found = self._translate_batch(
                    [text[i] for i in batch],
                    [encoded[i] for i in batch],
                    [first_line + i for i in batch],
                    config,
                    attention,
                )
                for i, hypothesis in zip(batch, found, strict=True):
                    hypotheses[i] = hypothesis
                bar.update(len(batch))
        return hypotheses

    def _pieces(self, sentence: str) -> list[str]:
        # Half of a surrogate pair, which a Python string may hold, is no text.
        return self.source.tokenizer.tokenize(sentence.encode("utf-8", "replace").decode("utf-8"))

    def _encode(self, sentence: str, line: int) -> list[int]:
        ids = self.source.vocabulary.encode(self._pieces(sentence))
        if len(ids) > self.max_pieces:
            logger.warning(
                "Line %d has %d pieces; only the first %d are translated "
                "(tokenization.max_pieces of the trained model).",
                line,
                len(ids),
                self.max_pieces,
            )
        return ids[: self.max_pieces]

    def _translate_batch(
        self,
        sentences: list[str],
        encoded: list[list[int]],
        numbers: list[int],
        config: DecodingConfig,
        attention: bool,
    ) -> list[Hypothesis]:
        lengths = torch.tensor([len(ids) + 1 for ids in encoded], device=self.device)
        source = _padded([[*ids, EOS] for ids in encoded]).to(self.device)
        if config.sample:
            results = sample(self.model, source, lengths, config, numbers)
        else:
            results = beam_search(self.model, source, lengths, config)
        unknown = any(UNK in result.ids for found in results for result in found)
        if attention or (config.replace_unknown and unknown):
            weights = self._weights(source, lengths, results)
        else:
            weights = [[None] * len(found) for found in results]
        hypotheses = []
        for sentence, found, looks in zip(sentences, results, weights, strict=True):
            read = self._pieces(sentence)[: self.max_pieces] if looks[0] is not None else []
            best, *others = [
                make_hypothesis(result, self.target, [*read, END], look, config.replace_unknown)
                for result, look in zip(found, looks, strict=True)
            ]
            hypotheses.append(replace(best, alternatives=others))
        return hypotheses

    def _weights(
        self,
        source: Int[Tensor, "N S"],
        lengths: Int[Tensor, "N"],
        results: list[list[SearchResult]],
    ) -> list[list[Float[Tensor, "..."] | None]]:
        """Where each result looked, by a forced pass; None for a model without attention."""
        each = max(len(found) for found in results)
        rows = [
            found[which].ids if which < len(found) else []
            for found in results
            for which in range(each)
        ]
        weights = force(self.model, source, lengths, _padded(rows).to(self.device)).weights.cpu()
        attends = bool(weights.any())
        return [
            [
                weights[each * n + which, : len(result.ids), :length].clone() if attends else None
                for which, result in enumerate(found)
            ]
            for n, (found, length) in enumerate(zip(results, lengths.tolist(), strict=True))
        ]

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


def _padded(rows: list[list[int]]) -> Int[Tensor, "N S"]:
    """Rows as one array, at least one column wide."""
    width = max(1, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])


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
