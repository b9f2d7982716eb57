"""Links between words, against loops over words and pieces."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_translator import tiny_codec, tiny_translator

from seq2seq.config import DecodingConfig
from seq2seq.data.tokenization import WhitespaceTokenizer
from seq2seq.decoding.translator import NOTHING, Hypothesis
from seq2seq.decoding.word_links import align, link_words, pharaoh, strongest_links, word_weights

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


@settings(max_examples=40)
@given(LENGTHS, st.integers(0, 1_000))
def test_each_target_word_has_one_link_to_the_largest_weight(read, seed):
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(3, len(read), generator=generator)
    links = strongest_links(weights)
    assert [target for _, target in links] == [0, 1, 2]
    for source, target in links:
        row = weights[target].tolist()
        assert row.index(max(row)) == source


def test_of_equal_weights_the_first_is_linked():
    assert strongest_links(torch.full((1, 4), 0.25)) == [(0, 0)]
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
    hypothesis = Hypothesis(
        "barking dog",
        0.0,
        0.0,
        ["▁bark", "ing", "▁dog"],
        False,
        ["▁der", "▁hu", "nd", "</s>"],
        weights,
    )
    assert align(hypothesis, SUBWORDS, SUBWORDS) == [(1, 0), (0, 1)]
    assert align(hypothesis, WORDS, WORDS) == [(0, 0), (1, 1), (0, 2)]
    assert pharaoh(align(hypothesis, SUBWORDS, SUBWORDS)) == "1-0 0-1"


def test_words_that_the_texts_do_not_have_are_not_linked():
    for text, linked in [
        ("the dog", True),
        ("the dog´s", False),
        ("the  dog's ", True),
        ("", True),
    ]:
        found = tiny_translator().translate(text, GREEDY, attention=True)
        links = align(found, SUBWORDS, SUBWORDS)
        assert link_words(text, found, SUBWORDS, SUBWORDS) == (links if linked else None)
    weights = torch.tensor([[0.9, 0.1]])
    broken = Hypothesis("a b", 0.0, 0.0, ["a\u2028b"], False, ["c", "</s>"], weights)
    assert link_words("c", broken, WORDS, WORDS) is None  # its piece became two words


def test_a_line_cut_at_its_length_is_linked_as_far_as_it_was_read():
    text = " ".join(["the dog"] * 30)
    found = tiny_translator().translate(text, GREEDY, attention=True)
    assert len(found.source_pieces) == 21
    assert link_words(text, found, SUBWORDS, SUBWORDS) == align(found, SUBWORDS, SUBWORDS) != []


def test_a_blank_line_has_no_links():
    assert align(NOTHING, SUBWORDS, SUBWORDS) == []
    spaces = Hypothesis("", 0.0, 0.0, ["▁"], False, ["▁a", "</s>"], torch.tensor([[0.5, 0.5]]))
    assert align(spaces, SUBWORDS, SUBWORDS) == []
    nothing_written = Hypothesis("", 0.0, 0.0, [], False, ["▁a", "</s>"], torch.zeros(0, 2))
    assert align(nothing_written, SUBWORDS, SUBWORDS) == []
    assert pharaoh([]) == ""


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


@settings(max_examples=8)
@given(st.lists(st.sampled_from(["dog", "cats", "xyz", "a", "ñ"]), min_size=1, max_size=5))
def test_links_stay_within_the_words_of_both_texts(words):
    found = tiny_translator().translate(" ".join(words), GREEDY, attention=True)
    links = align(found, SUBWORDS, SUBWORDS)
    assert [target for _, target in links] == list(range(len(found.text.split())))
    assert all(0 <= source < len(words) for source, _ in links)
