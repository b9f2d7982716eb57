import pytest
from helpers.chromium import chromium
from helpers.page_material import SETTINGS, material, page_of
from helpers.synthetic_translations import evaluated, translated, two_seeds

from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import Evaluation


@pytest.fixture(scope="session")
def comparison(tmp_path_factory) -> Comparison:
    """A baseline that loses long sentences, with a system that does not; two seeds each."""
    root = tmp_path_factory.mktemp("evaluations")
    qualities = {"fixed": lambda n: 0.95 - n / 60, "additive": lambda n: 0.95}
    lengths = {5: 110, 12: 110, 25: 20, 31: 110}
    return compare_systems(two_seeds(root, qualities, lengths), "fixed", SETTINGS)


@pytest.fixture(scope="session")
def widths(tmp_path_factory) -> Comparison:
    """Five systems: the wider, the longer the sentences that they keep."""
    root = tmp_path_factory.mktemp("widths")
    evaluations = [
        evaluated(
            root / f"{width}-{seed}",
            translated({5: 110, 25: 30, 31: 110}, lambda n, w=width: min(0.95, w / n / 20), seed),
            f"width-{width}",
            seed,
        )
        for width in (32, 64, 128, 256, 512)
        for seed in ((1, 2) if width == 64 else (1,))
    ]
    return compare_systems(evaluations, "width-32", SETTINGS)


@pytest.fixture(scope="session")
def evaluations(tmp_path_factory) -> list[Evaluation]:
    return material(tmp_path_factory.mktemp("material"))


@pytest.fixture(scope="session")
def attending(evaluations) -> Comparison:
    """The comparison of ``evaluations``."""
    return compare_systems(evaluations, "fixed", SETTINGS)


@pytest.fixture(scope="session")
def attending_page(attending) -> bytes:
    return page_of(attending)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver
