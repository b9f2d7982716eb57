"""Validation and test text taken from a training text of the user's, a folder or one file."""

import dataclasses
import gzip
import random

import pytest
from samples import SMALL, counts, put

from seq2seq.config import FilesCorpus
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.data.text import read_aligned
from seq2seq.errors import UserError

CONFIG = FilesCorpus(source="en", target="fr", valid_pairs=20, test_pairs=30)


def pairs_with_repeats():
    rng = random.Random(1)
    pairs = [(f"Source {n} .", f"cible {n} .") for n in range(200)]
    pairs += rng.choices(pairs, k=80)
    pairs += [(source, target + " bis") for source, target in rng.choices(pairs, k=80)]
    pairs += [(source.upper(), target) for source, target in rng.choices(pairs, k=80)]
    pairs += [("", "x"), ("x", " ")] * 20
    rng.shuffle(pairs)
    return pairs


def as_folder(path, pairs):
    sides = zip(("train.en", "train.fr"), zip(*pairs, strict=True), strict=True)
    put(path, {name: "".join(f"{line}\n" for line in side).encode() for name, side in sides})
    return dataclasses.replace(CONFIG, directory=str(path))


def as_file(path, pairs):
    path.write_bytes(gzip.compress("".join(f"{s}\t{t}\n" for s, t in pairs).encode()))
    return dataclasses.replace(CONFIG, directory=str(path))


def splits(config, data):
    corpus = load_corpus(config, data)
    texts = {"train": corpus.train, "valid": corpus.valid, **corpus.tests}
    return {n: list(zip(*read_aligned(t.source, t.target), strict=True)) for n, t in texts.items()}


def test_no_source_is_in_two_splits_and_the_rest_is_all_training_text(tmp_path):
    pairs = pairs_with_repeats()
    taken = splits(as_folder(tmp_path / "mine", pairs), tmp_path)
    assert (len(taken["valid"]), len(taken["test"])) == (20, 30)
    sources = {name: {source.casefold() for source, _ in taken[name]} for name in taken}
    held_out = sources["valid"] | sources["test"]
    assert len(held_out) == 50
    assert set(taken["valid"] + taken["test"]) <= set(pairs)
    # Duplicates and empty lines stay in training, where prepare counts them, in their order.
    assert taken["train"] == [pair for pair in pairs if pair[0].casefold() not in held_out]
    assert splits(as_file(tmp_path / "mine.tsv.gz", pairs), tmp_path) == taken
    other = splits(as_folder(tmp_path / "other", sorted(pairs)), tmp_path)
    assert sources == {name: {source.casefold() for source, _ in other[name]} for name in other}


def test_the_test_text_is_found_again_without_making_it_again(tmp_path):
    config = as_folder(tmp_path / "mine", pairs_with_repeats())
    tests = load_test_sets(config, tmp_path)
    before = tests["test"].source.stat().st_mtime_ns
    assert load_corpus(config, tmp_path).tests == tests == load_test_sets(config, tmp_path)
    assert tests["test"].source.stat().st_mtime_ns == before
    (tmp_path / "mine" / "train.fr").write_text("another text\n" * 480)
    assert load_test_sets(config, tmp_path) != tests


def test_a_split_that_is_there_is_kept(tmp_path):
    config = as_folder(tmp_path, pairs_with_repeats())
    more = {"test_news.en": b"a\n", "test_news.fr": b"b\n", "test_news.align": b"0-0\n"}
    put(tmp_path, {"test.source": b"a\n", "test.target": b"b\n", **more})
    corpus = load_corpus(dataclasses.replace(config, test_pairs=None), tmp_path)
    assert (counts(corpus)["valid"], corpus.tests.keys()) == (20, {"test", "test_news"})
    assert corpus.tests["test_news"].alignments is not None


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"valid_pairs": None, "test_pairs": None}, r"corpus\.valid_pairs=500 corpus\.test_pairs"),
        (
            {"directory": "mine.tsv", "valid_pairs": None, "test_pairs": None},
            r"corpus\.valid_pairs=500 corpus\.test_pairs",
        ),
        ({"valid_pairs": None}, r"corpus\.valid_pairs=500"),
        ({"valid_pairs": 190}, r"corpus\.valid_pairs=190"),
        ({"directory": "nothing"}, r"train\.en"),
        ({"directory": "ready"}, r"valid\.en .*corpus\.valid_pairs"),
        ({"directory": "empty"}, r"0 distinct"),
        ({"directory": "mine.tsv"}, r"mine\.tsv, line 2"),
    ],
)
def test_what_cannot_be_split_is_refused(tmp_path, monkeypatch, changes, names):
    monkeypatch.chdir(tmp_path)
    config = as_folder(tmp_path / "mine", pairs_with_repeats())
    put(tmp_path / "ready", SMALL)
    put(tmp_path / "empty", {"train.en": b"", "train.fr": b""})
    put(tmp_path, {"mine.tsv": b"a\tb\na b\n"})
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UserError, match=names):
        load_corpus(dataclasses.replace(config, **changes), tmp_path)
    assert not list(tmp_path.rglob("*.part"))
