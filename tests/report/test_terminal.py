"""The last screen of a terminal: it fits, and shows the numbers of the comparison."""

import re
import sys
from dataclasses import replace
from io import StringIO

import pytest

from seq2seq.evaluation.folder import EXTERNAL
from seq2seq.report.findings import conclusion
from seq2seq.report.tables import with_interval
from seq2seq.report.terminal import HEIGHT, WIDTH, screen, show

COLOUR = re.compile(r"\x1b\[\d+m")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def many(comparison, count: int):
    """So many systems with long names, from those of ``comparison``."""
    systems = [
        replace(comparison.systems[n % len(comparison.systems)], name=f"a-rather-long-name-{n}")
        for n in range(count)
    ]
    return replace(comparison, systems=systems, gaps=[])


@pytest.mark.parametrize("tests", [1, 2, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 15, 40])
def test_every_screen_fits(comparison, widths, count, tests):
    main = comparison if count == 2 else many(comparison if count < 5 else widths, count)
    folders = {f"outputs/experiment/comparison/test-{n}": main for n in range(tests)}
    for colour in (False, True):
        lines = COLOUR.sub("", screen(folders, colour)).split("\n")
        assert len(lines) <= HEIGHT
        assert max(map(len, lines)) <= WIDTH
    long = {f"/{'folder/' * 30}{folder}": one for folder, one in folders.items()}
    lines = screen(long, colour=False).split("\n")
    assert sum(max(1, -(-len(line) // WIDTH)) for line in lines) <= HEIGHT


def test_the_numbers_are_those_of_the_comparison(comparison):
    text = screen({"a/test-greedy": replace(comparison, search="greedy"), "a/b": comparison}, False)
    fixed, additive = comparison.systems
    (gap,) = comparison.gaps
    for ours, theirs, paired in zip(additive.rows, fixed.rows, gap.rows, strict=True):
        lines = [line for line in text.split("\n") if re.match(rf"{re.escape(ours.words)}\b", line)]
        if paired is None:
            assert lines == []
            continue
        (line,) = lines
        assert re.findall(r" (\d+\.\d) ", line) == [f"{theirs.bleu:.1f}", f"{ours.bleu:.1f}"]
        assert line.endswith(with_interval(paired.gap))
        assert ("†" in line) == ours.few
    assert " ".join(conclusion(comparison).split()) in " ".join(text.split())
    assert "a/b/page.html" in text
    assert "test-greedy: " in text


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_colour_only_on_a_terminal_that_wants_it(comparison, monkeypatch, no_colour):
    monkeypatch.setenv("NO_COLOR", no_colour)
    printed = []
    for stream in (Terminal(), StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        show({"outputs/a": comparison})
        printed.append(stream.getvalue())
    terminal, piped = printed
    assert ("\x1b" in terminal) == (not no_colour)
    assert COLOUR.sub("", terminal) == screen({"outputs/a": comparison}, colour=False) + "\n"
    assert "\x1b" not in piped
    assert "| words" in piped


def _given(evaluation):
    """The evaluation, as if its translations had come without a model."""
    return replace(evaluation, record=replace(evaluation.record, search=EXTERNAL))


def test_the_best_system_with_a_checkpoint_is_the_one_to_try(comparison, tmp_path, monkeypatch):
    assert "translate.py" not in screen({"a": comparison}, colour=False)
    systems = []
    for system in comparison.systems:  # the worse one first
        run = tmp_path / system.name
        (run / "checkpoints" / "best").mkdir(parents=True)
        first = replace(system.first, directory=run / "evaluations" / "test")
        systems.append(replace(system, evaluations=[first]))
    compared = {"a": replace(comparison, systems=systems)}
    assert f"checkpoint={run}" in screen(compared, colour=False)
    given = [replace(one, evaluations=[_given(one.first)]) for one in systems]
    assert "checkpoint=" not in screen({"a": replace(comparison, systems=given)}, colour=False)
    (gap,), (fixed, additive) = comparison.gaps, systems
    swapped = [replace(fixed, rows=additive.rows), replace(additive, rows=fixed.rows)]
    for high in (0.1, -0.1):  # the baseline is the better one: significantly or not
        interval = replace(gap.rows[-1].gap, value=-1, low=-2, high=high)
        rows = [*gap.rows[:-1], replace(gap.rows[-1], gap=interval)]
        worse = replace(comparison, systems=swapped, gaps=[replace(gap, rows=rows)])
        chosen = "additive" if high > 0 else "fixed"
        assert f"checkpoint={tmp_path / chosen}" in screen({"a": worse}, colour=False)
    for argv, command in (
        (["python", "scripts/reproduce.py"], " scripts/translate.py"),
        (["python", "/x/bin/seq2seq", "reproduce"], "seq2seq translate"),
        (["python", "-m", "seq2seq", "reproduce"], "-m seq2seq translate"),
    ):
        monkeypatch.setattr(sys, "orig_argv", argv)
        assert command in screen(compared, colour=False)
