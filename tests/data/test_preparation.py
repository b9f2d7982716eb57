"""A corpus is encoded faithfully, once; whatever would alter the result makes a new folder."""

import dataclasses
import gzip
import json
import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from seq2seq.config import FilesCorpus, TokenizationConfig
from seq2seq.data import preparation
from seq2seq.data.corpora import load_test_sets
from seq2seq.data.preparation import prepare, prepared_test_sets
from seq2seq.data.text import content_digest
from seq2seq.data.vocabulary import EOS, UNK
from seq2seq.errors import UserError

ENGLISH = ["a man runs", "a dog runs .", "the man 's dog", "</s> is no <unk>", "a\u00a0b c"] * 4
GERMAN = ["ein Mann läuft", "ein Hund läuft .", "der Hund", "</s> ist kein <pad>", "a b c d"] * 4
WORDS = TokenizationConfig(kind="whitespace")


def corpus(folder: Path, train: tuple[list[str], list[str]] = (ENGLISH, GERMAN)) -> FilesCorpus:
    folder.mkdir(exist_ok=True)
    texts = {
        "train": train,
        "valid": (["a cat runs", "", "the man"], ["eine Katze läuft", "nichts", "der Mann"]),
        "test": (["a test"], ["ein Test"]),
    }
    for name, sides in texts.items():
        for language, lines in zip(("en", "de"), sides, strict=True):
            content = "".join(line + "\n" for line in lines)
            (folder / f"{name}.{language}").write_bytes(content.encode("utf-8"))
    return FilesCorpus(source="en", target="de", directory=str(folder))


def folders(data: Path) -> list[str]:
    return sorted(path.name for path in (data / "prepared").iterdir() if path.is_dir())


def test_one_file_that_is_given_twice_is_said_to_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus(tmp_path / "text")
    paths = {
        f"{split}_{side}": str(tmp_path / "text" / f"{split}.{language}")
        for split in ("train", "valid", "test")
        for side, language in (("source", "en"), ("target", "de"))
    }
    with caplog.at_level(logging.WARNING):
        prepare(FilesCorpus(source="en", target="de", **paths), WORDS, tmp_path)
        assert not caplog.records
        (tmp_path / "link").symlink_to(paths["train_source"])
        paths["train_target"] = str(tmp_path / "link")
        prepare(FilesCorpus(source="en", target="de", **paths), WORDS, tmp_path)
    (record,) = caplog.records
    assert "corpus.train_source and corpus.train_target" in record.message


def test_every_pair_is_encoded_in_order(tmp_path: Path) -> None:
    data = prepare(corpus(tmp_path / "text"), WORDS, tmp_path)
    assert len(data.train) == len(ENGLISH)
    assert data.train.line_numbers.tolist() == list(range(1, len(ENGLISH) + 1))
    for i, (english, german) in enumerate(zip(ENGLISH, GERMAN, strict=True)):
        source, target = data.train.source(i).tolist(), data.train.target(i).tolist()
        assert source == [*data.source.encode(english), EOS]
        assert target == data.target.encode(german)
    assert data.source.decode(data.train.source(0).tolist()) == "a man runs"
    assert (data.source.language, data.target.language) == ("en", "de")
    assert data.max_pieces == WORDS.max_pieces
    assert data.directory.parent == tmp_path / "prepared"


def test_validation_skips_empty_sides_and_keeps_line_numbers(tmp_path: Path) -> None:
    data = prepare(corpus(tmp_path / "text"), WORDS, tmp_path)
    assert data.valid.line_numbers.tolist() == [1, 3]
    assert data.skipped["valid.empty"] == 1


def test_limits_apply_to_training_and_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train = ["a b c", "a b", "", "a", "a b", "a"], ["a", "a b c d", "a", "a", "a b", "a"]
    config = corpus(tmp_path / "text", train)
    config.train_pairs, config.train_max_words = 5, 3
    tokenization = TokenizationConfig(kind="whitespace", max_pieces=2)
    with caplog.at_level(logging.INFO):
        data = prepare(config, tokenization, tmp_path)
    assert data.train.line_numbers.tolist() == [4, 5]
    assert data.valid.line_numbers.tolist() == [3]
    assert data.skipped == {
        "train.empty": 1,
        "train.max_words": 1,
        "train.max_pieces": 1,
        "valid.empty": 1,
        "valid.max_words": 0,
        "valid.max_pieces": 1,
    }
    assert any(message.startswith("train: 2 pairs") for message in caplog.messages)


def test_only_kept_training_pairs_are_counted_in_the_vocabulary(tmp_path: Path) -> None:
    train = ["a b", "a long one that goes", "a"], ["x", "y", "z"]
    config = corpus(tmp_path / "text", train)
    config.train_max_words = 3
    data = prepare(config, TokenizationConfig(kind="whitespace", vocabulary_size=8), tmp_path)
    assert data.source.vocabulary.pieces[4:] == ["a", "b"]
    assert data.source.vocabulary.counts[4:] == [2, 1]
    assert data.target.vocabulary.pieces[4:] == ["x", "z"]


@pytest.mark.parametrize("joint", [False, True])
def test_subwords_give_the_text_back(tmp_path: Path, joint: bool) -> None:
    options = TokenizationConfig(kind="sentencepiece", vocabulary_size=50, joint=joint)
    data = prepare(corpus(tmp_path / "text"), options, tmp_path)
    vocabularies = data.source.vocabulary, data.target.vocabulary
    assert [len(vocabulary) for vocabulary in vocabularies] == [50, 50]
    assert (vocabularies[0].pieces == vocabularies[1].pieces) is joint
    for i, english in enumerate(ENGLISH):
        ids = data.train.source(i).tolist()
        if "</s>" in english:  # spelt out, it is no text that a subword model learns from
            assert UNK in ids
            assert EOS not in ids[:-1]
        else:
            assert data.source.decode(ids) == english.replace("\u00a0", " ")
    assert sum(data.source.vocabulary.counts) == int((data.train.source_ids > EOS).sum())


@pytest.mark.parametrize(("most", "taken"), [(100, 24), (24, 24), (12, 12)])
def test_a_subword_model_learns_from_a_sample_of_the_pairs_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, taken: int
) -> None:
    learnt: list[list[str]] = []

    def learn(sentences: Iterable[str], size: int, where: str) -> bytes:
        learnt.append(list(sentences))
        return real(learnt[-1], size, where)

    real = preparation.SentencePieceTokenizer.train_model
    monkeypatch.setattr(preparation.SentencePieceTokenizer, "train_model", staticmethod(learn))
    monkeypatch.setattr(preparation, "TOKENIZER_SENTENCES", most)
    english = [f"{line} {'long ' * 9}" if i % 5 > 2 else line for i, line in enumerate(ENGLISH * 2)]
    config = corpus(tmp_path / "text", (english, GERMAN * 2))
    config.train_max_words = 8
    prepare(config, TokenizationConfig(kind="sentencepiece", vocabulary_size=40), tmp_path)
    short = [line for line in english if "long" not in line]
    assert [len(sentences) for sentences in learnt] == [taken, taken]
    assert learnt[0] == (short if taken == len(short) else short[1::2])


def test_a_second_call_opens_what_the_first_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)

    def never(*arguments: Any) -> None:
        raise AssertionError("the text was tokenised again")

    monkeypatch.setattr(preparation, "tokenize_pairs", never)
    again = prepare(config, dataclasses.replace(WORDS, workers=3), tmp_path)
    assert again.directory == first.directory
    assert again.skipped == first.skipped
    assert again.hashes == first.hashes
    assert again.train.source_ids.tolist() == first.train.source_ids.tolist()


@pytest.mark.parametrize(
    "alter",
    [
        lambda config: {"corpus": dataclasses.replace(config, train_pairs=7)},
        lambda config: {"corpus": dataclasses.replace(config, train_max_words=3)},
        lambda config: {"tokenization": TokenizationConfig(kind="moses")},
        lambda config: {"tokenization": TokenizationConfig(kind="whitespace", min_frequency=2)},
        lambda config: {"tokenization": TokenizationConfig(kind="whitespace", max_pieces=3)},
        lambda config: {"tokenization": TokenizationConfig(kind="whitespace", vocabulary_size=9)},
    ],
)
def test_another_option_gets_another_folder(tmp_path: Path, alter: Any) -> None:
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    other = {"corpus": config, "tokenization": WORDS, **alter(config)}
    assert prepare(**other, data=tmp_path).directory != first.directory
    assert len(folders(tmp_path)) == 2


@pytest.mark.parametrize("name", ["train.en", "valid.de"])
def test_altered_text_gets_another_folder(tmp_path: Path, name: str) -> None:
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    path = tmp_path / "text" / name
    path.write_bytes(path.read_bytes().replace(b"n", b"m"))
    assert prepare(config, WORDS, tmp_path).directory != first.directory


def test_altered_test_text_and_packing_do_not_matter(tmp_path: Path) -> None:
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    (tmp_path / "text" / "test.en").write_bytes(b"another test\n")
    plain = tmp_path / "text" / "train.en"
    (tmp_path / "text" / "train.en.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    assert prepare(config, WORDS, tmp_path).directory == first.directory


def test_preparation_repeats_byte_for_byte(tmp_path: Path) -> None:
    config = corpus(tmp_path / "text")
    options = TokenizationConfig(kind="sentencepiece", vocabulary_size=50)
    first, second = (prepare(config, options, tmp_path / name).directory for name in "ab")
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    assert not [name for name in names if name.endswith(".ids")]
    for name in {*names} - {"tests.json"}:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_nothing_left_to_train_on_says_why(tmp_path: Path) -> None:
    train = ["", "a b c", "a b"], ["a", "a", "a"]
    config = corpus(tmp_path / "text", train)
    config.train_max_words = 2
    with pytest.raises(UserError, match=r"No train pair .* corpus\.train_max_words"):
        prepare(config, TokenizationConfig(kind="whitespace", max_pieces=1), tmp_path)
    config.train_max_words = 1
    with pytest.raises(UserError, match=r"No train pair"):
        prepare(config, TokenizationConfig(kind="sentencepiece", vocabulary_size=20), tmp_path)
    assert folders(tmp_path) == []


def test_the_folder_says_where_the_test_sets_lie(tmp_path: Path) -> None:
    config = corpus(tmp_path / "text")
    for extra in ("", "another line\n"):  # the test text may change while the rest stays
        for language in ("en", "de"):
            with (tmp_path / "text" / f"test.{language}").open("a") as stream:
                stream.write(extra)
        data = prepare(config, WORDS, tmp_path)
        tests = prepared_test_sets(data.directory)
        assert tests == data.corpus.tests == load_test_sets(config, tmp_path)
        described = json.loads((data.directory / "tests.json").read_text("utf-8"))["test"]
        assert described["pairs"] == 1 + bool(extra)
        assert described["source_sha256"] == content_digest(tests["test"].source)
    assert len(folders(tmp_path)) == 1


def test_an_interrupted_build_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = corpus(tmp_path / "text")

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_vocabulary", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(config, WORDS, tmp_path)
    assert folders(tmp_path) == []
    assert len(prepare(config, WORDS, tmp_path).train) == len(ENGLISH)


def test_runs_at_once_encode_the_text_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, fill, filled = corpus(tmp_path / "text"), preparation._fill, []

    def counted(*arguments: Any) -> Any:
        filled.append(None)
        return fill(*arguments)

    monkeypatch.setattr(preparation, "_fill", counted)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: len(prepare(config, WORDS, tmp_path).train), range(3)))
    assert found == [len(ENGLISH)] * 3
    assert len(filled) == 1


@pytest.mark.parametrize("name", ["valid.target.npy", "manifest.json", "vocabulary.target.tsv"])
def test_a_damaged_folder_is_named(tmp_path: Path, name: str) -> None:
    config = corpus(tmp_path / "text")
    directory = prepare(config, WORDS, tmp_path).directory
    (directory / name).write_bytes(b"torn")
    with pytest.raises(UserError, match=directory.name):
        prepare(config, WORDS, tmp_path)
