"""The embedded corpus as files: parallel, of the lengths asked for, the same each time."""

import dataclasses
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from textbook import DICTIONARY

from seq2seq.config import GrammarCorpus
from seq2seq.data.grammar import training_pairs, write_corpus

SMALL = GrammarCorpus(train=1_500, valid=60, test_per_bucket=12, max_words=35)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grammar") / "new"
    write_corpus(SMALL, folder)
    return folder


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


class TestWriteCorpus:
    def test_files_are_parallel(self, folder: Path) -> None:
        names = {path.name for path in folder.iterdir()}
        splits = ("train", "valid", "test")
        assert names == {f"{split}.{end}" for split in splits for end in ("en", "de", "align")}
        for split, count in zip(splits, (1_500, 60, 48), strict=True):
            columns = [read(folder / f"{split}.{end}") for end in ("en", "de", "align")]
            assert [len(column) for column in columns] == [count] * 3
            for english, german, links in zip(*columns, strict=True):
                for link in links.split():
                    i, j = map(int, link.split("-"))
                    assert i < len(english.split())
                    assert j < len(german.split())

    def test_lengths(self, folder: Path) -> None:
        test = Counter((len(line.split()) - 1) // 10 for line in read(folder / "test.en"))
        assert test == {0: 12, 1: 12, 2: 12, 3: 12}
        assert max(len(line.split()) for line in read(folder / "test.en")) <= 35
        train = [len(line.split()) for line in read(folder / "train.en")]
        assert set(train) == set(range(4, 36))
        short = sum(length <= 10 for length in train)
        long = sum(length > 28 for length in train)
        assert 1.5 * long < short < 4 * long

    def test_default_training_lengths(self) -> None:
        sample = islice(training_pairs(GrammarCorpus(), "train"), 500)
        lengths = [len(pair.source.split()) for pair in sample]
        assert 21 < sum(lengths) / len(lengths) < 26
        assert 6 < sum(length > 60 for length in lengths) < 34

    def test_splits_are_disjoint(self, tmp_path: Path) -> None:
        # At most ten words: the same short sentences come up again and must be turned away.
        config = GrammarCorpus(train=1_500, valid=300, test_per_bucket=300, max_words=10)
        write_corpus(config, tmp_path)
        train, valid, test = (read(tmp_path / f"{s}.en") for s in ("train", "valid", "test"))
        assert len(set(test)) == len(test) == 300
        assert len(set(valid)) == len(valid) == 300
        assert not set(train) & set(test)
        assert not set(train) & set(valid)
        assert not set(valid) & set(test)

    def test_the_same_seed_writes_the_same_text_and_more_of_it_extends_less(
        self, folder: Path, tmp_path: Path
    ) -> None:
        config = GrammarCorpus(train=300, valid=60, test_per_bucket=12, max_words=35)
        write_corpus(config, tmp_path)
        assert read(tmp_path / "train.en") == read(folder / "train.en")[:300]
        for name in ("test.en", "test.de", "test.align", "valid.en"):
            assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
        other = dataclasses.replace(config, seed=2)
        write_corpus(other, tmp_path / "other")
        for path in (tmp_path / "other").iterdir():
            assert path.read_bytes() != (tmp_path / path.name).read_bytes()

    def test_german_to_english(self, tmp_path: Path) -> None:
        config = GrammarCorpus(
            source="de", target="en", train=300, valid=20, test_per_bucket=10, max_words=25
        )
        write_corpus(config, tmp_path)
        german, english = read(tmp_path / "test.de"), read(tmp_path / "test.en")
        assert Counter((len(line.split()) - 1) // 10 for line in german) == {0: 10, 1: 10, 2: 10}
        assert max(len(line.split()) for line in german) <= 25
        for source, target, links in zip(
            german, english, read(tmp_path / "test.align"), strict=True
        ):
            words = {
                (source.split()[i], target.split()[j])
                for i, j in (map(int, link.split("-")) for link in links.split())
            }
            assert (".", ".") in words
            assert all(g in DICTIONARY[e] for g, e in words if e in DICTIONARY)
