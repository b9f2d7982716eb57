"""In which settings the systems of a comparison differ."""

import copy

from small_checkpoint import experiment
from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig, to_json
from seq2seq.evaluation.systems import compare_systems

SETTINGS = EvaluationConfig(bootstrap=100)


def good(length: int) -> float:
    return 0.95


def test_where_text_lies_is_no_difference_and_the_precision_that_was_is_one(tmp_path):
    texts = translated({5: 10}, good)

    def run(name: str, place: str, precision: str):
        config = {"corpus": {"directory": place}, "training": {"precision": "auto"}}
        trained = {"precision": precision}
        return evaluated(tmp_path / name, texts, name, config=config, training=trained)

    here, there = run("a", "/here", "float32"), run("b", "/there", "float32")
    assert compare_systems([here, there], None, SETTINGS).config_differences == {}
    narrow = run("c", "/here", "bfloat16")
    assert compare_systems([here, narrow], None, SETTINGS).config_differences == {
        "training.precision": {"a": ["float32"], "c": ["bfloat16"]}
    }
    # Of several models as one by theirs; where one side does not know, the configs are compared.
    config = {"training": {"precision": "auto"}}
    members = [{"training": {"precision": "bfloat16"}}, {"training": None}]
    pair = evaluated(tmp_path / "d", texts, "d", None, config=config, members=members)
    assert list(compare_systems([here, pair], None, SETTINGS).config_differences) == [
        "training.precision"
    ]
    elsewhere = evaluated(tmp_path / "e", texts, "e", config=config)
    assert compare_systems([here, elsewhere], None, SETTINGS).config_differences == {}


def test_config_differences_are_found_and_names_of_runs_are_not_among_them(tmp_path):
    texts = translated({5: 10}, good)

    def run(name: str, seed: int, kind: str, rate: float):
        config = {
            "system": name,
            "seed": seed,
            "model": {"attention": {"kind": kind, "size": 8}},
            "training": {"learning_rate": rate},
        }
        return evaluated(tmp_path / f"{name}{seed}", texts, name, seed, config=config)

    runs = [run("fixed", 1, "fixed", 0.1), run("additive", 1, "additive", 0.1)]
    assert compare_systems(runs, None, SETTINGS).config_differences == {
        "model.attention.kind": {"fixed": ["fixed"], "additive": ["additive"]}
    }
    runs.append(run("additive", 2, "additive", 0.2))
    assert compare_systems(runs, None, SETTINGS).config_differences["training.learning_rate"] == {
        "fixed": [0.1],
        "additive": [0.1, 0.2],
    }


def test_a_setting_newer_than_a_record_had_its_default(tmp_path):
    now = to_json(experiment())
    before = copy.deepcopy(now)
    del before["training"]["loss_normalization"], before["decoding"]["length_penalty"]
    texts = translated({5: 10}, good)
    runs = [
        evaluated(tmp_path / name, texts, name, config=config)
        for name, config in (("now", now), ("before", before))
    ]
    assert compare_systems(runs, None, SETTINGS).config_differences == {}
    now["training"]["loss_normalization"] = "sentence"
    runs[0] = evaluated(tmp_path / "other", texts, "now", config=now)
    assert compare_systems(runs, None, SETTINGS).config_differences == {
        "training.loss_normalization": {"now": ["sentence"], "before": ["token"]}
    }
