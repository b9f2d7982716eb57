"""Links between words, against loops over words and pieces."""

from dataclasses import replace

import pytest
import torch
from helpers.small_checkpoint import subwords, tiny_translator
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data.tokenization import Tokenizer
from seq2seq.decoding.hypothesis import Hypothesis, pharaoh, strongest_links, word_weights

SUBWORDS = subwords().tokenizer
WORDS = Tokenizer("en")
LENGTHS = st.lists(st.integers(1, 3), min_size=1, max_size=4)


def groups(lengths):
    """Pieces per word -> the word of each piece."""
    return [word for word, length in enumerate(lengths) for _ in range(length)]


@settings(max_examples=40)
@given(LENGTHS, LENGTHS, st.integers(0, 1_000))
def test_word_weights_are_means_over_target_pieces_of_sums_over_source_pieces(read, written, seed):
    source, target = groups(read), groups(written)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(len(target), len(source) + 1, generator=generator)
    merged = word_weights(weights, source, target)
    assert merged.shape == (len(written), len(read))
    for j in range(len(written)):
        rows = [row for row, word in zip(weights.tolist(), target, strict=True) if word == j]
        for i in range(len(read)):
            places = [place for place, word in enumerate(source) if word == i]
            looked = sum(row[place] for row in rows for place in places)
            assert merged[j, i].item() == pytest.approx(looked / len(rows), abs=1e-6)


def test_each_target_word_is_linked_to_the_source_word_of_its_largest_weight():
    weights = torch.tensor(
        [
            [0.4, 0.3, 0.3, 0.0],  # bark: two pieces of one word outdo the largest single piece
            [0.0, 0.3, 0.3, 0.4],  # ing: the end of the sentence is no word
            [0.5, 0.25, 0.25, 0.0],  # of equal ones, the first
        ]
    )
    read, written = ["▁der", "▁hu", "nd", "</s>"], ["▁bark", "ing", "▁dog"]
    found = Hypothesis("barking dog", 0.0, 0.0, written, False, read, weights)
    found = replace(found, source="der hund", tokenizers=(SUBWORDS, SUBWORDS))
    assert pharaoh(found.links()) == "1-0 0-1"
    assert strongest_links(torch.zeros(2, 0)) == []


@pytest.mark.parametrize(
    ("source", "read", "text", "written"),
    [
        ("c", ["c"], "a b", ["a\u2028b"]),  # its piece became two words
        ("c.", ["c", "."], "a b", ["a", "b"]),  # the text has no word "."
    ],
)
def test_words_that_the_texts_do_not_have_are_not_linked(source, read, text, written):
    weights = torch.eye(len(written), len(read) + 1)
    found = Hypothesis(text, 0.0, 0.0, written, False, [*read, "</s>"], weights)
    assert replace(found, source=source, tokenizers=(WORDS, WORDS)).links() is None


def test_a_text_is_linked_as_far_as_it_was_read_and_if_its_words_are_those_between_spaces():
    for text, linked in [("the dog " * 30, True), ("the dog´s", False), ("the  dog's ", True)]:
        found = tiny_translator().translate(text, beam=1, attention=True)
        words = [*range(len(found.text.split()))] if linked else None
        assert (found.links() and [target for _, target in found.links()]) == words


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["▁", "▁a", "b", "▁dog", "s", "😀", "<unk>"]), max_size=8))
def test_words_of_subwords_are_those_of_the_text(pieces):
    """Each piece belongs to the word of the joined text in which its last letter stands."""
    found = SUBWORDS.words(pieces)
    assert found == sorted(found)
    joined = dict.fromkeys(found, "")
    for piece, word in zip(pieces, found, strict=True):
        joined[word] += piece.replace("▁", "")
    assert [*joined.values()] == (SUBWORDS.detokenize(pieces).split() or [""] * len(joined))
    assert [*joined] == [*range(len(joined))]
