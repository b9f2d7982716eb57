"""The order in which systems stand side by side."""

import itertools

import pytest

from seq2seq.evaluation.groups import baseline_first, compared_with, pairs_together


def in_order(names: list[str], baseline: str, baselines: dict[str, str]) -> list[str]:
    by_name = baseline_first(dict.fromkeys(names), baseline)
    return pairs_together(by_name, compared_with(by_name, baselines))


def test_numbers_in_names_are_ordered_as_numbers():
    groups = dict.fromkeys(["width-256", "width-1024", "attention", "width-64", "b"])
    names = ["b", "attention", "width-64", "width-256", "width-1024"]
    assert baseline_first(groups, "b") == names


@pytest.mark.parametrize(
    "names", list(itertools.permutations(["attention-30", "attention-50", "fixed-30", "fixed-50"]))
)
def test_the_two_of_a_pair_stand_side_by_side(names):
    expected = ["fixed-50", "attention-50", "fixed-30", "attention-30"]
    assert in_order(list(names), "fixed-50", {"attention-30": "fixed-30"}) == expected


def test_a_baseline_that_is_itself_measured_against_the_first_stays_where_its_name_puts_it():
    names = ["wide-64", "wide-128", "wide-256", "x-128", "x-64"]
    assert in_order(names, "wide-64", {"x-128": "wide-128", "wide-128": "wide-64"}) == [
        "wide-64",
        "wide-128",
        "wide-256",
        "x-64",
        "x-128",
    ]


def test_what_leads_back_by_several_steps_stays_with_where_it_leads():
    names = ["a", "b", "c", "d", "first"]
    assert in_order(names, "first", {"a": "b", "b": "c"}) == ["first", "d", "c", "a", "b"]
