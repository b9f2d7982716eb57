"""Time to a dev perplexity, next to other toolkits: this program for real, on a tiny text."""

import json
import sys
import time
from pathlib import Path

import pytest
from peer_corpus import write_corpus

from seq2seq.benchmark import beside_peers
from seq2seq.benchmark.beside_peers import benchmark_peer_quality
from seq2seq.benchmark.peers import PEERS, PeerSetting
from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.quality import LearningRun
from seq2seq.benchmark.peers.text import write_text
from seq2seq.config import BenchmarkConfig, Multi30kCorpus
from seq2seq.errors import UserError


def test_the_first_validation_that_is_good_enough_counts():
    run = LearningRun("it", "fp32", [60.0, 120.0, 180.0, 240.0], [9.0, 5.6, 5.7, 4.9])
    assert run.minutes_to(5.6) == 2
    assert run.minutes_to(5.0) == 4
    assert run.minutes_to(4.8) is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("opennmt", "[2026-11-23 09:00:00,001 INFO] Validation perplexity: 13.25"),
        ("eole", "[2026-11-23 09:00:00,001 INFO] Validation perplexity: 13.25"),
        ("joeynmt", "INFO - joeynmt.training - Evaluation result (greedy): loss: 2.58, ppl: 13.25"),
        ("seq2seq", "update 454, epoch 1.00: dev loss 2.5840, perplexity 13.25 (best)"),
    ],
)
def test_perplexities_are_found_in_the_log(name, line):
    toolkit = Ours() if name == "seq2seq" else PEERS[name]
    assert toolkit.read_perplexity(line) == 13.25
    assert toolkit.read_perplexity("Train perplexity: 13.25") is None


@pytest.mark.parametrize("name", ["opennmt", "eole"])
def test_peers_are_told_to_validate_when_asked(name, tmp_path):
    text = write_text(write_corpus(tmp_path / "corpus"), tmp_path / "text", 1)
    for every in (None, 40):
        setting = PeerSetting(validate_every=every)
        PEERS[name].command(text, setting, "fp32", tmp_path)
        config = json.loads((tmp_path / "config.yaml").read_text())
        assert ("valid" in config["data"]) == (every is not None)
        assert ("valid_steps" in {**config, **config.get("training", {})}) == (every is not None)
        if every:
            assert config["data"]["valid"]["path_tgt"] == str(text.path("valid", "en"))


@pytest.mark.slow
def test_this_program_is_trained_and_timed_until_its_last_validation(tmp_path, monkeypatch):
    corpus = write_corpus(tmp_path / "corpus")
    monkeypatch.setattr(beside_peers, "obtain", lambda config, data: corpus)
    config = BenchmarkConfig(
        peers=["eole"],
        peers_quality=True,
        peers_python=sys.executable,
        peer_updates=20,
        peer_training=60,
        threads=1,
        corpus=Multi30kCorpus(),
        output=str(tmp_path / "out"),
    )
    start = time.monotonic()
    table = benchmark_peer_quality(config)
    assert "eole is left out" in table
    (run,) = json.loads((tmp_path / "out" / "peers-quality.json").read_text())["runs"]
    assert len(run["seconds"]) == len(run["perplexities"]) == 3
    assert 0 < run["seconds"][0] < run["seconds"][2] <= time.monotonic() - start
    assert 1 <= run["perplexities"][2] < 2  # 12 pairs of 4, known by heart
    assert (tmp_path / "out" / "peers-quality.png").stat().st_size > 1_000
    assert not [path for path in Path(tmp_path / "out" / "peers-quality").iterdir() if path.is_dir()
                and path.name != "text"]  # fmt: skip


def test_two_benchmarks_at_a_time_are_refused():
    with pytest.raises(UserError, match="peers_quality"):
        BenchmarkConfig(
            peers=["eole"], peers_quality=True, peers_translate=True, corpus=Multi30kCorpus()
        )
