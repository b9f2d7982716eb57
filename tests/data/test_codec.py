"""Text to ids and back through one side's tokenizer and vocabulary."""

from pathlib import Path

import pytest

from seq2seq.data.codec import TextCodec
from seq2seq.data.tokenization import (
    MosesWordTokenizer,
    SentencePieceTokenizer,
    WhitespaceTokenizer,
)
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

TEXT = ["L'homme n'a pas dit « non » !", "Le chien noir court vite.", "L'eau est à 5 %."] * 4


def word_codec() -> TextCodec:
    return TextCodec(WhitespaceTokenizer("en"), Vocabulary(["a", "dog", "runs"], [3, 2, 1]))


def codecs() -> dict[str, TextCodec]:
    model = SentencePieceTokenizer.train_model(TEXT, 60, "the text")
    subwords = SentencePieceTokenizer("fr", model)
    moses = MosesWordTokenizer("fr")
    words = {piece: 1 for sentence in TEXT for piece in moses.tokenize(sentence)}
    return {
        "sentencepiece": TextCodec(subwords, Vocabulary(subwords.pieces[4:], [0] * 56)),
        "moses": TextCodec(moses, Vocabulary.from_counts(words)),
    }


@pytest.mark.parametrize("kind", ["sentencepiece", "moses"])
def test_text_survives_ids_and_files(tmp_path: Path, kind: str) -> None:
    codec = codecs()[kind]
    codec.save(tmp_path, "source")
    loaded = TextCodec.load(tmp_path, "source")
    assert loaded.language == "fr"
    for sentence in TEXT:
        ids = codec.encode(sentence)
        assert min(ids) > EOS
        assert loaded.encode(sentence) == ids
        assert loaded.decode(ids) == sentence


def test_decoding_stops_at_the_first_eos() -> None:
    codec = word_codec()
    assert codec.decode([BOS, 4, 5, PAD, EOS, 6, EOS]) == "a dog"
    assert codec.pieces([BOS, 4, 5, PAD, EOS, 6, EOS]) == ["a", "dog"]
    assert codec.decode([4, 6]) == "a runs"
    assert codec.decode([EOS]) == codec.decode([]) == ""


@pytest.mark.parametrize("text", ["<s>", "</s>", "<unk>", "<pad>"])
def test_specials_in_the_text_never_become_control_ids(text: str) -> None:
    for codec in [word_codec(), *codecs().values()]:
        ids = codec.encode(f"a {text} a {text}")
        assert not {PAD, BOS, EOS} & set(ids)
        assert UNK in ids  # "<" and ">" are in no vocabulary here
