"""The numbers of alignment.json stand in the columns of their names."""

import json
from pathlib import Path

from synthetic_translations import evaluated, translated

from seq2seq.report.alignment_table import alignment_markdown


def scored(aer: float) -> dict[str, float]:
    return {"aer": aer, "precision": aer + 0.01, "recall": aer + 0.02}


def test_each_number_stands_in_its_column(tmp_path: Path):
    evaluated(tmp_path, translated({3: 2}, lambda n: 0.9), "additive", seed=None)
    content = {
        "shifts": {"-1": scored(0.5), "0": scored(0.1), "1": scored(0.6)},
        "diagonal": scored(0.3),
        "sentences": 1234,
        "gold_sha256": "0f",
    }
    (tmp_path / "alignment.json").write_text(json.dumps(content))
    lines = [line for line in alignment_markdown([str(tmp_path)]).splitlines() if "|" in line]
    header, _, found, straight = ([c.strip() for c in line.split("|")[1:-1]] for line in lines)
    assert dict(zip(header, found, strict=True)) == {
        "system": "additive",
        "test set": "test",
        "sentences": "1,234",
        "AER": "0.100",
        "precision": "0.110",
        "recall": "0.120",
        "AER, moved back": "0.500",
        "AER, moved on": "0.600",
    }
    assert straight == ["a straight line", "test", "1,234", "0.300", "0.310", "0.320", "", ""]
