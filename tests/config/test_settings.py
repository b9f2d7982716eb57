"""Settings that make no sense are refused; names tell searches apart; JSON comes back strictly."""

from dataclasses import fields

import pytest

from seq2seq.config import (
    DecodingConfig,
    EvaluateConfig,
    EvaluationConfig,
    FilesCorpus,
    ModelConfig,
    OptimizerConfig,
    TokenizationConfig,
    from_json,
)
from seq2seq.errors import UserError


@pytest.mark.parametrize(
    ("schema", "data", "match"),
    [
        (EvaluationConfig, {"seed": -1}, "seed=-1 .* at least 0"),
        (EvaluationConfig, {"seed": True}, "seed=True is not of type int"),
        (EvaluationConfig, {"confidence": float("nan")}, "confidence=nan .* 0.5 and 0.999"),
        (OptimizerConfig, {"weight_decay": 10**400}, "weight_decay=.* out of"),
        (FilesCorpus, {"kind": "files", "source": "x/../y", "target": "de"}, "source=x/../y"),
        (EvaluationConfig, {"length_buckets": [20, 10]}, "length_buckets"),
        (EvaluationConfig, {"boostrap": 100}, "boostrap .* bootstrap"),
        (TokenizationConfig, {}, "kind is missing"),
        (TokenizationConfig, {"kind": "whitespace", "vocabulary_size": 3}, "vocabulary_size=3"),
        (ModelConfig, {"encoder": {"layers": 0}}, "encoder.layers=0"),
        (DecodingConfig, {"length_penalty": -0.1}, "length_penalty"),
        (DecodingConfig, {"n_best": 6}, "n_best=6"),
        (ModelConfig, None, "None"),
    ],
    ids=str,
)
def test_a_value_that_its_type_does_not_allow(schema, data, match):
    with pytest.raises(UserError, match=f"^the file: .*{match}"):
        from_json(schema, data, "the file")


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
    flags = dict.fromkeys(("forbid_unknown", "replace_unknown"), True)
    numbers = dict.fromkeys(("beam", "max_extra"), 3)
    shares = dict.fromkeys(("length_penalty", "max_ratio"), 0.5)
    found = {**flags, **numbers, **shares}
    assert found.keys() == {f.name for f in fields(DecodingConfig)} - {"n_best", "batch_size"}
    searches = [DecodingConfig(**{key: value}) for key, value in found.items()]
    searches += [DecodingConfig(length_penalty=0.3 + more) for more in (0, 1e-9)]
    names = [DecodingConfig().name, *(search.name for search in searches)]
    assert len(set(names)) == len(names)


GIVEN = {"hypotheses": "h", "source": "s", "reference": "r", "system": "x", "output": "o"}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, "checkpoint"),
        ({**GIVEN, "checkpoint": "c"}, "checkpoint"),
        *(({**GIVEN, key: None}, key) for key in ("source", "reference", "system", "output")),
        ({**GIVEN, "system": "a/b"}, "system=a/b"),
        *(({**GIVEN, key: [1]}, f"^{key}") for key in ("beams", "maps")),
        ({**GIVEN, "more_checkpoints": ["c"], "average": True}, "^more_checkpoints"),
        ({**GIVEN, "no_unk": True}, "^no_unk"),
        ({**GIVEN, "decoding": DecodingConfig(length_penalty=0.5)}, "^decoding"),
        ({**GIVEN, "gold": "g"}, "^gold"),
        ({"checkpoint": "c", "system": "x"}, "system"),
        ({"checkpoint": "c", "source": "s"}, "reference"),
        ({"checkpoint": "c", "average": True}, "average"),
        ({"checkpoint": "c", "beams": [2, 2]}, "beams"),
        ({"checkpoint": "c", "decoding": DecodingConfig(n_best=2)}, "decoding.n_best"),
    ],
)
def test_evaluations_that_contradict_themselves(settings, key):
    with pytest.raises(UserError, match=key):
        EvaluateConfig(**settings)


def test_searches_are_one_for_each_beam_and_with_no_unk_two():
    decoding = DecodingConfig(beam=3, batch_size=7)
    config = EvaluateConfig(checkpoint="c", decoding=decoding)
    assert config.searches() == [decoding]
    config = EvaluateConfig(checkpoint="c", decoding=decoding, beams=[1, 4], no_unk=True)
    names = [search.name for search in config.searches()]
    assert names == ["greedy", "greedy-no-unk", "beam4", "beam4-no-unk"]
