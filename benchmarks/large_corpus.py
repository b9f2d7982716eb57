"""Time and memory to prepare a large corpus, and to go through it once in batches.

python benchmarks/large_corpus.py pairs=[1000000,2000000] corpus=europarl

The text is a real corpus, repeated. A repeated line costs the same as a new one, except that it
brings no new words.
"""

from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from harness import main, write_results
from measure import watch
from omegaconf import DictConfig, OmegaConf

from seq2seq.config import CorpusConfig, FilesCorpus, TokenizationConfig, check
from seq2seq.config.settings import Corpus as AnyCorpus
from seq2seq.data.batching import BatchPlan, collate
from seq2seq.data.corpora import load_corpus
from seq2seq.data.encoding import EncodedPairs
from seq2seq.data.preparation import prepare
from seq2seq.data.text import SIDES, Corpus, read_lines, write_lines


def benchmark_large_corpus(config: DictConfig) -> Path:
    """Prepare and read a corpus with the settings of ``config``; return the path of the table.

    Raises:
        UserError: there is no such corpus, or the vocabulary size does not fit.
    """
    corpus = check("corpus", OmegaConf.to_container(config.corpus), AnyCorpus)
    tokenization = OmegaConf.to_container(config.tokenization)
    tokenization = check("tokenization", tokenization, TokenizationConfig)
    text = load_corpus(corpus, Path(config.data))
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    runs = []
    for pairs in config.pairs:
        with TemporaryDirectory(prefix="large-corpus-", dir=output) as folder:
            work = Path(folder)
            repeat_text(text, pairs, work / "text")
            repeated = FilesCorpus(
                source=text.source_language,
                target=text.target_language,
                directory=str(work / "text"),
                train_max_words=corpus.train_max_words,
            )
            prepared = watch(partial(prepare_text, repeated, tokenization, work / "data"))
            read = watch(partial(read_epoch, prepared.result, config.batch_size, config.seed))
            sizes = {"text MB": _size(work / "text"), "encoded MB": _size(prepared.result)}
        for stage, watched in {"prepare": prepared, "one epoch": read}.items():
            times = {"minutes": watched.seconds / 60, "pairs/s": pairs / watched.seconds}
            runs.append({"pairs": pairs, "stage": stage, **sizes, **times, **watched.peak})
    rows = [
        {
            key: value if isinstance(value, str) else f"{value:,.{2 * (key == 'minutes')}f}"
            for key, value in run.items()
        }
        for run in runs
    ]
    notes = [
        f"Text: {text.kind} {text.source_language}-{text.target_language}, over and over, which "
        f"brings no new words; {tokenization.kind}, {tokenization.vocabulary_size or 'all'} "
        f"entries; seed {config.seed}.",
        "prepare: reads and checks the text, learns the tokenisation, cuts the text into pieces "
        "and writes their ids. One epoch: opens these files, divides the pairs into batches of "
        f"{config.batch_size} and pads each batch.",
        "Each stage runs in a fresh process, whose memory is measured 20 times a second, together "
        "with that of the processes it starts. 1 MB is a million bytes. Peak: all memory; a page "
        "that several processes share counts in each. Own: without shared pages, such as those of "
        "mapped files, which the system takes back when memory is short. Encoded: size of the ids "
        "on disk.",
    ]
    path = output / "large-corpus"
    return write_results(path, "Large corpora", rows, notes, runs, torch.device("cpu"))


def repeat_text(text: Corpus, pairs: int, folder: Path) -> None:
    """Write ``pairs`` pairs by repeating those of ``text``; valid and test are its valid text."""
    folder.mkdir(parents=True)
    for side in SIDES:
        copies = chain.from_iterable(map(read_lines, repeat(getattr(text.train, side))))
        write_lines(folder / f"train.{side}", islice(copies, pairs))
        for split in ("valid", "test"):
            write_lines(folder / f"{split}.{side}", read_lines(getattr(text.valid, side)))


def prepare_text(corpus: CorpusConfig, tokenization: TokenizationConfig, data: Path) -> Path:
    """Prepare a corpus; return the folder of its ids."""
    return prepare(corpus, tokenization, data).directory


def read_epoch(folder: Path, batch_size: int, seed: int) -> int:
    """Plan an epoch and pad each of its batches, as training does; return the number of pairs."""
    train = EncodedPairs.load(folder, "train")
    batches = BatchPlan(train, batch_size, seed).epoch(0)
    for batch in batches:
        collate(train, batch)
    return sum(map(len, batches))


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


if __name__ == "__main__":
    main("large_corpus", benchmark_large_corpus)
