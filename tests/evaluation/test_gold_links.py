"""Links against gold ones: Och & Ney's definitions by slow counting, their file format, errors."""

import random
from pathlib import Path

import pytest

from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import GoldLinks, read_gold, score_links, shifted

HANSARDS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "hansards-alignments"


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> GoldLinks:
    return GoldLinks(frozenset(sure), frozenset(sure | possible))


def test_the_scores_are_the_counted_ones():
    generator = random.Random(1)
    cells = [(i, j) for i in range(6) for j in range(5)]
    found, people = [], []
    for _ in range(20):
        sure = set(generator.sample(cells, 4))
        people.append(gold(sure, set(generator.sample(cells, 6))))
        found.append(generator.sample(cells, 5))
    links = sum(len(line) for line in found)
    sure = sum(len(line.sure) for line in people)
    in_sure = in_both = 0
    for ours, theirs in zip(found, people, strict=True):
        in_sure += sum(link in theirs.sure for link in ours)
        in_both += sum(link in theirs.possible for link in ours)
    score = score_links(found, people)
    assert (score.links, score.sure) == (links, sure)
    assert score.precision == pytest.approx(in_both / links)
    assert score.recall == pytest.approx(in_sure / sure)
    assert score.aer == pytest.approx(1 - (in_sure + in_both) / (links + sure))


def test_the_ends_of_the_scale():
    people = [gold({(0, 0), (1, 2)}, {(2, 1)})]
    assert score_links([[(0, 0), (1, 2)]], people).aer == 0
    assert score_links([[(0, 0), (1, 2), (2, 1)]], people).aer == 0  # possible ones do no harm
    wrong = score_links([[(5, 5)]], people)
    assert (wrong.aer, wrong.precision, wrong.recall) == (1, 0, 0)
    assert score_links([[]], [gold(set(), set())]).aer == 0
    twice = [(0, 0), (0, 0), (1, 2)]
    assert score_links([twice], people) == score_links([twice[1:]], people)


def test_shifts_move_target_words_and_keep_them_in_the_sentence():
    links = [(4, 0), (3, 1), (2, 2)]
    assert shifted(links, 0, 3) == links
    assert shifted(links, 1, 3) == [(4, 1), (3, 2)]
    assert shifted(links, -1, 3) == [(3, 0), (2, 1)]


@pytest.mark.parametrize("text", ["1-1 2p3 3-2", "0-0 1p2 2-1"])
def test_words_are_counted_from_where_the_file_counts_them(tmp_path, text):
    path = tmp_path / "gold"
    path.write_text(f"{text}\n")
    assert read_gold(path, [("a b c", "x y z")]) == [gold({(0, 0), (2, 1)}, {(1, 2)})]


@pytest.mark.parametrize(
    ("text", "said"),
    [("0-0\n0-0\n", "2 lines"), ("0-0 -1-2\n", "line 1: -1-2"), ("1-1 2-4\n", "line 1: .* 4 of 3")],
)
def test_what_is_no_alignment_of_the_text_is_refused(tmp_path, text, said):
    path = tmp_path / "gold"
    path.write_text(text)
    with pytest.raises(UserError, match=said):
        read_gold(path, [("a b c", "x y z")])


@pytest.mark.skipif(not HANSARDS.exists(), reason="the Hansards are not here")
def test_the_hansards_are_read():
    sides = [(HANSARDS / f"test.{side}").read_text().splitlines() for side in ("en", "fr")]
    people = read_gold(HANSARDS / "test.talp", list(zip(*sides, strict=True)))
    assert len(people) == 447
    assert sum(len(line.sure) for line in people) < sum(len(line.possible) for line in people)
    # The sure links by themselves are an alignment without an error.
    assert score_links([sorted(line.sure) for line in people], people).aer == 0
