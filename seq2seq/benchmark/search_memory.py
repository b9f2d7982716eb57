"""The most memory that a search ever holds, by its beam: random weights, text of one length."""

import logging
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from seq2seq.benchmark.memory import Memory, measure_peak
from seq2seq.benchmark.sizes import SIZES, Size
from seq2seq.benchmark.table_file import write_table
from seq2seq.config import BenchmarkConfig, DecodingConfig, require_choice
from seq2seq.data.vocabulary import EOS
from seq2seq.decoding.beam_search import beam_search
from seq2seq.device import choose_device, choose_precision, mixed_precision
from seq2seq.model.translation import TranslationModel
from seq2seq.record import describe_environment, environment_record
from seq2seq.report.tables import markdown_table

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SearchWorkload:
    """One batch to translate by a model that never ends a sentence, so that it runs to the cap."""

    size: Size
    attention: str
    """additive | fixed."""
    beam: int
    seed: int
    device: torch.device

    @property
    def steps(self) -> int:
        """Pieces that every hypothesis is cut at: ten more than the source has."""
        return self.size.source + 10


def search_once(workload: SearchWorkload) -> None:
    """Search for translations of one batch, in the precision that the device is fast in."""
    size, device = workload.size, workload.device
    torch.manual_seed(workload.seed)
    config = size.model(workload.attention, "fast")
    model = TranslationModel(config, size.vocabulary, size.vocabulary).to(device).eval()
    with torch.no_grad():
        model.output.bias[EOS] = -1e4
    batch = size.random_batch(workload.seed).to(device)
    batch.source[:, -1] = EOS
    decoding = DecodingConfig(beam=workload.beam, max_length=workload.steps)
    with mixed_precision(device, choose_precision("auto", device)):
        found = beam_search(model, batch.source, batch.source_lengths, decoding)
    assert all(len(best.ids) == workload.steps for best, *_ in found)


def measure_search(workload: SearchWorkload) -> Memory | None:
    """Peak memory of one search, the model's weights included; see :func:`measure_peak`."""
    tiny = replace(workload, size=SIZES["tiny"])
    return measure_peak(partial(search_once, tiny), partial(search_once, workload), workload.device)


@dataclass(frozen=True)
class SearchMemory:
    """Peak memory of one batch's search, by size and beam."""

    sizes: dict[str, Size]
    attention: str
    """additive | fixed."""
    peaks: dict[str, dict[int, Memory | None]]
    """Name of the size -> beam -> peak."""
    environment: dict[str, Any]
    """See :func:`seq2seq.record.environment_record`."""

    @property
    def markdown(self) -> str:
        """A row for each size and beam, and how they came about."""
        rows = []
        for name, by_beam in self.peaks.items():
            first = next(iter(by_beam.values()))
            for beam, memory in by_beam.items():
                cells = ["–"] * 4
                if memory is not None and first is not None:
                    cells = [
                        f"{memory.peak:,.0f}",
                        f"{memory.peak / first.peak:.2f}",
                        f"{memory.beyond_pytorch:,.0f}",
                        f"{memory.beyond_pytorch / first.beyond_pytorch:.2f}",
                    ]
                rows.append([name, str(beam), *cells])
        first_beam = next(iter(next(iter(self.peaks.values()))))
        over = f"over beam {first_beam}"
        header = ["size", "beam", "peak MB", over, "beyond PyTorch", over]
        lines = [_setting(name, size, self.attention) for name, size in self.sizes.items()]
        lines += [
            "Each search in a fresh process; memory in MB of a million bytes. Beyond PyTorch: the "
            "model's weights and all that the search holds, without Python and PyTorch.",
            describe_environment(self.environment),
        ]
        return markdown_table(header, rows) + "\n" + "".join(f"- {line}\n" for line in lines)

    def json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "sizes": {name: asdict(size) for name, size in self.sizes.items()},
            "attention": self.attention,
            "runs": [
                {
                    "size": name,
                    "beam": beam,
                    "peak_memory_megabytes": memory and memory._asdict(),
                }
                for name, by_beam in self.peaks.items()
                for beam, memory in by_beam.items()
            ],
            "environment": self.environment,
        }

    def write(self, folder: Path) -> Path:
        """Leave ``translation-memory.json`` and ``.md`` in ``folder``; return the latter."""
        return write_table(folder, "translation-memory", self.markdown, self.json())


def benchmark_search_memory(config: BenchmarkConfig) -> SearchMemory:
    """Measure ``config.search_sizes`` with each of ``config.beams``, and write the table.

    Raises:
        UserError: a size or the device does not exist.
    """
    for size in config.search_sizes:
        require_choice("search_sizes", size, tuple(SIZES))
    device = choose_device(config.device)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    batch = max(config.batch_sizes)
    sizes = {name: replace(SIZES[name], batch=batch) for name in config.search_sizes}
    measured = SearchMemory(
        sizes,
        config.attention,
        {
            name: {
                beam: measure_search(
                    SearchWorkload(size, config.attention, beam, config.seed, device)
                )
                for beam in config.beams
            }
            for name, size in sizes.items()
        },
        environment_record(device),
    )
    table = measured.write(Path(config.output))
    log.info("Table and figures: %s, %s", table, table.with_suffix(".json"))
    return measured


def _setting(name: str, size: Size, attention: str) -> str:
    return (
        f"{name}: {size.widths(attention)}; one batch of {size.batch} sentences of {size.source} "
        f"pieces, {size.source + 10} steps; random weights that never end a sentence."
    )
