"""The stage that compares with other toolkits: from config to files, in which precisions."""

import json
import sys

import pytest
import torch
from cli import compose_config
from peer_corpus import write_corpus

from seq2seq.benchmark import beside_peers
from seq2seq.benchmark.beside_peers import benchmark_peers
from seq2seq.benchmark.peers import PeerComparison
from seq2seq.benchmark.peers.process import Speed, TimedRun
from seq2seq.benchmark.peers.text import PeerText, write_text
from seq2seq.config import BenchmarkConfig, Multi30kCorpus
from seq2seq.errors import UserError

CORPUS = Multi30kCorpus()


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


@pytest.mark.parametrize("quick", [True, False])
def test_bfloat16_is_compared_where_it_is_quick(tmp_path, monkeypatch, quick):
    """Where it is emulated the other programs would be slowed, and ours would not use it."""
    seen, corpus = [], write_corpus(tmp_path / "corpus")

    def compare(peers, corpus, work, python, setting, precisions, rounds):
        seen.append((setting.threads, torch.get_num_threads(), precisions))
        return PeerComparison(setting, write_text(corpus, tmp_path / "text", 1), [], {}, [])

    best = torch.bfloat16 if quick else torch.float32
    monkeypatch.setattr(beside_peers, "choose_precision", lambda name, device: best)
    monkeypatch.setattr(beside_peers, "compare_with_peers", compare)
    monkeypatch.setattr(beside_peers, "obtain", lambda config, data: corpus)
    threads = torch.get_num_threads()
    given = ["peers=[eole]", "threads=3", f"output={tmp_path}"]
    try:
        beside_peers.benchmark_peers(compose_config("benchmark", given))
    finally:
        torch.set_num_threads(threads)
    assert seen == [(3, 3, ("fp32", "bf16") if quick else ("fp32",))]
