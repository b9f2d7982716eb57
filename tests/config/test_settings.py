"""Values are checked on construction and in JSON; names tell searches apart; JSON comes back."""

import json
from dataclasses import asdict, fields

import pytest
from helpers.composing import runs
from pydantic import ValidationError

from seq2seq.config import (
    DecodingConfig,
    EvaluateConfig,
    EvaluationConfig,
    FilesCorpus,
    ModelConfig,
    OptimizerConfig,
    TokenizationConfig,
    TrainConfig,
    check,
)
from seq2seq.errors import UserError


@pytest.mark.parametrize(
    ("schema", "data", "key"),
    [
        (EvaluationConfig, {"bootstrap": 99}, "bootstrap=99"),
        (EvaluationConfig, {"bootstrap": True}, "bootstrap=True"),
        (EvaluationConfig, {"bootstrap": "100"}, "bootstrap=100"),
        (OptimizerConfig, {"learning_rate": float("nan")}, "learning_rate=nan"),
        (OptimizerConfig, {"learning_rate": 10**400}, "learning_rate="),
        (FilesCorpus, {"kind": "files", "source": "x/../y", "target": "de"}, "source=x/../y"),
        (EvaluationConfig, {"boostrap": 100}, "boostrap .* bootstrap"),
        (TokenizationConfig, {}, "kind"),
        (TokenizationConfig, {"kind": "whitespace", "vocabulary_size": 3}, "vocabulary_size=3"),
        (EvaluationConfig, {"tokenize": "a\x1b[2J"}, "control characters.*tokenize"),
    ],
    ids=str,
)
def test_a_value_that_its_type_does_not_allow(schema, data, key):
    with pytest.raises(UserError, match=key):
        check("", data, schema)
    with pytest.raises(ValidationError):
        schema(**data)


@pytest.mark.parametrize("data", [None, 3, {"encoder": {"layers": 0}}, {"encoder": [1]}], ids=str)
def test_a_group_that_is_none(data):
    with pytest.raises(UserError, match=r"config=|encoder"):
        check("", data, ModelConfig)


@pytest.mark.parametrize("experiment", ["quickstart", "multi30k", "own_text"])
def test_a_config_comes_back_from_json(experiment):
    config = next(iter(runs(f"experiment={experiment}").values()))
    assert check("", json.loads(json.dumps(asdict(config))), TrainConfig) == config


@pytest.mark.parametrize(
    ("languages", "tokenize", "unit"),
    [
        (("en", "de"), "13a", "words"),
        (("zh-TW", "pt_BR"), "13a", "characters"),
        (("ko", "zho_Hans"), "zh", "words"),
        (("th", "ja"), "ja-mecab", "characters"),
        (("tha_Thai", "jpn"), "ja-mecab", "characters"),
        (("ZH", "ko_KR"), "ko-mecab", "characters"),
        (("en", "km"), "char", "words"),
        (("", ""), "13a", "words"),
    ],
    ids=str,
)
def test_languages_choose_what_is_not_set(languages, tokenize, unit):
    found = EvaluationConfig().for_languages(*languages)
    assert (found.tokenize, found.unit) == (tokenize, unit)
    factor = {"words": 1, "characters": 2}[unit]
    assert found.edges == [factor * n for n in (10, 20, 30, 40, 50, 60)]
    assert found.ends == (factor * 20, factor * 30)
    given = EvaluationConfig(tokenize="intl", length_unit="words", length_buckets=[5])
    assert given.for_languages(*languages) == given


def test_each_setting_that_may_change_what_is_found_changes_the_name():
    """And no two of them to the same one, though their values are the same."""
    found = {**dict.fromkeys(("beam", "max_extra"), 3), "length_penalty": 0.5, "max_ratio": 0.5}
    assert found.keys() == {f.name for f in fields(DecodingConfig)} - {"n_best", "batch_size"}
    searches = [DecodingConfig(**{key: value}) for key, value in found.items()]
    searches += [DecodingConfig(length_penalty=0.3 + more) for more in (0, 1e-9)]
    names = [DecodingConfig().name, *(search.name for search in searches)]
    assert len(set(names)) == len(names)


def test_searches_are_one_for_each_beam():
    decoding = DecodingConfig(beam=3, batch_size=7)
    config = EvaluateConfig(checkpoint="c", decoding=decoding)
    assert config.searches() == [decoding]
    config = EvaluateConfig(checkpoint="c", decoding=decoding, beams=[1, 4])
    assert [search.name for search in config.searches()] == ["greedy", "beam4"]
