"""What compare and reproduce print: the numbers of the comparison, and what to do next."""

import re
import sys
from dataclasses import replace

from seq2seq.report.findings import conclusion
from seq2seq.report.tables import row_label, with_interval
from seq2seq.report.terminal import markdown, show


def test_the_numbers_are_those_of_each_comparison(comparison, capsys):
    show({"a/test-greedy": replace(comparison, search="greedy"), "a/b": comparison})
    text = capsys.readouterr().out
    fixed, additive = comparison.systems
    (gap,) = comparison.gaps
    for ours, theirs, paired in zip(additive.rows, fixed.rows, gap.rows, strict=True):
        lines = [line for line in text.split("\n") if line.startswith(f"| {row_label(ours)} ")]
        assert len(lines) == (0 if paired is None else 2)
        for line in lines:
            assert re.findall(r" (\d+\.\d) ", line) == [f"{theirs.bleu:.1f}", f"{ours.bleu:.1f}"]
            assert line.endswith(f"{with_interval(paired.gap)} |")
    assert text.count(conclusion(comparison)) == 2
    assert "a/b/table.md, page.html" in text


def test_the_best_system_with_a_checkpoint_is_the_one_to_try(comparison, tmp_path, monkeypatch):
    assert "translate.py" not in markdown("a", comparison)
    systems = []
    for system in comparison.systems:  # the worse one first
        run = tmp_path / system.name
        (run / "checkpoints" / "best").mkdir(parents=True)
        first = replace(system.first, directory=run / "evaluations" / "test")
        systems.append(replace(system, evaluations=[first]))
    compared = replace(comparison, systems=systems)
    assert f"checkpoint={run}" in markdown("a", compared)
    (gap,), (fixed, additive) = comparison.gaps, systems
    swapped = [replace(fixed, rows=additive.rows), replace(additive, rows=fixed.rows)]
    for high in (0.1, -0.1):  # the baseline is the better one: significantly or not
        interval = replace(gap.rows[-1].gap, value=-1, low=-2, high=high)
        rows = [*gap.rows[:-1], replace(gap.rows[-1], gap=interval)]
        worse = replace(comparison, systems=swapped, gaps=[replace(gap, rows=rows)])
        chosen = "additive" if high > 0 else "fixed"
        assert f"checkpoint={tmp_path / chosen}" in markdown("a", worse)
    for argv, command in (
        (["python", "scripts/reproduce.py"], " scripts/translate.py"),
        (["python", "/x/bin/seq2seq", "reproduce"], "seq2seq translate"),
        (["python", "-m", "seq2seq", "reproduce"], "-m seq2seq translate"),
    ):
        monkeypatch.setattr(sys, "orig_argv", argv)
        assert command in markdown("a", compared)
