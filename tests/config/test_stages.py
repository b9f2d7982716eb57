"""What evaluate refuses to be asked, in one sentence each; and which searches it makes."""

import pytest

from seq2seq.config import DecodingConfig, EvaluateConfig, EvaluationConfig
from seq2seq.errors import UserError

GIVEN = {"hypotheses": "h", "source": "s", "reference": "r", "system": "x", "output": "o"}


def evaluate_config(**settings: object) -> EvaluateConfig:
    settings = {"decoding": DecodingConfig(), "evaluation": EvaluationConfig(), **settings}
    return EvaluateConfig(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r"checkpoint is not set; give checkpoint=FOLDER .*, or hypotheses=FILE"),
        ({**GIVEN, "checkpoint": "c"}, "hypotheses=h is scored without a model, so checkpoint"),
        ({**GIVEN, "more_checkpoints": ["c"]}, "so more_checkpoints does not go with it"),
        ({**GIVEN, "average": True}, "so average does not go with it"),
        ({**GIVEN, "beams": [1]}, "so beams does not go with it"),
        ({**GIVEN, "no_unk": True}, "so no_unk does not go with it"),
        ({**GIVEN, "decoding": DecodingConfig(beam=1)}, "so decoding does not go with it"),
        ({**GIVEN, "test_sets": ["t"]}, "so test_sets does not go with it"),
        ({**GIVEN, "directory": "d"}, "so directory does not go with it"),
        *(
            ({**GIVEN, key: None}, rf"hypotheses=h needs {key}=\.\.\.; give it too")
            for key in ("source", "reference", "system", "output")
        ),
        ({**GIVEN, "system": "a/b"}, "system=a/b is no name"),
        ({**GIVEN, "system": ""}, "system= is no name"),
        ({"checkpoint": "c", "system": "x"}, "leave system out"),
        ({"checkpoint": "c", "test_sets": []}, "There is nothing to evaluate: test_sets=.. asks"),
        ({"checkpoint": "c", "beams": [0]}, "beams=0 is out of range"),
        ({"checkpoint": "c", "beams": []}, "must name at least one value"),
        ({"checkpoint": "c", "beams": [2, 2]}, "and none twice"),
        (
            {"checkpoint": "c", "beams": [1], "decoding": DecodingConfig(sample=True)},
            "beams are widths of searches",
        ),
        (
            {"checkpoint": "c", "decoding": DecodingConfig(n_best=2)},
            "decoding.n_best=2 would have no effect: only the best hypothesis is scored",
        ),
        (
            {"checkpoint": "c", "no_unk": True, "decoding": DecodingConfig(forbid_unknown=True)},
            "leave out decoding.forbid_unknown",
        ),
    ],
)
def test_contradictions_are_refused(settings, message):
    with pytest.raises(UserError, match=message) as refused:
        evaluate_config(**settings)
    assert "\n" not in str(refused.value)


def test_searches_are_one_for_each_beam_and_with_no_unk_two():
    decoding = DecodingConfig(beam=3, batch_size=7)
    config = evaluate_config(checkpoint="c", decoding=decoding)
    assert config.searches() == [decoding]
    config = evaluate_config(checkpoint="c", decoding=decoding, beams=[1, 4], no_unk=True)
    names = [search.name for search in config.searches()]
    assert names == ["greedy", "greedy-no-unk", "beam4", "beam4-no-unk"]
    assert all(search.batch_size == 7 for search in config.searches())
