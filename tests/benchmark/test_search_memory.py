"""The search that is measured runs to its cap, and a wider beam holds more."""

from dataclasses import replace

import pytest
import torch

from seq2seq.benchmark import search_memory
from seq2seq.benchmark.memory import STATUS, Memory
from seq2seq.benchmark.search_memory import (
    SearchWorkload,
    benchmark_search_memory,
    measure_search,
    search_once,
)
from seq2seq.benchmark.sizes import SIZES
from seq2seq.config import BenchmarkConfig, Multi30kCorpus
from seq2seq.errors import UserError

CPU = torch.device("cpu")


@pytest.mark.parametrize("attention", ["additive", "fixed"])
def test_every_hypothesis_runs_to_the_cap(attention, monkeypatch):
    found = []

    def searched(model, *arguments):
        assert model.attends == (attention == "additive")
        found.extend(real(model, *arguments))
        return found

    real = search_memory.beam_search
    monkeypatch.setattr(search_memory, "beam_search", searched)
    search_once(SearchWorkload(SIZES["tiny"], attention, beam=3, seed=1, device=CPU))
    assert [len(best.ids) for best, *_ in found] == [17] * 8  # ten more than 7 pieces
    assert all(best.capped for best, *_ in found)


@pytest.mark.skipif(not STATUS.is_file(), reason="reads /proc, which this system has not")
def test_the_peak_holds_the_weights_and_what_the_beam_needs():
    size = replace(SIZES["tiny"], vocabulary=20_000, source=2)
    memory = measure_search(SearchWorkload(size, "additive", beam=40, seed=1, device=CPU))
    weights = 4 * 2 * size.vocabulary * size.embedding / 1e6
    logits = 4 * 40 * size.batch * size.vocabulary / 1e6
    assert memory.peak > memory.beyond_pytorch > weights + logits


def test_the_table_compares_each_beam_with_the_first(tmp_path, monkeypatch):
    asked = []

    def invented(workload: SearchWorkload) -> Memory:
        asked.append((workload.size.batch, workload.size.source, workload.beam))
        return Memory(300.0 + 10 * workload.beam, 10.0 * workload.beam)

    monkeypatch.setattr(search_memory, "measure_search", invented)
    config = BenchmarkConfig(
        search_sizes=["tiny", "m"],
        beams=[2, 10],
        batch_sizes=[1, 16],
        device="cpu",
        corpus=Multi30kCorpus(),
        output=str(tmp_path),
    )
    measured = benchmark_search_memory(config)
    assert asked == [(16, 7, 2), (16, 7, 10), (16, 14, 2), (16, 14, 10)]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in measured.markdown.split("\n")
        if line.startswith("|")
    ]
    assert rows[0][3] == "over beam 2"
    assert rows[2:4] == [
        ["tiny", "2", "320", "1.00", "20", "1.00"],
        ["tiny", "10", "400", "1.25", "100", "5.00"],
    ]
    assert "16 sentences of 14 pieces, 24 steps" in measured.markdown
    assert (tmp_path / "translation-memory.md").read_text() == measured.markdown
    with pytest.raises(UserError, match="search_sizes=x is not a valid choice"):
        benchmark_search_memory(replace(config, search_sizes=["x"]))


def test_a_system_without_figures_has_dashes_for_them(tmp_path, monkeypatch):
    monkeypatch.setattr(search_memory, "measure_search", lambda _: None)
    config = BenchmarkConfig(
        search_sizes=["tiny"], device="cpu", corpus=Multi30kCorpus(), output=str(tmp_path)
    )
    assert benchmark_search_memory(config).markdown.count("–") == 8
