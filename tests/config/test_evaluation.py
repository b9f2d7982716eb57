"""Settings of search that make no sense are refused in a sentence; names tell searches apart."""

from dataclasses import fields

import pytest

from seq2seq.config import DecodingConfig, EvaluationConfig
from seq2seq.errors import UserError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_best": 6}, "decoding.n_best=6 is more than decoding.beam=5 can find"),
        ({"n_best": 0}, "decoding.n_best=0 is out of range"),
        ({"length_penalty": "gnnt"}, "nearest valid: gnmt"),
        ({"coverage_penalty": -0.1}, "decoding.coverage_penalty"),
        ({"min_length": -1}, "decoding.min_length"),
        ({"min_length": 5, "max_length": 5}, "leaves no room for decoding.min_length=5"),
        ({"max_length": 0}, "decoding.max_length"),
        ({"no_repeat_ngram": -1}, "decoding.no_repeat_ngram"),
        ({"temperature": 0.0}, "decoding.temperature"),
        ({"top_k": 0}, "decoding.top_k"),
        ({"top_p": 1.5}, "decoding.top_p"),
        ({"top_p": 0.0}, "decoding.top_p"),
        ({"seed": -1}, "decoding.seed"),
    ],
)
def test_out_of_range(settings, message):
    with pytest.raises(UserError, match=message):
        DecodingConfig(**settings)


@pytest.mark.parametrize(
    ("key", "value"), [("temperature", 0.7), ("top_k", 5), ("top_p", 0.9), ("seed", 2)]
)
def test_settings_of_sampling_are_idle_without_it(key, value):
    idle = DecodingConfig(**{key: value})  # as a checkpoint may hold it
    with pytest.raises(UserError, match=f"decoding.{key}={value} would have no effect"):
        idle.refuse_idle()
    DecodingConfig(sample=True, **{key: value}).refuse_idle()


def test_samples_are_not_bound_by_the_beam():
    assert DecodingConfig(sample=True, beam=1, n_best=20).n_best == 20


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "beam5"),
        ({"beam": 1}, "greedy"),
        ({"sample": True}, "sample"),
        ({"sample": True, "seed": 2, "top_p": 0.9}, "sample-top-p0.9-seed2"),
        ({"forbid_unknown": True, "length_penalty": "gnmt"}, "beam5-gnmt-no-unk"),
        ({"length_normalization": 0.0, "max_length": 40}, "beam5-norm0-max40"),
        ({"batch_size": 7}, "beam5"),
    ],
)
def test_the_name_of_a_search(settings, name):
    assert DecodingConfig(**settings).name == name


OTHERWISE = {
    "beam": 3,
    "length_normalization": 0.5,
    "length_penalty": "gnmt",
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
OTHERWISE_DRAWN = {"temperature": 0.5, "top_k": 3, "top_p": 0.5, "seed": 3}


def test_each_setting_that_may_change_what_is_found_changes_the_name():
    """And no two of them to the same one, though their values are the same."""
    everything = {field.name for field in fields(DecodingConfig)}
    assert {*OTHERWISE, *OTHERWISE_DRAWN} == everything - {"n_best", "batch_size"}
    searches = [DecodingConfig(**{key: value}) for key, value in OTHERWISE.items()]
    searches += [DecodingConfig(sample=True, **{k: v}) for k, v in OTHERWISE_DRAWN.items()]
    searches += [DecodingConfig(sample=True, seed=12345678 + more) for more in (0, 1)]
    searches += [DecodingConfig(coverage_penalty=0.3 + more) for more in (0, 1e-9)]
    names = [DecodingConfig().name, *(search.name for search in searches)]
    assert len(set(names)) == len(names)


def test_a_negative_seed_of_the_resampling_is_refused_before_anything_is_translated():
    with pytest.raises(UserError, match=r"evaluation.seed=-1 is out of range"):
        EvaluationConfig(seed=-1)
