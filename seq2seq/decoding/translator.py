"""Text in, text out: a model with its codecs, and how sentences go through them."""

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
from seq2seq.data.tokenization import TextCodec
from seq2seq.data.vocabulary import EOS, PAD, SPECIALS, UNK
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.decoder_session import Ensemble, SearchResult, average_weights, forced_decode
from seq2seq.device import choose_device, choose_precision, mixed_precision
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence; of the best one, ``alternatives`` names the others."""

    text: str
    """Running text on one line; empty for a blank source."""
    score: float
    """Log-probability / length ** length_penalty; hypotheses rank by it."""
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


@dataclass(eq=False)
class Translator:
    """A trained model that translates text.

    Any text is a line to translate: blank lines give empty hypotheses, and lines of more than
    ``max_pieces`` pieces are cut there, with a warning.
    """

    model: TranslationModel | Ensemble
    source: TextCodec
    target: TextCodec
    device: torch.device
    """Where ``model`` is."""
    precision: torch.dtype
    """Of matrix products."""
    max_pieces: int

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
            checkpoint: one, or several that become one translator, see :func:`combine`.
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
        progress: str = "",
        first_line: int = 1,
    ) -> Hypothesis: ...

    @overload
    def translate(
        self,
        text: list[str],
        config: DecodingConfig | None = None,
        *,
        attention: bool = False,
        progress: str = "",
        first_line: int = 1,
    ) -> list[Hypothesis]: ...

    def translate(
        self,
        text: str | list[str],
        config: DecodingConfig | None = None,
        *,
        attention: bool = False,
        progress: str = "",
        first_line: int = 1,
    ) -> Hypothesis | list[Hypothesis]:
        """Translate one sentence, or a list of them: one hypothesis for each, in their order.

        Args:
            text: a sentence, or sentences; the model reads each by itself.
            config: how to search; None for ``DecodingConfig()``, a beam of 5.
            attention: add the attention weights, by one more pass over the results.
            progress: what a bar on a terminal says of the work; empty for no bar.
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
        progress: str = "",
        total: int | None = None,
    ) -> Iterator[Hypothesis]:
        """Translate a text of any length: one hypothesis for each line, in order, as they come.

        Memory holds one chunk of the text at a time.

        Args:
            lines, config, attention: as for :meth:`translate`.
            chunk: lines that are read before they are translated. In a large one more sentences of
                like length meet in a batch; 1 answers each line before the next one is read.
            progress: what a bar on a terminal says of the work; empty for no bar.
            total: how many lines there are, for the bar; None where it is not known.
        """
        reader, line = iter(lines), 1
        with _bar(total, progress) as bar:
            while part := list(islice(reader, chunk)):
                yield from self._translate(part, config or DecodingConfig(), attention, line, bar)
                line += len(part)

    def _translate(
        self, text: list[str], config: DecodingConfig, attention: bool, first_line: int, bar: tqdm
    ) -> list[Hypothesis]:
        read = [self.read(sentence, line) for line, sentence in enumerate(text, first_line)]
        hypotheses = [Hypothesis("", 0.0, 0.0, [], False)] * len(text)
        # Sentences of like length share a batch; the longest first, to run out of memory early.
        order = sorted((i for i, pieces in enumerate(read) if pieces), key=lambda i: -len(read[i]))
        bar.update(len(text) - len(order))  # blank lines are done
        with self._evaluating():
            for start in range(0, len(order), config.batch_size):
                batch = order[start : start + config.batch_size]
                lines = [first_line + i for i in batch]
                of_batch = self._translate_batch([read[i] for i in batch], lines, config, attention)
                for i, hypothesis in zip(batch, of_batch, strict=True):
                    hypotheses[i] = hypothesis
                bar.update(len(batch))
        return hypotheses

    def read(self, sentence: str, line: int = 1) -> list[str]:
        """The pieces that the model reads of a sentence, cut at ``max_pieces`` with a warning."""
        # Half of a surrogate pair, which a Python string may hold, is no text.
        pieces = self.source.tokenizer.tokenize(sentence.encode("utf-8", "replace").decode("utf-8"))
        if len(pieces) > self.max_pieces:
            log.warning(
                "Line %d has %d pieces; only the first %d are translated "
                "(tokenization.max_pieces of the trained model).",
                line,
                len(pieces),
                self.max_pieces,
            )
        return pieces[: self.max_pieces]

    def _translate_batch(
        self, read: list[list[str]], lines: list[int], config: DecodingConfig, attention: bool
    ) -> list[Hypothesis]:
        lengths = torch.tensor([len(pieces) + 1 for pieces in read], device=self.device)
        ids = [[*self.source.vocabulary.encode(pieces), EOS] for pieces in read]
        source = padded(ids).to(self.device)
        if config.sample:
            from seq2seq.decoding.sampling import sample

            results = sample(self.model, source, lengths, config, lines)
        else:
            results = beam_search(self.model, source, lengths, config)
        unknown = config.replace_unknown and any(
            UNK in result.ids for of_sentence in results for result in of_sentence
        )
        weights: Sequence[Sequence[Tensor | None]] = [[None] * len(r) for r in results]
        if self.model.attends and (attention or unknown):
            weights = self._weights(source, lengths, results)
        hypotheses = []
        for pieces, n_best, of_results in zip(read, results, weights, strict=True):
            best, *others = [
                make_hypothesis(
                    result, self.target, [*pieces, SPECIALS[EOS]], weight, config.replace_unknown
                )
                for result, weight in zip(n_best, of_results, strict=True)
            ]
            hypotheses.append(replace(best, alternatives=others))
        return hypotheses

    def _weights(
        self,
        source: Int[Tensor, "N S"],
        lengths: Int[Tensor, "N"],
        results: list[list[SearchResult]],
    ) -> list[list[Tensor]]:
        """The attention weights of each result, T x S, by a forced pass."""
        most = max(map(len, results))
        rows = [r.ids for n_best in results for r in [*n_best, *n_best[:1] * (most - len(n_best))]]
        forced = forced_decode(self.model, source, lengths, padded(rows).to(self.device))
        weights = forced.weights.cpu().unflatten(0, (len(results), most))
        return [
            [of_sentence[n, : len(result.ids), :length].clone() for n, result in enumerate(n_best)]
            for n_best, of_sentence, length in zip(results, weights, lengths.tolist(), strict=True)
        ]

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """No dropout, and products in the chosen precision; then the former mode."""
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
        average: one model with the mean of all weights, which must be of one architecture: as fast
            as one, and good for checkpoints of one training. Else an ensemble, which averages the
            models' probabilities at each step.

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
                    f"{first.directory} and {other.directory} cut the {side} text into different "
                    "pieces; give checkpoints trained on one corpus with one tokenization."
                )
        if average and first.config.model != other.config.model:
            raise UserError(
                f"average=true needs models of one architecture, and {first.directory} and "
                f"{other.directory} differ; set average=false for an ensemble of them."
            )
    models = [checkpoint.model for checkpoint in checkpoints]
    if not others:
        return first.model
    return average_weights(models) if average else Ensemble(models)


def make_hypothesis(
    result: SearchResult,
    target: TextCodec,
    source_pieces: list[str],
    weights: Float[Tensor, "T S"] | None,
    replace_unknown: bool,
) -> Hypothesis:
    """The text of a search's result.

    ``source_pieces`` is what was read, ``</s>`` at its end; ``weights`` are None where they are not
    known. With ``replace_unknown``, the source piece of the largest weight replaces each ``<unk>``.
    """
    pieces = target.pieces(result.ids)
    if weights is not None and replace_unknown:
        strongest = weights[:, :-1].argmax(dim=1).tolist()  # the end of the sentence is no word
        for position, piece in enumerate(result.ids):
            if piece == UNK:
                pieces[position] = source_pieces[strongest[position]]
    # A vocabulary may hold pieces with line ends in them; a hypothesis is always one line.
    text = " ".join(target.tokenizer.detokenize(pieces).splitlines())
    read = [] if weights is None else source_pieces
    return Hypothesis(
        text, result.score, result.log_probability, pieces, result.capped, read, weights
    )


def padded(rows: list[list[int]]) -> Int[Tensor, "N S"]:
    """Rows of ids as one array, at least one column wide."""
    width = max(1, *map(len, rows))
    return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows])


def _bar(total: int | None, progress: str) -> tqdm:
    """How much is done, with sentences/s; on a terminal only."""
    return tqdm(total=total, unit=" sentences", desc=progress, disable=None if progress else True)
