"""How fast a trained model translates: greedy and beam search, alone and in batches, in turns."""

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from seq2seq.benchmark.measure import time_in_turns
from seq2seq.benchmark.translation_report import SearchTimes, TranslationBenchmark
from seq2seq.checkpoint import Checkpoint, load_checkpoint
from seq2seq.config import BenchmarkConfig, DecodingConfig
from seq2seq.data.corpora import load_corpus
from seq2seq.data.parallel_text import Corpus
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.model.kernels import choose_kernels, torch_only
from seq2seq.record import environment_record

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Way:
    """One way for the same model to compute."""

    name: str
    """default | fp32 | torch."""
    translator: Translator
    plain: bool = False
    """Rule out compiled kernels."""

    def kernels(self) -> AbstractContextManager[None]:
        """A context in which this way's kernels are chosen."""
        return torch_only() if self.plain else nullcontext()

    @property
    def kernel_name(self) -> str:
        """Which kernels this machine has for it: native | triton | torch."""
        translator = self.translator
        with self.kernels():
            return choose_kernels(translator.device, torch.float32, translator.precision).name


@dataclass(frozen=True)
class Search:
    """What has its turn: sentences, all of them translated in one way with one width."""

    way: Way
    decoding: DecodingConfig
    sentences: list[str]

    @property
    def name(self) -> str:
        """No other search of the benchmark is called so."""
        return f"{self.way.name}-{self.decoding.beam}-{self.decoding.batch_size}"

    def run(self) -> None:
        """Translate the sentences, and forget what they became."""
        with self.way.kernels():
            self.way.translator.translate(self.sentences, self.decoding)


def benchmark_translation(config: BenchmarkConfig) -> TranslationBenchmark:
    """Time ``config.checkpoint`` on a test set, and write the table.

    Raises:
        UserError: no such checkpoint, device, corpus or test set.
    """
    if config.checkpoint is None:
        raise UserError("checkpoint is not set; give checkpoint=... a run folder.")
    device = choose_device(config.device)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    checkpoint = load_checkpoint(Path(config.checkpoint), device)
    name, sentences = _test_set(config, checkpoint)
    searches = [
        Search(
            way,
            DecodingConfig(beam=beam, batch_size=batch_size),
            every_nth(sentences, config.most_batches * batch_size),
        )
        for way in _ways(checkpoint)
        for batch_size in config.batch_sizes
        if way.name == "default" or batch_size == max(config.batch_sizes)
        for beam in config.beams
    ]
    for search in searches:  # a short one allocates, and loads all code
        replace(search, sentences=search.sentences[:8]).run()
    seconds = time_in_turns(
        {search.name: search.run for search in searches}, 1, config.alternations, device, warm_up=0
    )
    measured = TranslationBenchmark(
        test_set=f"{name} of {config.corpus.kind}, {len(sentences):,} sentences",
        model=_describe(checkpoint),
        searches=[_times(search, seconds[search.name]) for search in searches],
        environment=environment_record(device),
    )
    table = measured.write(Path(config.output))
    log.info("Table and timings: %s, %s", table, table.with_suffix(".json"))
    return measured


def every_nth(sentences: Sequence[str], most: int) -> list[str]:
    """At most ``most`` sentences: all of them, or every second, or every third, and so on.

    A test set may be sorted or cut from few documents, so that its start would not do for it.
    """
    step = -(-len(sentences) // most)
    return list(sentences[:: max(1, step)])


def _test_set(config: BenchmarkConfig, checkpoint: Checkpoint) -> tuple[str, list[str]]:
    """Name and source sentences of the test set that the config names."""
    languages = checkpoint.source.language, checkpoint.target.language
    if languages != (config.corpus.source, config.corpus.target):
        raise UserError(
            f"The model translates {languages[0]}-{languages[1]}, the corpus is "
            f"{config.corpus.source}-{config.corpus.target}; give the corpus=... it was trained on."
        )
    corpus: Corpus = load_corpus(config.corpus, Path(config.data))
    name = config.test_set or next(iter(corpus.tests))
    if name not in corpus.tests:
        raise UserError(
            f"test_set={name} is none of corpus {corpus.kind}, which has only: "
            f"{', '.join(corpus.tests)}."
        )
    sentences = list(read_lines(corpus.tests[name].source))
    if not any(sentence.strip() for sentence in sentences):
        raise UserError(f"{corpus.tests[name].source} is blank; give a test set with sentences.")
    return name, sentences


def _ways(checkpoint: Checkpoint) -> list[Way]:
    """The default, and what differs from it on this machine."""
    default = Way("default", Translator.of([checkpoint]))
    ways = [default]
    if default.translator.precision != torch.float32:
        ways.append(Way("fp32", Translator.of([checkpoint], "fp32")))
    if default.kernel_name != "torch":
        ways.append(Way("torch", default.translator, plain=True))
    return ways


def _describe(checkpoint: Checkpoint) -> str:
    """The model's size in words."""
    config, total = checkpoint.config.model, checkpoint.model.parameter_counts()["total"]
    return (
        f"{checkpoint.config.name}, {checkpoint.config.system}: "
        f"embedding {config.embedding_dim:,}, "
        f"encoder {config.encoder.hidden_size:,} per direction, "
        f"decoder {config.decoder.hidden_size:,}, "
        f"vocabularies of {len(checkpoint.source.vocabulary):,} and "
        f"{len(checkpoint.target.vocabulary):,}, {total:,} parameters"
    )


def _times(search: Search, rounds: list[list[float]]) -> SearchTimes:
    return SearchTimes(
        way=search.way.name,
        precision="bf16" if search.way.translator.precision == torch.bfloat16 else "fp32",
        kernels=search.way.kernel_name,
        beam=search.decoding.beam,
        batch_size=search.decoding.batch_size,
        sentences=len(search.sentences),
        seconds=[seconds for (seconds,) in rounds],
    )
