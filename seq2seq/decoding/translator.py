"""Translate text to text with a model and its codecs."""

import contextlib
import logging
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from itertools import islice, product
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, NamedTuple, TypeVar, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import DecodingConfig, nearest
from seq2seq.config.checks import Count, Natural, check
from seq2seq.data.tokenization import WORD_START, TextCodec
from seq2seq.data.vocabulary import EOS, PAD, SPECIALS, UNK
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.decoder_session import Ensemble, SearchResult, Seen, forced_decode
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.device import choose_device, choose_precision, mixed_precision
from seq2seq.distributed import SINGLE, ProcessGroup
from seq2seq.errors import UserError
from seq2seq.model.layers import to_float32
from seq2seq.model.translation import TranslationModel

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class ForcedPair(NamedTuple):
    """A translation with the model's log-probability of each piece."""

    line: int
    """Number of the pair, counted from 0."""
    target: list[int]
    """Ids of the translation, with the end of the sentence."""
    log_probabilities: Float[Tensor, "T"]
    """Log-probability of each id, in nats."""
    weights: Float[Tensor, "T S"]
    """Attention weights at each id; the last column is the source's end if ``model.attends``."""


class _Wanted(NamedTuple):
    """Options of :meth:`Translator.translate` that are not settings of the search."""

    prefix: list[str]
    """Pieces of the forced beginning."""
    attention: bool
    choices: int


@dataclass(eq=False, init=False)
class Translator:
    """A trained model that translates text.

    A blank line has an empty hypothesis. A line of more than ``max_pieces`` pieces is cut to that
    number, with a warning. On a CPU, PyTorch's threads compute a single batch together. Several
    batches are computed at the same time, each by its share of the threads. That is faster,
    because a search step is too small to divide among many.
    """

    model: TranslationModel | Ensemble
    source: TextCodec
    target: TextCodec
    device: torch.device
    precision: torch.dtype
    """Precision of matrix products."""
    max_pieces: int
    checkpoints: tuple[Path, ...] = ()
    """Folders that the model was loaded from."""
    as_written: bool = False
    """Whether source words are read exactly as written. If not, an unknown word is read in a form
    that is in the vocabulary, if there is one (:meth:`TextCodec.known_pieces`)."""
    group: ProcessGroup = SINGLE
    """Processes that share the batches, see :meth:`sharing`."""

    def __repr__(self) -> str:
        models = self.model.models if isinstance(self.model, Ensemble) else [self.model]
        kinds = ", ".join(type(model.decoder.attention).__name__ for model in models)
        sides = [f"{c.language} ({len(c.vocabulary):,} pieces)" for c in (self.source, self.target)]
        size = f"{self.model.parameter_counts()['total']:,} parameters on {self.device}"
        folders = ", ".join(map(str, self.checkpoints)) or "memory"
        return f"<Translator {' -> '.join(sides)}, {kinds}, {size}, from {folders}>"

    def __init__(
        self,
        checkpoint: str | Path | Sequence[str | Path],
        device: str = "auto",
        precision: str = "auto",
    ) -> None:
        """Load a checkpoint folder, or the best checkpoint of a run folder.

        Args:
            checkpoint: one folder, or several for an ensemble, of equal vocabularies.
            device: auto | cpu | cuda.
            precision: auto | fp32 | bf16.

        Raises:
            UserError: a checkpoint is missing or damaged, the device does not exist, or the
                checkpoints do not fit together.
        """
        paths = [checkpoint] if isinstance(checkpoint, str | Path) else checkpoint
        if not paths:
            raise UserError("checkpoint is an empty list; pass at least one folder.")
        chosen = choose_device(device)
        loaded = [load_checkpoint(Path(path), chosen) for path in paths]
        vars(self).update(vars(self.of(loaded, precision)))

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

    @classmethod
    def of(cls, checkpoints: Sequence[Checkpoint], precision: str = "auto") -> "Translator":
        """Build a translator from loaded checkpoints, all on one device."""
        first, *others = checkpoints
        for other, side in product(others, ("source", "target")):
            if not getattr(first, side).encodes_like(getattr(other, side)):
                raise UserError(
                    f"{first.directory} and {other.directory} differ in tokenizer or vocabulary of "
                    f"the {side} text; use checkpoints trained on one corpus with one tokenization."
                )
        models = [checkpoint.model for checkpoint in checkpoints]
        device = next(first.model.parameters()).device
        rounding = choose_precision(precision, device)
        if device.type == "cpu" and rounding == torch.bfloat16:
            for model in models:
                model.round_weights()
        return cls.of_parts(
            Ensemble(models) if others else first.model,
            source=first.source,
            target=first.target,
            device=device,
            precision=rounding,
            max_pieces=first.config.tokenization.max_pieces,
            checkpoints=tuple(checkpoint.directory for checkpoint in checkpoints),
        )

    @contextlib.contextmanager
    def sharing(self, group: ProcessGroup) -> Iterator[bool]:
        """Context in which the processes of ``group`` share the work of the first one.

        The first process gets True, and uses the translator as usual. The others compute their
        shares until the first leaves the context; then they get False.
        """
        self.group = group
        while not group.is_first and (task := group.hand_out(None)):
            self._share(*task)
        yield group.is_first
        if group.is_first:
            group.hand_out(None)
        self.group = SINGLE

    @overload
    def translate(
        self, text: str, config: DecodingConfig | None = None, **settings: Any
    ) -> Hypothesis: ...

    @overload
    def translate(
        self, text: Iterable[str], config: DecodingConfig | None = None, **settings: Any
    ) -> list[Hypothesis]: ...

    def translate(
        self,
        text: Any,
        config: DecodingConfig | None = None,
        *,
        prefix: str | Sequence[str] = "",
        attention: bool = False,
        choices: int = 0,
        progress: str = "",
        first_line: int = 1,
        **settings: Any,
    ) -> Hypothesis | list[Hypothesis]:
        """Translate one sentence, or several, each by itself.

        Args:
            text: a string, or an iterable of strings.
            config: settings of the search; None for ``DecodingConfig()``, a beam of 5.
            prefix: beginning of each translation, as text (an unknown word becomes a known form, if
                it has one) or as pieces. What is not in the vocabulary stays in the translation,
                but the model reads ``<unk>`` in its place.
            attention: add the attention weights.
            choices: number of likeliest pieces to list for each position.
            progress: text before the progress bar on a terminal; empty for no bar.
            first_line: line number of the first sentence, for warnings.
            settings: fields of DecodingConfig, such as ``beam=3``; not with ``config``.

        Returns:
            The hypothesis of a string, or a list with one hypothesis for each sentence.

        Raises:
            UserError: ``text`` is neither a string nor an iterable of strings, a string has several
                lines, or a setting is unknown or not valid.
        """
        search = _search(config, settings)
        sentences = _sentences("text", text, 'translate("a dog") or translate(["a dog", "a cat"])')
        with _bar(len(sentences), progress) as bar:
            wanted = self._wanted(prefix, attention, choices)
            found = self._translate(sentences, search, wanted, first_line, bar)
        return found[0] if isinstance(text, str) else found

    def stream(
        self,
        lines: Iterable[str],
        config: DecodingConfig | None = None,
        *,
        prefix: str | Sequence[str] = "",
        attention: bool = False,
        choices: int = 0,
        chunk: int = 4_096,
        progress: str = "",
        total: int | None = None,
        **settings: Any,
    ) -> Iterator[Hypothesis]:
        """Translate a text of any length: yield one hypothesis for each line, in order.

        Memory holds one chunk of the text at a time. What is not listed is as in ``translate``.

        Args:
            lines: the text.
            chunk: number of lines that are read before they are translated. In a large chunk, more
                sentences of similar length share a batch. With 1, each line is translated before
                the next one is read.
            total: number of lines, for the progress bar; None if unknown.

        Raises:
            UserError: ``lines`` is one string; otherwise as in ``translate``.
        """
        search = _search(config, settings)
        usual = 'translate("a dog") or stream(["a dog", "a cat"])'
        if isinstance(lines, str) or not isinstance(lines, Iterable):
            kind = type(lines).__name__
            raise UserError(f"stream needs a list of strings, but lines is a {kind}; call {usual}.")
        reader, line, chunk = iter(lines), 1, check("chunk", chunk, Count)
        wanted = self._wanted(prefix, attention, choices)
        with _bar(total, progress) as bar:
            while part := list(islice(reader, chunk)):
                sentences = _sentences("lines", part, usual, line - 1)
                yield from self._translate(sentences, search, wanted, line, bar)
                line += len(part)

    def _translate(
        self, text: list[str], config: DecodingConfig, wanted: _Wanted, first_line: int, bar: tqdm
    ) -> list[Hypothesis]:
        read = [self.read(sentence, line) for line, sentence in enumerate(text, first_line)]
        hypotheses = [Hypothesis("", 0.0, 0.0, [], False, source=sentence) for sentence in text]
        batches = _batches([(len(pieces),) for pieces in read], config.batch_size)
        tasks = [([(text[i], read[i]) for i in batch], config, wanted) for batch in batches]
        results = self._share("_translate_batch", tasks)
        for batch, found in _followed(batches, results, len(text), bar):
            for i, hypothesis in zip(batch, found, strict=True):
                hypotheses[i] = hypothesis
        return hypotheses

    @overload  # a str is an iterable of strings, too
    def score(self, source: str, target: str) -> float: ...  # type: ignore[overload-overlap]

    @overload
    def score(self, source: Iterable[str], target: Iterable[str]) -> list[float]: ...

    def score(self, source: Any, target: Any) -> float | list[float]:
        """Log-probability of translations, with the end of the sentence, in nats.

        Returns a number for two strings, a list for two iterables of strings; NaN for a pair whose
        source or target is blank. An unknown target word counts as ``<unk>``.

        Raises:
            UserError: ``source`` or ``target`` is neither a string nor an iterable of strings, a
                string has several lines, or the numbers of sentences differ.
        """
        usual = 'score("a dog", "ein Hund") or score(["a dog"], ["ein Hund"])'
        sides = {"source": source, "target": target}
        sources, targets = (_sentences(name, side, usual) for name, side in sides.items())
        if len(sources) != len(targets):
            raise UserError(
                f"There are {len(sources)} sources and {len(targets)} translations; pass pairs: "
                "one translation for each source."
            )
        scores = [math.nan] * len(sources)
        for forced in self.force(sources, targets, DecodingConfig.batch_size):
            scores[forced.line] = float(forced.log_probabilities.double().sum())
        return scores[0] if isinstance(source, str) and isinstance(target, str) else scores

    def force(
        self, sources: Sequence[str], targets: Sequence[str], batch_size: int, progress: str = ""
    ) -> Iterator[ForcedPair]:
        """Yield the model's log-probabilities and attention of each translation, the longest first.

        Pairs whose source or target is blank are left out. A source is cut at ``max_pieces``, as in
        translation, but a target is never cut. In float32, ``batch_size`` changes only
        speed and memory.
        """
        source_ids = [self.source.vocabulary.encode(self.cut(source)) for source in sources]
        target_ids = [self.target.encode(_valid(target)) for target in targets]
        lengths = [(len(t), len(s)) for t, s in zip(target_ids, source_ids, strict=True)]
        batches = _batches(lengths, batch_size)
        read = [[*ids[: self.max_pieces], EOS] for ids in source_ids]
        tasks = [([(i, read[i], [*target_ids[i], EOS]) for i in batch],) for batch in batches]
        with _bar(len(lengths), progress if lengths else "") as bar:
            found = self._share("_force_batch", tasks)
            for _, pairs in _followed(batches, found, len(lengths), bar):
                yield from pairs

    def _force_batch(self, pairs: list[tuple[int, list[int], list[int]]]) -> list[ForcedPair]:
        """Score pairs by forced decoding; each is (line, source ids, target ids)."""
        lines, source, target = zip(*pairs, strict=True)
        lengths = torch.tensor([len(ids) for ids in source], device=self.device)
        forced = forced_decode(self.model, self._padded(source), lengths, self._padded(target))
        gained, weights = forced.log_probabilities.cpu(), to_float32(forced.weights).cpu()
        return [
            # Copies: a view would keep the whole batch in memory, and send it to other processes.
            ForcedPair(line, ids, own[: len(ids)].clone(), maps[: len(ids), : len(read)].clone())
            for line, ids, read, own, maps in zip(
                lines, target, source, gained, weights, strict=True
            )
        ]

    def read(self, sentence: str, line: int = 1) -> list[str]:
        """Cut a sentence into pieces, at most ``max_pieces``; warn if it has more."""
        pieces = self.cut(sentence)
        if len(pieces) > self.max_pieces:
            log.warning(
                f"Line {line} has {len(pieces)} pieces; only the first {self.max_pieces} are "
                "translated (tokenization.max_pieces of the trained model)."
            )
        return pieces[: self.max_pieces]

    def require_attention(self, key: str) -> None:
        """Raise UserError, which names the setting ``key``, unless the model attends to words."""
        if not self.model.attends:
            raise UserError(
                f"{key} needs a model with attention to words, and this one has none; remove {key}."
            )

    def cut(self, sentence: str) -> list[str]:
        """Cut a sentence into all its pieces."""
        tokenize = self.source.tokenizer.tokenize if self.as_written else self.source.known_pieces
        return tokenize(_valid(sentence))

    def _translate_batch(
        self, lines: list[tuple[str, list[str]]], config: DecodingConfig, wanted: _Wanted
    ) -> list[Hypothesis]:
        """Translate lines; each is (text, pieces)."""
        texts, read = zip(*lines, strict=True)
        lengths = torch.tensor([len(pieces) + 1 for pieces in read], device=self.device)
        ids = [[*self.source.vocabulary.encode(pieces), EOS] for pieces in read]
        source = self._padded(ids)
        forced = self.target.vocabulary.encode(wanted.prefix)
        attend = self.model.attends and wanted.attention
        allowed = len(self.target.vocabulary) - 2  # but <pad> and <s>
        choices = min(wanted.choices, allowed) if attend or wanted.choices else None
        results = beam_search(self.model, source, lengths, config, forced, choices)
        hypotheses, tokenizers = [], (self.source.tokenizer, self.target.tokenizer)
        for place, pieces in enumerate(read):
            ended = [*pieces, SPECIALS[EOS]]
            # A piece of SentencePiece may begin with the space before a word.
            coded = zip(ended, ids[place], strict=True)
            missing = dict.fromkeys(piece.strip(WORD_START) for piece, i in coded if i == UNK)
            n_best = []
            for result in results[place]:
                attention, listed = None, []
                if attend and result.seen:
                    # A copy: a view would keep the weights of the padding, too.
                    attention = result.seen.weights[: len(result.ids), : len(ended)].clone().cpu()
                if wanted.choices and result.seen:
                    listed = self._listed(result.seen)
                found = make_hypothesis(result, self.target, ended, attention, wanted.prefix)
                found = replace(found, choices=listed, unknown=list(missing), source=texts[place])
                n_best.append(replace(found, tokenizers=tokenizers) if attend else found)
            hypotheses.append(replace(n_best[0], alternatives=n_best[1:]))
        return hypotheses

    def _listed(self, seen: Seen) -> list[list[tuple[str, float]]]:
        """Likeliest pieces of each step, with their probabilities."""
        shares = seen.values.exp().tolist()
        names = [self.target.vocabulary.decode(ids) for ids in seen.pieces.tolist()]
        return [[*zip(*row, strict=True)] for row in zip(names, shares, strict=True)]

    def _wanted(self, prefix: str | Sequence[str], attention: bool, choices: int) -> _Wanted:
        if isinstance(prefix, str):
            pieces = self.target.known_pieces(_valid(prefix))
        else:
            typed = list(prefix) if isinstance(prefix, Sequence) else prefix
            pieces = [_valid(piece) for piece in check("prefix", typed, list[str])]
        return _Wanted(pieces, attention, check("choices", choices, Natural))

    def _share(self, work: str, tasks: list[tuple[Any, ...]]) -> Iterable[Any]:
        """Results of the method ``work`` for each of ``tasks``, in order."""
        if self.group.size == 1:
            return self._on_cores(work, tasks)
        if self.group.is_first:
            self.group.hand_out((work, tasks))
        return self.group.map(lambda own: list(self._on_cores(work, own)), tasks)

    def _on_cores(self, work: str, tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the result of each task, in order; on a CPU, several tasks run at the same time."""

        def run(task: tuple[Any, ...]) -> Any:
            with mixed_precision(self.device, self.precision):
                return getattr(self, work)(*task)

        threads = torch.get_num_threads()
        workers = min(threads, len(tasks)) if self.device.type == "cpu" else 1
        with contextlib.ExitStack() as at_end:
            at_end.callback(self.model.train, self.model.training)
            self.model.eval()
            if workers <= 1:
                yield from map(run, tasks)
                return
            at_end.callback(torch.set_num_threads, threads)  # restored for later threads, too
            share = (threads // workers,)
            pool = ThreadPoolExecutor(workers, "batch", torch.set_num_threads, share)
            at_end.callback(pool.shutdown, cancel_futures=True)
            running: deque[Future[Any]] = deque()
            for task in tasks:
                running.append(pool.submit(run, task))
                if len(running) > 2 * workers:  # memory holds few results at a time
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()

    def _padded(self, rows: Sequence[list[int]]) -> Int[Tensor, "N T"]:
        width = max(1, *map(len, rows))
        return torch.tensor([[*row, *[PAD] * (width - len(row))] for row in rows]).to(self.device)


def make_hypothesis(
    result: SearchResult,
    target: TextCodec,
    source_pieces: list[str],
    weights: Float[Tensor, "T S"] | None,
    prefix: Sequence[str] = (),
) -> Hypothesis:
    """Turn a search result into a :class:`Hypothesis`, with its text.

    ``source_pieces`` end with ``</s>``. The text begins with ``prefix``, unchanged even where the
    model reads ``<unk>``.
    """
    pieces = target.pieces(result.ids)
    pieces[: len(prefix)] = prefix[: len(pieces)]
    # A vocabulary may hold pieces with line ends in them; a hypothesis is always one line.
    text = " ".join(target.tokenizer.detokenize(pieces).splitlines())
    read = [] if weights is None else source_pieces
    return Hypothesis(
        text, result.score, result.log_probability, pieces, result.capped, read, weights
    )


def _batches(lengths: Sequence[tuple[int, ...]], size: int) -> list[list[int]]:
    """Group the indices of sentences, or of pairs, by length, ``size`` per batch.

    The longest come first, so that a lack of memory shows early. Blank sentences, and pairs with
    a blank side, are left out.
    """
    filled = [i for i, of in enumerate(lengths) if all(of)]
    order = sorted(filled, key=lambda i: [-n for n in lengths[i]])
    return [order[start : start + size] for start in range(0, len(order), size)]


def _followed(
    batches: list[list[int]], results: Iterable[Result], total: int, bar: tqdm
) -> Iterator[tuple[list[int], Result]]:
    """Yield each batch with its result; ``bar`` counts all sentences, also those in no batch."""
    bar.update(total - sum(map(len, batches)))
    for batch, result in zip(batches, results, strict=True):
        yield batch, result
        bar.update(len(batch))


def _bar(total: int | None, progress: str) -> tqdm:
    """Progress bar with sentences/s, on a terminal only; none if ``progress`` is empty."""
    return tqdm(total=total, unit=" sentences", desc=progress, disable=None if progress else True)


def _search(config: DecodingConfig | None, settings: dict[str, Any]) -> DecodingConfig:
    names = [one.name for one in fields(DecodingConfig)]
    for key in sorted(settings.keys() - names):
        near = ", ".join(nearest(key, [*names, "attention", "choices", "prefix"]).split(", ")[:3])
        raise UserError(f"{key} is not a setting of the search; nearest valid: {near}.")
    if config and settings:
        raise UserError(f"Pass either a DecodingConfig or {min(settings)}=..., not both.")
    return config or DecodingConfig(**settings)


def _valid(text: str) -> str:
    """Replace lone surrogates, which a Python string may hold but UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _sentences(name: str, text: Any, usual: str, first: int = 0) -> list[str]:
    """Return ``text``, one string or an iterable of strings, as a list of sentences.

    UserError if it is anything else, or if a string has several lines. The message names the
    argument ``name``, numbers its sentences from ``first``, and shows ``usual``, a correct call.
    """
    if isinstance(text, bytes) or not isinstance(text, Iterable):
        kind = type(text).__name__
        raise UserError(f"{name}={shortened(text)} is of type {kind}; call {usual}.")
    sentences = [text] if isinstance(text, str) else list(text)
    for place, each in enumerate(sentences, first):
        where = name if isinstance(text, str) else f"{name}[{place}]"
        if not isinstance(each, str):
            kind = type(each).__name__
            raise UserError(f"{where}={shortened(each)} is of type {kind}; call {usual}.")
        if "\n" in each.rstrip("\n"):
            raise UserError(
                f"{where}={shortened(each)} has several lines; pass a list of "
                r"single lines, as text.split('\n') makes of a string."
            )
    return sentences
