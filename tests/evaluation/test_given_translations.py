"""Translations of any system: other programs' scores, a user's own buckets, plain numbers."""

import random

import numpy as np
import pytest
from helpers.commands import run
from helpers.samples import joined, put
from sacrebleu import corpus_bleu

import seq2seq

LABELS = ["news", "talk"] * 20


@pytest.fixture
def texts() -> dict[str, list[str]]:
    """Short and long sources, references, two systems, and a score of each of their lines."""
    rng = random.Random(0)
    source = [" ".join(rng.choices("abcdef", k=4 if line < 20 else 14)) for line in range(40)]
    said = {name: [line.replace(name, "x") for line in source] for name in "ab"}
    return {"source": source, "reference": source, **said}


def write(folder, texts, **files):
    put(folder, {name: joined(lines) for name, lines in {**texts, **files}.items()})


def score(folder, name, *words, ok=True):
    usual = ["source=source", "reference=reference", "output=out", "evaluation.bootstrap=100"]
    usual += [f"hypotheses={name}", f"system={name}"]
    return run(folder, "evaluate", *usual, *words, ok=ok)


def rows_of(page, caption):
    """The cells of a table of table.md, by the first cell of each row."""
    lines = page.partition(f"**{caption}**\n\n")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {row[0].removesuffix(" †"): row[1:] for row in cells}


@pytest.mark.slow
def test_a_score_of_each_line_is_shown_by_length_with_the_gap(tmp_path, texts):
    rng = random.Random(1)
    values = {name: [rng.random() for _ in LABELS] for name in "ab"}
    write(tmp_path, texts, **{f"{name}.comet": numbers for name, numbers in values.items()})
    for name in "ab":
        score(tmp_path, name, f"scores.comet={name}.comet")
    run(tmp_path, "compare", "evaluations=[out/source-a,out/source-b]", "output=both")
    rows = rows_of((tmp_path / "both" / "table.md").read_text(), "comet")
    for label, part in {"1-10": slice(20), "11-20": slice(20, 40), "all": slice(40)}.items():
        a, b = (np.mean(values[name][part]) for name in "ab")
        expected = [f"{a:.3f}", f"{b:.3f}", f"{b - a:+.3f}"]
        assert [cell.split()[0] for cell in rows[label][1:]] == expected


@pytest.mark.parametrize("numbers", [["0.5"] * 39, ["0.5"] * 39 + ["nan"], ["good"] * 40])
def test_a_file_of_scores_has_a_number_on_each_line(tmp_path, texts, numbers):
    write(tmp_path, texts, wrong=numbers)
    result = score(tmp_path, "a", "scores.comet=wrong", ok=False)
    assert result.returncode == 1
    assert "wrong" in result.stderr
    assert not (tmp_path / "out").exists()


def test_buckets_of_the_users_own_are_scored_apart(tmp_path, texts):
    write(tmp_path, texts, domains=LABELS)
    for name in "ab":
        score(tmp_path, name)
    run(tmp_path, "compare", "evaluations=[out/source-a,out/source-b]", "output=both",
        "evaluation.buckets=domains", "evaluation.bootstrap=100")  # fmt: skip
    page = (tmp_path / "both" / "table.md").read_text()
    rows = rows_of(page, "BLEU by domains")
    assert [*rows] == ["news", "talk", "all"]
    for place, label in enumerate(("news", "talk")):
        of = {key: lines[place::2] for key, lines in texts.items()}
        expected = [f"{corpus_bleu(of[name], [of['reference']]).score:.1f}" for name in "ab"]
        assert [cell.split()[0] for cell in rows[label][1:3]] == expected
    write(tmp_path, {}, domains=LABELS[:39])
    result = run(tmp_path, "compare", "evaluations=[out/source-a]", "output=other",
                 "evaluation.buckets=domains", ok=False)  # fmt: skip
    assert result.returncode == 1
    assert "evaluation.buckets" in result.stderr


def test_plain_numbers_are_those_of_sacrebleu(texts):
    systems = {name: texts[name] for name in "ab"}
    found = seq2seq.bleu_by_length(texts["source"], texts["reference"], systems, bootstrap=100)
    for label, part in {"1-10": slice(20), "11-20": slice(20, 40), "all": slice(40)}.items():
        right = [texts["reference"][part]]
        a, b = (corpus_bleu(texts[name][part], right).score for name in "ab")
        assert found["a"][label]["bleu"] == pytest.approx(a)
        assert found["b"][label]["gap.value"] == pytest.approx(b - a)
        assert found["b"][label]["bleu_low"] <= b <= found["b"][label]["bleu_high"]
    assert found["a"]["61+"]["bleu"] is None
