"""Settings of the benchmarks: those that would have no effect are refused, not taken silently."""

import dataclasses

import pytest

from seq2seq.config import BenchmarkConfig, Multi30kCorpus
from seq2seq.config.benchmark import EVERY_BENCHMARK, READ
from seq2seq.errors import UserError

ASKED = {
    "sizes": {},
    "checkpoint": {"checkpoint": "run"},
    "search_sizes": {"search_sizes": ["l"]},
    "pairs": {"pairs": [1000]},
    "peers": {"peers": ["eole"]},
    "peers_translate": {"peers": ["eole"], "peers_translate": True},
}
OTHERWISE = {
    "sizes": ["l"],
    "paths": ["fast"],
    "attention": "fixed",
    "updates": 7,
    "alternations": 7,
    "threads": 1,
    "device": "cpu",
    "peers_python": "python",
    "peer_updates": 40,
    "test_set": "test",
    "beams": [2],
    "batch_sizes": [2],
    "most_batches": 7,
    "peer_training": 80,
}
"""A value that is not the default, for every setting that does not itself choose a benchmark."""


def test_every_setting_has_its_case():
    names = {field.name for field in dataclasses.fields(BenchmarkConfig)}
    choosing = {"checkpoint", "search_sizes", "pairs", "peers", "peers_translate", "peers_quality"}
    assert names == OTHERWISE.keys() | choosing | set(EVERY_BENCHMARK)


@pytest.mark.parametrize("setting", OTHERWISE)
@pytest.mark.parametrize("benchmark", ASKED)
def test_what_a_benchmark_does_not_read_is_refused(benchmark, setting):
    given = ASKED[benchmark] | {setting: OTHERWISE[setting]}
    if setting in (benchmark, *READ[benchmark]):
        BenchmarkConfig(corpus=Multi30kCorpus(), **given)
        return
    with pytest.raises(UserError, match=f"{setting} would have no effect on .* of {benchmark};"):
        BenchmarkConfig(corpus=Multi30kCorpus(), **given)


@pytest.mark.parametrize("updates", [0, 30, -20])
@pytest.mark.parametrize("setting", ["peer_updates", "peer_training"])
def test_updates_of_peers_are_counted_in_reports(setting, updates):
    with pytest.raises(UserError, match=f"{setting}={updates} must be a multiple of 20"):
        BenchmarkConfig(corpus=Multi30kCorpus(), peers=["eole"], **{setting: updates})
