"""What the table says follows from the timings, and every timing is kept."""

import json
from dataclasses import replace

import pytest
from synthetic_benchmark import ENVIRONMENT, synthetic_benchmark

from seq2seq.benchmark.report import Benchmark
from seq2seq.benchmark.shares import ENCODER, OPTIMIZER, OUTPUT, RECURRENCE
from seq2seq.benchmark.sizes import SIZES


@pytest.fixture
def benchmark() -> Benchmark:
    return synthetic_benchmark()


def cells(benchmark: Benchmark, row: str) -> dict[str, str]:
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in benchmark.markdown.split("\n")
        if line.startswith("|")
    ]
    return dict(zip(lines[0], next(line for line in lines if line[0] == row), strict=True))


def test_the_table_follows_from_the_timings(benchmark):
    naive, fast = cells(benchmark, "naive"), cells(benchmark, "fast")
    assert (naive["ms/update"], fast["ms/update"]) == ("500.0", "100.0")
    assert fast["target tokens/s"] == "480"  # 8 sentences of 6 tokens in 0.1 s
    assert (naive["speed over naive"], fast["speed over naive"]) == ("1.00", "5.00")
    assert (naive["by round"], fast["by round"]) == ("", "3.75 [2.50, 5.00]")
    assert (naive["peak MB"], naive["beyond PyTorch"]) == ("1,234", "1,000")
    assert fast["peak MB"] == "–"


def test_shares_sum_to_the_whole_and_a_loop_of_both_stands_in_one_cell(benchmark):
    naive, fast = cells(benchmark, "naive"), cells(benchmark, "fast")
    stages = (ENCODER, RECURRENCE, OUTPUT, OPTIMIZER)
    assert [naive[stage] for stage in stages] == ["10%", "80% (both)", "", "10%"]
    assert [fast[stage] for stage in stages] == ["12%", "25%", "50%", "12%"]


def test_the_table_says_what_it_measured_and_how(benchmark):
    for fact in (
        "decoder 32",
        "attention 32",
        "8 sentences of 7 source and 6 target",
        "2 rounds",
    ):
        assert fact in benchmark.markdown
    assert "`python scripts/benchmark.py 'sizes=[tiny]'`" in benchmark.markdown
    assert "Abacus 3, 2 threads" in benchmark.markdown
    assert "secret" not in benchmark.markdown


def test_the_files_hold_the_table_and_every_timing(tmp_path, benchmark):
    table = benchmark.write(tmp_path / "new" / "folder")
    assert table.name == "tiny.md"
    assert table.read_text(encoding="utf-8") == benchmark.markdown
    kept = json.loads(table.with_suffix(".json").read_text(encoding="utf-8"))
    assert [path["rounds_seconds"] for path in kept["paths"]] == [
        path.rounds for path in benchmark.paths
    ]
    assert kept["paths"][0]["peak_memory_megabytes"]["peak"] == 1_234.4
    assert kept["paths"][1]["speedup"] == 5
    assert kept["environment"] == ENVIRONMENT


def test_the_floor_is_the_time_of_the_products_at_the_measured_rate(benchmark):
    operations = SIZES["tiny"].operations("additive")
    assert f"at best {operations / 1e3:,.1f} ms at fp32" in benchmark.markdown
    assert f"{operations / 4e3:,.1f} ms at bf16" in benchmark.markdown
    assert "the naive loop's are more" in benchmark.markdown
    alone = replace(benchmark, paths=benchmark.paths[1:])
    assert "the naive loop's are more" not in alone.markdown


def test_the_setting_says_how_many_updates_stand_behind_what(benchmark):
    said = "Medians over 2 rounds of 3 updates of each path in turn; shares of 2 further updates"
    assert said in benchmark.markdown
