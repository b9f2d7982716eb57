"""Time training by several paths to the same update, translation, or the preparation of text."""

from cli import launch

from seq2seq.benchmark.benchmark import benchmark
from seq2seq.benchmark.beside_peers import (
    benchmark_peer_quality,
    benchmark_peer_translation,
    benchmark_peers,
)
from seq2seq.benchmark.large_corpus import benchmark_large_corpus
from seq2seq.benchmark.search_memory import benchmark_search_memory
from seq2seq.benchmark.translation import benchmark_translation
from seq2seq.config import BenchmarkConfig


def main(config: BenchmarkConfig) -> None:
    """Print each size's table as soon as it is measured, or the one that is asked for instead."""
    if config.peers_quality:
        print(benchmark_peer_quality(config))
    elif config.peers_translate:
        print(benchmark_peer_translation(config))
    elif config.peers:
        print(benchmark_peers(config))
    elif config.checkpoint is not None:
        print(benchmark_translation(config).markdown)
    elif config.search_sizes:
        print(benchmark_search_memory(config).markdown)
    elif config.pairs:
        print(benchmark_large_corpus(config).markdown)
    else:
        for measured in benchmark(config):
            print(measured.markdown)


if __name__ == "__main__":
    launch("benchmark", main)
