"""The table of large corpora: time, memory and disk, and what they come to for a larger one."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from seq2seq.benchmark.process_tree import TreeMemory
from seq2seq.benchmark.table_file import write_table
from seq2seq.config import TokenizationConfig
from seq2seq.data.preparation import TOKENIZER_SENTENCES
from seq2seq.record import describe_environment
from seq2seq.report.tables import markdown_table

PAPER = {
    "selected, as the paper trained on": (12_000_000, 348_000_000),
    "all of WMT14": (29_300_000, 850_000_000),
}
"""Pairs and words of one side, French. The words are those of Bahdanau et al. 2014; the 12 million
pairs of the selected text are those of Sutskever et al. 2014, and the rest has as many words a
pair."""


@dataclass(frozen=True)
class CorpusRun:
    """One corpus size: prepared in one process and its workers, gone through in another."""

    pairs: int
    words: tuple[int, int]
    """Of the sides' training text, separated by white space."""
    kept: int
    """Pairs that were encoded."""
    pieces: tuple[int, int]
    """Of the encoded sides."""
    text_bytes: int
    encoded_bytes: int
    """Of the prepared folder."""
    prepare_seconds: float
    prepare_peak: TreeMemory | None
    plan_seconds: float
    """To divide the pairs into batches; a part of ``epoch_seconds``."""
    epoch_seconds: float
    epoch_peak: TreeMemory | None


class Growth(NamedTuple):
    """What each further pair costs, between the smallest and the largest corpus measured."""

    prepare_bytes: float
    """Of ``prepare``'s own memory."""
    epoch_bytes: float
    """Of an epoch's own memory."""
    prepare_own: float
    """MB of it at the largest corpus."""
    epoch_own: float
    """Likewise."""


@dataclass(frozen=True)
class LargeCorpus:
    """One corpus, repeated to several sizes."""

    corpus: str
    tokenization: TokenizationConfig
    batch_size: int
    runs: list[CorpusRun]
    load: float | None
    """Processes that wanted to run on the machine just before; None where that is not known."""
    environment: dict[str, Any]
    """See :func:`seq2seq.record.environment_record`."""

    def growth(self) -> Growth | None:
        """What a further pair costs; None with one size, or without figures of memory."""
        first = min(self.runs, key=lambda run: run.pairs)
        last = max(self.runs, key=lambda run: run.pairs)
        more = last.pairs - first.pairs
        # All four or none are there: it depends on the system.
        if not (first.prepare_peak and last.prepare_peak and first.epoch_peak and last.epoch_peak):
            return None
        if more == 0:
            return None
        return Growth(
            1e6 * (last.prepare_peak.own - first.prepare_peak.own) / more,
            1e6 * (last.epoch_peak.own - first.epoch_peak.own) / more,
            last.prepare_peak.own,
            last.epoch_peak.own,
        )

    @property
    def markdown(self) -> str:
        """The table, what its rows are, and what they come to for the paper's corpus."""
        header = ["pairs", "words", "text MB", "encoded MB", "stage", "minutes", "pairs/s"]
        header += ["peak MB", "its own MB", "processes"]
        rows = []
        for run in self.runs:
            sizes = [f"{run.pairs:,}", f"{sum(run.words):,}"]
            sizes += [f"{size / 1e6:,.0f}" for size in (run.text_bytes, run.encoded_bytes)]
            for stage, pairs, seconds, peak in (
                ("prepare", run.pairs, run.prepare_seconds, run.prepare_peak),
                ("one epoch", run.kept, run.epoch_seconds, run.epoch_peak),
            ):
                speed = f"{pairs / seconds:,.0f}"
                rows.append([*sizes, stage, f"{seconds / 60:,.2f}", speed, *_cells(peak)])
        lines = [*self._notes(), describe_environment(self.environment)]
        measured = markdown_table(header, rows) + "\n" + "".join(f"- {line}\n" for line in lines)
        growth = self.growth()
        return measured if growth is None else f"{measured}\n{self._on_paper(growth)}"

    def _notes(self) -> list[str]:
        options, last = self.tokenization, self.runs[-1]
        size = "all" if options.vocabulary_size is None else f"{options.vocabulary_size:,}"
        notes = [
            f"Text: {self.corpus}, as many of its pairs as are named, over and over if need be; "
            "the copies are alike, so that they bring no new words. Words of both sides.",
            f"Tokenisation: {options.kind}, {size} entries; of the last corpus {last.kept:,} pairs "
            f"are kept, with {last.pieces[0] / last.kept:.1f} source and "
            f"{last.pieces[1] / last.kept:.1f} target pieces each. A subword model learns from "
            f"{TOKENIZER_SENTENCES:,} sentences at most.",
            "prepare: reads and checks the text, learns the tokenisation, cuts, numbers, writes. "
            f"One epoch: opens the result, divides it into batches of {self.batch_size} (in "
            f"{last.plan_seconds:.1f} s of the last corpus) and pads each; nothing is trained. "
            "Pairs/s: of those that prepare is given, and of those that it keeps.",
            "Each stage in a process of its own, watched 20 times a second together with the "
            "processes that it starts; MB of a million bytes. Peak: all pages in memory, those "
            "that several processes share counted in each. Its own: without pages of mapped "
            "files, which the system takes back when memory is short. Encoded MB: what stays on "
            "disk; up to three times as much while it is made.",
        ]
        if self.load is not None:
            notes.append(
                f"Load of the machine before the first corpus: {self.load:.1f} processes at a "
                "time; with others at work beside it, the times are longer than need be."
            )
        return notes

    def _on_paper(self, growth: Growth) -> str:
        """What the corpus of Bahdanau et al. 2014 would take, from the figures above."""
        last = max(self.runs, key=lambda run: run.pairs)
        header = ["on paper", "pairs", "words a side", "text GB", "encoded GB"]
        header += ["prepare, hours", "prepare, its own MB", "one epoch, its own MB"]
        rows = []
        for name, (pairs, words) in PAPER.items():
            scale, more = words / last.words[1], pairs - last.pairs
            figures = [
                scale * last.text_bytes / 1e9,
                scale * last.encoded_bytes / 1e9,
                scale * last.prepare_seconds / 3600,
            ]
            memory = [
                growth.prepare_own + max(0.0, growth.prepare_bytes) * more / 1e6,
                growth.epoch_own + max(0.0, growth.epoch_bytes) * more / 1e6,
            ]
            cells = [f"{figure:,.1f}" for figure in figures]
            cells += [f"{figure:,.0f}" for figure in memory]
            rows.append([name, f"{pairs:,}", f"{words:,}", *cells])
        notes = [
            "Text, encoded text and hours are those of the largest corpus above, by the words; the "
            "hours are too many in that learning subwords takes no longer. Memory grows with the "
            f"pairs: each further one takes {growth.prepare_bytes:.1f} bytes of prepare's own "
            f"(none where that is not above 0) and {growth.epoch_bytes:.1f} of an epoch's, by the "
            "smallest and the largest corpus above.",
            "Not in these figures: new text brings new words, and `tokenization=moses` or "
            "`whitespace` keeps every distinct one in memory until the vocabulary is made.",
        ]
        return markdown_table(header, rows) + "\n" + "".join(f"- {line}\n" for line in notes)

    def json(self) -> dict[str, Any]:
        """The same as data, times in seconds."""
        growth = self.growth()
        return {
            "corpus": self.corpus,
            "tokenization": asdict(self.tokenization),
            "batch_size": self.batch_size,
            "runs": [
                asdict(run)
                | {
                    "prepare_peak": run.prepare_peak and run.prepare_peak._asdict(),
                    "epoch_peak": run.epoch_peak and run.epoch_peak._asdict(),
                }
                for run in self.runs
            ],
            "growth_per_pair": growth and growth._asdict(),
            "load": self.load,
            "environment": self.environment,
        }

    def write(self, folder: Path) -> Path:
        """Leave ``large-corpus.json`` and ``.md`` in ``folder``; return the latter."""
        return write_table(folder, "large-corpus", self.markdown, self.json())


def _cells(peak: TreeMemory | None) -> list[str]:
    if peak is None:
        return ["–"] * 3
    return [f"{peak.resident:,.0f}", f"{peak.own:,.0f}", str(peak.processes)]
