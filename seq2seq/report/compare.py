"""The stage ``compare``: evaluation folders in; table, figures, page and numbers out."""

import contextlib
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from seq2seq.config import CompareConfig, require_choice, shown_names
from seq2seq.drawing import render, styles
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import COUNTS, SCORES, find_evaluations, read_evaluation
from seq2seq.files import parse_object, write_json, write_whole
from seq2seq.report import tables
from seq2seq.report.figures import attention_figure, learning_curves, length_figure
from seq2seq.report.live import live_page
from seq2seq.report.page import render_page
from seq2seq.report.training_runs import TrainingRun, training_notes, training_runs, training_table

log = logging.getLogger(__name__)


def compare(config: CompareConfig) -> Comparison:
    """Compare evaluation folders and write the report to ``config.output``.

    Files that an earlier comparison wrote there are replaced or removed.
    """
    output = Path(config.output)
    if (output / COUNTS).exists():
        raise UserError(
            f"output={output} holds an evaluation, whose scores would be lost; set "
            "output=ANOTHER_FOLDER."
        )
    comparison = _compared(config)
    runs = training_runs(comparison)
    found = [
        tables.bleu_table(comparison),
        tables.growth_table(comparison),
        *tables.gap_tables(comparison),
        *tables.segment_tables(comparison),
        *tables.detail_tables(comparison),
        training_table(runs),
    ]
    filled = [table for table in found if table.rows]
    remarks = [*tables.notes(comparison), *training_notes(comparison, runs)]
    files: dict[str, bytes] = {}
    pictures: dict[str, bytes] = {}
    for name, (title, lay_out) in _figures(comparison, runs).items():
        forms = render(lay_out, forms=("svg", "pdf"))
        files |= {f"{name}.{form}": image for form, image in forms.items()}
        if name != "figure":  # the page draws it itself
            pictures[title] = forms["svg"]
    if live := live_page(comparison):
        files["live.html"] = live
    files["page.html"] = render_page(comparison, pictures, filled, remarks, bool(live))
    files["table.md"] = _markdown(comparison, filled, remarks).encode()
    files["table.tex"] = tables.bleu_table(comparison, 2).latex().encode()

    output.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        earlier = parse_object((output / SCORES).read_bytes())["files"]
        for name in {Path(name).name for name in earlier} - files.keys():
            (output / name).unlink(missing_ok=True)
    for name, content in files.items():
        write_whole(output / name, content)
    write_json(output / SCORES, {**_numbers(comparison), "files": sorted(files)})
    log.info("Wrote table, figures, page and numbers to %s", output)
    return comparison


def _compared(config: CompareConfig) -> Comparison:
    """Read the evaluations, name them by their labels, and compare them."""
    folders = [
        path
        for name in config.evaluations
        for path in sorted(glob(name)) or [name]  # noqa: PTH207
    ]
    evaluations = [read_evaluation(folder) for folder in find_evaluations(map(Path, folders))]
    names = shown_names(dict.fromkeys(e.record.system for e in evaluations), config.labels)
    for name in config.labels:
        require_choice("labels", name, names)
    for evaluation in evaluations:
        evaluation.record.system = names[evaluation.record.system]
    baseline = config.baseline and names.get(config.baseline, config.baseline)
    baselines = {names.get(a, a): names.get(b, b) for a, b in config.baselines.items()}
    return compare_systems(evaluations, baseline, config.evaluation, baselines)


def _figures(
    comparison: Comparison, runs: Sequence[TrainingRun]
) -> dict[str, tuple[str, Callable[[], Figure]]]:
    """File name -> title and drawing of each figure that has data."""
    found: dict[str, tuple[str, Callable[[], Figure]]] = {
        "figure": (comparison.settings.caption, partial(length_figure, comparison))
    }
    for system, style in zip(comparison.systems, styles(comparison.configs), strict=True):
        if system.first.texts.maps:
            name = "attention-" + re.sub(r"[^\w.+-]", "_", system.name)
            while name in found:
                name += "_"
            draw = partial(attention_figure, system, style.color)
            found[name] = f"Attention maps: {system.name}", draw
    if any(run.validations for run in runs):
        found["curves"] = "Learning curves", partial(learning_curves, runs)
    return found


def _markdown(comparison: Comparison, found: Sequence[tables.Table], remarks: Sequence[str]) -> str:
    result = tables.conclusion(comparison)
    lines = [f"# {result}\n", f"{tables.title(comparison)}.\n", f"![{result}](figure.svg)\n"]
    lines += [table.markdown() for table in found] + [f"- {note}" for note in remarks]
    # Names of systems may come from a stranger's evaluation.
    return "\n".join([*lines, ""]).replace("<", "&lt;")


def _numbers(comparison: Comparison) -> dict[str, Any]:
    """Scores, gaps and settings of a comparison, as JSON."""
    return {
        "corpus": comparison.corpus,
        "test_set": comparison.test_set,
        "search": comparison.search,
        "sentences": comparison.sentences,
        "systems": [
            {
                "name": system.name,
                "seeds": system.seeds,
                "evaluations": [str(evaluation.directory) for evaluation in system.evaluations],
                "rows": [row.as_json() for row in system.rows],
            }
            for system in comparison.systems
        ],
        "gaps": [asdict(gap) for gap in comparison.gaps],
        "config_differences": comparison.config_differences,
        "signatures": comparison.signatures,
        "settings": asdict(comparison.settings),
        "conclusion": tables.conclusion(comparison),
    }
