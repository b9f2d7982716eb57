"""Common parts of the study's pages: numbers, figures, tables by source length, provenance."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from groups import CONFIG, Groups, Score
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from seq2seq.drawing import FAINT, LINES, Style, draw_line, name_lines, new_figure, render, styles
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.evaluation.translations import ScoreRow
from seq2seq.report.figures import label_lengths
from seq2seq.report.tables import interval_text, markdown_table, signed, with_interval

FLOORS = ("copying", "nearest", "unrelated")
BY_T = (
    "*t*: interval of the difference by Student's t, from the variance of the sentences and, by "
    "Welch and Satterthwaite, that of the seeds; – where a system has one seed."
)


def scored(samples: Samples, digits: int = 1) -> str:
    """Format a score with its interval."""
    return interval_text(Interval.of(samples), digits)


def gained(samples: Samples, digits: int = 1) -> str:
    """Format a difference with its interval."""
    return with_interval(Interval.of(samples), digits)


def by_t(interval: Interval | None, digits: int = 1) -> str:
    """Format an interval without its value; a dash for None, when a system has one seed."""
    if interval is None:
        return "–"
    return f"[{signed(interval.low, digits)}, {signed(interval.high, digits)}]"


@dataclass(frozen=True)
class Line:
    """A line of a figure."""

    name: str
    style: Style
    samples: Sequence[Samples]
    places: Sequence[float] = ()
    """Positions of the points on the x axis; 0, 1, 2, ... if empty."""
    notes: Sequence[str] = ()
    """Texts next to the points."""


def draw_samples(
    axes: Axes, style: Style, name: str, samples: Iterable[Samples], places: Sequence[float]
) -> list[float]:
    """Draw a line with the band of its intervals; return its values."""
    found = [Interval.of(each) for each in samples]
    values = [one.value for one in found]
    band = [one.low for one in found], [one.high for one in found]
    draw_line(axes, style, name, values, band=band, places=places)
    return values


def draw(
    titles: tuple[str, str],
    axes_names: tuple[str, str],
    lines: Sequence[Line],
    note: str,
    buckets: Mapping[str, Pool] | None = None,
    log: Literal["", "x", "both"] = "",
) -> bytes:
    """Draw lines with the bands of their intervals, as SVG."""

    def lay_out() -> Figure:
        figure = new_figure(4.8, *titles, f"{note} Bands: 95% intervals.")
        axes = figure.add_subplot()
        for line in lines:
            values = draw_samples(axes, line.style, line.name, line.samples, line.places)
            for number, (name, x, y) in enumerate(
                zip(line.notes, line.places, values, strict=False)
            ):
                place: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline"}
                side, align = ((8, 0), "left") if number % 2 else ((-8, 0), "right")
                axes.annotate(
                    name, (x, y), side, color=line.style.color, fontsize=8, ha=align, **place
                )
        axes.set_xlabel(axes_names[0])
        axes.set_ylabel(axes_names[1])
        if buckets:
            rows = [ScoreRow(label, pool.sentences) for label, pool in buckets.items()]
            label_lengths(axes, rows, "words", count=True)
        if log:
            axes.set_xscale("log", base=2)
            places = sorted({x for line in lines for x in line.places})
            names = (f"{x:,.0f}" if x < 10_000 else f"{x / 1000:.0f}k" for x in places)
            axes.set_xticks(places, [*names])
        if log == "both":
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:,.0f}")
        else:
            axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        axes.minorticks_off()
        name_lines(figure, axes)
        return figure

    return render(lay_out, forms=("svg",))["svg"]


def page(title: str, groups: Groups, *parts: str) -> bytes:
    """Build a page that ends with the provenance of its results."""
    return "\n".join([f"# {title}\n", *parts, provenance(groups)]).encode()


def provenance(groups: Groups) -> str:
    """Describe the size and training of each system, and the code and machine of the results."""
    trained = {name: group for name, group in groups.items() if group[0].config}
    rows = []
    for name, group in trained.items():
        training = group[0].record["training"]
        progress = training["progress"]
        minutes = [one.record["training"]["progress"]["seconds"] / 60 for one in group]
        counts = [training["parameters"]["total"], training["training_pairs"]]
        counts += [progress["update"], progress["best_update"]]
        rate = group[0].config["training"]["optimizer"]["learning_rate"]
        seeds = ", ".join(str(one.record["seed"]) for one in group)
        rows.append([name, seeds, *(f"{n:,}" for n in counts), f"{rate:g}", f"{min(minutes):.0f}"])
    training = next(iter(trained.values()))[0].record["training"]
    header = ["system", "seeds", "parameters", "pairs", "updates", "best at", "rate", "minutes"]
    return (
        f"{markdown_table(header, rows)}\n"
        f"Brackets are 95% intervals from {CONFIG.bootstrap:,} resamples of the sentences"
        + (", and of the seeds" if any(len(group) > 1 for group in groups.values()) else "")
        + f". Code `{training['git_commit'][:10]}`, {training['precision']}, "
        f"{training['hardware']['processor']}, PyTorch {training['versions']['torch']}. "
        "Minutes are of the fastest seed on one thread, often next to another training. "
        "Written by `python study/report.py` from results/.\n"
    )


def length_lines(groups: Groups, names: Sequence[str], score: Score) -> list[Line]:
    """Lines by source length, one for each of ``names``; floors are grey."""
    floors = [name for name in names if name in FLOORS]
    models = [name for name in names if name not in FLOORS]
    drawn = dict(zip(models, styles([groups[name][0].config for name in models]), strict=True))
    drawn |= {name: Style(FAINT, LINES[1 + i], "") for i, name in enumerate(floors)}
    return [
        Line(name, drawn[name], [score(pool, groups[name]) for pool in groups.buckets.values()])
        for name in names
    ]


def length_table(groups: Groups, names: Sequence[str], cell: Callable[[Pool, str], str]) -> str:
    """Table with a row for each bucket of source length and a column for each of ``names``."""
    rows = [
        [label, f"{pool.sentences:,}", *(cell(pool, name) for name in names)]
        for label, pool in groups.rows.items()
    ]
    return markdown_table(["source words", "n", *names], rows)
