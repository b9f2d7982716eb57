"""Common parts of the study's pages: numbers, tables, figures, provenance."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from matplotlib.figure import Figure
from stats import CONFIG, Group, Groups, Score

from seq2seq.drawing import Style, draw_line, name_lines, new_figure, render, styles
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.evaluation.translations import ScoreRow
from seq2seq.report.figures import label_lengths
from seq2seq.report.tables import interval_text, markdown_table, signed, with_interval

Row = TypeVar("Row")
Column = TypeVar("Column")
Files = dict[str, bytes]
"""Form of a page, md or svg -> its content."""


def scored(samples: Samples, digits: int = 1) -> str:
    """Format a score with its interval."""
    return interval_text(Interval.of(samples), digits)


def gained(samples: Samples, digits: int = 1) -> str:
    """Format a difference with its interval."""
    return with_interval(Interval.of(samples), digits)


def ends(interval: Interval, digits: int = 1) -> str:
    """Format an interval without its value."""
    return f"[{signed(interval.low, digits)}, {signed(interval.high, digits)}]"


def table(
    corner: str,
    rows: Mapping[str, Row],
    columns: Mapping[str, Column],
    cell: Callable[[Row, Column], str],
) -> str:
    """Table with a cell for each row and column; rows that are pools also show their size."""
    sizes = {name: [f"{of.sentences:,}"] for name, of in rows.items() if isinstance(of, Pool)}
    lines = [
        [name, *sizes.get(name, []), *(cell(row, column) for column in columns.values())]
        for name, row in rows.items()
    ]
    return markdown_table([corner, *["n"] * bool(sizes), *columns], lines)


def length_table(
    pools: Mapping[str, Pool], systems: Mapping[str, Group], score: Score, digits: int = 1
) -> str:
    """Table of a score by source length, with a column for each system."""
    return table(
        "source words", pools, systems, lambda pool, group: scored(score(pool, group), digits)
    )


@dataclass(frozen=True)
class Line:
    """A line of a figure, with the band of its intervals."""

    name: str
    style: Style
    samples: Iterable[Samples]
    places: Sequence[float] = ()
    """Positions of the points on the x axis; 0, 1, 2, ... if empty."""


@dataclass(frozen=True)
class Panel:
    """A part of a figure."""

    title: str
    lines: Sequence[Line]
    x: str
    y: str
    buckets: Mapping[str, Pool] | None = None
    """Lengths of the sources, if these are on the x axis."""
    log: bool = False


def draw(title: str, subtitle: str, panels: Sequence[Panel], note: str) -> bytes:
    """Draw panels side by side, as SVG."""

    def lay_out() -> Figure:
        figure = new_figure(4.8, title, subtitle, f"{note} Bands: 95% intervals.")
        parts = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, panel in zip(parts, panels, strict=True):
            for line in panel.lines:
                found = [Interval.of(each) for each in line.samples]
                band = [one.low for one in found], [one.high for one in found]
                values = [one.value for one in found]
                draw_line(axes, line.style, line.name, values, band=band, places=line.places)
            axes.set_title(panel.title, fontsize=11)
            axes.set_xlabel(panel.x)
            axes.set_ylabel(panel.y)
            if panel.buckets:
                rows = [ScoreRow(label, pool.sentences) for label, pool in panel.buckets.items()]
                label_lengths(axes, rows, "words", count=len(panels) == 1)
            if panel.log:
                axes.set_xscale("log", base=2)
                places = sorted({x for line in panel.lines for x in line.places})
                axes.set_xticks(places, [f"{x / 1000:g}k" for x in places])
            if len(panels) > 1:
                axes.tick_params("x", labelsize=8)
            axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
            axes.minorticks_off()
        named = {line.get_label() for line in parts[-1].lines}
        others = [line for axes in parts[:-1] for line in axes.lines]
        name_lines(figure, parts[-1], [one for one in others if one.get_label() not in named])
        return figure

    return render(lay_out)["svg"]


def lines_of(
    systems: Mapping[str, Group],
    samples: Callable[[Group], Iterable[Samples]],
    places: Sequence[float] = (),
) -> list[Line]:
    """Lines of systems, in their styles."""
    looks = styles([group[0].config for group in systems.values()])
    return [
        Line(name, look, samples(group), places)
        for look, (name, group) in zip(looks, systems.items(), strict=True)
    ]


def lines_by_length(groups: Groups, systems: Mapping[str, Group], score: Score) -> list[Line]:
    """Lines of a score by source length."""
    return lines_of(systems, lambda group: [score(of, group) for of in groups.buckets.values()])


def page(title: str, groups: Groups, *parts: str) -> bytes:
    """Build a page that ends with the provenance of its results."""
    return "\n".join([f"# {title}\n", *parts, provenance(groups)]).encode()


def provenance(groups: Groups) -> str:
    """Describe the size and training of each system, and the code and machine of the results."""
    rows = []
    for name, group in groups.items():
        training = group[0].record["training"]
        progress = training["progress"]
        minutes = [one.record["training"]["progress"]["seconds"] / 60 for one in group]
        counts = [training["parameters"]["total"], training["training_pairs"]]
        counts += [progress["update"], progress["best_update"]]
        rate = group[0].config["training"]["optimizer"]["learning_rate"]
        seeds = ", ".join(str(one.record["seed"]) for one in group)
        rows.append([name, seeds, *(f"{n:,}" for n in counts), f"{rate:g}", f"{min(minutes):.0f}"])
    records = [group[0].record["training"] for group in groups.values()]
    codes = ", ".join(dict.fromkeys(f"`{one['git_commit'][:10]}`" for one in records))
    precisions = ", ".join(dict.fromkeys(one["precision"] for one in records))
    training = records[0]
    header = ["system", "seeds", "parameters", "pairs", "updates", "best at", "rate", "minutes"]
    return (
        f"{markdown_table(header, rows)}\n"
        f"Brackets are 95% intervals from {CONFIG.bootstrap:,} resamples of the sentences"
        + (", and of the seeds" if any(len(group) > 1 for group in groups.values()) else "")
        + f". Code {codes}, {precisions}, "
        f"{training['hardware']['processor']}, PyTorch {training['versions']['torch']}. "
        "Minutes are of the fastest seed on one thread, often next to another training. "
        "Written by `python study/report.py` from results/.\n"
    )
