"""The stage ``compare``: evaluation folders in; table, figures, page and numbers out."""

import logging
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from glob import glob
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from seq2seq.config import CompareConfig, require_choice, shown_names
from seq2seq.drawing import render
from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import COUNTS, SCORES, find_evaluations, read_evaluation
from seq2seq.files import parse_object, write_json, write_whole
from seq2seq.report import tables
from seq2seq.report.attention_figure import attention_figure
from seq2seq.report.findings import conclusion
from seq2seq.report.learning_curves import learning_curves
from seq2seq.report.length_figure import length_figure
from seq2seq.report.live.contents import comparison_page
from seq2seq.report.page import render_page
from seq2seq.report.sentences import examples
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
    if not config.evaluations:
        raise UserError("evaluations is empty; set evaluations=[first/folder,second/folder].")
    folders = [
        path
        for name in config.evaluations
        for path in sorted(glob(name)) or [name]  # noqa: PTH207
    ]
    evaluations = [read_evaluation(folder) for folder in find_evaluations(map(Path, folders))]
    names = shown_names(dict.fromkeys(e.record.system for e in evaluations), config.labels)
    for name in config.labels:
        require_choice("labels", name, names)
    for record in (evaluation.record for evaluation in evaluations):
        record.system = names[record.system]
    baseline = config.baseline and names.get(config.baseline, config.baseline)
    baselines = {names.get(a, a): names.get(b, b) for a, b in config.baselines.items()}
    comparison = compare_systems(evaluations, baseline, config.evaluation, baselines)
    runs, result = training_runs(comparison), conclusion(comparison)
    figures = _figures(comparison, runs)
    made = [
        tables.bleu_table(comparison),
        *([tables.growth_table(comparison)] if comparison.gaps else []),
        *tables.gap_tables(comparison),
        *tables.half_length_table(comparison),
        *tables.detail_tables(comparison),
        *([training_table(runs)] if runs else []),
    ]
    remarks = [*tables.notes(comparison), *training_notes(comparison, runs)]
    markdown = "\n".join(
        [
            f"# {result}\n",
            f"{tables.title(comparison)}.\n",
            f"![{result}](figure.svg)\n",
            *(table.markdown() for table in made),
            *(f"- {note}" for note in remarks),
            "",
        ]
    ).replace("<", "&lt;")  # names of systems may come from a stranger's evaluation
    pictures = {title: forms["svg"] for title, forms in list(figures.values())[1:]}
    live = comparison_page(comparison)
    shown = comparison, pictures, made, remarks, examples(comparison)
    page = render_page(*shown, live is not None)

    output.mkdir(parents=True, exist_ok=True)
    files = {
        f"{name}.{form}": f for name, (_, forms) in figures.items() for form, f in forms.items()
    }
    files |= {"table.md": markdown.encode(), "table.tex": made[0].latex().encode()}
    files |= {"table.csv": tables.score_csv(comparison).encode(), "page.html": page}
    files |= {"live.html": live} if live else {}
    for name in _earlier_files(output / SCORES) - files.keys():
        (output / name).unlink(missing_ok=True)
    for name, content in files.items():
        write_whole(output / name, content)
    write_json(
        output / SCORES, {**_numbers(comparison), "conclusion": result, "files": sorted(files)}
    )
    log.info("Wrote table, figures, page and numbers to %s", output)
    return comparison


def _figures(
    comparison: Comparison, runs: Sequence[TrainingRun]
) -> dict[str, tuple[str, dict[str, bytes]]]:
    """Return file name -> title and images of each figure that has data."""
    drawn: dict[str, tuple[str, Callable[[], Figure | None]]] = {}
    drawn["figure"] = "BLEU by source length", partial(length_figure, comparison)
    for system, (colour, *_) in zip(comparison.systems, comparison.looks, strict=True):
        if system.first.texts.maps:
            name = re.sub(r"[^\w.+-]", "_", system.name)
            while f"attention-{name}" in drawn:
                name += "_"
            maps = partial(attention_figure, system, colour)
            drawn[f"attention-{name}"] = f"Attention maps: {system.name}", maps
    drawn["curves"] = "Learning curves", partial(learning_curves, runs)
    return {
        name: (title, forms)
        for name, (title, lay_out) in drawn.items()
        if (forms := render(lay_out, forms=("svg", "pdf")))
    }


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
                "half_length": system.half_length and _finite(asdict(system.half_length)),
            }
            for system in comparison.systems
        ],
        "gaps": [asdict(gap) for gap in comparison.gaps],
        "config_differences": comparison.config_differences,
        "signatures": comparison.signatures,
        "settings": asdict(comparison.settings),
    }


def _finite(numbers: dict[str, float]) -> dict[str, float | None]:
    """Replace infinity by None, as JSON has no infinity."""
    return {key: None if math.isinf(value) else value for key, value in numbers.items()}


def _earlier_files(scores: Path) -> set[str]:
    """Names of the files that an earlier comparison wrote into the folder."""
    try:
        return {Path(name).name for name in parse_object(scores.read_bytes())["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
