"""Tables that the call names reach their place in a document: benchmarks, runs, scores, Table 1."""

import json
from pathlib import Path

import pytest

from seq2seq.config import EvaluationConfig, PublishConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.report.provenance import provenance
from seq2seq.report.publication import publish
from seq2seq.report.tables import interval_text

SETTINGS = EvaluationConfig(length_buckets=[2], bootstrap=100)
MARKS = "<!-- results:toy/test-greedy -->\nold\n<!-- /results -->"


def test_a_benchmark_goes_where_its_file_is_named(tmp_path):
    (tmp_path / "m.md").write_text("| table |\n\n- line\n")
    document = tmp_path / "performance.md"
    document.write_text(f"a\n<!-- benchmark:m -->\nold\n<!-- /benchmark:m -->\n{MARKS}\n")
    config = PublishConfig(
        benchmarks=[str(tmp_path / "m.md")], document=str(document), pictures="docs"
    )
    publish(config)
    part = "<!-- benchmark:m -->\n| table |\n\n- line\n<!-- /benchmark:m -->"
    assert document.read_text() == f"a\n{part}\n{MARKS}\n"

    (tmp_path / "l.md").write_text("| table |\n")
    config.benchmarks = [str(tmp_path / "l.md")]
    with pytest.raises(UserError, match=r"add the two lines <!-- benchmark:l --> and <!-- /bench"):
        publish(config)
    config.benchmarks = [str(tmp_path / "x.md")]
    with pytest.raises(UserError, match=r"no benchmark .*x\.md; run scripts/benchmark\.py first"):
        publish(config)


def test_only_tables_of_benchmarks_are_taken():
    with pytest.raises(UserError, match=r"names tables, such as m\.md; a/m\.json is none"):
        PublishConfig(benchmarks=["a/m.json"], document="README.md", pictures="docs")


def test_training_runs_go_where_the_call_names_them(tmp_path):
    for name, loss in (("a", 2.0), ("b", 2.5)):
        folder = tmp_path / name
        folder.mkdir()
        record = {"status": "finished", "experiment": name, "system": "attention"}
        (folder / "run.json").write_text(json.dumps(record))
        (folder / "config.json").write_text(json.dumps({"name": name}))
        entry = {"kind": "validation", "update": 1, "loss": loss}
        (folder / "metrics.jsonl").write_text(json.dumps(entry) + "\n")
    document = tmp_path / "performance.md"
    document.write_text(f"a\n<!-- runs:same -->\nold\n<!-- /runs:same -->\n{MARKS}\n")
    runs = {"same": [str(tmp_path / "a"), str(tmp_path / "b")]}
    config = PublishConfig(runs=runs, document=str(document), pictures="docs")
    publish(config)
    text = document.read_text(encoding="utf-8")
    assert text.startswith("a\n<!-- runs:same -->\n| run")
    assert text.index("a/attention") < text.index("b/attention") < text.index("+25.00%")
    assert text.endswith(f"\n<!-- /runs:same -->\n{MARKS}\n")
    assert "old" not in text.removesuffix(f"{MARKS}\n")

    config.runs = {"same": [str(tmp_path)]}
    with pytest.raises(UserError, match="holds no training run"):
        publish(config)
    config.runs = {"other": runs["same"]}
    with pytest.raises(UserError, match=r"add the two lines <!-- runs:other --> and <!-- /runs:"):
        publish(config)
    assert document.read_text(encoding="utf-8") == text


def write_scores(folder: Path, search: str, hypotheses: list[str], **record: object) -> str:
    texts = Translations(["a b c d"] * 4, ["v w x y z"] * 4, hypotheses, [False] * 4)
    record = {"system": "attention", "search": search, "command": ["evaluate.py", "a=b"], **record}
    write_evaluation(folder, texts, SETTINGS, record)
    return str(folder)


def test_scores_go_where_the_call_names_them(tmp_path):
    document = tmp_path / "README.md"
    document.write_text("<!-- scores:toy -->\n<!-- /scores:toy -->\n", encoding="utf-8")
    trained = {"command": ["train.py", "seed=3", "corpus.directory=/secret"], "precision": "int3"}
    perfect = write_scores(
        tmp_path / "a",
        "greedy",
        ["v w x y z"] * 4,
        seed=3,
        training=trained,
        parameters={"total": 1234},
    )
    half = write_scores(
        tmp_path / "b", "beam5", ["v w x y", "no", "v w x y z", ""], sentences_per_second=1234.5
    )
    config = PublishConfig(
        document=str(document), pictures=str(tmp_path), scores={"toy": [perfect, half]}
    )
    publish(config)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in document.read_text(encoding="utf-8").splitlines()
        if line.startswith("| attention")
    ]
    assert [row[:3] for row in rows] == [
        ["attention, seed 3", "1,234", "greedy"],
        ["attention", "–", "beam5"],
    ]
    assert rows[0][3:6] == ["100.0 [100.0, 100.0]", "100.0", "1.00"]
    overall = read_evaluation(Path(half)).scores.overall
    assert rows[1][3:6] == [interval_text(overall), f"{overall.chrf:.1f}", "0.50"]
    assert overall.bleu < 90
    assert [row[6] for row in rows] == ["–", "1,234"]
    text = document.read_text(encoding="utf-8")
    assert "nrefs:1|case:mixed" in text
    assert text.count("Command: `python scripts/evaluate.py a=b`") == 1
    assert (
        text.count("- Trained: Command: `python scripts/train.py seed=3 corpus.directory=...`.")
        == 1
    )
    assert "int3" in text


def test_all_rows_are_scored_by_the_settings_that_are_said(tmp_path):
    document = tmp_path / "README.md"
    document.write_text("<!-- scores:toy -->\n<!-- /scores:toy -->\n", encoding="utf-8")
    said = ["v w x y", "no", "v w x y z", ""]
    first = write_scores(tmp_path / "a", "greedy", said)
    other = EvaluationConfig(length_buckets=[2], bootstrap=200, confidence=0.5, tokenize="char")
    texts = read_evaluation(Path(first)).texts
    write_evaluation(tmp_path / "b", texts, other, {"system": "attention", "search": "beam5"})
    scores = {"toy": [first, str(tmp_path / "b")]}
    publish(PublishConfig(document=str(document), pictures=str(tmp_path), scores=scores))
    lines = document.read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[4:] for line in lines if line.startswith("| attention")]
    assert rows[0] == rows[1]
    assert sum("sacreBLEU `" in line for line in lines) == 1


def test_several_models_as_one_name_their_members_and_their_trainings(tmp_path):
    document = tmp_path / "README.md"
    document.write_text("<!-- scores:toy -->\n<!-- /scores:toy -->\n", encoding="utf-8")
    members = [
        {"system": "attention", "seed": seed, "training": {"command": ["train.py", f"seed={seed}"]}}
        for seed in (1, 2)
    ]
    made = {"system": "attention-ensemble2", "seed": None, "training": None, "members": members}
    folder = write_scores(tmp_path / "a", "greedy", ["v w x y z"] * 4, **made)
    publish(PublishConfig(document=str(document), pictures=str(tmp_path), scores={"toy": [folder]}))
    text = document.read_text(encoding="utf-8")
    assert "| attention-ensemble2 |" in text
    assert "- Trained: Command: `python scripts/train.py`, with `seed=1` and with `seed=2`" in text
    (line, *_) = provenance([read_evaluation(Path(folder))])
    assert ": 0 parameters, made of attention, seed 1; attention, seed 2; " in line


def test_scores_of_different_test_sets_do_not_stand_in_one_table(tmp_path):
    one = write_scores(tmp_path / "a", "greedy", ["v"] * 4)
    texts = Translations(["q"], ["v"], ["v"], [False])
    write_evaluation(tmp_path / "b", texts, SETTINGS, {})
    (tmp_path / "README.md").write_text("")
    with pytest.raises(UserError, match=r"compare evaluations of the same test set"):
        publish(
            PublishConfig(
                document=str(tmp_path / "README.md"),
                pictures=str(tmp_path),
                scores={"toy": [one, str(tmp_path / "b")]},
            )
        )


def test_systems_stand_beside_their_like_in_the_paper(tmp_path):
    document = tmp_path / "study.md"
    document.write_text("<!-- table_1:t -->\n<!-- /table_1:t -->\n", encoding="utf-8")
    folders = []
    systems = [("fixed", 30), ("additive", 50), ("uniform", 50), ("additive", None)]
    others = [("additive", 50)] * 4
    for number, (kind, limit) in enumerate([*systems, *others]):
        order = "luong" if number == 4 else "bahdanau"
        source = "de" if number == 5 else "en"
        identity = {"together": ["ensemble2", "0f"]} if number == 6 else {}
        trained = {
            "decoding": {"forbid_unknown": number == 7},
            "model": {"attention": {"kind": kind}, "decoder": {"order": order}},
            "corpus": {"train_max_words": limit, "source": source, "target": "fr"},
        }
        folder = tmp_path / str(number)
        said = ["v w x y z"] * 4
        made = {
            "config": trained,
            "test_set": "newstest2014",
            "seed": 1,
            "system": f"{kind}-{limit}",
        }
        folders.append(write_scores(folder, "beam5", said, identity=identity, **made))
    publish(PublishConfig(document=str(document), pictures=str(tmp_path), table_1={"t": folders}))
    lines = document.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "|" in line]
    assert rows[0][1] == "BLEU on newstest2014"
    assert [[row[0], *row[2:]] for row in rows[2:10]] == [
        ["fixed-30, seed 1", "RNNencdec-30", "13.93"],
        ["additive-50, seed 1", "RNNsearch-50", "26.75"],
        ["uniform-50, seed 1", "–", "–"],
        ["additive-None, seed 1", "–", "–"],
        # another order, another language, an ensemble, a search that may not write <unk>
        *[["additive-50, seed 1", "–", "–"]] * 4,
    ]
