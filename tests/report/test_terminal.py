"""What a stage prints of a comparison: it fits a terminal, and shows the comparison's numbers."""

import sys
from dataclasses import replace

import pytest

from seq2seq.evaluation.folder import EXTERNAL
from seq2seq.report.tables import conclusion, with_interval
from seq2seq.report.terminal import WIDTH, summary


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_systems_fit_into_the_width_of_a_terminal(comparison, count):
    systems = [replace(comparison.systems[n % 2], name=f"system-{n:05}") for n in range(count)]
    main = comparison if count == 2 else replace(comparison, systems=systems, gaps=[])
    assert max(map(len, summary({"a/test": main, "a/other": main}).split("\n"))) <= WIDTH


def test_the_numbers_are_those_of_the_comparison(comparison):
    text = summary({"a/test-greedy": replace(comparison, search="greedy"), "a/b": comparison})
    lines = {line.split("|")[1].strip(): line for line in text.split("\n") if "|" in line}
    fixed, additive = comparison.systems
    (gap,) = comparison.gaps
    for ours, theirs, paired in zip(additive.rows, fixed.rows, gap.rows, strict=True):
        label = ours.words + " †" * ours.few
        assert (label in lines) == (paired is not None)
        if paired:
            cells = [cell.strip() for cell in lines[label].split("|")[2:-1]]
            assert cells[0] == f"{ours.sentences:,}"
            assert [cell.split()[0] for cell in cells[1:3]] == [
                f"{theirs.bleu:.1f}", f"{ours.bleu:.1f}",
            ]  # fmt: skip
            assert cells[3] == with_interval(paired.gap)
    assert " ".join(conclusion(comparison).split()) in " ".join(text.split())
    assert "a/b/page.html" in text
    assert "test-greedy: " in text


def test_each_of_many_systems_has_a_line(widths):
    lines = summary({"a/b": widths}).split("\n")
    for system in widths.systems:
        (line,) = (line for line in lines if line.startswith(f"| {system.name} "))
        scores = [f"{row.bleu:.1f}" for row in system.rows if row.sentences]
        assert [cell.strip() for cell in line.split("|")[2:-1]] == scores


def _given(evaluation):
    """The evaluation, as if its translations had come without a model."""
    return replace(evaluation, record=replace(evaluation.record, search=EXTERNAL))


def test_the_best_system_with_a_checkpoint_is_the_one_to_try(comparison, tmp_path, monkeypatch):
    assert "translate.py" not in summary({"a": comparison})
    systems = []
    for system in comparison.systems:  # the worse one first
        run = tmp_path / system.name
        (run / "checkpoints" / "best").mkdir(parents=True)
        first = replace(system.first, directory=run / "evaluations" / "test")
        systems.append(replace(system, evaluations=[first]))
    compared = {"a": replace(comparison, systems=systems)}
    assert f"checkpoint={run}" in summary(compared)
    given = [replace(one, evaluations=[_given(one.first)]) for one in systems]
    assert "checkpoint=" not in summary({"a": replace(comparison, systems=given)})
    for argv, command in (
        (["python", "scripts/reproduce.py"], " scripts/translate.py"),
        (["python", "/x/bin/seq2seq", "reproduce"], "seq2seq translate"),
        (["python", "-m", "seq2seq", "reproduce"], "-m seq2seq translate"),
    ):
        monkeypatch.setattr(sys, "orig_argv", argv)
        assert command in summary(compared)
