"""A corpus is encoded faithfully, once; whatever would alter the result makes a new folder."""

import dataclasses
import errno
import gzip
import logging
import os
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from helpers.samples import ids_of, put
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import FilesCorpus, ModelConfig, TokenizationConfig, TrainConfig
from seq2seq.data import encoding, preparation
from seq2seq.data.preparation import advise, prepare, summary
from seq2seq.data.splits import source_digest
from seq2seq.data.vocabulary import EOS
from seq2seq.errors import UserError

ENGLISH = ["a man runs", "a dog runs .", "the man 's dog", "</s> is no <unk>", "a\u00a0b c"] * 4
GERMAN = ["ein Mann läuft", "ein Hund läuft .", "der Hund", "</s> ist kein <pad>", "a b c d"] * 4
VALID = ["eine Katze läuft", "nichts", "der Mann"]
WORDS = TokenizationConfig(kind="whitespace")
SUBWORDS = TokenizationConfig(kind="sentencepiece", vocabulary_size=50)


def corpus(folder, train=(ENGLISH, GERMAN), languages=("en", "de"), valid=None, **options):
    texts = {
        "train": train,
        "valid": valid or (["a cat runs", "", "the man"], VALID),
        "test": (["a test"], ["ein Test"]),
    }
    files = {
        f"{name}.{language}": "".join(line + "\n" for line in lines).encode()
        for name, sides in texts.items()
        for language, lines in zip(languages, sides, strict=True)
    }
    source, target = languages
    return FilesCorpus(source=source, target=target, directory=put(folder, files), **options)


def folders(data):
    return [path.name for path in (data / "prepared").iterdir() if path.is_dir()]


BASE = ["abab baba abba", "b a ab ba", "bba aab", "ab"] * 9
"""Text from which at least 12 subwords can be learned."""
LINE = st.text("ab \t\u2028", max_size=12)


@settings(max_examples=30)
@given(
    pairs=st.lists(st.tuples(LINE, LINE), max_size=8),
    tokenization=st.sampled_from(["whitespace", "sentencepiece", "joint"]),
    max_pieces=st.integers(5, 14),
    max_words=st.none() | st.integers(4, 5),
    chunk=st.integers(1, 40),
)
def test_every_pair_gives_its_text_back_or_is_counted(
    pairs, tokenization, max_pieces, max_words, chunk
):
    joint, kind = tokenization == "joint", tokenization.replace("joint", "sentencepiece")
    size = 12 if kind == "sentencepiece" else None
    options = TokenizationConfig(
        kind=kind, vocabulary_size=size, joint=joint, max_pieces=max_pieces
    )
    train = [*zip(BASE, BASE[::-1], strict=True), ("ab", "ba"), *pairs]
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK", chunk)
        sides, valid = [*zip(*train, strict=True)], (["a b"], ["b a"])
        config = corpus(Path(name, "text"), sides, valid=valid, train_max_words=max_words)
        data = prepare(config, options, Path(name))
    codecs, kept, counted = (data.source, data.target), [], Counter[str]()
    for number, pair in enumerate(train, start=1):
        words = [len(side.split()) for side in pair]
        pieces = [
            len(codec.tokenizer.tokenize(side)) for codec, side in zip(codecs, pair, strict=True)
        ]
        if not min(words):
            counted["train.empty"] += 1
        elif max_words and max(words) > max_words:
            counted["train.max_words"] += 1
        elif max(pieces) > max_pieces:
            counted["train.max_pieces"] += 1
        else:
            kept.append(number)
    assert data.train.line_numbers.tolist() == kept
    assert counted == Counter({k: n for k, n in data.skipped.items() if k.startswith("train")})
    for i, number in enumerate(kept):
        source, target = ids_of(data.train, i)
        texts = data.source.decode(source), data.target.decode(target)
        assert texts == tuple(" ".join(side.split()) for side in train[number - 1])
        assert source == [*data.source.encode(train[number - 1][0]), EOS]
    for codec, ids in zip(codecs, (data.train.source_ids, data.train.target_ids), strict=True):
        expected = Counter(ids.tolist())
        assert codec.vocabulary.counts[4:] == [
            expected[i] for i in range(4, len(codec.vocabulary.pieces))
        ]
    assert not joint or data.source.vocabulary.pieces == data.target.vocabulary.pieces
    assert type(data.train.source_ids) is np.ndarray  # faster to index than the memmap itself


def test_limits_apply_to_training_and_are_told(tmp_path):
    train = ["a b c", "a b", "", "a", "a b", "a"], ["a", "a b c d", "a", "a", "a b", "a"]
    config = corpus(tmp_path / "text", train, train_pairs=5, train_max_words=3)
    data = prepare(config, dataclasses.replace(WORDS, max_pieces=2), tmp_path)
    assert data.train.line_numbers.tolist() == [4, 5]
    assert data.valid.line_numbers.tolist() == [3]
    assert data.source.vocabulary.pieces[4:] == ["a", "b"]  # of the pairs that are kept
    said = summary(data).split("\n")
    assert said[0].startswith("train: 2 of 5 pairs")
    assert "source: 1.5 words a sentence, at most 2" in said[1]
    assert "0.00% unknown" in said[2]


def test_sources_that_were_learned_are_counted_and_named_once(tmp_path, caplog):
    preparation.warn_once.cache_clear()  # another test may have had the same numbers
    train = ["A  CAT runs", "the man", "a test", "b"], ["x"] * 4
    limited = corpus(tmp_path / "text", train, train_pairs=2, train_max_words=2)
    assert prepare(limited, WORDS, tmp_path).learned.tolist() == [source_digest("the man")]
    assert "valid: 1 of 3" in caplog.text
    assert "test:" not in caplog.text
    whole = dataclasses.replace(limited, train_pairs=None, train_max_words=None)
    prepare(whole, WORDS, tmp_path)
    assert "valid: 2 of 3" in caplog.text
    assert "test: 1 of 1" in caplog.text
    caplog.clear()
    prepare(whole, WORDS, tmp_path)
    assert caplog.text == ""
    for name in ("test", "test_more"):  # changed, and added, after the first time
        put(tmp_path / "text", {f"{name}.en": b"c\nB\nthe man\n", f"{name}.de": b"x\ny\nz\n"})
    prepare(whole, WORDS, tmp_path)
    assert {line[:16] for line in caplog.messages} == {"test: 2 of 3 sou", "test_more: 2 of "}


CHINESE = ["猫看见狗", "狗看见老人", "老人喜欢小猫", "小狗跑得很快"] * 4
NUMBERS = [f"one{n} number" for n in range(10)]
ZAHLEN = [f"ein{n} Zahl" for n in range(10)]


@pytest.mark.parametrize("exchanged", ["", "train", "valid", "test"])
@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [(NUMBERS, ZAHLEN, ("en", "de")), (CHINESE, (NUMBERS + ZAHLEN)[:16], ("zh", "en"))],
)
def test_sides_that_are_exchanged_are_refused(tmp_path, exchanged, source, target, languages):
    for name in ("train", "valid", "test"):
        sides = (target, source) if name == exchanged else (source, target)
        texts = ["\n".join(side * 2).encode() for side in sides]
        names = [f"{name}.{language}" for language in languages]
        directory = put(tmp_path / "text", dict(zip(names, texts, strict=True)))
    config = FilesCorpus(source=languages[0], target=languages[1], directory=directory)
    if exchanged:
        with pytest.raises(UserError, match=r"(valid|test)\.(en|de|zh) .*train\."):
            prepare(config, WORDS, tmp_path)
    else:
        prepare(config, WORDS, tmp_path)


def test_each_side_is_normalised_as_it_is_told(tmp_path):
    marks = "，！（ﬁ①"
    config = corpus(tmp_path / "text", ([marks, *ENGLISH], [marks, *GERMAN]))
    plain = unicodedata.normalize("NFKC", marks)
    for rule, text in {None: marks, "nmt_nfkc": plain}.items():
        tokenization = dataclasses.replace(SUBWORDS, target_normalization=rule)
        data = prepare(config, tokenization, tmp_path)
        codecs = data.source, data.target
        assert [codec.decode(codec.encode(marks)) for codec in codecs] == [plain, text]
    joint = dataclasses.replace(SUBWORDS, joint=True)
    assert (joint.source_normalization, joint.target_normalization) == ("identity", "identity")


@pytest.mark.parametrize(("most", "joint"), [(24, False), (12, False), (24, True)])
def test_a_subword_model_learns_from_an_even_sample_of_what_is_kept(
    tmp_path, monkeypatch, most, joint
):
    learnt = []

    def learn(sentences, *options):
        learnt.append(list(sentences))
        return real(learnt[-1], *options)

    real = preparation.SentencePieceTokenizer.train_model
    monkeypatch.setattr(preparation.SentencePieceTokenizer, "train_model", staticmethod(learn))
    monkeypatch.setattr(preparation, "TOKENIZER_SENTENCES", most)
    english = [f"{line} {'long ' * 9}" if i % 5 > 2 else line for i, line in enumerate(ENGLISH * 2)]
    config = corpus(tmp_path / "text", (english, GERMAN * 2), train_max_words=8)
    options = dataclasses.replace(SUBWORDS, vocabulary_size=40, joint=joint)
    one, two = (prepare(config, options, tmp_path / name).directory for name in "ab")
    for path in one.iterdir():  # and what is learned again is equal
        assert path.read_bytes() == (two / path.name).read_bytes()
    sides = [[side[i] for i in range(40) if i % 5 <= 2] for side in (english, GERMAN * 2)]
    step = 24 // (most // (1 + joint))
    english, german = (side[step - 1 :: step] for side in sides)
    mixed = [line for pair in zip(english, german, strict=True) for line in pair]
    assert learnt == ([mixed] if joint else [english, german]) * 2


def test_without_spaces_two_characters_are_a_word_and_words_are_warned_of_once(tmp_path, caplog):
    preparation.warn_once.cache_clear()
    texts = {"zh": ["一二三四", "一二三四五", "一"], "en": ["a b"] * 3}
    for languages, _ in product((("zh", "en"), ("en", "zh")), range(2)):
        train = tuple(texts[language] for language in languages)
        config = corpus(tmp_path / languages[0], train, languages, train_max_words=2)
        assert prepare(config, WORDS, tmp_path).train.line_numbers.tolist() == [1, 3]
    assert caplog.text.count("tokenization=sentencepiece") == 1


def test_only_text_and_settings_that_matter_make_another_folder(tmp_path, monkeypatch):
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    plain = tmp_path / "text" / "train.en"
    (tmp_path / "text" / "train.en.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_fill", None)  # what the first call made is opened
        again = prepare(config, WORDS, tmp_path)
    assert (again.directory, again.skipped) == (first.directory, first.skipped)
    assert again.train.source_ids.tolist() == first.train.source_ids.tolist()
    recipes = [(dataclasses.replace(config, train_pairs=7), WORDS)]
    recipes += [(dataclasses.replace(config, train_max_words=3), WORDS)]
    options = {"min_frequency": 2}, {"max_pieces": 3}, {"vocabulary_size": 9}
    recipes += [(config, dataclasses.replace(WORDS, **option)) for option in options]
    for recipe in recipes:
        prepare(*recipe, tmp_path)
    valid = tmp_path / "text" / "valid.de"
    valid.write_bytes(valid.read_bytes().replace(b"n", b"m"))
    prepare(config, WORDS, tmp_path)
    assert len(folders(tmp_path)) == len(recipes) + 2


@pytest.mark.parametrize(
    ("corpus_options", "options", "key"),
    [
        ({"train_max_words": 2}, {"max_pieces": 1}, r"train .* corpus\.train_max_words"),
        ({"train_max_words": 1}, dataclasses.asdict(SUBWORDS), r"vocabulary_size=50 .* en train"),
        ({}, {"kind": "sentencepiece", "vocabulary_size": 500}, r"vocabulary_size=500 .* en train"),
    ],
)
def test_text_that_cannot_be_encoded_is_refused(tmp_path, corpus_options, options, key):
    train = ["", "a b c", "a b"], ["a", "a", "a"]
    config = corpus(tmp_path / "text", train, **corpus_options)
    with pytest.raises(UserError, match=key):
        prepare(config, TokenizationConfig(**{"kind": "whitespace", **options}), tmp_path)
    assert folders(tmp_path) == []


@pytest.mark.parametrize("size", [7_999, 8_100, 8_130])  # of the ids, the lines, the offsets
def test_what_cannot_be_written_is_said_and_leaves_no_folder(tmp_path, size):
    resource = pytest.importorskip("resource")
    config = corpus(tmp_path / "text", (["a"] * 1_000, ["b"] * 1_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            prepare(config, WORDS, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folders(tmp_path) == []


@pytest.mark.parametrize(
    ("dropout", "embedding", "named"),
    [(0.4, 0.3, ""), (0.5, 0.1, "model.embedding_dropout=0.3"), (0.1, 0.3, "model.dropout=0.4")],
)
def test_more_dropout_is_advised_where_it_is_low(tmp_path, caplog, dropout, embedding, named):
    text = corpus(tmp_path / "text")
    model = ModelConfig(dropout=dropout, embedding_dropout=embedding)
    config = TrainConfig(name="n", system="s", corpus=text, tokenization=SUBWORDS, model=model)
    with caplog.at_level(logging.INFO):
        advise(config, prepare(text, SUBWORDS, tmp_path))
    assert " ".join(w for w in caplog.text.split() if w.startswith("model.")) == named
