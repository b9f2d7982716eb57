"""The stage ``compare``: evaluation folders in; table, figures, page and numbers out."""

import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from glob import glob
from operator import attrgetter
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from seq2seq.config import CompareConfig, read_json, require_choice, shown_names
from seq2seq.data.text import read_lines
from seq2seq.drawing import render
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import ALIGNMENT, AlignmentRecord
from seq2seq.evaluation.comparison import Comparison, compare_systems
from seq2seq.evaluation.folder import COUNTS, SCORES, find_evaluations, read_evaluation
from seq2seq.files import named_file, parse_object, write_json, write_whole
from seq2seq.report import tables
from seq2seq.report.attention_figure import attention_figure, focus_figure, mean_by_bucket
from seq2seq.report.findings import change_in_words, conclusion, findings
from seq2seq.report.length_figure import heatmap, length_figure
from seq2seq.report.live.contents import comparison_page
from seq2seq.report.loss_figure import learning_curves, position_figure
from seq2seq.report.page import render_page
from seq2seq.report.sentences import examples
from seq2seq.report.training_runs import (
    TrainingRun,
    losses_caveat,
    training_notes,
    training_runs,
    training_table,
)

log = logging.getLogger(__name__)

MANY_SYSTEMS = 4
"""Number of systems above which a heatmap is added, because lines cover each other."""


def compare(config: CompareConfig) -> Comparison:
    """Compare evaluation folders and write the report to ``config.output``.

    Writes table.md, table.tex (the first table), table.csv (BLEU without rounding), scores.json
    (scores and gaps), page.html, and live.html with the systems that fit into it, if any
    (:mod:`seq2seq.report.live.contents`). Draws these figures, if they have data, as .png and .svg:

    - ``figure``: BLEU by source length, also as .pdf;
    - ``heatmap``: BLEU by system and source length, for more than four systems;
    - ``attention-<system>``: maps of the first seed of each system with attention;
    - ``focus``: attention by source length;
    - ``loss-by-position``: loss by position in the reference;
    - ``curves``: learning curves of the trainings whose folders still exist.

    Removes other files that an earlier comparison wrote to ``config.output``. UserError if
    ``evaluations`` is empty, ``output`` holds an evaluation, a folder is missing or damaged, or a
    label is invalid, and for the reasons that :func:`compare_systems` names.
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
    file = config.training_text
    training = read_lines(named_file("training_text", file)) if file else None
    comparison = compare_systems(evaluations, baseline, config.evaluation, baselines, training)
    runs = training_runs(comparison)
    conclusions = findings(comparison)
    figures = _figures(comparison, runs)
    made = [
        tables.bleu_table(comparison),
        *([tables.growth_table(comparison)] if comparison.gaps else []),
        *tables.gap_tables(comparison),
        *tables.half_length_table(comparison),
        *tables.recall_tables(comparison),
        *tables.detail_tables(comparison),
        *alignment_tables(comparison),
        *([training_table(runs)] if runs else []),
    ]
    remarks = [*tables.notes(comparison), *training_notes(comparison, runs)]
    markdown = "\n".join(
        [
            f"# BLEU by source length: {tables.heading(comparison)}\n",
            *(f"- {finding}" for finding in conclusions),
            f"\n![{conclusion(comparison)}](figure.svg)\n",
            *(table.markdown() for table in made),
            *(f"- {note}" for note in remarks),
            "",
        ]
    ).replace("<", "&lt;")  # names of systems may come from a stranger's evaluation
    pictures = {title: (alt, forms["svg"]) for title, alt, forms in list(figures.values())[1:]}
    live = comparison_page(comparison)
    shown = comparison, conclusions, pictures, made, remarks, examples(comparison)
    page = render_page(*shown, live is not None)

    output.mkdir(parents=True, exist_ok=True)
    files = {
        f"{name}.{form}": f for name, (*_, forms) in figures.items() for form, f in forms.items()
    }
    files |= {"table.md": markdown.encode(), "table.tex": made[0].latex().encode()}
    files |= {"table.csv": tables.score_csv(comparison).encode(), "page.html": page}
    files |= {"live.html": live} if live else {}
    for name in _earlier_files(output / SCORES) - files.keys():
        (output / name).unlink(missing_ok=True)
    for name, content in files.items():
        write_whole(output / name, content)
    write_json(
        output / SCORES, {**_numbers(comparison), "findings": conclusions, "files": sorted(files)}
    )
    log.info("Wrote table, figures, page and numbers to %s", output)
    return comparison


def _figures(
    comparison: Comparison, runs: Sequence[TrainingRun]
) -> dict[str, tuple[str, str, Mapping[str, bytes]]]:
    """Return file name -> (title, finding, images) of each figure that has data."""
    systems, result = comparison.systems, conclusion(comparison)
    drawn: dict[str, tuple[str, str, Callable[[], Figure | None]]] = {}
    drawn["figure"] = "BLEU by source length", result, partial(length_figure, comparison)
    if len(systems) > MANY_SYSTEMS:
        drawn["heatmap"] = "BLEU by system and source length", result, partial(heatmap, comparison)
    what = "Entropy of attention in nats, shortest to longest sources"
    found = {s.name: mean_by_bucket(comparison, s, attrgetter("entropy")) for s in systems}
    for system, (colour, *_) in zip(systems, comparison.looks, strict=True):
        if system.first.texts.maps:
            name = re.sub(r"[^\w.+-]", "_", system.name)
            while f"attention-{name}" in drawn:
                name += "_"
            finding = change_in_words(what, {system.name: found[system.name]})
            maps = partial(attention_figure, system, colour)
            drawn[f"attention-{name}"] = f"Attention maps: {system.name}", finding, maps
    finding, focus = change_in_words(what, found), partial(focus_figure, comparison)
    drawn["focus"] = "Attention by source length", finding, focus
    found = {system.name: [row.loss for row in system.buckets] for system in systems}
    finding = change_in_words("Loss in nats per piece, shortest to longest sources", found)
    positions = partial(position_figure, comparison, losses_caveat(comparison))
    drawn["loss-by-position"] = "Loss by position in the reference", finding, positions
    found = {run.record.name: [*run.losses[:1], *sorted(run.losses)[:1]] for run in runs}
    finding = change_in_words("Dev loss in nats per piece, first to best validation", found)
    curves = partial(learning_curves, runs)
    drawn["curves"] = "Learning curves", finding, curves
    return {
        name: (title, finding, forms)
        for name, (title, finding, lay_out) in drawn.items()
        if (forms := render(lay_out, forms=("png", "svg", *["pdf"] * (name == "figure"))))
    }


def alignment_tables(comparison: Comparison) -> list[tables.Table]:
    """Table of alignment error rates, see ``score_alignment``; [] without them."""
    rows = []
    for system, evaluation in ((s, e) for s in comparison.systems for e in s.evaluations):
        path = evaluation.directory / ALIGNMENT
        if not path.is_file():
            continue
        scores = read_json(path, AlignmentRecord, "delete it, and evaluate again")
        before, found, after = (scores.shifts[by] for by in ("-1", "0", "1"))
        numbers = [found.aer, found.precision, found.recall]
        numbers += [moved.aer for moved in (before, after, scores.diagonal)]
        name = replace(evaluation.record, system=system.name).name
        rows.append([name, *(f"{number:.3f}" for number in numbers)])
    header = ["system", "AER", "precision", "recall", "AER, links moved by -1", "by +1"]
    caption = "Alignment error rate of attention (Och & Ney 2003; 0 is best)"
    return [tables.Table(caption, [*header, "AER of a diagonal"], rows)] if rows else []


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
                "trend": system.trend and _finite(asdict(system.trend)),
                "known_bits": system.known_bits and _finite(asdict(system.known_bits)),
            }
            for system in comparison.systems
        ],
        "gaps": [asdict(gap) for gap in comparison.gaps],
        "recall": {key: asdict(recall) for key, recall in comparison.recall.items()},
        "config_differences": comparison.config_differences,
        "signatures": comparison.signatures,
        "settings": asdict(comparison.settings),
    }


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    """Replace an infinite half-length by None, as JSON has no infinity."""
    return {
        key: _finite(value) if isinstance(value, dict) else None if value == math.inf else value
        for key, value in numbers.items()
    }


def _earlier_files(scores: Path) -> set[str]:
    """Names of the files that an earlier comparison wrote into the folder."""
    try:
        return {Path(name).name for name in parse_object(scores.read_bytes())["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
