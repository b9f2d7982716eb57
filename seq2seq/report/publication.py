"""The stage ``publish``: results into a document, so that no figure in it is typed by hand.

The document marks where each belongs: a comparison by experiment and folder, a benchmark by the
name of its file::

    <!-- results:quickstart/test-beam5 -->
    (everything here is replaced)
    <!-- /results -->

    <!-- benchmark:m -->
    (and here)
    <!-- /benchmark:m -->

    <!-- benchmark:picture -->
    (one figure of all sizes named in the call; a document may do without)
    <!-- /benchmark:picture -->

    <!-- runs:agreement -->
    (a table of training runs, under a name that the call gives it)
    <!-- /runs:agreement -->

    <!-- scores:multi30k -->
    (a table of scores, likewise)
    <!-- /scores:multi30k -->

    <!-- curves:figure2 -->
    (a figure of learning curves, likewise)
    <!-- /curves:figure2 -->

    <!-- alignments:hansards -->
    (a table of alignment error rates, likewise)
    <!-- /alignments:hansards -->

    <!-- table_1:figure2 -->
    (a table beside that of the paper, likewise)
    <!-- /table_1:figure2 -->

    <!-- maps:multi30k -->
    (a figure of attention, likewise)
    <!-- /maps:multi30k -->
"""

import json
import logging
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.config import CompareConfig, EvaluationConfig, PublishConfig, from_json
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.given import GIVEN
from seq2seq.evaluation.systems import compare_systems
from seq2seq.files import write_whole
from seq2seq.record import describe_environment
from seq2seq.report.alignment_table import alignment_markdown
from seq2seq.report.attention_figure import render_attention
from seq2seq.report.benchmark_figure import read_panel, render_benchmark_figure
from seq2seq.report.curves import render_curves
from seq2seq.report.figures import render_length_figure
from seq2seq.report.findings import findings
from seq2seq.report.heatmap import MANY_SYSTEMS, render_heatmap
from seq2seq.report.paper_table import paper_markdown
from seq2seq.report.score_list import same_texts, score_list_markdown
from seq2seq.report.tables import bleu_table, gap_table
from seq2seq.report.training_runs import read_training_run, training_runs_markdown

log = logging.getLogger(__name__)


def publish(config: PublishConfig) -> None:
    """Fill the marked parts of ``config.document`` and copy the figures it shows.

    Raises:
        UserError: a comparison, a benchmark or a run is missing or damaged, or the document has no
            mark for it.
    """
    document = Path(config.document)
    if not document.is_file():
        raise UserError(f"There is no document {document}; give document=... a Markdown file.")
    text = document.read_text(encoding="utf-8")
    pictures: dict[Path, bytes] = {}
    for folder in map(Path, config.comparisons):
        evaluations, compared = _read_comparison(folder)
        experiment = next(
            (name for e in evaluations if (name := e.record.get("experiment"))), "none"
        )
        marks = f"<!-- results:{experiment}/{folder.name} -->", "<!-- /results -->"
        picture = Path(config.pictures) / f"{experiment}-{folder.name}.png"
        comparison = compare_systems(
            evaluations, compared.baseline, compared.evaluation, compared.baselines
        )
        pictures[picture] = render_length_figure(comparison)["png"]
        links = [
            _link(picture, f"BLEU by source length, {experiment}, {folder.name}", document),
            "",
        ]
        if len(comparison.systems) > MANY_SYSTEMS:
            picture = picture.with_name(f"{picture.stem}-map.png")
            pictures[picture] = render_heatmap(comparison)["png"]
            title = f"BLEU by system and source length, {experiment}, {folder.name}"
            links += [_link(picture, title, document), ""]
        part = "\n".join(
            [
                *links,
                bleu_table(comparison),
                *filter(None, [gap_table(comparison)]),
                *(f"- {finding}" for finding in findings(comparison)),
                *(f"- {line}" for line in provenance(evaluations)),
            ]
        )
        text = replace_part(text, marks, part, document)
    for table in map(Path, config.benchmarks):
        if not table.is_file():
            raise UserError(f"There is no benchmark {table}; run scripts/benchmark.py first.")
        marks = _marks(f"benchmark:{table.stem}")
        text = replace_part(text, marks, table.read_text(encoding="utf-8").rstrip(), document)
    marks = _marks("benchmark:picture")
    if config.benchmarks and marks[0] in text:
        files = [Path(table).with_suffix(".json") for table in config.benchmarks]
        if panels := [panel for panel in map(read_panel, files) if panel]:
            names = [panel.name for panel in panels]
            picture = Path(config.pictures) / f"benchmark-{'-'.join(names)}.png"
            pictures[picture] = render_benchmark_figure(panels)["png"]
            link = _link(picture, f"Time of one update by stages, {', '.join(names)}", document)
            text = replace_part(text, marks, link, document)
    for name, folders in config.runs.items():
        runs = [read_training_run(Path(folder)) for folder in folders]
        text = replace_part(text, _marks(f"runs:{name}"), training_runs_markdown(runs), document)
    for name, folders in config.scores.items():
        evaluations = _read_evaluations(folders)
        text = replace_part(
            text, _marks(f"scores:{name}"), score_list_markdown(evaluations), document
        )
    for name, folders in config.curves.items():
        runs = [read_training_run(Path(folder)) for folder in folders]
        picture = Path(config.pictures) / f"{name}-curves.png"
        pictures[picture] = render_curves(runs)["png"]
        link = _link(picture, f"Dev loss and dev BLEU by updates, {name}", document)
        text = replace_part(text, _marks(f"curves:{name}"), link, document)
    for name, folders in config.alignments.items():
        table_of_links = alignment_markdown(folders)
        text = replace_part(text, _marks(f"alignments:{name}"), table_of_links, document)
    for name, folders in config.table_1.items():
        beside = paper_markdown(_read_evaluations(folders))
        text = replace_part(text, _marks(f"table_1:{name}"), beside, document)
    for name, place in config.maps.items():
        evaluation = read_evaluation(Path(place))
        picture = Path(config.pictures) / f"{name}-attention.png"
        pictures[picture] = render_attention(evaluation, config.lines.get(name, ()))["png"]
        link = _link(picture, f"Attention, {name}", document)
        made = [f"- {line}" for line in provenance([evaluation])]
        text = replace_part(text, _marks(f"maps:{name}"), "\n".join([link, "", *made]), document)
    for picture, content in pictures.items():
        picture.parent.mkdir(parents=True, exist_ok=True)
        write_whole(picture, content)
    write_whole(document, text.encode())
    named = (config.runs, config.scores, config.curves, config.alignments, config.table_1)
    parts = (config.comparisons, config.benchmarks, *named, config.maps)
    count = sum(map(len, parts))
    log.info("Wrote %d result(s) into %s", count, document)


def _marks(name: str) -> tuple[str, str]:
    """The lines around the part of a document called ``name``."""
    return f"<!-- {name} -->", f"<!-- /{name} -->"


def _link(picture: Path, description: str, document: Path) -> str:
    """Markdown that shows ``picture`` in ``document``."""
    return f"![{description}]({Path(os.path.relpath(picture, document.parent)).as_posix()})"


def _read_comparison(folder: Path) -> tuple[list[Evaluation], CompareConfig]:
    """The evaluations behind a comparison, and how to make it again."""
    path = folder / "comparison.json"
    if not path.is_file():
        raise UserError(f"{folder} holds no finished comparison; run reproduce or compare first.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        systems = content["systems"]
        names = [name for system in systems for name in system["evaluations"]]
        compared = CompareConfig(
            evaluations=names,
            output=str(folder),
            baseline=systems[0]["name"],
            baselines={gap["system"]: gap["baseline"] for gap in content["gaps"]},
            evaluation=from_json(EvaluationConfig, content["settings"], str(path)),
        )
    except (ValueError, KeyError, IndexError, TypeError):
        raise UserError(f"{path} is damaged; run reproduce or compare again.") from None
    return [read_evaluation(Path(name)) for name in names], compared


def _read_evaluations(folders: Sequence[str]) -> list[Evaluation]:
    """Evaluations whose scores may stand side by side."""
    evaluations = [read_evaluation(Path(folder)) for folder in folders]
    for other in evaluations[1:]:
        if not same_texts(evaluations[0].texts, other.texts):
            raise UserError(
                f"{evaluations[0].directory} and {other.directory} are of different test sets; "
                "name evaluations of one."
            )
    return evaluations


def replace_part(text: str, marks: tuple[str, str], part: str, document: Path) -> str:
    """Put ``part`` between the two ``marks`` of ``text``."""
    start, end = marks
    # Up to the next end mark; another part's mark on the way means that this one has no end.
    pattern = re.compile(
        re.escape(start) + r"\n(?:(?!<!-- \w+:).)*?" + re.escape(end),
        re.DOTALL,
    )
    if not pattern.search(text):
        raise UserError(
            f"{document} has no place for this result; add the two lines {start} and {end}."
        )
    return pattern.sub(lambda _: f"{start}\n{part}\n{end}", text, count=1)


def provenance(evaluations: Sequence[Evaluation]) -> list[str]:
    """How each result came about: model, updates, time, seed; command, hardware, versions."""
    lines, settings = [], []
    for evaluation in evaluations:
        record = evaluation.record
        if record.get("search") == GIVEN:
            lines.append(f"{record.get('system')}: translations that were given.")
            continue
        training: dict[str, Any] = record.get("training") or {}
        progress = training.get("progress", {})
        minutes = progress.get("seconds", 0.0) / 60
        lines.append(
            f"{record.get('system')}, seed {record.get('seed')}: "
            f"{record.get('parameters', {}).get('total', 0):,} parameters, "
            f"{progress.get('update', 0):,} updates ({progress.get('epoch', 0)} epochs) in "
            f"{minutes:.1f} minutes, best after {progress.get('best_update', 0):,}; "
            f"{record.get('sentences_per_second')} sentences/s at this search."
        )
        settings.append(describe_environment(training, training.get("precision")))
    return [*lines, *dict.fromkeys(settings)]  # what holds for all is said once
