"""What a benchmark leaves behind: a table to read, and every timing to compute with."""

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from seq2seq.benchmark.measure import Speedup, median_of_all, speedup_by_round
from seq2seq.benchmark.memory import Memory
from seq2seq.benchmark.paths import PATHS
from seq2seq.benchmark.shares import ENCODER, LOOP, OPTIMIZER, OUTPUT, RECURRENCE
from seq2seq.benchmark.sizes import Size
from seq2seq.benchmark.table_file import write_table
from seq2seq.record import describe_environment
from seq2seq.report.numbers import counted
from seq2seq.report.tables import markdown_table

NAIVE_IS_MORE = "; the naive loop's are more, since it makes at each step what is the same at all"


@dataclass(frozen=True)
class PathTimes:
    """All that was measured of one path."""

    name: str
    precision: str
    """Of matrix products: fp32 | bf16."""
    kernels: str
    """native (compiled) | triton | torch, where there is neither or the path does without."""
    rounds: list[list[float]]
    """Seconds of each update, by round."""
    stages: list[dict[str, float]]
    """Seconds of each stage, for each staged update."""
    memory: Memory | None

    @property
    def seconds(self) -> float:
        """Of an update: the median over all of them."""
        return median_of_all(self.rounds)

    def shares(self) -> dict[str, float]:
        """The part of an update that each stage takes; they sum to 1."""
        medians = {
            stage: median(update[stage] for update in self.stages) for stage in self.stages[0]
        }
        whole = sum(medians.values())
        return {stage: seconds / whole for stage, seconds in medians.items()}


@dataclass(frozen=True)
class Benchmark:
    """One size, timed by several paths."""

    name: str
    """Of its files and of its place in a document: the size, and what is not the default."""
    size: Size
    attention: str
    seed: int
    paths: list[PathTimes]
    product_rates: dict[str, float]
    """Precision -> operations a second, see :func:`seq2seq.benchmark.measure.product_rate`."""
    environment: dict[str, Any]
    """See :func:`seq2seq.record.environment_record`."""

    def speedup(self, path: PathTimes) -> float:
        """How many times as fast ``path`` is as the first: the ratio of their medians."""
        return self.paths[0].seconds / path.seconds

    def speedup_by_round(self, path: PathTimes) -> Speedup:
        """The same, round by round."""
        return speedup_by_round(self.paths[0].rounds, path.rounds)

    @property
    def markdown(self) -> str:
        """The table, what its rows are, and how they came about."""
        lines = [f"{path.name}: {PATHS[path.name].description}." for path in self.paths]
        lines += [self._setting(), self._floor(), describe_environment(self.environment)]
        return _table(self) + "\n" + "".join(f"- {line}\n" for line in lines)

    def json(self) -> dict[str, Any]:
        """Every timing, in seconds, and what the table says of them."""
        paths = [
            {
                "name": path.name,
                "description": PATHS[path.name].description,
                "precision": path.precision,
                "kernels": path.kernels,
                "median_seconds": path.seconds,
                "target_tokens_per_second": self.size.target_tokens / path.seconds,
                "speedup": self.speedup(path),
                "speedup_by_round": self.speedup_by_round(path)._asdict(),
                "peak_memory_megabytes": path.memory and path.memory._asdict(),
                "shares": path.shares(),
                "rounds_seconds": path.rounds,
                "stages_seconds": path.stages,
            }
            for path in self.paths
        ]
        return {
            "name": self.name,
            "size": asdict(self.size),
            "attention": self.attention,
            "seed": self.seed,
            "product_operations": self.size.operations(self.attention),
            "product_rates": self.product_rates,
            "paths": paths,
            "environment": self.environment,
        }

    def write(self, folder: Path) -> Path:
        """Leave ``<name>.json`` and ``<name>.md`` in ``folder``; return the latter."""
        return write_table(folder, self.name, self.markdown, self.json())

    def _setting(self) -> str:
        size, rounds = self.size, self.paths[0].rounds
        return (
            f"Size: {size.widths(self.attention)}; {size.batch} sentences of {size.source} source "
            f"and {size.target} target positions, none padding. "
            f"Medians over {counted(len(rounds), 'round')} of "
            f"{counted(len(rounds[0]), 'update')} of each path in turn; shares of "
            f"{counted(len(self.paths[0].stages), 'further update')} cut "
            "into stages; memory in MB of a million bytes."
        )

    def _floor(self) -> str:
        """How long the matrix products alone would take at the best rate of this device."""
        operations = self.size.operations(self.attention)
        times = " and ".join(
            f"{1e3 * operations / rate:,.1f} ms at {precision}'s {rate / 1e9:,.0f} GFLOP/s"
            for precision, rate in self.product_rates.items()
        )
        return (
            f"Matrix products of an update: {operations / 1e9:,.1f} GFLOP, at best {times} "
            "(measured on large matrices in the same run)"
            f"{NAIVE_IS_MORE if any(PATHS[path.name].naive for path in self.paths) else ''}."
        )


def _table(benchmark: Benchmark) -> str:
    first = benchmark.paths[0].name
    header = ["path", "products", "kernels", "ms/update", "target tokens/s"]
    header += [
        f"speed over {first}",
        "by round",
        "peak MB",
        "beyond PyTorch",
        ENCODER,
        RECURRENCE,
        OUTPUT,
        OPTIMIZER,
    ]
    rows = []
    for path in benchmark.paths:
        memory = path.memory
        rows.append(
            [
                path.name,
                path.precision,
                path.kernels,
                f"{1e3 * path.seconds:,.1f}",
                f"{benchmark.size.target_tokens / path.seconds:,.0f}",
                f"{benchmark.speedup(path):.2f}",
                "" if path.name == first else _range(benchmark.speedup_by_round(path)),
                f"{memory.peak:,.0f}" if memory else "–",
                f"{memory.beyond_pytorch:,.0f}" if memory else "–",
                *_share_cells(path.shares()),
            ]
        )
    return markdown_table(header, rows)


def _range(speedup: Speedup) -> str:
    return f"{speedup.median:.2f} [{speedup.low:.2f}, {speedup.high:.2f}]"


def _share_cells(shares: dict[str, float]) -> list[str]:
    """Percentages of the four stages; of a loop that holds two of them, both in one cell."""
    cells = {stage: f"{share:.0%}" for stage, share in shares.items()}
    if LOOP in cells:
        cells |= {RECURRENCE: f"{cells[LOOP]} (both)", OUTPUT: ""}
    return [cells[stage] for stage in (ENCODER, RECURRENCE, OUTPUT, OPTIMIZER)]
