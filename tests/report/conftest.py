import pytest
from page_material import content_of, material
from synthetic_translations import evaluated, translated

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.systems import Comparison, compare_systems


@pytest.fixture(scope="session")
def comparison(tmp_path_factory) -> Comparison:
    """A baseline that loses long sentences, with a system that does not; two seeds each."""
    root = tmp_path_factory.mktemp("evaluations")
    qualities = {"fixed": lambda n: 0.95 - n / 60, "additive": lambda n: 0.95}
    lengths = {5: 110, 12: 110, 25: 20, 31: 110}
    evaluations = [
        evaluated(root / name / str(seed), translated(lengths, quality, seed), name, seed)
        for name, quality in qualities.items()
        for seed in (1, 2)
    ]
    return compare_systems(evaluations, "fixed", EvaluationConfig(bootstrap=100))


@pytest.fixture(scope="session")
def evaluations(tmp_path_factory):
    return material(tmp_path_factory.mktemp("material"))


@pytest.fixture(scope="session")
def built(evaluations):
    return content_of(evaluations, "fixed")
