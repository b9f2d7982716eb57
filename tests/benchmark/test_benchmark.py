"""The stage as a whole at the smallest size, and what it refuses."""

import json

import pytest
import torch
from cli import compose_config

from seq2seq.benchmark.benchmark import benchmark
from seq2seq.benchmark.memory import Memory
from seq2seq.benchmark.paths import PATHS
from seq2seq.config import BenchmarkConfig, Multi30kCorpus
from seq2seq.errors import UserError

CORPUS = Multi30kCorpus()
SMALL = {
    "sizes": ["tiny"],
    "updates": 2,
    "alternations": 3,
    "device": "cpu",
    "threads": 1,
    "corpus": CORPUS,
}


@pytest.mark.parametrize(("attention", "name"), [("additive", "tiny"), ("fixed", "tiny-fixed")])
def test_every_path_is_measured(tmp_path, monkeypatch, attention, name):
    asked = []
    monkeypatch.setattr(  # has a test of its own, and takes seconds for each path
        "seq2seq.benchmark.benchmark.measure_memory",
        lambda path, workload: asked.append(path) or Memory(2.0, 1.0),
    )
    config = BenchmarkConfig(**SMALL, paths=list(PATHS), attention=attention, output=str(tmp_path))
    (measured,) = benchmark(config)
    assert asked == [path.name for path in measured.paths] == list(PATHS)
    for path in measured.paths:
        assert [len(turn) for turn in path.rounds] == [2, 2, 2]
        assert sum(path.shares().values()) == pytest.approx(1)
    assert torch.get_num_threads() == 1
    kept = json.loads((tmp_path / f"{name}.json").read_text())
    assert kept["environment"]["hardware"]["threads"] == "1"
    assert (tmp_path / f"{name}.md").read_text() == measured.markdown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sizes": ["tiny", "m3"]}, r"sizes=m3 is not a valid choice; nearest valid: m30"),
        ({"paths": ["naive", "fst"]}, r"paths=fst is not a valid choice; nearest valid: fast"),
    ],
)
def test_an_unknown_name_is_refused_before_anything_runs(tmp_path, given, message):
    config = BenchmarkConfig(**(SMALL | given), output=str(tmp_path / "output"))
    with pytest.raises(UserError, match=message):
        next(benchmark(config))
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("multi30k", []),
        ("grammar", ["corpus=grammar"]),
        ("files", ["corpus=files", "corpus.source=de", "corpus.target=en"]),
    ],
)
def test_the_corpus_may_be_of_any_kind(kind, given):
    assert compose_config("benchmark", given).corpus.kind == kind
