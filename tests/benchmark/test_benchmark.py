"""The stage as a whole at the smallest size, and what it refuses."""

import json
import sys

import pytest
import torch
from launch import compose_config

from seq2seq.benchmark.benchmark import benchmark
from seq2seq.benchmark.beside_peers import benchmark_peers
from seq2seq.benchmark.memory import Memory
from seq2seq.benchmark.paths import PATHS
from seq2seq.benchmark.peers import PeerComparison
from seq2seq.benchmark.peers.process import Speed, TimedRun
from seq2seq.benchmark.peers.text import PeerText
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


def test_peers_that_are_not_installed_are_named_and_this_program_is_timed(tmp_path, monkeypatch):
    """The stage from config to files; the programs have tests of their own."""
    monkeypatch.setattr(
        "seq2seq.benchmark.beside_peers.compare_with_peers",
        lambda peers, corpus, work, python, setting, precisions, rounds: PeerComparison(
            setting,
            PeerText(tmp_path, "de", "en", 29_000, 400_000, (7, 8)),
            [TimedRun("seq2seq", "fp32", 1, Speed(1_234.0, 20.0), 9)],
            {},
            [f"{peers[0]} is not installed under {python}; {rounds} rounds of {setting.updates}."],
        ),
    )
    monkeypatch.setattr("seq2seq.benchmark.beside_peers.obtain", lambda corpus, data: None)
    config = BenchmarkConfig(
        peers=["eole"],
        peers_python=sys.executable,
        alternations=2,
        corpus=CORPUS,
        output=str(tmp_path),
    )
    table = benchmark_peers(config)
    assert "1,234" in table
    assert f"eole is not installed under {sys.executable}; 2 rounds of 200." in table
    assert (tmp_path / "peers.md").read_text() == table
    assert json.loads((tmp_path / "peers.json").read_text())["runs"][0]["toolkit"] == "seq2seq"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"peers": ["openmt"]}, "peers=openmt is not a valid choice; nearest valid: opennmt"),
        ({"peers": ["eole"], "peers_python": "no/python"}, r"There is no no/python; give peers_py"),
        ({"peers": ["eole"], "peer_updates": 30}, "peer_updates=30 must be a multiple of 20"),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused_before_a_download(
    tmp_path, monkeypatch, given, message
):
    monkeypatch.setattr("seq2seq.benchmark.beside_peers.obtain", lambda *_: pytest.fail("obtained"))
    with pytest.raises(UserError, match=message):
        benchmark_peers(BenchmarkConfig(**given, corpus=CORPUS, output=str(tmp_path)))


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
