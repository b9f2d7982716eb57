"""What evaluate refuses to be asked, and which searches it makes."""

import pytest

from seq2seq.config import DecodingConfig, EvaluateConfig, EvaluationConfig
from seq2seq.errors import UserError

GIVEN = {"hypotheses": "h", "source": "s", "reference": "r", "system": "x", "output": "o"}


def evaluate_config(**settings: object) -> EvaluateConfig:
    settings = {"decoding": DecodingConfig(), "evaluation": EvaluationConfig(), **settings}
    return EvaluateConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({}, "checkpoint"),
        ({**GIVEN, "checkpoint": "c"}, "checkpoint"),
        *(({**GIVEN, key: None}, key) for key in ("source", "reference", "system", "output")),
        ({**GIVEN, "system": "a/b"}, "system=a/b"),
        ({"checkpoint": "c", "system": "x"}, "system"),
        ({"checkpoint": "c", "source": "s"}, "reference"),
        ({"checkpoint": "c", "gold": "g"}, "gold"),
        ({"checkpoint": "c", "average": True}, "average"),
        ({"checkpoint": "c", "test_sets": []}, "test_sets"),
        *(({"checkpoint": "c", "beams": beams}, "beams") for beams in ([0], [], [2, 2])),
        ({"checkpoint": "c", "beams": [1], "decoding": DecodingConfig(sample=True)}, "beams"),
        ({"checkpoint": "c", "decoding": DecodingConfig(n_best=2)}, "decoding.n_best"),
        (
            {"checkpoint": "c", "no_unk": True, "decoding": DecodingConfig(forbid_unknown=True)},
            "decoding.forbid_unknown",
        ),
    ],
)
def test_contradictions_are_refused(settings, key):
    with pytest.raises(UserError, match=key):
        evaluate_config(**settings)


def test_searches_are_one_for_each_beam_and_with_no_unk_two():
    decoding = DecodingConfig(beam=3, batch_size=7)
    config = evaluate_config(checkpoint="c", decoding=decoding)
    assert config.searches() == [decoding]
    config = evaluate_config(checkpoint="c", decoding=decoding, beams=[1, 4], no_unk=True)
    names = [search.name for search in config.searches()]
    assert names == ["greedy", "greedy-no-unk", "beam4", "beam4-no-unk"]
    assert all(search.batch_size == 7 for search in config.searches())
