"""The stage ``compare``: evaluation folders in; a table, a figure, a page and their numbers out."""

import dataclasses
import logging
import re
from dataclasses import dataclass
from pathlib import Path

from seq2seq.config import CompareConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.systems import Comparison, compare_systems
from seq2seq.files import parse_object, write_json, write_whole
from seq2seq.report.attention_figure import render_attention
from seq2seq.report.figures import render_length_figure
from seq2seq.report.findings import findings
from seq2seq.report.focus_figure import render_focus
from seq2seq.report.heatmap import MANY_SYSTEMS, render_heatmap
from seq2seq.report.page.content import page_content
from seq2seq.report.page.render import render_page
from seq2seq.report.position_figure import render_positions
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.tables import comparison_csv, comparison_markdown

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ComparisonReport:
    """A comparison and what was written about it."""

    comparison: Comparison
    findings: list[str]
    markdown: str
    directory: Path


def compare(config: CompareConfig) -> ComparisonReport:
    """Compare evaluation folders and write the report to ``config.output``.

    Writes table.md, table.csv, figure.png, figure.svg, page.html to look into the systems with a
    browser and, last, comparison.json with every number of the tables. Besides, each as .png and
    .svg: heatmap for more than four systems; attention-<system> for each that attends, of its first
    seed, and focus, how sharply they looked by source length; loss-by-place where models were asked
    about the references. Such files of an earlier comparison in the folder go. The order of
    ``config.evaluations`` matters for the default baseline alone.

    Raises:
        UserError: no folder named, a folder missing or damaged, different test sets, the same
            system and seed twice, or an unknown baseline.
    """
    if not config.evaluations:
        raise UserError(
            "evaluations is empty; name the evaluation folders to compare, "
            "such as evaluations=[first/folder,second/folder]."
        )
    evaluations = [read_evaluation(Path(folder)) for folder in config.evaluations]
    comparison = compare_systems(evaluations, config.baseline, config.evaluation, config.baselines)
    said = findings(comparison)
    markdown = comparison_markdown(comparison, said)
    figures = {
        f"figure.{form}": picture for form, picture in render_length_figure(comparison).items()
    }
    if len(comparison.systems) > MANY_SYSTEMS:
        pictures = render_heatmap(comparison).items()
        figures |= {f"heatmap.{form}": picture for form, picture in pictures}
    for system in comparison.systems:
        first = next(e for e in evaluations if str(e.directory) == system.evaluations[0])
        if first.texts.maps:
            pictures = render_attention(first).items()
            figures |= {f"attention-{_file(system.name)}.{form}": p for form, p in pictures}
    sides = SideBySide.of(comparison, evaluations)
    figures |= {f"focus.{form}": picture for form, picture in render_focus(sides).items()}
    maps = render_positions(sides).items()
    figures |= {f"loss-by-place.{form}": picture for form, picture in maps}
    page = render_page(page_content(sides, said))

    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    before = _figures_of(output / "comparison.json")
    write_whole(output / "table.md", markdown.encode())
    write_whole(output / "table.csv", comparison_csv(comparison).encode())
    for name, picture in figures.items():
        write_whole(output / name, picture)
    write_whole(output / "page.html", page)
    numbers = {"format": 1, **dataclasses.asdict(comparison), "findings": said}
    write_json(output / "comparison.json", numbers)
    for name in before - figures.keys():
        (output / name).unlink(missing_ok=True)
    logger.info("Wrote table, figure, page and numbers to %s", output)
    return ComparisonReport(comparison, said, markdown, output)


def _figures_of(comparison: Path) -> set[str]:
    """What an earlier comparison, of other systems, may have drawn beside its numbers."""
    try:
        systems = parse_object(comparison.read_bytes())["systems"]
        drawn = ["heatmap", "focus", "loss-by-place"]
        drawn += [f"attention-{_file(system['name'])}" for system in systems]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {f"{name}.{form}" for name in drawn for form in ("png", "svg")}


def _file(name: str) -> str:
    """A system's name as a part of a file's."""
    return re.sub(r"[^\w.+-]", "_", name)
