"""Time training by several paths to the same update, in turns, on random text of fixed shape."""

from launch import launch

from seq2seq.benchmark.benchmark import benchmark, benchmark_peers
from seq2seq.config import BenchmarkConfig


def main(config: BenchmarkConfig) -> None:
    """Print each size's table as soon as it is measured, or that of the peers."""
    if config.peers:
        print(benchmark_peers(config))
        return
    for measured in benchmark(config):
        print(measured.markdown)


if __name__ == "__main__":
    launch("benchmark", main)
