"""Links between words, against loops over words and pieces."""

from dataclasses import replace

import pytest
import torch
from helpers.small_checkpoint import tiny_codec, tiny_translator
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.data.tokenization import WhitespaceTokenizer
from seq2seq.decoding.hypothesis import Hypothesis, pharaoh, strongest_links, word_weights

SUBWORDS = tiny_codec().tokenizer
WORDS = WhitespaceTokenizer("en")
GREEDY = DecodingConfig(beam=1)


def groups(lengths):
    """Pieces per word -> the word of each piece."""
    return [word for word, length in enumerate(lengths) for _ in range(length)]


LENGTHS = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@settings(max_examples=40)
@given(LENGTHS, LENGTHS, st.integers(0, 1_000))
def test_word_weights_are_means_over_target_pieces_of_sums_over_source_pieces(read, written, seed):
    source, target = groups(read), groups(written)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(len(target), len(source) + 1, generator=generator).softmax(dim=1)
    merged = word_weights(weights, source, target)
    assert merged.shape == (len(written), len(read))
    for j in range(len(written)):
        rows = [row for row, word in zip(weights.tolist(), target, strict=True) if word == j]
        for i in range(len(read)):
            places = [place for place, word in enumerate(source) if word == i]
            looked = sum(row[place] for row in rows for place in places)
            assert merged[j, i].item() == pytest.approx(looked / len(rows), abs=1e-6)
    ended = 1 - merged.sum(dim=1)
    assert (ended > 0).all()  # what went to the end of the sentence


def test_each_target_word_is_linked_to_the_first_largest_weight():
    weights = torch.tensor([[0.2, 0.3, 0.5], [0.5, 0.5, 0.0], [0.3, 0.4, 0.3]])
    assert strongest_links(weights) == [(2, 0), (0, 1), (1, 2)]
    assert strongest_links(torch.zeros(2, 0)) == []
    assert strongest_links(torch.zeros(0, 2)) == []


def test_subwords_vote_together():
    weights = torch.tensor(
        [
            [0.4, 0.3, 0.3, 0.0],  # bark: two pieces of one word outdo the largest single piece
            [0.0, 0.3, 0.3, 0.4],  # ing: the end of the sentence is no word
            [0.9, 0.1, 0.0, 0.0],
        ]
    )
    read, written = ["▁der", "▁hu", "nd", "</s>"], ["▁bark", "ing", "▁dog"]
    found = Hypothesis("barking dog", 0.0, 0.0, written, False, read, weights)
    found = replace(found, source="der hund", tokenizers=(SUBWORDS, SUBWORDS))
    links = found.links()
    assert links == [(1, 0), (0, 1)]
    assert pharaoh(links) == "1-0 0-1"
    found = replace(found, source="der hu nd", source_pieces=["der", "hu", "nd", "</s>"])
    found = replace(found, text="bark ing dog", tokenizers=(WORDS, WORDS))
    assert found.links() == [(0, 0), (1, 1), (0, 2)]


def test_words_that_the_texts_do_not_have_are_not_linked():
    for text, linked in [("the dog", True), ("the dog´s", False), ("the  dog's ", True)]:
        found = tiny_translator().translate(text, GREEDY, attention=True)
        assert (found.links() is not None) == linked
    weights = torch.tensor([[0.9, 0.1]])
    broken = Hypothesis("a b", 0.0, 0.0, ["a\u2028b"], False, ["c", "</s>"], weights)
    broken = replace(broken, source="c", tokenizers=(WORDS, WORDS))
    assert broken.links() is None  # its piece became two words
    glued = Hypothesis("a b", 0.0, 0.0, ["a", "b"], False, ["c", ".", "</s>"], torch.eye(2, 3))
    glued = replace(glued, source="c.", tokenizers=(WORDS, WORDS))
    assert glued.links() is None  # the text has no word "."


def test_a_line_cut_at_its_length_is_linked_as_far_as_it_was_read():
    text = " ".join(["the dog"] * 30)
    found = tiny_translator().translate(text, GREEDY, attention=True)
    assert len(found.source_pieces) == 21
    links = found.links()
    assert [target for _, target in links] == list(range(len(found.text.split())))


PIECES = st.lists(st.sampled_from(["▁", "▁a", "b", "▁dog", "s", "😀", "<unk>"]), max_size=8)


@settings(max_examples=200)
@given(PIECES)
def test_words_of_subwords_are_those_of_the_text(pieces):
    """Each piece belongs to the word of the joined text in which its last letter stands."""
    found = SUBWORDS.words(pieces)
    text = SUBWORDS.detokenize(pieces)
    assert found == sorted(found)
    if text.strip():
        assert sorted(set(found)) == list(range(len(text.split())))
    for word, expected in enumerate(text.split()):
        parts = [p for p, place in zip(pieces, found, strict=True) if place == word]
        assert "".join(parts).replace("▁", "") == expected
