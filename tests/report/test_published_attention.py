"""Tables of alignment error rates and figures of attention, put into a document."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from seq2seq.config import CompareConfig, EvaluationConfig, PublishConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.alignment import GoldLinks, diagonal, score_links, shifted
from seq2seq.evaluation.folder import write_evaluation
from seq2seq.evaluation.scores import AttentionMap, Translations
from seq2seq.report.comparison import compare
from seq2seq.report.publication import publish

SETTINGS = EvaluationConfig(bootstrap=100)


def write_scores(folder: Path, **record: object) -> str:
    texts = Translations(["a b c d"] * 4, ["v w x y z"] * 4, ["v"] * 4, [False] * 4)
    record = {"system": "attention", "search": "greedy", "command": ["evaluate.py"], **record}
    write_evaluation(folder, texts, SETTINGS, record)
    return str(folder)


def write_alignment(folder: Path, **record: object) -> str:
    write_scores(folder, test_set="hansards", **record)
    people = [GoldLinks(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 2)}))] * 4
    found = [[(0, 0), (1, 1), (2, 2), (0, 3)]] * 4
    scores = {
        str(by): asdict(score_links([shifted(line, by, 4) for line in found], people))
        for by in (-1, 0, 1)
    }
    straight = asdict(score_links([diagonal(4, 4)] * 4, people))
    gold = str(record.get("gold", "0f"))
    content = {"format": 1, "shifts": scores, "diagonal": straight, "sentences": 4}
    content["gold_sha256"] = gold
    (folder / "alignment.json").write_text(json.dumps(content), encoding="utf-8")
    return str(folder)


def test_alignment_error_rates_stand_beside_those_of_moved_links(tmp_path):
    document = tmp_path / "attention.md"
    document.write_text("<!-- alignments:a -->\n<!-- /alignments:a -->\n", encoding="utf-8")
    folder = write_alignment(tmp_path / "a", seed=2)
    publish(
        PublishConfig(document=str(document), pictures=str(tmp_path), alignments={"a": [folder]})
    )
    lines = document.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    # Of 4 links 2 are sure and 3 possible; 2 are sure for people: 1 - (2 + 3) / (4 + 2).
    assert rows[2][:5] == ["attention, seed 2", "hansards", "4", "0.167", "0.750"]
    assert rows[2][5] == "1.000"
    # Moved on, (0, 1), (1, 2), (2, 3) are links of nobody.
    assert rows[2][7] == "1.000"
    # On the diagonal (3, 3) alone is wrong.
    assert rows[3][:4] == ["a straight line", "hansards", "4", "0.167"]


def test_each_text_has_its_own_straight_line_whatever_it_is_called(tmp_path):
    document = tmp_path / "attention.md"
    document.write_text("<!-- alignments:a -->\n<!-- /alignments:a -->\n", encoding="utf-8")
    folders = [
        write_alignment(tmp_path / name, seed=seed, gold=gold)
        for name, seed, gold in [("a", 1, "0f"), ("b", 2, "0f"), ("c", 1, "f0")]
    ]
    publish(
        PublishConfig(document=str(document), pictures=str(tmp_path), alignments={"a": folders})
    )
    assert document.read_text(encoding="utf-8").count("| a straight line ") == 2


def test_a_figure_of_attention_goes_where_the_call_names_it(tmp_path):
    document = tmp_path / "attention.md"
    document.write_text("<!-- maps:a -->\n<!-- /maps:a -->\n", encoding="utf-8")
    weights = AttentionMap(2, ["a", "b"], ["A"], [[0.25, 0.75]])
    texts = Translations(["a b"] * 4, ["A B"] * 4, ["A"] * 4, [], maps=[weights])
    write_evaluation(tmp_path / "e", texts, SETTINGS, {"system": "additive", "search": "greedy"})
    config = PublishConfig(
        document=str(document), pictures=str(tmp_path / "figures"), maps={"a": str(tmp_path / "e")}
    )
    publish(config)
    assert "![Attention, a](figures/a-attention.png)" in document.read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "a-attention.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UserError, match=r"no attention of line 1; evaluate with maps=\[1\]"):
        publish(replace(config, lines={"a": [1]}))
    with pytest.raises(UserError, match=r"lines names b, but maps does not; give maps=\{b:"):
        replace(config, lines={"b": [1]})


def test_figures_of_what_models_said_of_the_references(tmp_path, evaluations):
    """From a comparison's folder, each to its mark; not where no model was asked."""
    folders = [str(evaluation.directory) for evaluation in evaluations]
    done = compare(
        CompareConfig(
            evaluations=folders,
            output=str(tmp_path / "test-greedy"),
            evaluation=SETTINGS,
            baseline="fixed",
        )
    )
    document = tmp_path / "d.md"
    marks = [f"{kind}:trial/test-greedy" for kind in ("focus", "places")]
    document.write_text("".join(f"<!-- {mark} -->\n<!-- /{mark} -->\n" for mark in marks))
    folder = [str(done.directory)]
    config = PublishConfig(
        document=str(document), pictures=str(tmp_path / "p"), focus=folder, places=folder
    )
    publish(config)
    lines = document.read_text(encoding="utf-8").splitlines()
    assert lines[1] == (
        "![Attention by source length, trial, test-greedy](p/trial-test-greedy-focus.png)"
    )
    for drawn, name in (("focus", "focus"), ("places", "loss-by-place")):
        picture = tmp_path / "p" / f"trial-test-greedy-{drawn}.png"
        assert picture.read_bytes() == (done.directory / f"{name}.png").read_bytes()
    compare(
        CompareConfig(
            evaluations=[write_scores(tmp_path / "asked-nothing", experiment="trial")],
            output=str(done.directory),
            evaluation=SETTINGS,
        )
    )
    assert not (done.directory / "focus.png").exists()
    with pytest.raises(UserError, match=r"do not hold what focus shows; evaluate models that"):
        publish(config)


def test_what_has_no_alignment_is_refused(tmp_path):
    (tmp_path / "d.md").write_text("", encoding="utf-8")
    folder = write_scores(tmp_path / "a")
    config = PublishConfig(
        document=str(tmp_path / "d.md"), pictures=str(tmp_path), alignments={"a": [folder]}
    )
    with pytest.raises(UserError, match=r"holds no alignment.json.*gold"):
        publish(config)
    for content in ("{}", "[1]", "[" * 100_000):
        (Path(folder) / "alignment.json").write_text(content, encoding="utf-8")
        with pytest.raises(UserError, match=r"alignment.json is damaged"):
            publish(config)
