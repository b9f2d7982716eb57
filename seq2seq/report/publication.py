"""The stage ``publish``: results into a document, so that no figure in it is typed by hand.

The document marks where each belongs: a comparison by experiment and folder, a benchmark by the
name of its file::

    <!-- results:quickstart/test-beam5 -->
    (everything here is replaced)
    <!-- /results -->

    <!-- summary:quickstart/test-beam5 -->
    (the same in short: the figure, and how baseline and gap change with length)
    <!-- /summary:quickstart/test-beam5 -->

    <!-- details:quickstart/test-beam5 -->
    (its other scores: chrF, brevity, cap hits; what the text is known by)
    <!-- /details:quickstart/test-beam5 -->

    <!-- focus:quickstart/test-beam5 -->
    (figures: how sharply its systems looked, and with ``places`` where the references are lost)
    <!-- /focus:quickstart/test-beam5 -->

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

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from seq2seq.config import EvaluationConfig, PublishConfig, from_json
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import Evaluation, read_evaluation
from seq2seq.evaluation.systems import Comparison, compare_systems, require_same_test_set
from seq2seq.files import parse_object
from seq2seq.report.alignment_table import alignment_markdown
from seq2seq.report.attention_figure import render_attention
from seq2seq.report.curves import render_curves
from seq2seq.report.draft import Draft, read_markdown
from seq2seq.report.figures import render_length_figure
from seq2seq.report.findings import curve_in_words, findings, growth_in_words
from seq2seq.report.focus_figure import render_focus
from seq2seq.report.heatmap import MANY_SYSTEMS, render_heatmap
from seq2seq.report.paper_table import paper_markdown
from seq2seq.report.position_figure import render_positions
from seq2seq.report.provenance import budget, commands, provenance
from seq2seq.report.score_list import score_list_markdown
from seq2seq.report.side_by_side import SideBySide
from seq2seq.report.tables import DETAIL_NOTES, bleu_table, detail_table, gap_table, notes
from seq2seq.report.training_runs import (
    read_training_run,
    training_runs_markdown,
)

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
    for folder in map(Path, config.summaries):
        _fill_summary(draft, folder)
    for folder in map(Path, config.details):
        _fill_details(draft, folder)
    for folder in map(Path, config.focus):
        title = "Attention by source length"
        _fill_figure(draft, folder, "focus", title, render_focus)
    for folder in map(Path, config.places):
        title = "Loss by place in the reference"
        _fill_figure(draft, folder, "places", title, render_positions)
    for table in map(Path, config.benchmarks):
        if not table.is_file():
            raise UserError(f"There is no benchmark {table}; run scripts/benchmark.py first.")
        draft.fill(f"benchmark:{table.stem}", read_markdown(table).rstrip())
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
    evaluations, comparison = _read_comparison(folder)
    experiment = _experiment(evaluations)
    pictures = [_show_lengths(draft, experiment, folder.name, comparison), ""]
    if len(comparison.systems) > MANY_SYSTEMS:
        heatmap = render_heatmap(comparison)["png"]
        title = f"BLEU by system and source length, {experiment}, {folder.name}"
        pictures += [draft.show(f"{experiment}-{folder.name}-map", heatmap, title), ""]
    part = [
        *pictures,
        bleu_table(comparison),
        *filter(None, [gap_table(comparison)]),
        *(f"- {finding}" for finding in findings(comparison)),
        *(f"- {line}" for line in budget(evaluations, comparison.systems, comparison.gaps)),
        *(f"- {line}" for line in provenance(evaluations, comparison.systems)),
        "",
        "<details><summary>How to read the table</summary>",
        "",
        *(f"- {note}" for note in notes(comparison)),
        "",
        "</details>",
    ]
    draft.fill(f"results:{experiment}/{folder.name}", "\n".join(part), end="results")


def _fill_summary(draft: Draft, folder: Path) -> None:
    """The figure, what the systems beside the first say of the claim, and the commands."""
    evaluations, comparison = _read_comparison(folder)
    experiment = _experiment(evaluations)
    baseline, *others = comparison.systems
    gaps = [gap for gap in comparison.gaps if gap.baseline == baseline.name]
    confidence = comparison.settings.confidence
    beside = [system for system in others if system.name in {gap.system for gap in gaps}]
    said = [
        *(curve_in_words(system, confidence) for system in (baseline, *beside)),
        *dict.fromkeys(growth_in_words(gap, confidence) for gap in gaps),  # or the test set's lack
        *budget(evaluations, comparison.systems, gaps),
    ]
    part = [
        _show_lengths(draft, experiment, folder.name, comparison),
        "",
        *(f"- {line}" for line in [*said, *commands(evaluations)]),
    ]
    draft.fill(f"summary:{experiment}/{folder.name}", "\n".join(part))


def _fill_details(draft: Draft, folder: Path) -> None:
    """The scores beside BLEU, and by what the text can be told from another."""
    evaluations, comparison = _read_comparison(folder)
    identities = [evaluation.record.get("identity") or {} for evaluation in evaluations]
    texts = dict.fromkeys(
        f"SHA-256 of the text: source `{found['source_sha256'][:16]}`, reference "
        f"`{found['reference_sha256'][:16]}`."
        for found in identities
        if found
    )
    part = [detail_table(comparison), *(f"- {line}" for line in (*DETAIL_NOTES, *texts))]
    draft.fill(f"details:{_experiment(evaluations)}/{folder.name}", "\n".join(part))


def _fill_figure(
    draft: Draft,
    folder: Path,
    kind: str,
    title: str,
    draw: Callable[[SideBySide], dict[str, bytes]],
) -> None:
    """A figure of what the models said of the references, and the commands."""
    evaluations, comparison = _read_comparison(folder)
    drawn = draw(SideBySide.of(comparison, evaluations))
    if not drawn:
        raise UserError(
            f"The evaluations behind {folder} do not hold what {kind} shows; evaluate models that "
            "attend, with this version."
        )
    experiment = _experiment(evaluations)
    name = f"{experiment}-{folder.name}-{kind}"
    link = draft.show(name, drawn["png"], f"{title}, {experiment}, {folder.name}")
    made = [f"- {line}" for line in commands(evaluations)]
    draft.fill(f"{kind}:{experiment}/{folder.name}", "\n".join([link, "", *made]))


def _show_lengths(draft: Draft, experiment: str, name: str, comparison: Comparison) -> str:
    """The figure of a comparison."""
    figure = render_length_figure(comparison)["png"]
    return draft.show(
        f"{experiment}-{name}", figure, f"BLEU by source length, {experiment}, {name}"
    )


def _experiment(evaluations: Sequence[Evaluation]) -> str:
    """What the marks and figures of a comparison are called by."""
    return next((name for e in evaluations if (name := e.record.get("experiment"))), "none")


def _read_comparison(folder: Path) -> tuple[list[Evaluation], Comparison]:
    """The evaluations behind a comparison, compared again."""
    path = folder / "comparison.json"
    if not path.is_file():
        raise UserError(f"{folder} holds no finished comparison; run reproduce or compare first.")
    try:
        content = parse_object(path.read_bytes())
        systems = content["systems"]
        names = [name for system in systems for name in system["evaluations"]]
        baseline = systems[0]["name"]
        baselines = {gap["system"]: gap["baseline"] for gap in content["gaps"]}
        settings = from_json(EvaluationConfig, content["settings"], str(path))
    except (ValueError, KeyError, IndexError, TypeError):
        raise UserError(f"{path} is damaged; run reproduce or compare again.") from None
    evaluations = [read_evaluation(Path(name)) for name in names]
    return evaluations, compare_systems(evaluations, baseline, settings, baselines)


def _read_evaluations(folders: Sequence[str]) -> list[Evaluation]:
    """Evaluations whose scores may stand side by side."""
    evaluations = [read_evaluation(Path(folder)) for folder in folders]
    for other in evaluations[1:]:
        require_same_test_set(evaluations[0], other)
    return evaluations
