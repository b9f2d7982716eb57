"""The table of translation speeds, and every timing to compute with."""

from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from seq2seq.benchmark.table_file import write_table
from seq2seq.record import describe_environment
from seq2seq.report.tables import markdown_table

WAYS = {
    "default": "the default settings",
    "fp32": "products in float32 (`precision=fp32`)",
    "torch": "without compiled kernels",
}


@dataclass(frozen=True)
class SearchTimes:
    """All turns of one search."""

    way: str
    """Of :data:`WAYS`."""
    precision: str
    """Of matrix products: fp32 | bf16."""
    kernels: str
    """native | triton | torch."""
    beam: int
    batch_size: int
    sentences: int
    """Translated in each turn."""
    seconds: list[float]
    """Of each turn."""

    @property
    def speeds(self) -> list[float]:
        """Sentences per second, by turn."""
        return [self.sentences / seconds for seconds in self.seconds]

    def ratios(self, other: "SearchTimes") -> list[float]:
        """How many times as fast as ``other``, turn by turn: a machine drifts between them."""
        return [mine / its for mine, its in zip(self.speeds, other.speeds, strict=True)]


@dataclass(frozen=True)
class TranslationBenchmark:
    """One model and one test set, translated by several searches."""

    test_set: str
    model: str
    searches: list[SearchTimes]
    environment: dict[str, Any]
    """See :func:`seq2seq.record.environment_record`."""

    def find(self, way: str, beam: int, batch_size: int) -> SearchTimes:
        """The one search with these settings."""
        return next(
            search
            for search in self.searches
            if (search.way, search.beam, search.batch_size) == (way, beam, batch_size)
        )

    @property
    def markdown(self) -> str:
        """The table, what its rows are, and how they came about."""
        smallest = min(search.batch_size for search in self.searches)
        narrowest = min(search.beam for search in self.searches)
        header = ["search", "batch", "way", "products", "kernels", "sentences/s", "range"]
        header += [f"speed over batch {smallest}", f"{_name(narrowest)} over it", "default over it"]
        rows = []
        for search in self.searches:
            way, beam, batch = search.way, search.beam, search.batch_size
            alone = self.find("default", beam, smallest)
            rows.append(
                [
                    _name(beam),
                    str(batch),
                    way,
                    search.precision,
                    search.kernels,
                    f"{median(search.speeds):,.1f}",
                    f"{min(search.speeds):,.1f}-{max(search.speeds):,.1f}",
                    "" if search is alone or way != "default" else _range(search.ratios(alone)),
                    ""
                    if beam == narrowest
                    else _range(self.find(way, narrowest, batch).ratios(search)),
                    ""
                    if way == "default"
                    else _range(self.find("default", beam, batch).ratios(search)),
                ]
            )
        lines = [*self._notes(), describe_environment(self.environment)]
        return markdown_table(header, rows) + "\n" + "".join(f"- {line}\n" for line in lines)

    def _notes(self) -> list[str]:
        ways = dict.fromkeys(search.way for search in self.searches)
        sentences = dict.fromkeys(
            f"{search.sentences:,} at batch {search.batch_size:,}" for search in self.searches
        )
        return [
            "; ".join(f"{way}: {WAYS[way]}" for way in ways) + ".",
            f"Model: {self.model}.",
            f"Text: {self.test_set}; translated in each turn: {', '.join(sentences)}, taken at "
            "equal distances from the whole set. Time from text to text, the model being loaded.",
            f"Medians over {len(self.searches[0].seconds)} rounds, in which the searches take "
            "turns; ratios within a round, median and range.",
        ]

    def json(self) -> dict[str, Any]:
        """Every timing, in seconds."""
        return {
            "test_set": self.test_set,
            "model": self.model,
            "runs": [
                asdict(search) | {"median_sentences_per_second": median(search.speeds)}
                for search in self.searches
            ],
            "environment": self.environment,
        }

    def write(self, folder: Path) -> Path:
        """Leave ``translation.json`` and ``translation.md`` in ``folder``; return the latter."""
        return write_table(folder, "translation", self.markdown, self.json())


def _name(beam: int) -> str:
    return "greedy" if beam == 1 else f"beam {beam}"


def _range(ratios: list[float]) -> str:
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"
