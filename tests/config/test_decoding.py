"""Settings of search that make no sense are refused; names tell searches apart."""

from dataclasses import fields

import pytest

from seq2seq.config import DecodingConfig, EvaluationConfig
from seq2seq.errors import UserError


@pytest.mark.parametrize(
    "settings",
    [
        {"n_best": 6},
        {"n_best": 0},
        {"length_penalty": -0.1},
        {"coverage_penalty": -0.1},
        {"min_length": -1},
        {"max_length": 5, "min_length": 5},
        {"no_repeat_ngram": -1},
        {"temperature": 0.0},
        {"top_k": 0},
        {"top_p": 1.5},
        {"seed": -1},
    ],
    ids=str,
)
def test_out_of_range(settings):
    with pytest.raises(UserError, match=f"decoding.{next(iter(settings))}"):
        DecodingConfig(**settings)


def test_samples_are_not_bound_by_the_beam():
    assert DecodingConfig(sample=True, beam=1, n_best=20).n_best == 20


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "beam5"),
        ({"beam": 1}, "greedy"),
        ({"sample": True, "seed": 2, "top_p": 0.9}, "sample-top-p0.9-seed2"),
        ({"max_length": 40, "forbid_unknown": True}, "beam5-max40-no-unk"),
        ({"batch_size": 7}, "beam5"),
    ],
)
def test_the_name_of_a_search(settings, name):
    assert DecodingConfig(**settings).name == name


OTHERWISE = {
    "beam": 3,
    "length_penalty": 0.5,
    "coverage_penalty": 0.5,
    "max_ratio": 0.5,
    "max_extra": 3,
    "max_length": 3,
    "min_length": 3,
    "no_repeat_ngram": 3,
    "forbid_unknown": True,
    "replace_unknown": True,
    "sample": True,
}
DRAWN = {"temperature": 0.5, "top_k": 3, "top_p": 0.5, "seed": 3}


def test_each_setting_that_may_change_what_is_found_changes_the_name():
    """And no two of them to the same one, though their values are the same."""
    everything = {field.name for field in fields(DecodingConfig)}
    assert {*OTHERWISE, *DRAWN} == everything - {"n_best", "batch_size"}
    searches = [DecodingConfig(**{key: value}) for key, value in OTHERWISE.items()]
    searches += [DecodingConfig(sample=True, **{key: value}) for key, value in DRAWN.items()]
    searches += [DecodingConfig(sample=True, seed=12345678 + more) for more in (0, 1)]
    searches += [DecodingConfig(coverage_penalty=0.3 + more) for more in (0, 1e-9)]
    names = [DecodingConfig().name, *(search.name for search in searches)]
    assert len(set(names)) == len(names)


def test_a_negative_seed_of_the_resampling_is_refused():
    with pytest.raises(UserError, match=r"evaluation\.seed=-1"):
        EvaluationConfig(seed=-1)
