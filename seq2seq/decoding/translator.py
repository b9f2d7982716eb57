"""Translate text to text with a model and its codecs."""

import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, NamedTuple, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from tqdm import tqdm

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig, check
from seq2seq.data.text import SIDES
from seq2seq.data.tokenization import WORD_START, TextCodec
from seq2seq.data.vocabulary import EOS, PAD, SPECIALS, UNK
from seq2seq.decoding.beam_search import beam_search, forced_decode
from seq2seq.decoding.ensemble import Ensemble
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.device import SINGLE, ProcessGroup, choose_device, choose_precision, mixed_precision
from seq2seq.errors import UserError
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel

log = logging.getLogger(__name__)

Saved = str | Path | Checkpoint


class ForcedPair(NamedTuple):
    """The model's scores of a translation, with the end of the sentence."""

    line: int
    """Number of the pair, counted from 0."""
    log_probabilities: Float[Tensor, "T"]
    weights: Float[Tensor, "T S"]
    """Attention weights at each id; the last column is the source's end if ``model.attends``."""


class Translator:
    """A trained model that translates text.

    A blank line has an empty hypothesis. A line of more than ``max_pieces`` pieces is cut.
    """

    model: TranslationModel | Ensemble
    source: TextCodec
    target: TextCodec
    device: torch.device
    precision: torch.dtype
    """Precision of matrix products."""
    max_pieces: int
    checkpoints: Sequence[Path] = ()
    """Folders that the model was loaded from."""
    as_written: bool = False
    """Whether an unknown source word is never read in a known form, such as lower case."""
    group: ProcessGroup = SINGLE
    """Processes that share the batches, see :meth:`sharing`."""

    def __init__(
        self, checkpoint: Saved | Sequence[Saved], device: str = "auto", precision: str = "auto"
    ) -> None:
        """Load a checkpoint folder, or the best checkpoint of a run folder; several: an ensemble.

        ``device`` is auto, cpu or cuda, ``precision`` auto, fp32 or bf16. A :class:`Checkpoint`
        that is loaded stays on its device.
        """
        given = [checkpoint] if isinstance(checkpoint, Saved) else checkpoint
        place = choose_device(device)
        loaded = [
            one if isinstance(one, Checkpoint) else load_checkpoint(Path(one), place)
            for one in given
        ]
        first, models = loaded[0], [one.model for one in loaded]
        for other in loaded[1:]:
            if not all(getattr(first, s).encodes_like(getattr(other, s)) for s in SIDES):
                raise UserError(
                    f"{first.directory} and {other.directory} differ in tokenizer or vocabulary; "
                    "use checkpoints that were trained on one corpus with one tokenization."
                )
        self.model = Ensemble(models) if len(models) > 1 else models[0]
        self.source, self.target = first.source, first.target
        self.device = next(models[0].parameters()).device
        self.precision = choose_precision(precision, self.device)
        if self.device.type == "cpu" and self.precision == torch.bfloat16:
            for model in models:
                model.round_weights()
        self.max_pieces = first.config.tokenization.max_pieces
        self.checkpoints = [one.directory for one in loaded]

    @classmethod
    def load(cls, *settings: Any, **named: Any) -> "Translator":
        """Do the same as ``Translator(...)``."""
        return cls(*settings, **named)

    @classmethod
    def of_parts(cls, model: TranslationModel | Ensemble, **fields: Any) -> "Translator":
        """Build a translator from a model in memory and the other fields of this class."""
        made = cls.__new__(cls)
        vars(made).update(fields, model=model)
        return made

    @contextlib.contextmanager
    def sharing(self, group: ProcessGroup) -> Iterator[bool]:
        """Context in which the processes of ``group`` share the work of the first one.

        The first process gets True; the others get False when it leaves the context.
        """
        self.group = group
        while not group.is_first and (tasks := group.hand_out(None)):
            group.map(self._on_cores, tasks)
        yield group.is_first
        if group.is_first:
            group.hand_out(None)
        self.group = SINGLE

    @overload
    def translate(self, text: str, config: Any = None, **options: Any) -> Hypothesis: ...

    @overload
    def translate(
        self, text: Iterable[str], config: Any = None, **options: Any
    ) -> list[Hypothesis]: ...

    def translate(
        self, text: Any, config: DecodingConfig | None = None, **options: Any
    ) -> Hypothesis | list[Hypothesis]:
        """Translate one sentence, or an iterable of sentences, each by itself.

        ``config`` has the settings of the search, by default a beam of 5. ``options`` are fields of
        it, such as ``beam=3``, and those of :meth:`stream`.
        """
        sentences = [text] if isinstance(text, str) else list(text)
        count = len(sentences)
        found = list(self.stream(sentences, config, chunk=count, total=count, **options))
        return found[0] if isinstance(text, str) else found

    def stream(
        self,
        lines: Iterable[str],
        config: DecodingConfig | None = None,
        *,
        prefix: str | Sequence[str] = "",
        attention: bool = False,
        chunk: int = 4_096,
        progress: str = "",
        total: int | None = None,
        **settings: Any,
    ) -> Iterator[Hypothesis]:
        """Translate a text of any length: yield one hypothesis for each line, in order.

        Each begins with ``prefix``, a text or pieces. With ``attention`` it has the weights.
        Memory holds ``chunk`` lines. On a terminal, ``progress`` stands before a bar of ``total``
        lines.
        """
        if isinstance(lines, str):
            raise UserError('lines is a string; call translate("a dog") or stream(["a dog"]).')
        given = asdict(config or DecodingConfig()) | settings
        search = check("decoding", given, DecodingConfig)
        if isinstance(prefix, str):
            prefix = self.target.known_pieces(prefix)
        wanted = search, [*map(_valid, prefix)], attention
        reader = enumerate(lines, 1)
        with _bar(total, progress) as bar:
            while text := list(islice(reader, max(1, chunk))):
                rows = []
                for number, line in text:
                    pieces = self.cut(line)
                    if len(pieces) > self.max_pieces:
                        log.warning(
                            f"Line {number} has {len(pieces)} pieces; only the first "
                            f"{self.max_pieces} are translated (tokenization.max_pieces)."
                        )
                    rows.append((line, pieces[: self.max_pieces]))
                found = [Hypothesis("", 0.0, 0.0, [], False, source=line) for line, _ in rows]
                lengths = [(len(pieces),) for _, pieces in rows]
                work = Translator._translate_batch, rows, lengths, search.batch_size
                for i, hypothesis in self._in_batches(*work, bar, *wanted):
                    found[i] = hypothesis
                yield from found

    def score(self, source: str | Iterable[str], target: str | Iterable[str]) -> Any:
        """Log-probability of one translation, or of several, with the end of the sentence, in nats.

        NaN for a pair of which a side is blank. An unknown target word counts as ``<unk>``.
        """
        sources = [source] if isinstance(source, str) else list(source)
        targets = [target] if isinstance(target, str) else list(target)
        scores = [math.nan] * len(sources)
        for forced in self.force(sources, targets, DecodingConfig.batch_size):
            scores[forced.line] = float(forced.log_probabilities.double().sum())
        return scores[0] if isinstance(source, str) and isinstance(target, str) else scores

    def force(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int, progress: str = ""
    ) -> Iterator[ForcedPair]:
        """Yield the model's log-probabilities and attention of each translation, the longest first.

        Pairs with a blank side are left out. A source is cut at ``max_pieces``, a target never.
        """
        source_ids = [self.source.vocabulary.encode(self.cut(source)) for source in sources]
        target_ids = [self.target.encode(_valid(target)) for target in targets]
        lengths = [(len(t), len(s)) for t, s in zip(target_ids, source_ids, strict=True)]
        ended = [[*ids[: self.max_pieces], EOS] for ids in source_ids]
        rows = [(read, [*target, EOS]) for read, target in zip(ended, target_ids, strict=True)]
        with _bar(len(lengths), progress if lengths else "") as bar:
            work = Translator._force_batch, rows, lengths, batch_size
            for i, found in self._in_batches(*work, bar):
                yield ForcedPair(i, *found)

    def cut(self, sentence: str) -> list[str]:
        """Cut a sentence into all its pieces."""
        tokenize = self.source.tokenizer.tokenize if self.as_written else self.source.known_pieces
        return tokenize(_valid(sentence))

    def _translate_batch(
        self,
        lines: list[tuple[str, list[str]]],
        search: DecodingConfig,
        prefix: list[str],
        attention: bool,
    ) -> list[Hypothesis]:
        """Translate lines; each is (text, pieces)."""
        vocabulary = self.target.vocabulary
        ids = [[*self.source.vocabulary.encode(pieces), EOS] for _, pieces in lines]
        attends = attention and self.model.attends
        forced = vocabulary.encode(prefix)
        results = beam_search(self.model, *self._padded(ids), search, forced, attends)
        tokenizers = (self.source.tokenizer, self.target.tokenizer) if attends else None
        hypotheses = []
        for (text, pieces), read, found in zip(lines, ids, results, strict=True):
            ended = [*pieces, SPECIALS[EOS]]
            # A piece of SentencePiece may begin with the space before a word.
            unknown = [p.strip(WORD_START) for p, i in zip(ended, read, strict=True) if i == UNK]
            n_best = []
            for result in found:
                written, weights = self.target.pieces(result.ids), result.weights
                written[: len(prefix)] = prefix[: len(written)]
                if weights is not None:  # a copy: a view would keep those of the padding, too
                    weights = weights[: len(result.ids), : len(ended)].clone().cpu()
                n_best.append(
                    Hypothesis(
                        # A piece may hold line ends; a hypothesis is always one line.
                        " ".join(self.target.tokenizer.detokenize(written).splitlines()),
                        result.score,
                        result.log_probability,
                        written,
                        result.capped,
                        source_pieces=[] if weights is None else ended,
                        attention=weights,
                        unknown=[*dict.fromkeys(unknown)],
                        source=text,
                        tokenizers=tokenizers,
                    )
                )
            hypotheses.append(replace(n_best[0], alternatives=n_best[1:]))
        return hypotheses

    def _force_batch(self, pairs: list[tuple[list[int], list[int]]]) -> list[tuple[Tensor, Tensor]]:
        """Score pairs of ids; return log-probabilities and attention weights of each."""
        source, target = zip(*pairs, strict=True)
        gained, weights = forced_decode(self.model, *self._padded(source), self._padded(target)[0])
        gained, weights = gained.cpu(), to_float32(weights).cpu()
        # Copies: a view would keep the whole batch in memory, and send it to other processes.
        return [
            (of[: len(ids)].clone(), maps[: len(ids), : len(read)].clone())
            for (read, ids), of, maps in zip(pairs, gained, weights, strict=True)
        ]

    def _in_batches(
        self,
        work: Callable[..., Any],
        rows: Sequence[Any],
        lengths: Sequence[tuple[int, ...]],
        size: int,
        bar: tqdm,
        *wanted: Any,
    ) -> Iterator[tuple[int, Any]]:
        """Yield (index, result of ``work``) of the filled rows, the longest rows first."""
        filled = [i for i, of in enumerate(lengths) if all(of)]
        bar.update(len(rows) - len(filled))
        order = sorted(filled, key=lambda i: [-n for n in lengths[i]])
        batches = [order[start : start + size] for start in range(0, len(order), size)]
        tasks = [(work, [rows[i] for i in batch], *wanted) for batch in batches]
        found: Iterable[Any] = self._on_cores(tasks)
        if tasks and self.group.size > 1:
            found = self.group.map(self._on_cores, self.group.hand_out(tasks))
        for batch, results in zip(batches, found, strict=True):
            yield from zip(batch, results, strict=True)
            bar.update(len(batch))

    def _on_cores(self, tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the results of tasks (method, *arguments) in order; on a CPU, several at a time."""

        def run(task: tuple[Any, ...]) -> Any:
            with mixed_precision(self.device, self.precision):
                return task[0](self, *task[1:])

        threads, training = torch.get_num_threads(), self.model.training
        workers = min(threads, len(tasks)) if self.device.type == "cpu" else 1
        self.model.eval()
        try:
            if workers <= 1:
                yield from map(run, tasks)
            else:  # a search step is too small to divide among many threads
                share = (threads // workers,)
                with ThreadPoolExecutor(workers, "batch", torch.set_num_threads, share) as pool:
                    yield from pool.map(run, tasks)
        finally:
            torch.set_num_threads(threads)  # for later threads, too
            self.model.train(training)

    def _padded(self, rows: Sequence[list[int]]) -> tuple[Int[Tensor, "N T"], Int[Tensor, "N"]]:
        """Return the rows, padded on the right, and their lengths."""
        padded = pad_sequence([*map(torch.tensor, rows)], True, PAD)
        return padded.to(self.device), torch.tensor([*map(len, rows)]).to(self.device)


def _bar(total: int | None, progress: str) -> tqdm:
    """Progress bar with sentences/s, on a terminal only; none if ``progress`` is empty."""
    return tqdm(total=total, unit=" sentences", desc=progress, disable=None if progress else True)


def _valid(text: str) -> str:
    """Refuse what is not one line of text; replace lone surrogates, which UTF-8 cannot hold."""
    if not isinstance(text, str) or "\n" in text.rstrip("\n"):
        raise UserError(
            f"{shortened(text)} is not one line of text; pass a string, or a list of lines, as "
            r"text.split('\n') makes of a string."
        )
    return text.encode("utf-8", "replace").decode("utf-8")
