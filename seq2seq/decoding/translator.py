"""Text in, text out: a model with its codecs, and the translations that it writes."""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import overload

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.config.checks import require_range
from seq2seq.data.codec import TextCodec
from seq2seq.data.vocabulary import EOS, PAD, SPECIALS, UNK
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.decoder_session import forced_decode
from seq2seq.decoding.hypotheses import SearchResult
from seq2seq.decoding.sampling import sample
from seq2seq.device import choose_device, choose_precision, mixed_precision
from seq2seq.errors import UserError
from seq2seq.model.ensemble import Ensemble, average_weights
from seq2seq.model.translation import TranslationModel

logger = logging.getLogger(__name__)

END = SPECIALS[EOS]


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence; of the best one, ``alternatives`` names the others."""

    text: str
    """Running text on one line; empty for a blank source."""
    score: float
    """What hypotheses rank by: log-probability by length (see ``DecodingConfig``)."""
    log_probability: float
    """Of all pieces and the end, in nats."""
    pieces: list[str]
    """What the text was made of, without EOS."""
    capped: bool
    """The search came to its longest allowed hypothesis before the model ended one."""
    source_pieces: list[str] = field(default_factory=list)
    """What was read, ``</s>`` at its end; empty where ``attention`` is None."""
    attention: Float[Tensor, "T S"] | None = field(default=None, compare=False)
    """Weights, a row for each of ``pieces``, a column for each of ``source_pieces``; a row sums to
    1, but with ``local_p``. None where not asked for, for a blank source, and for a model without
    attention."""
    alternatives: list["Hypothesis"] = field(default_factory=list)
    """The others of the ``n_best``, best first (samples: in the order drawn)."""


NOTHING = Hypothesis("", 0.0, 0.0, [], False)


def make_hypothesis(
    result: SearchResult,
    target: TextCodec,
    source_pieces: list[str],
    weights: Float[Tensor, "T S"] | None,
    replace_unknown: bool,
) -> Hypothesis:
    """The text of a search's result.

    Args:
        result: what was found.
        target: codec of the target side.
        source_pieces: what was read, with a name for EOS at the end.
        weights: where the model looked for each piece; None where that is not known.
        replace_unknown: write for each ``<unk>`` the source piece it looked at most.
    """
    pieces = target.pieces(result.ids)
    if weights is not None and replace_unknown:
        looked = weights[:, :-1].argmax(dim=1).tolist()  # the end of the sentence is no word
        for place, piece in enumerate(result.ids):
            if piece == UNK:
                pieces[place] = source_pieces[looked[place]]
    # A vocabulary may hold pieces with line ends in them; a hypothesis is one line to anyone.
    text = " ".join(target.tokenizer.detokenize(pieces).splitlines())
    return Hypothesis(
        text,
        result.score,
        result.log_probability,
        pieces,
        result.capped,
        [] if weights is None else source_pieces,
        weights,
    )


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
                :func:`combine`.
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
        with _bar(len(text), progress) as bar:
            return self._translate(text, config or DecodingConfig(), attention, first_line, bar)

    def stream(
        self,
        lines: Iterable[str],
        config: DecodingConfig | None = None,
        *,
        attention: bool = False,
        chunk: int = 4_096,
        progress: bool = False,
        total: int | None = None,
    ) -> Iterator[Hypothesis]:
        """Translate a text of any length: one hypothesis for each line, in order, as they come.

        What is in memory at a time is a chunk, however long the text. Where the text refuses a line
        by a :class:`UserError`, the lines before it are translated first.

        Args:
            lines: the text.
            config: as for :meth:`translate`.
            attention: as for :meth:`translate`.
            chunk: lines that are read before they are translated. In a large one more sentences of
                like length meet in a batch; 1 answers each line before the next one is read.
            progress: show a bar on a terminal.
            total: how many lines there are, for the bar; None where nobody knows.
        """
        require_range("chunk", chunk, 1)
        reader, done = iter(lines), 0
        with _bar(total, progress) as bar:
            refusal = None
            while refusal is None:
                part, refusal = _read(reader, chunk)
                if not part:
                    break
                yield from self._translate(
                    part, config or DecodingConfig(), attention, done + 1, bar
                )
                done += len(part)
            if refusal is not None:
                raise refusal

    def _translate(
        self, text: list[str], config: DecodingConfig, attention: bool, first_line: int, bar: tqdm
    ) -> list[Hypothesis]:
        encoded = [self._encode(sentence, line) for line, sentence in enumerate(text, first_line)]
        hypotheses = [NOTHING] * len(text)
        # Sentences of like length share a batch; the longest first, to run out of memory early.
        order = sorted((i for i, ids in enumerate(encoded) if ids), key=lambda i: -len(encoded[i]))
        batches = [
            order[start : start + config.batch_size]
            for start in range(0, len(order), config.batch_size)
        ]
        bar.update(len(text) - len(order))  # blank lines are done
        with self._evaluating():
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
        source = padded([[*ids, EOS] for ids in encoded]).to(self.device)
        if config.sample:
            results = sample(self.model, source, lengths, config, numbers)
        else:
            results = beam_search(self.model, source, lengths, config)
        unknown = any(UNK in result.ids for found in results for result in found)
        weights: Sequence[Sequence[Tensor | None]]
        if self.model.attends and (attention or (config.replace_unknown and unknown)):
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
    ) -> list[list[Float[Tensor, "..."]]]:
        """Where each result looked, by a forced pass."""
        each = max(len(found) for found in results)
        rows = [
            found[which].ids if which < len(found) else []
            for found in results
            for which in range(each)
        ]
        weights = forced_decode(
            self.model, source, lengths, padded(rows).to(self.device)
        ).weights.cpu()
        return [
            [
                weights[each * n + which, : len(result.ids), :length].clone()
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


def combine(checkpoints: Sequence[Checkpoint], average: bool) -> TranslationModel | Ensemble:
    """The model of one checkpoint, or several as one.

    Args:
        checkpoints: at least one; they share both vocabularies and both tokenizers.
        average: one model whose weights are the mean of all, which must be of one architecture: as
            fast as one, and good for checkpoints of one training. Else an ensemble, which averages
            the models' probabilities at each step.

    Raises:
        UserError: the checkpoints do not go together.
    """
    first, *others = checkpoints
    for other in others:
        for side in ("source", "target"):
            ours, theirs = getattr(first, side), getattr(other, side)
            same_pieces = ours.vocabulary.pieces == theirs.vocabulary.pieces
            if not same_pieces or ours.tokenizer.kind != theirs.tokenizer.kind:
                raise UserError(
                    f"{first.directory} and {other.directory} do not cut the {side} text into the "
                    "same pieces, so they cannot translate together; give checkpoints trained on "
                    "one corpus with one tokenization."
                )
        if average and first.config.model != other.config.model:
            raise UserError(
                f"{first.directory} and {other.directory} are models of different settings, whose "
                "weights have no mean; set average=false for an ensemble of them."
            )
    models = [checkpoint.model for checkpoint in checkpoints]
    if not others:
        return first.model
    return average_weights(models) if average else Ensemble(models)


def _read(lines: Iterator[str], most: int) -> tuple[list[str], UserError | None]:
    """Up to so many lines, and what ended them early where one cannot be read."""
    part: list[str] = []
    try:
        for line in islice(lines, most):
            part.append(line)
    except UserError as refusal:
        return part, refusal
    return part, None


def padded(rows: list[list[int]]) -> Int[Tensor, "N S"]:
    """Rows of ids as one array, at least one column wide."""
    width = max(1, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])


def _bar(total: int | None, progress: bool) -> tqdm:
    """How much is done, with sentences/s; on a terminal only."""
    return tqdm(total=total, unit="sentence", disable=None if progress else True)
