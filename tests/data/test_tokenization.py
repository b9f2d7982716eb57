"""What a tokenizer cuts it joins again, and a saved one cuts as before."""

import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data.tokenization import (
    MosesWordTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    WhitespaceTokenizer,
    load_tokenizer,
)
from seq2seq.errors import UserError

SENTENCES = {
    "en": [
        "I don't know, \"he said\"; it's Mr. Smith's (maybe) — U.S. $5.00!",
        "Only 50% of the well-known 3,000.5 were a 'quoted' word?",
        "A & B &amp; [c] | d are not escaped.",
    ],
    "fr": [
        "L'homme d'aujourd'hui n'a pas dit : « non » à 50 % !",
        "Qu'est-ce que c'est ? Le 1er août, 3,5 millions d'euros.",
    ],
    "de": [
        "Ein Mann, der „hallo“ sagt, läuft (schnell) über die Straße.",
        "Das kostet 3,50 Euro; zwei Drittel sind 66,6%!",
    ],
}
TEXT = [sentence for sentences in SENTENCES.values() for sentence in sentences] * 5
WORDS = st.text("abcé'.,-ß日 \u00a0\u2028\t", max_size=40)


@pytest.fixture(scope="module")
def subwords() -> SentencePieceTokenizer:
    return SentencePieceTokenizer(
        "en", SentencePieceTokenizer.train_model(TEXT, 160, "the en training text")
    )


@pytest.mark.parametrize(
    ("language", "sentence"),
    [(language, sentence) for language, sentences in SENTENCES.items() for sentence in sentences],
)
def test_moses_gives_text_back(language: str, sentence: str) -> None:
    tokenizer = MosesWordTokenizer(language)
    assert tokenizer.detokenize(tokenizer.tokenize(sentence)) == sentence.replace("&amp;", "& amp;")


@given(WORDS)
def test_moses_neither_adds_nor_loses_characters(text: str) -> None:
    pieces = MosesWordTokenizer("fr").tokenize(text)
    assert "".join(pieces) == "".join(text.split())
    assert all(pieces)


@given(st.lists(st.text(min_size=1).filter(lambda word: word.split() == [word])))
def test_whitespace_joins_what_it_splits(words: list[str]) -> None:
    tokenizer = WhitespaceTokenizer("en")
    assert tokenizer.tokenize(tokenizer.detokenize(words)) == words


@pytest.mark.parametrize("sentence", dict.fromkeys(TEXT))
def test_sentencepiece_gives_normalised_text_back(
    subwords: SentencePieceTokenizer, sentence: str
) -> None:
    pieces = subwords.tokenize(sentence)
    assert subwords.detokenize(pieces) == unicodedata.normalize("NFKC", sentence)
    assert len(pieces) < len(sentence)


@given(text=WORDS)
def test_sentencepiece_is_idempotent_on_its_own_output(
    subwords: SentencePieceTokenizer, text: str
) -> None:
    once = subwords.detokenize(subwords.tokenize(text))
    assert once.split() == text.split()
    assert subwords.detokenize(subwords.tokenize(once)) == once


def test_sentencepiece_knows_each_character_of_its_text_however_rare() -> None:
    text = [*TEXT * 4, "ñ 日 😀 ﬁ ①"]
    model = SentencePieceTokenizer.train_model(text, 160, "the text")
    characters = set(unicodedata.normalize("NFKC", "".join(text))) - {" "}
    assert characters <= set(SentencePieceTokenizer("en", model).pieces)


@pytest.mark.parametrize("space", [" ", "  ", " ▅ ", "▅"])
def test_sentencepiece_learns_from_long_lines_and_such_with_reserved_characters(space: str) -> None:
    """As from the same words on many lines, since it learns nothing across words."""
    words = [word for sentence in TEXT * 9 for word in sentence.split()]
    line = space.join(words)
    assert len(line.encode()) > 2 * 4_192
    model = SentencePieceTokenizer.train_model([line], 160, "the text")
    assert model == SentencePieceTokenizer.train_model(words, 160, "the text")


def test_sentencepiece_names_the_largest_size_that_the_text_can_fill() -> None:
    with pytest.raises(UserError, match="vocabulary_size=5000 is more than the en text") as caught:
        SentencePieceTokenizer.train_model(TEXT, 5000, "the en text")
    largest = int(str(caught.value).split("set it to ")[1].split(" or less")[0])
    model = SentencePieceTokenizer.train_model(TEXT, largest, "the en text")
    assert len(SentencePieceTokenizer("en", model).pieces) == largest


def test_sentencepiece_names_the_smallest_size_that_holds_the_alphabet() -> None:
    with pytest.raises(UserError, match=r"vocabulary_size=12 .* \d+ or more"):
        SentencePieceTokenizer.train_model(TEXT, 12, "the en text")


@pytest.mark.parametrize("kind", ["whitespace", "moses", "sentencepiece"])
def test_a_saved_tokenizer_cuts_as_before(
    tmp_path: Path, subwords: SentencePieceTokenizer, kind: str
) -> None:
    made: dict[str, Tokenizer] = {
        "whitespace": WhitespaceTokenizer("fr"),
        "moses": MosesWordTokenizer("fr"),
        "sentencepiece": subwords,
    }
    made[kind].save(tmp_path, "target")
    loaded = load_tokenizer(tmp_path, "target")
    assert type(loaded) is type(made[kind])
    assert loaded.language == made[kind].language
    for sentence in TEXT:
        assert loaded.tokenize(sentence) == made[kind].tokenize(sentence)


def test_tokenizers_that_cut_otherwise_are_told_apart(subwords: SentencePieceTokenizer) -> None:
    again = SentencePieceTokenizer("en", bytes(subwords.model))
    model = SentencePieceTokenizer.train_model(TEXT[:-1], 160, "the text")
    others = [SentencePieceTokenizer("fr", subwords.model), SentencePieceTokenizer("en", model)]
    others += [WhitespaceTokenizer("en"), MosesWordTokenizer("en")]
    assert subwords.cuts_like(again)
    assert WhitespaceTokenizer("en").cuts_like(WhitespaceTokenizer("en"))
    for other in others:
        assert not subwords.cuts_like(other)
        assert not other.cuts_like(subwords)
    assert not WhitespaceTokenizer("en").cuts_like(WhitespaceTokenizer("de"))


def test_loading_names_a_missing_or_damaged_file(
    tmp_path: Path, subwords: SentencePieceTokenizer
) -> None:
    subwords.save(tmp_path, "source")
    damages = {
        "tokenizer.source.model": [b"", b"no model"],
        "tokenizer.source.json": [b"[]", b"{}"],
    }
    for name, contents in damages.items():
        for content in contents:
            (tmp_path / name).write_bytes(content)
            with pytest.raises(UserError, match=re.escape(name)):
                load_tokenizer(tmp_path, "source")
        (tmp_path / name).unlink()
        with pytest.raises(UserError, match=re.escape(name)):
            load_tokenizer(tmp_path, "source")
        subwords.save(tmp_path, "source")
    (tmp_path / "tokenizer.source.json").write_text('{"kind": "x", "language": "en"}')
    with pytest.raises(UserError, match="'x'"):
        load_tokenizer(tmp_path, "source")
