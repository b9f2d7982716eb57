"""Scoring where PyTorch, torchtext and SentencePiece are not installed."""

import re
import subprocess
import sys

import pytest
from helpers.samples import joined, put
from helpers.synthetic_translations import translated
from sacrebleu import corpus_ter

from seq2seq.files import parse_object

REFUSE = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "torchtext", "sentencepiece", "safetensors"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusing())
"""
SCORE = """
import sys
import seq2seq.evaluation.significance
from seq2seq.command import launch

def run(name, *words):
    sys.argv = [f"{name}.py", *words]
    launch(name)

for system in "ab":
    run("evaluate", f"hypotheses={system}.txt", "source=test.en", "reference=test.de",
        f"system={system}", "output=theirs", "evaluation.bootstrap=100")
run("compare", "evaluations=[theirs/test.en-a,theirs/test.en-b]", "output=both",
    "evaluation.bootstrap=100")
"""
TRAIN = """
run("train")
"""
TER = """
import numpy as np
from sacrebleu.metrics import TER
from seq2seq.evaluation.scores import METRICS, Metric

def counts(hypotheses, *references, tokenize=None):
    lines = zip(hypotheses, *references, strict=True)
    found = [TER().sentence_score(said, meant) for said, *meant in lines]
    return np.array([[one.num_edits, one.ref_length] for one in found])

METRICS["ter"] = Metric("TER", 2, counts, lambda s: 100 * s[..., 0] / s[..., 1], lambda _: TER())
"""


def start(folder, *code):
    words = [sys.executable, "-c", "".join(code)]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)


def write(folder):
    """Sources, references, and the translations of two systems; return the latter."""
    texts = {name: translated({5: 30, 25: 30, 35: 30}, lambda n: 0.9, ord(name)) for name in "ab"}
    columns = {"test.en": texts["a"].sources, "test.de": texts["a"].references}
    columns |= {f"{name}.txt": of.hypotheses for name, of in texts.items()}
    put(folder, {name: joined(lines) for name, lines in columns.items()})
    return texts


@pytest.mark.slow
def test_given_translations_get_the_same_table_and_page_without_torch(tmp_path):
    """Two systems, from files to the page; what trains says which package it lacks."""
    folders = tmp_path / "full", tmp_path / "without"
    for folder in folders:
        write(folder)
    full, without = start(folders[0], SCORE), start(folders[1], REFUSE, SCORE, TRAIN)
    assert full.returncode == 0, full.stderr
    assert without.stderr.splitlines()[-1].startswith("error: "), without.stderr
    assert full.stdout == without.stdout
    for name in ("table.md", "table.tex", "page.html", "figure.svg", "scores.json"):
        one, other = ((folder / "both" / name).read_bytes() for folder in folders)
        assert one == other, name
    for name in "ab":
        one, other = (
            parse_object((folder / f"theirs/test.en-{name}/scores.json").read_bytes())
            for folder in folders
        )
        assert one["rows"] == other["rows"]
        assert one["sha256"] == other["sha256"]


@pytest.mark.slow
def test_a_further_metric_is_one_entry(tmp_path):
    """sacreBLEU's TER, over all sentences, in the table of two systems."""
    folder = tmp_path / "both"
    texts = write(folder)
    done = start(folder, REFUSE, TER, SCORE)
    assert done.returncode == 0, done.stderr
    expected = [f"{corpus_ter(of.hypotheses, [of.references]).score:.1f}" for of in texts.values()]
    table = (folder / "both" / "table.md").read_text().partition("**TER**")[2]
    line = next(line for line in table.splitlines() if line.startswith("| all"))
    assert re.findall(r"[0-9.]+", line) == expected
