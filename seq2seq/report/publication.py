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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.config import CompareConfig, EvaluationConfig, PublishConfig, from_json
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.given import GIVEN
from seq2seq.evaluation.systems import compare_systems
from seq2seq.record import describe_environment
from seq2seq.report.alignment_table import alignment_markdown
from seq2seq.report.attention_figure import render_attention
from seq2seq.report.benchmark_figure import read_panel, render_benchmark_figure
from seq2seq.report.curves import render_curves
from seq2seq.report.draft import Draft
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
            mark for it; nothing is written then.
    """
    draft = Draft(Path(config.document), Path(config.pictures))
    for folder in map(Path, config.comparisons):
        _fill_comparison(draft, folder)
    for table in map(Path, config.benchmarks):
        if not table.is_file():
            raise UserError(f"There is no benchmark {table}; run scripts/benchmark.py first.")
        draft.fill(f"benchmark:{table.stem}", table.read_text(encoding="utf-8").rstrip())
    if config.benchmarks and draft.has("benchmark:picture"):
        _fill_benchmark_picture(draft, config.benchmarks)
    for name, folders in config.runs.items():
        runs = [read_training_run(Path(folder)) for folder in folders]
        draft.fill(f"runs:{name}", training_runs_markdown(runs))
    for name, folders in config.scores.items():
        draft.fill(f"scores:{name}", score_list_markdown(_read_evaluations(folders)))
    for name, folders in config.curves.items():
        runs = [read_training_run(Path(folder)) for folder in folders]
        curves = render_curves(runs)["png"]
        title = f"Dev loss and dev BLEU by updates, {name}"
        draft.fill(f"curves:{name}", draft.show(f"{name}-curves", curves, title))
    for name, folders in config.alignments.items():
        draft.fill(f"alignments:{name}", alignment_markdown(folders))
    for name, folders in config.table_1.items():
        draft.fill(f"table_1:{name}", paper_markdown(_read_evaluations(folders)))
    for name, place in config.maps.items():
        evaluation = read_evaluation(Path(place))
        drawn = render_attention(evaluation, config.lines.get(name, ()))["png"]
        link = draft.show(f"{name}-attention", drawn, f"Attention, {name}")
        made = [f"- {line}" for line in provenance([evaluation])]
        draft.fill(f"maps:{name}", "\n".join([link, "", *made]))
    draft.write()
    log.info("Wrote %d result(s) into %s", draft.filled, draft.document)


def _fill_comparison(draft: Draft, folder: Path) -> None:
    """Figure, tables, findings, and how they came about."""
    evaluations, compared = _read_comparison(folder)
    experiment = next((name for e in evaluations if (name := e.record.get("experiment"))), "none")
    comparison = compare_systems(
        evaluations, compared.baseline, compared.evaluation, compared.baselines
    )
    what, name = f"{experiment}, {folder.name}", f"{experiment}-{folder.name}"
    figure = render_length_figure(comparison)["png"]
    links = [draft.show(name, figure, f"BLEU by source length, {what}"), ""]
    if len(comparison.systems) > MANY_SYSTEMS:
        heatmap = render_heatmap(comparison)["png"]
        title = f"BLEU by system and source length, {what}"
        links += [draft.show(f"{name}-map", heatmap, title), ""]
    part = [
        *links,
        bleu_table(comparison),
        *filter(None, [gap_table(comparison)]),
        *(f"- {finding}" for finding in findings(comparison)),
        *(f"- {line}" for line in provenance(evaluations)),
    ]
    draft.fill(f"results:{experiment}/{folder.name}", "\n".join(part), end="results")


def _fill_benchmark_picture(draft: Draft, tables: Sequence[str]) -> None:
    """One figure of the sizes that have stages to draw."""
    panels = [panel for t in tables if (panel := read_panel(Path(t).with_suffix(".json")))]
    if panels:
        names = [panel.name for panel in panels]
        figure = render_benchmark_figure(panels)["png"]
        title = f"Time of one update by stages, {', '.join(names)}"
        link = draft.show(f"benchmark-{'-'.join(names)}", figure, title)
        draft.fill("benchmark:picture", link)


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


def provenance(evaluations: Sequence[Evaluation]) -> list[str]:
    """How each result came about: model, updates, time, seed; command, hardware, versions."""
    lines, settings = [], []
    for evaluation in evaluations:
        record = evaluation.record
        if record.get("search") == GIVEN:
            lines.append(f"{record.get('system')}: translations that were given.")
            continue
        training: dict[str, Any] | None = record.get("training")
        said = (
            f"{record.get('system')}, seed {record.get('seed')}: "
            f"{record.get('parameters', {}).get('total', 0):,} parameters, "
        )
        if training is None:  # the checkpoint was taken elsewhere without its run
            lines.append(
                f"{said}how it was trained is not recorded; "
                f"{record.get('sentences_per_second')} sentences/s at this search."
            )
            settings.append(describe_environment(record))
            continue
        progress = training.get("progress", {})
        minutes = progress.get("seconds", 0.0) / 60
        lines.append(
            f"{said}{progress.get('update', 0):,} updates ({progress.get('epoch', 0)} epochs) in "
            f"{minutes:.1f} minutes, best after {progress.get('best_update', 0):,}; "
            f"{record.get('sentences_per_second')} sentences/s at this search."
        )
        settings.append(describe_environment(training, training.get("precision")))
    return [*lines, *dict.fromkeys(settings)]  # what holds for all is said once
