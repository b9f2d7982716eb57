"""The numbers, sentences and maps that a page shows, each counted another way."""

import dataclasses
import json
import math

import numpy as np
import pytest
import sacrebleu
from page_material import SETTINGS, attended, content_of
from synthetic_translations import evaluated, translated

from seq2seq.evaluation.scores import Translations
from seq2seq.evaluation.systems import compare_systems
from seq2seq.report.focus import by_bucket
from seq2seq.report.page.charts import ticks
from seq2seq.report.page.content import page_content
from seq2seq.report.page.render import render_page
from seq2seq.report.page.sentences import extremes
from seq2seq.report.page.tables import detail_tables
from seq2seq.report.positions import EDGES
from seq2seq.report.side_by_side import SideBySide


def test_best_and_worst_sentences_are_those_of_sacrebleu(evaluations, built):
    _, content = built
    by_system = {e.record["system"]: e for e in reversed(evaluations)}  # the first seed stays
    for bucket in content.buckets:
        texts = by_system[bucket.system].texts
        start, _, end = bucket.row.words.rstrip("+").partition("-")
        scores = {
            line: sacrebleu.sentence_bleu(said, [reference]).score
            for line, (source, reference, said) in enumerate(
                zip(texts.sources, texts.references, texts.hypotheses, strict=True), start=1
            )
            if int(start) <= max(1, len(source.split())) <= (int(end) if end else math.inf)
        }
        assert len(scores) == bucket.row.sentences
        up = sorted(scores.values())
        assert [one.bleu for one in bucket.best] == pytest.approx(up[::-1][: len(bucket.best)])
        assert [one.bleu for one in bucket.worst] == pytest.approx(up[: len(bucket.worst)])
        lines = [one.line for one in (*bucket.best, *bucket.worst)]
        assert len(set(lines)) == len(lines) == min(6, len(scores))
        for one in (*bucket.best, *bucket.worst):
            assert one.bleu == pytest.approx(scores[one.line])
            assert one.hypothesis == texts.hypotheses[one.line - 1]


def test_sentences_are_scored_on_text_cut_as_asked_for(tmp_path):
    said, meant = ["a b c d, e."], ["a b c d, f."]
    texts = Translations(["a b"], meant, said, [False])
    evaluation = evaluated(tmp_path, texts, "additive")
    for tokenize in ("none", "13a"):
        settings = dataclasses.replace(SETTINGS, tokenize=tokenize)
        (arm,) = SideBySide.of(compare_systems([evaluation], None, settings), [evaluation]).arms
        expected = sacrebleu.sentence_bleu(said[0], meant, tokenize=tokenize).score
        assert arm.bleus == pytest.approx([expected])


def test_the_loss_of_a_point_is_the_mean_over_seeds(evaluations, built):
    _, content = built
    of_seeds = [e.scores.buckets[0].loss for e in evaluations if e.record["system"] == "fixed"]
    first = content.buckets[0]
    assert first.loss == pytest.approx(sum(of_seeds) / 2)
    assert first.perplexity == pytest.approx(math.exp(first.loss))


def test_extremes_share_no_sentence_and_take_the_first_of_equals():
    assert extremes(np.array([5.0])) == ([0], [])
    assert extremes(np.array([1.0, 1.0])) == ([0], [1])
    assert extremes(np.array([1.0, 3.0, 2.0])) == ([1, 2], [0])
    assert extremes(np.full(9, 7.0)) == ([0, 1, 2], [3, 4, 5])


def test_attention_by_length_is_a_plain_mean(evaluations, built):
    comparison, content = built
    sides = SideBySide.of(comparison, evaluations)
    arm = sides.arms[1]
    said = arm.first.texts.reference_scores
    edges = [(1, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60), (61, math.inf)]
    for values, of in (
        (said.entropy, lambda one: one.entropy),
        (said.off_diagonal, lambda one: one.off_diagonal),
    ):
        for (low, high), mean in zip(edges, by_bucket(sides, arm, of), strict=True):
            total, count = 0.0, 0
            for source, value in zip(sides.texts.sources, values, strict=True):
                if low <= max(1, len(source.split())) <= high and value is not None:
                    total, count = total + value, count + 1
            assert mean == (pytest.approx(total / count) if count else None)
    assert [one.chart.name for one in content.focus] == ["entropy", "diagonal"]
    assert [name for name, _ in content.focus[0].systems] == [
        s.name for s in comparison.systems[1:]
    ]


def test_losses_by_position_are_means_over_pieces(evaluations, built):
    comparison, content = built
    assert content.positions.columns == ["1-5", "6-10", "11-20", "21-30", "31-40", "41-50", "51+"]
    table = content.positions.tables[0]
    assert table.system == "fixed"
    found: dict[tuple[str, int], list[float]] = {}
    for evaluation in evaluations[:2]:
        for source, losses in zip(
            evaluation.texts.sources, evaluation.texts.reference_scores.piece_losses, strict=True
        ):
            words = max(1, len(source.split()))
            row = next(
                row.words
                for row, edge in zip(
                    comparison.systems[0].buckets, [*SETTINGS.edges, math.inf], strict=True
                )
                if words <= edge
            )
            for place, loss in enumerate(losses, start=1):
                column = sum(place > edge for edge in EDGES)
                found.setdefault((row, column), []).append(loss)
    for words, cells in table.rows:
        for column, cell in enumerate(cells):
            losses = found.get((words, column))
            assert (cell is None) == (losses is None)
            if cell is not None:
                assert cell.pieces == len(losses)
                assert cell.loss == pytest.approx(sum(losses) / len(losses))
                assert cell.few == (len(losses) < 100)


def test_points_stand_where_their_scores_are(built):
    comparison, content = built
    chart = content.chart
    assert [line.name for line in chart.lines] == [s.name for s in comparison.systems]
    places = {tick.text: tick.place for tick in chart.x_ticks}
    zero = next(tick.place for tick in chart.y_ticks if tick.text == "0")
    scale = (zero - next(tick.place for tick in chart.y_ticks if tick.text == "40")) / 40
    for line, system in zip(chart.lines, comparison.systems, strict=True):
        rows = [row for row in system.buckets if row.sentences]
        for mark, row in zip(line.marks, rows, strict=True):
            assert mark.x == places[row.words.replace("-", "–")]
            assert mark.y == pytest.approx(zero - scale * row.bleu, abs=0.3)
            assert mark.point.hollow == row.few == (row.sentences < 100)
    looks = {(line.style.colour, line.style.dash, line.style.shape) for line in chart.lines}
    assert len(looks) == len({line.style.shape for line in chart.lines}) == 3


def test_a_band_runs_along_the_upper_edge_and_back_along_the_lower(built):
    comparison, content = built
    zero, forty = (t.place for t in content.chart.y_ticks if t.text in ("0", "40"))
    for line, system in zip(content.chart.lines, comparison.systems, strict=True):
        rows = [row for row in system.buckets if row.sentences]
        places = [mark.x for mark in line.marks]
        corners = [tuple(map(float, corner.split(","))) for corner in line.band.split()]
        assert [x for x, _ in corners] == [*places, *reversed(places)]
        edge = [row.bleu_high for row in rows] + [row.bleu_low for row in reversed(rows)]
        expected = [zero + (forty - zero) * score / 40 for score in edge]
        assert [y for _, y in corners] == pytest.approx(expected, abs=0.3)


def test_each_detail_has_a_table_of_its_own(built):
    comparison, _ = built
    details = {"chrf": 11.0, "ter": 22.0, "brevity_ratio": 3.0, "unpenalised": 44.0, "capped": 5.0}
    systems = [
        dataclasses.replace(
            system,
            overall=dataclasses.replace(system.overall, **details),
            buckets=[dataclasses.replace(row, **details) for row in system.buckets],
        )
        for system in comparison.systems
    ]
    tables = detail_tables(dataclasses.replace(comparison, systems=systems))
    shown = {
        table.caption.partition(",")[0]: {cell for row in table.rows for cell in row[1:]}
        for table in tables
    }
    assert shown == {
        "chrF": {"11.0"},
        "TER (lower is better)": {"22.0"},
        "Brevity": {"3.00"},
        "BLEU but for its brevity penalty": {"44.0"},
        "Hypotheses that hit the cap": {"5.0"},
    }


def test_intervals_of_few_sentences_do_not_set_the_axis_of_the_chart(evaluations):
    comparison, _ = content_of(evaluations)
    wild = [
        dataclasses.replace(
            system,
            buckets=[
                dataclasses.replace(row, bleu_high=1000.0) if row.few else row
                for row in system.buckets
            ],
        )
        for system in comparison.systems
    ]
    assert any(row.few and row.bleu for row in comparison.systems[0].buckets)
    axes = []
    for systems in (comparison.systems, wild):
        sides = SideBySide.of(dataclasses.replace(comparison, systems=systems), evaluations)
        axes.append([(t.place, t.text) for t in page_content(sides, []).chart.y_ticks])
    assert axes[0] == axes[1]


def test_samples_are_the_same_few_of_every_length(evaluations, built):
    _, content = built
    counts = [sum(s.bucket == words for s in content.samples) for words in content.sample_buckets]
    assert counts == [3, 3, 3, 3]
    for sample in content.samples:
        assert sample.words == len(sample.source.split())
        said = [evaluations[i].texts.hypotheses[sample.line - 1] for i in (0, 3, 2)]
        assert sorted(one.hypothesis for one in sample.hypotheses) == sorted(said)


def test_learning_curves_come_from_the_run_folder(tmp_path):
    run = tmp_path / "run"
    training = {"status": "finished", "experiment": "trial", "system": "additive", "seed": 1}
    progress = {"update": 40, "epoch": 3.5, "best_update": 30, "seconds": 90.0}
    training |= {"training_pairs": 1234, "progress": progress}
    texts = translated({5: 3, 25: 2}, lambda n: 0.8)
    folder = run / "evaluations" / "test-beam5"
    checkpoint = str(run / "checkpoints" / "best")
    made = {"checkpoint": checkpoint, "training": training, "parameters": {"total": 5678}}
    evaluation = evaluated(folder, texts, "additive", **made)
    assert content_of([evaluation])[1].curves.missing == ["additive, seed 1"]

    (run / "run.json").write_text(json.dumps(training))
    (run / "config.json").write_text("{}")
    lines = [
        {"kind": "validation", "update": 10 * i, "loss": 4.0 - i / 2, "bleu": 10.0 * i}
        for i in range(1, 5)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    content = content_of([evaluation])[1]
    loss, bleu = content.curves.charts
    assert loss.lines[0].marks[0].point.label == "additive, seed 1: loss 2 after 40 updates"
    assert bleu.lines[0].marks[0].point.label == "additive, seed 1: BLEU 40 after 40 updates"
    assert loss.lines[0].segments[0].path.count("L") == 3
    of_loss, of_bleu = content.curves.tables
    assert of_loss.columns == of_bleu.columns == ["updates", "additive, seed 1"]
    assert of_loss.rows == [["10", "3.5"], ["20", "3"], ["30", "2.5"], ["40", "2"]]
    assert of_bleu.rows[-1] == ["40", "40"]
    assert content.records.rows[0].cells[:6] == ["5,678", "40", "3.5", "30", "1,234", "1.5"]

    settings = {"model": {"dropout": 0.25, "embedding": 8}, "name": "trial"}
    told = dataclasses.replace(evaluation, record={**evaluation.record, "config": settings})
    (run / "config.json").write_text(json.dumps({"model": {"dropout": 0.25}, "output": "away"}))
    assert content_of([told])[1].curves.charts
    for other in ({"seed": 2}, {"data_sha256": {"train.source": "0f"}}):
        (run / "run.json").write_text(json.dumps(training | other))  # another run is there now
        assert content_of([told])[1].curves.charts == []
    (run / "run.json").write_text(json.dumps(training))
    (run / "config.json").write_text(json.dumps({"model": {"dropout": 0.5}}))
    assert content_of([told])[1].curves.charts == []


@pytest.mark.slow
def test_a_page_of_many_long_sentences_stays_small(tmp_path):
    lengths = {5: 900, 15: 300, 25: 200, 35: 60, 45: 30, 55: 30, 240: 10}  # words: sentences
    evaluations = []
    for place in range(2):
        texts = attended(translated(lengths, lambda n: 0.7, place), place)
        evaluations.append(evaluated(tmp_path / str(place), texts, f"s{place}"))
    _, content = content_of(evaluations)
    page = render_page(content)
    assert len(page) < 2_000_000
    # Every list on it is full already: more sentences would only be other ones.
    assert all(len(bucket.best) == len(bucket.worst) == 3 for bucket in content.buckets)
    assert len(content.samples) == 21
    # Maps of 240 x 240 words do not all find room, but each length has some.
    assert content.maps.left_out > 0
    assert {one.words for one in content.maps.lines} == set(lengths)


@pytest.mark.parametrize(
    ("ends", "texts"),
    [
        ((0, 102), ["0", "20", "40", "60", "80", "100"]),
        ((0, 0.108), ["0.00", "0.02", "0.04", "0.06", "0.08", "0.10"]),
        ((0, 2575), ["0", "500", "1,000", "1,500", "2,000", "2,500"]),
        ((3, 3), None),
    ],
)
def test_ticks_are_few_round_numbers(ends, texts):
    found = [text for _, text in ticks(*ends)]
    assert texts is None or found == texts
    assert len(found) <= 7
