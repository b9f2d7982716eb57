"""Languages choose how a text is scored; names tell searches apart."""

from dataclasses import fields

import pytest

from seq2seq.config import DecodingConfig, EvaluationConfig


@pytest.mark.parametrize(
    ("languages", "tokenize", "factor"),
    [
        (("en", "de"), "13a", 1),
        (("zh-TW", "pt_BR"), "13a", 2),
        (("ko", "zho_Hans"), "zh", 1),
        (("tha_Thai", "jpn"), "ja-mecab", 2),
        (("ZH", "ko_KR"), "ko-mecab", 2),
        (("ja", "km"), "char", 2),
    ],
    ids=str,
)
def test_languages_choose_what_is_not_set(languages, tokenize, factor):
    found = EvaluationConfig().for_languages(*languages)
    assert found.tokenize == tokenize
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
    assert len({search.name for search in [DecodingConfig(), *searches]}) == 1 + len(searches)
