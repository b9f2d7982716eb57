"""A benchmark with made-up times: a naive path, and one that is five times as fast."""

from seq2seq.benchmark.memory import Memory
from seq2seq.benchmark.report import Benchmark, PathTimes
from seq2seq.benchmark.shares import ENCODER, LOOP, OPTIMIZER, OUTPUT, RECURRENCE
from seq2seq.benchmark.sizes import SIZES

ENVIRONMENT = {
    "command": ["benchmark.py", "sizes=[tiny]", "output=/secret/place"],
    "hardware": {"processor": "Abacus 3", "threads": "2", "torch": "9.9"},
    "git_commit": "0123456789abcdef",
    "git_modified": False,
}


def synthetic_benchmark() -> Benchmark:
    """Size ``tiny``, in two rounds of three updates."""
    naive = PathTimes(
        name="naive",
        precision="fp32",
        kernels="torch",
        rounds=[[0.5, 0.5, 0.9], [0.5, 0.7, 0.5]],
        stages=[
            {ENCODER: 1.0, LOOP: 8.0, OPTIMIZER: 1.0},
            {ENCODER: 1.0, LOOP: 8.0, OPTIMIZER: 1.0},
        ],
        memory=Memory(1_234.4, 1_000.0),
    )
    stages = {ENCODER: 1.0, RECURRENCE: 2.0, OUTPUT: 4.0, OPTIMIZER: 1.0}
    fast = PathTimes("fast", "bf16", "native", [[0.1, 0.1, 0.1], [0.1, 0.2, 0.2]], [stages], None)
    rates = {"fp32": 1e6, "bf16": 4e6}
    return Benchmark("tiny", SIZES["tiny"], "additive", 1, [naive, fast], rates, ENVIRONMENT)
