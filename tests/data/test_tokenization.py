"""Text becomes pieces and ids, and these the same text again, also through files."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.data.tokenization import SentencePieceTokenizer, TextCodec, Tokenizer
from seq2seq.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

TEXT = [
    "I don't know, \"he said\"; it's Mr. Smith's (maybe) — U.S. $5.00!",
    "Only 50% of the well-known 3,000.5 were a 'quoted' word?",
    "L'homme d'aujourd'hui n'a pas dit : « non » à 50 % !",
    "Ein Mann, der „hallo“ sagt, läuft (schnell) über die Straße.",
] * 5
WORDS = st.text("abcé'.,-ß日 \u00a0\u2028\t“”’„«/@", max_size=40)


def learn(text, size, *rule):
    return SentencePieceTokenizer.train_model(text, size, "the text", *rule)


def codec_of(tokenizer, *pieces):
    return TextCodec(tokenizer, Vocabulary(pieces, [1] * len(pieces)))


@pytest.fixture(scope="module")
def subwords():
    return SentencePieceTokenizer("en", learn(TEXT, 160))


@pytest.fixture(scope="module")
def unchanged():
    """Subwords of a text that is not normalised."""
    return SentencePieceTokenizer("zh", learn(["（对；不对）ﬁ ①", "a b"] * 9, 18, "identity"))


@pytest.mark.slow
@given(text=st.text(max_size=30).filter(lambda text: "▁" not in text))
def test_subwords_of_text_that_is_not_normalised_keep_every_character(unchanged, text):
    pieces, none = unchanged.tokenize_all([text, ""])
    assert (pieces, none) == (unchanged.tokenize(text), [])
    assert unchanged.detokenize(pieces) == " ".join(text.split())


def test_without_spaces_each_piece_is_a_word(unchanged):
    assert unchanged.words(["▁", "对", "不对", "；"]) == [0, 0, 1, 2]
    assert unchanged.words(["▁对", "不对"]) == [0, 1]
    assert unchanged.words([]) == []
    assert unchanged.words(["▁a", "b", "▁", "b", "▁"]) == [0, 0, 1, 1, 1]


def test_subwords_know_each_character_of_their_text_however_rare():
    text = [*TEXT * 4, "ñ 日 😀 ﬁ ①", "words ▅ around ▁ what it reserves"]
    characters = {*unicodedata.normalize("NFKC", "".join(text))} - {*" ▅"}
    assert characters <= {*SentencePieceTokenizer("en", learn(text, 160)).pieces}


@pytest.mark.parametrize("kind", ["whitespace", "sentencepiece"])
def test_text_survives_ids_and_files(tmp_path, subwords, kind):
    tokenizer = Tokenizer("fr") if kind == "whitespace" else subwords
    pieces = {piece: 1 for sentence in TEXT for piece in tokenizer.tokenize(sentence)}
    codec = TextCodec(tokenizer, Vocabulary.from_counts(pieces))
    codec.save(tmp_path, "source")
    loaded = TextCodec.load(tmp_path, "source")
    assert loaded.encodes_like(codec)
    other = Vocabulary.from_counts({**pieces, "the": 2})
    assert not loaded.encodes_like(TextCodec(tokenizer, other))
    assert not loaded.encodes_like(TextCodec(Tokenizer("de"), codec.vocabulary))
    for sentence in TEXT:
        ids = loaded.encode(sentence)
        assert min(ids) > EOS
        assert len(ids) < len(sentence)
        assert loaded.decode([BOS, *ids, PAD, EOS, ids[0]]) == sentence
    ids = loaded.encode("<s> </s> <unk> <pad>")  # spelt out, they never become control ids
    assert UNK in ids
    assert not {PAD, BOS, EOS} & {*ids}
    assert loaded.decode([EOS]) == loaded.decode([]) == ""


TYPED = {
    "The old man sees the dog.": "the old man sees the dog .",
    "Paris, the (old) dog!?": "Paris , the ( old ) dog ! ?",
    '"Dog."': '" dog . "',
    "old-dog. don't": "old-dog . don't",  # a word with punctuation inside is not cut there
    "xyz zebra?! ...": "xyz zebra?! ...",  # cutting would help nothing
    "Dr. dr.": "Dr. dr.",
    "पानी Cafe\u0301.": "पानी cafe\u0301 .",  # vowel signs and accents are no punctuation
    "m\u00adan do\u200bg \u200eThe\u2060": "man dog the",
    "caf\u00e9. \uff4d\uff41\uff4e": "cafe\u0301 . man",  # a character of its own; full width
    "पा\u200dनी": "पा\u200dनी",  # a joiner that the script needs
}


@pytest.mark.parametrize("text", TYPED)
def test_words_that_are_typed_take_a_form_that_the_vocabulary_has(text):
    words = ["the", "old", "man", "sees", "dog", "Paris", ".", ",", "Dr.", "dr."]
    words += ["पान", "cafe\u0301"]
    assert codec_of(Tokenizer("en"), *words).known_pieces(text) == TYPED[text].split()


@given(WORDS)
def test_what_is_known_is_read_as_it_is(subwords, text):
    codec = codec_of(Tokenizer("en"), *sorted({*text.split()}))
    assert codec.known_pieces(text) == text.split()
    assert codec_of(subwords).known_pieces(text) == subwords.tokenize(text)


PIECE = st.text(min_size=1, max_size=6).filter(lambda piece: "\n" not in piece)
COUNTS = st.dictionaries(PIECE | st.sampled_from(SPECIALS), st.integers(1, 50), max_size=30)
ODD = dict.fromkeys(["a\u00a0b", "c\u2028d", "e\r", "\ufeff", "f\tg", "▁", "\x85", "7"], 1)


@example(counts=ODD, size=None, min_frequency=1)
@given(COUNTS, st.integers(4, 20) | st.none(), st.integers(1, 10))
def test_the_most_frequent_are_kept_also_in_a_file(tmp_path_factory, counts, size, min_frequency):
    vocabulary = Vocabulary.from_counts(counts, size, min_frequency)
    frequent = {piece for piece, count in counts.items() if count >= min_frequency}
    expected = sorted(frequent.difference(SPECIALS), key=lambda piece: (-counts[piece], piece))
    expected = expected[: None if size is None else size - 4]
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    vocabulary.save(path)
    for one in (vocabulary, Vocabulary.load(path)):
        assert one.pieces == [*SPECIALS, *expected]
        assert one.counts[4:] == [counts[piece] for piece in expected]
        assert one.encode([*SPECIALS, *expected]) == [UNK] * 4 + [*range(4, len(one))]
        assert all((piece in one) == (piece in expected) for piece in counts)
