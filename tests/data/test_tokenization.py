"""What a tokenizer cuts it joins again, also through ids and files."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data.tokenization import (
    WORD_START,
    SentencePieceTokenizer,
    TextCodec,
    WhitespaceTokenizer,
)
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary
from seq2seq.errors import UserError

TEXT = [
    "I don't know, \"he said\"; it's Mr. Smith's (maybe) — U.S. $5.00!",
    "Only 50% of the well-known 3,000.5 were a 'quoted' word?",
    "L'homme d'aujourd'hui n'a pas dit : « non » à 50 % !",
    "Ein Mann, der „hallo“ sagt, läuft (schnell) über die Straße.",
] * 5
WORDS = st.text("abcé'.,-ß日 \u00a0\u2028\t“”’„«/@", max_size=40)


def learn(text, size, *rule):
    return SentencePieceTokenizer.train_model(text, size, "the text", *rule)


@pytest.fixture(scope="module")
def subwords():
    return SentencePieceTokenizer("en", learn(TEXT, 160))


@pytest.fixture(scope="module")
def unchanged():
    """Subwords of a text that is not normalised."""
    return SentencePieceTokenizer("zh", learn(["（对；不对）ﬁ ①", "a b"] * 9, 18, "identity"))


def test_sentencepiece_gives_normalised_text_back(subwords):
    for sentence in TEXT:
        pieces = subwords.tokenize(sentence)
        assert subwords.detokenize(pieces) == unicodedata.normalize("NFKC", sentence)
        assert len(pieces) < len(sentence)
    assert subwords.tokenize_all([*TEXT, ""]) == [*map(subwords.tokenize, TEXT), []]


@given(text=st.text(max_size=30).filter(lambda text: WORD_START not in text))
def test_without_normalisation_sentencepiece_keeps_every_character(unchanged, text):
    assert {"（", "；", "ﬁ", "①"} <= set(unchanged.pieces)
    assert unchanged.detokenize(unchanged.tokenize(text)) == " ".join(text.split())


@given(text=WORDS)
def test_the_words_of_pieces_are_those_of_the_text(subwords, text):
    pieces = subwords.tokenize(text)
    words = [""] * len(text.split())
    for piece, word in zip(pieces, subwords.words(pieces), strict=True):
        words[word] += piece.replace(WORD_START, "")
    assert words == text.split()


def test_without_spaces_each_piece_is_a_word(unchanged):
    assert unchanged.words(["▁", "对", "不对", "；"]) == [0, 0, 1, 2]
    assert unchanged.words(["▁对", "不对"]) == [0, 1]
    assert unchanged.words([]) == []
    assert unchanged.words(["▁a", "b", "▁", "b", "▁"]) == [0, 0, 1, 1, 1]


def test_sentencepiece_knows_each_character_of_its_text_however_rare():
    text = [*TEXT * 4, "ñ 日 😀 ﬁ ①", "words ▅ around ▁ what it reserves"]
    characters = set(unicodedata.normalize("NFKC", "".join(text))) - set(" ▅")
    assert characters <= set(SentencePieceTokenizer("en", learn(text, 160)).pieces)


@pytest.mark.parametrize("line", ["▅ ▅", "\x01 \x02", "▁", "\ufeff", ""])
def test_text_in_which_sentencepiece_finds_nothing_is_refused(line):
    with pytest.raises(UserError, match="the text"):
        learn([line] * 20, 20)


def test_sentencepiece_names_the_sizes_that_the_text_can_fill():
    with pytest.raises(UserError, match=r"vocabulary_size=5000 .* <= \d+\.$") as caught:
        learn(TEXT, 5000)
    largest = int(str(caught.value).split("<= ")[1][:-1])
    assert len(SentencePieceTokenizer("en", learn(TEXT, largest)).pieces) == largest
    with pytest.raises(UserError, match=r"vocabulary_size=12 .* 12 vs \d+"):
        learn(TEXT, 12)


@pytest.mark.parametrize("kind", ["whitespace", "sentencepiece"])
def test_text_survives_ids_and_files(tmp_path, subwords, kind):
    tokenizer = WhitespaceTokenizer("fr") if kind == "whitespace" else subwords
    pieces = {piece: 1 for sentence in TEXT for piece in tokenizer.tokenize(sentence)}
    codec = TextCodec(tokenizer, Vocabulary.from_counts(pieces))
    codec.save(tmp_path, "source")
    loaded = TextCodec.load(tmp_path, "source")
    assert type(loaded.tokenizer) is type(tokenizer)
    assert loaded.encodes_like(codec)
    other = Vocabulary.from_counts({**pieces, "the": 2})
    assert not loaded.encodes_like(TextCodec(tokenizer, other))
    assert not loaded.encodes_like(TextCodec(WhitespaceTokenizer("de"), codec.vocabulary))
    for sentence in TEXT:
        ids = codec.encode(sentence)
        assert min(ids) > EOS
        assert loaded.encode(sentence) == ids
        assert loaded.decode(ids) == tokenizer.detokenize(tokenizer.tokenize(sentence))
    ids = loaded.encode("<s> </s> <unk> <pad>")  # spelt out, they never become control ids
    assert UNK in ids
    assert not {PAD, BOS, EOS} & set(ids)
    for path in tmp_path.iterdir():
        path.write_bytes(b"torn")
        with pytest.raises(UserError, match=path.name.rpartition(".")[0]):
            TextCodec.load(tmp_path, "source")
        codec.save(tmp_path, "source")


def test_decoding_stops_at_the_first_eos():
    codec = TextCodec(WhitespaceTokenizer("en"), Vocabulary(["a", "dog", "runs"], [3, 2, 1]))
    assert codec.decode([BOS, 4, 5, PAD, EOS, 6, EOS]) == "a dog"
    assert codec.pieces([BOS, 4, 5, PAD, EOS, 6, EOS]) == ["a", "dog"]
    assert codec.decode([4, 6]) == "a runs"
    assert codec.decode([EOS]) == codec.decode([]) == ""


TYPED = {
    "The old man sees the dog.": "the old man sees the dog .",
    "THE DOG": "the dog",
    "paris": "Paris",
    "Paris, the (old) dog!?": "Paris , the ( old ) dog ! ?",
    '"Dog."': '" dog . "',
    "old-dog. don't": "old-dog . don't",  # a word with punctuation inside is not cut there
    "xyz zebra?! ...": "xyz zebra?! ...",  # cutting would help nothing
    "xyz. Man": "xyz . man",
    "Dr. dr.": "Dr. dr.",
    "पानी Cafe\u0301.": "पानी cafe\u0301 .",  # vowel signs and accents are no punctuation
    "पानी,": "पानी ,",
    "\ufeffthe old": "the old",
    "m\u00adan do\u200bg \u200eThe\u2060": "man dog the",
    "caf\u00e9. \uff4d\uff41\uff4e": "cafe\u0301 . man",  # a character of its own; full width
    "पा\u200dनी": "पा\u200dनी",  # a joiner that the script needs
}


@pytest.mark.parametrize("text", TYPED)
def test_words_that_are_typed_take_a_form_that_the_vocabulary_has(text):
    words = ["the", "old", "man", "sees", "dog", "Paris", ".", ",", "Dr.", "dr."]
    words += ["पान", "cafe\u0301"]
    codec = TextCodec(WhitespaceTokenizer("en"), Vocabulary(words, [1] * len(words)))
    assert codec.known_pieces(text) == TYPED[text].split()


def test_subwords_are_read_without_what_nobody_sees(subwords):
    pieces = subwords.tokenize(text := TEXT[3])
    codec = TextCodec(subwords, Vocabulary(sorted({*pieces}), [1] * len({*pieces})))
    for unseen in "\u00ad\u2060\ufeff\x08":
        assert codec.known_pieces(text[:2] + unseen + text[2:]) == codec.known_pieces(text)


@given(WORDS)
def test_words_that_are_known_and_subwords_are_read_as_they_are(subwords, text):
    words = sorted({*text.split()})
    codec = TextCodec(WhitespaceTokenizer("en"), Vocabulary(words, [1] * len(words)))
    assert codec.known_pieces(text) == text.split()
    codec = TextCodec(subwords, Vocabulary([], []))
    assert codec.known_pieces(text) == subwords.tokenize(text)
