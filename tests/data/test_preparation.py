"""A corpus is encoded faithfully, once; whatever would alter the result makes a new folder."""

import dataclasses
import gzip
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from helpers.samples import ids_of, joined, put
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import FilesCorpus, TokenizationConfig
from seq2seq.data import encoding, preparation
from seq2seq.data.corpora import source_digest
from seq2seq.data.preparation import prepare
from seq2seq.data.vocabulary import EOS

ENGLISH = ["a man runs", "a dog runs .", "the man 's dog", "</s> is no <unk>", "a\u00a0b c"] * 4
GERMAN = ["ein Mann läuft", "ein Hund läuft .", "der Hund", "</s> ist kein <pad>", "a b c d"] * 4
VALID = ["a cat runs", "", "the man"], ["eine Katze läuft", "nichts", "der Mann"]
WORDS = TokenizationConfig(kind="whitespace")
SUBWORDS = TokenizationConfig(kind="sentencepiece", vocabulary_size=50)


def corpus(folder, train=(ENGLISH, GERMAN), valid=VALID, **options):
    for name, sides in (("train", train), ("valid", valid), ("test", (["a test"], ["ein Test"]))):
        for language, lines in zip(("en", "de"), sides, strict=True):
            put(folder, {f"{name}.{language}": joined(lines)})
    return FilesCorpus(source="en", target="de", directory=str(folder), **options)


BASE = ["abab baba abba", "b a ab ba", "bba aab", "ab"] * 9
"""Text from which at least 12 subwords can be learned."""
LINE = st.text("ab \t\u2028", max_size=12)


def fate(pair, codecs, max_words, max_pieces):
    """Why a pair is left out, or "kept"."""
    words = [len(side.split()) for side in pair]
    if not min(words):
        return "empty"
    if max(words) > max_words:
        return "max_words"
    pieces = [len(codec.encode(side)) for codec, side in zip(codecs, pair, strict=True)]
    return "kept" if max(pieces) <= max_pieces else "max_pieces"


@pytest.mark.slow
@settings(max_examples=30)
@given(
    pairs=st.lists(st.tuples(LINE, LINE), max_size=8),
    kind=st.sampled_from(["whitespace", "sentencepiece", "joint"]),
    max_pieces=st.integers(5, 14),
    max_words=st.integers(4, 9),
    most=st.integers(30, 50),
    chunk=st.integers(1, 40),
)
def test_every_pair_gives_its_text_back_or_is_counted(
    pairs, kind, max_pieces, max_words, most, chunk
):
    options = {"kind": "sentencepiece", "vocabulary_size": 12, "joint": kind == "joint"}
    options = {"kind": kind} if kind == "whitespace" else options
    texts = [*zip(BASE, BASE[::-1], strict=True), *pairs], [("a b", "b a"), *pairs]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK", chunk)
        sides = (zip(*text, strict=True) for text in texts)
        config = corpus(Path(name, "text"), *sides, train_pairs=most, train_max_words=max_words)
        data = prepare(config, TokenizationConfig(max_pieces=max_pieces, **options), Path(name))
    codecs = data.source, data.target
    for split, pairs, longest in (("train", texts[0][:most], max_words), ("valid", texts[1], 99)):
        fates = [fate(pair, codecs, longest, max_pieces) for pair in pairs]
        counts = {f"{split}.{reason}": fates.count(reason) for reason in encoding.REASONS}
        assert counts.items() <= data.skipped.items()
        found = getattr(data, split)
        assert found.line_numbers.tolist() == [n for n, why in enumerate(fates, 1) if why == "kept"]
        for i, number in enumerate(found.line_numbers):
            source, target = pairs[number - 1]
            ids = ids_of(found, i)
            assert ids == ([*data.source.encode(source), EOS], data.target.encode(target))
            if split == "train":
                plain = " ".join(source.split()), " ".join(target.split())
                assert (data.source.decode(ids[0]), data.target.decode(ids[1])) == plain
    for codec, ids in zip(codecs, (data.train.source_ids, data.train.target_ids), strict=True):
        counted = np.bincount(ids, minlength=len(codec.vocabulary))
        assert codec.vocabulary.counts[4:] == counted[4:].tolist()
    assert type(data.train.source_ids) is np.ndarray  # faster to index than the memmap itself


def test_sources_that_were_learned_are_counted_and_named_once(tmp_path, caplog):
    preparation.warn_once.cache_clear()  # another test may have had the same numbers
    train = ["A  CAT runs", "the man", "a test", "b"], ["x"] * 4
    limited = corpus(tmp_path / "text", train, train_pairs=2, train_max_words=2)
    data = prepare(limited, WORDS, tmp_path)
    assert data.learned.tolist() == [source_digest("the man")]
    whole = corpus(tmp_path / "text", train)
    prepare(whole, WORDS, tmp_path)
    for name in ("test", "test_more"):  # changed, and added, after the first time
        put(tmp_path / "text", {f"{name}.en": b"c\nB\nthe man\n", f"{name}.de": b"x\ny\nz\n"})
    for _ in range(2):
        prepare(whole, WORDS, tmp_path)
    said = [line.partition(" of ")[0] for line in caplog.messages]
    assert said == ["valid: 1", "valid: 2", "test: 1", "test: 2", "test_more: 2"]


def test_each_side_is_normalised_as_it_is_told(tmp_path):
    marks = "，！（ﬁ①"
    plain = unicodedata.normalize("NFKC", marks)
    config = corpus(tmp_path / "text", ([marks, *ENGLISH], [marks, *GERMAN]))
    for options, expected in (
        ({}, [plain, marks]),
        ({"target_normalization": "nmt_nfkc"}, [plain, plain]),
        ({"joint": True}, [marks, marks]),
    ):
        data = prepare(config, dataclasses.replace(SUBWORDS, **options), tmp_path)
        assert [one.decode(one.encode(marks)) for one in (data.source, data.target)] == expected


def test_a_subword_model_learns_from_every_second_line_that_is_kept(tmp_path, monkeypatch):
    """Each line has a mark of its own, which becomes a subword if the line is learned from."""
    monkeypatch.setattr(preparation, "TOKENIZER_SENTENCES", 24)
    marks = [chr(0x4E00 + i) for i in range(40)], [chr(0x5E00 + i) for i in range(40)]
    long = [" long" * 9 if i % 5 > 2 else "" for i in range(40)]
    texts = [[f"a b ab {mark}{long[i]}" for i, mark in enumerate(side)] for side in marks]
    config = corpus(tmp_path / "text", texts, train_max_words=8)
    options = TokenizationConfig(kind="sentencepiece", vocabulary_size=32, joint=True)
    one, two = (prepare(config, options, tmp_path / name) for name in "ab")
    for path in one.directory.iterdir():  # what is learned again is equal
        assert path.read_bytes() == (two.directory / path.name).read_bytes()
    learned = [i for i in range(40) if not long[i]][1::2]
    for codec, side in zip((one.source, one.target), marks, strict=True):
        assert {i for i, mark in enumerate(side) if mark in codec.vocabulary} == {*learned}


def test_only_text_and_settings_that_matter_make_another_folder(tmp_path):
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    made = first.directory.stat().st_ino
    plain = tmp_path / "text" / "train.en"
    put(tmp_path / "text", {"train.en.gz": gzip.compress(plain.read_bytes())})
    plain.unlink()
    again = prepare(config, WORDS, tmp_path)
    assert (again.directory.stat().st_ino, again.skipped) == (made, first.skipped)
    changes = {"train_pairs": 7}, {"train_max_words": 3}
    recipes = [(dataclasses.replace(config, **change), WORDS) for change in changes]
    changes = {"min_frequency": 2}, {"max_pieces": 3}, {"vocabulary_size": 9}
    recipes += [(config, dataclasses.replace(WORDS, **change)) for change in changes]
    folders = [prepare(*recipe, tmp_path).directory for recipe in recipes]
    put(tmp_path / "text", {"valid.de": joined(VALID[1][::-1])})
    folders.append(prepare(config, WORDS, tmp_path).directory)
    assert len({first.directory, *folders}) == 1 + len(folders)
