from pathlib import Path

import pytest
from helpers.page_material import LABELS, write_material, write_report
from helpers.synthetic_translations import evaluated, translated, two_seeds

from seq2seq.evaluation.comparison import Comparison


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> tuple[Path, Comparison]:
    """What compare writes of three labelled systems, two of which attend."""
    root = tmp_path_factory.mktemp("report")
    write_material(root / "runs")
    return write_report([f"{root}/runs/*/*"], root / "report", drawn=True, labels=LABELS)


@pytest.fixture(scope="session")
def pair(tmp_path_factory) -> tuple[Path, Comparison]:
    """The report of a baseline that loses long sentences, and of a system that does not."""
    root = tmp_path_factory.mktemp("pair")
    qualities = {"fixed": lambda n: 0.95 - n / 60, "additive": lambda n: 0.95}
    two_seeds(root, qualities, {5: 110, 12: 110, 25: 20, 31: 110})
    return write_report([f"{root}/*/*"], root / "report")


@pytest.fixture(scope="session")
def comparison(pair) -> Comparison:
    return pair[1]


@pytest.fixture(scope="session")
def widths(tmp_path_factory) -> tuple[Path, Comparison]:
    """The report of five systems: the wider, the longer the sentences that they keep."""
    root = tmp_path_factory.mktemp("widths")
    for width in (32, 64, 128, 256, 512):
        texts = translated({5: 110, 25: 30, 31: 110}, lambda n, w=width: min(0.95, w / n / 20))
        evaluated(root / str(width), texts, f"width-{width}")
    return write_report([f"{root}/*"], root / "report", "width-32")
