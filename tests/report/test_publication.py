"""Results reach a document by the script alone: right numbers, right place, nothing else moved."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from seq2seq.config import CompareConfig, EvaluationConfig, PublishConfig
from seq2seq.errors import UserError
from seq2seq.evaluation.folder import read_evaluation, write_evaluation
from seq2seq.evaluation.scores import Translations
from seq2seq.report.comparison import compare
from seq2seq.report.draft import replace_part
from seq2seq.report.publication import publish

SETTINGS = EvaluationConfig(length_buckets=[2], bootstrap=100)
MARKS = "<!-- results:toy/test-greedy -->\nold\n<!-- /results -->"


@pytest.fixture
def comparison(tmp_path: Path) -> Path:
    """A comparison of a perfect system with one that repeats a word."""
    sources = ["a b", "a b c d e", "d e f g h"] * 4
    references = ["x y", "v w x y z", "z y x w v"] * 4
    folders = []
    for system, hypotheses in (("attention", references), ("no-attention", ["x x x x"] * 12)):
        training = {
            "command": [
                *("reproduce.py", "experiment=toy", "corpus.directory=/secret/place"),
                *("+test_texts.news-14=/secret/news", "test_texts={a:/secret/a}"),
            ],
            "progress": {"update": 1234, "epoch": 2, "seconds": 90.0, "best_update": 617},
            "hardware": {"processor": "Abacus 3", "threads": "2", "torch": "9.9"},
            "precision": "float32",
            "git_commit": "0123456789abcdef",
            "git_modified": False,
        }
        record = {"experiment": "toy", "system": system, "seed": 7, "training": training}
        record |= {"parameters": {"total": 4321}, "sentences_per_second": 10.0}
        texts = Translations(sources, references, hypotheses, [False] * 12)
        write_evaluation(tmp_path / system, texts, SETTINGS, record)
        folders.append(str(tmp_path / system))
    output = tmp_path / "comparison" / "test-greedy"
    config = CompareConfig(
        evaluations=folders, output=str(output), evaluation=SETTINGS, baseline="no-attention"
    )
    compare(config)
    return output


def published(tmp_path: Path, comparison: Path) -> str:
    """A document of nothing but the comparison."""
    document = tmp_path / "README.md"
    document.write_text(MARKS, encoding="utf-8")
    publish(
        PublishConfig(
            comparisons=[str(comparison)], document=str(document), pictures=str(tmp_path / "docs")
        )
    )
    return document.read_text(encoding="utf-8")


def test_the_marked_part_is_filled_and_the_rest_untouched(tmp_path, comparison):
    document = tmp_path / "README.md"
    document.write_text(f"before\n{MARKS}\nafter\n", encoding="utf-8")
    config = PublishConfig(
        comparisons=[str(comparison)],
        document=str(document),
        pictures=str(tmp_path / "docs" / "figures"),
    )
    publish(config)
    text = document.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- results:toy/test-greedy -->\n![BLEU by source length")
    assert text.endswith("\n<!-- /results -->\nafter\n")
    assert "old" not in text
    assert "(docs/figures/toy-test-greedy.png)" in text
    picture = tmp_path / "docs" / "figures" / "toy-test-greedy.png"
    assert picture.read_bytes() == (comparison / "figure.png").read_bytes()

    numbers = json.loads((comparison / "comparison.json").read_text())
    attention = next(s for s in numbers["systems"] if s["name"] == "attention")
    assert f"{attention['overall']['bleu']:.1f} [" in text
    for fact in ("4,321 parameters", "1,234 updates", "1.5 minutes", "Abacus 3", "`0123456789`"):
        assert fact in text
    places = "corpus.directory=... +test_texts.news-14=... test_texts=..."
    assert f"`python scripts/reproduce.py experiment=toy {places}`" in text
    assert "secret" not in text
    assert "equal budget" not in text

    publish(config)  # a second time changes nothing
    assert document.read_text(encoding="utf-8") == text


def test_a_summary_is_the_figure_the_curves_and_whether_the_gap_grows(tmp_path, comparison):
    document = tmp_path / "README.md"
    mark = "summary:toy/test-greedy"
    document.write_text(f"a\n<!-- {mark} -->\nold\n<!-- /{mark} -->\nb\n", encoding="utf-8")
    publish(
        PublishConfig(
            summaries=[str(comparison)], document=str(document), pictures=str(tmp_path / "docs")
        )
    )
    lines = document.read_text(encoding="utf-8").splitlines()
    assert lines[2] == "![BLEU by source length, toy, test-greedy](docs/toy-test-greedy.png)"
    assert lines[4].startswith("- no-attention: BLEU is ")
    assert lines[5].startswith("- attention: BLEU is ")
    assert lines[6].startswith("- Whether a gap grows with the length of the source cannot be said")
    assert lines[7].startswith("- Command: `python scripts/reproduce.py experiment=toy corpus.")
    assert lines[8:] == [f"<!-- /{mark} -->", "b"]
    drawn = tmp_path / "docs" / "toy-test-greedy.png"
    assert drawn.read_bytes() == (comparison / "figure.png").read_bytes()


def test_text_that_was_given_is_published_as_such(tmp_path, comparison):
    ours = read_evaluation(tmp_path / "attention")
    texts = replace(ours.texts, capped=[])
    record = {"experiment": None, "system": "moses", "seed": None, "search": "given"}
    write_evaluation(tmp_path / "moses", texts, SETTINGS, record)
    folders = [str(tmp_path / "moses"), str(tmp_path / "attention")]
    compare(CompareConfig(evaluations=folders, output=str(comparison), evaluation=SETTINGS))
    text = published(tmp_path, comparison)
    assert "- moses: translations that were given.\n" in text
    assert "4,321 parameters" in text
    assert text.count("Hardware:") == 1


def test_a_training_that_was_cut_or_not_finished_is_said_to_be(tmp_path, comparison):
    for system, said in (
        ("attention", {"reason": "max_epochs=2", "status": "finished"}),
        ("no-attention", {"reason": None, "status": "interrupted"}),
    ):
        found = read_evaluation(tmp_path / system)
        record = found.record | {"training": found.record["training"] | said}
        write_evaluation(tmp_path / system, found.texts, SETTINGS, record)
    document = tmp_path / "README.md"
    document.write_text(f"{MARKS}\n<!-- scores:s -->\n<!-- /scores:s -->\n", encoding="utf-8")
    publish(
        PublishConfig(
            comparisons=[str(comparison)],
            scores={"s": [str(tmp_path / "no-attention")]},
            document=str(document),
            pictures=str(tmp_path / "docs"),
        )
    )
    text = document.read_text(encoding="utf-8")
    assert "learning stops: attention, seed 7 (max_epochs=2). The comparison may be one" in text
    assert text.count("best after 617;") == text.count("best after 617, unfinished;") == 1
    assert "- Trained, unfinished: Command:" in text


def test_the_scores_beside_bleu_are_published_by_themselves(tmp_path, comparison):
    for system in ("attention", "no-attention"):
        found = read_evaluation(tmp_path / system)
        identity = {"source_sha256": "01" * 32, "reference_sha256": "23" * 32}
        record = found.record | {"identity": identity}
        write_evaluation(tmp_path / system, found.texts, SETTINGS, record)
    document = tmp_path / "study.md"
    mark = "details:toy/test-greedy"
    document.write_text(f"<!-- {mark} -->\n<!-- /{mark} -->\n", encoding="utf-8")
    publish(
        PublishConfig(details=[str(comparison)], document=str(document), pictures=str(tmp_path))
    )
    lines = document.read_text(encoding="utf-8").splitlines()
    for quantity in ("chrF", "brevity", "unpenalised BLEU", "hit the cap"):
        assert f"{quantity} attention" in lines[1]
        assert f"{quantity} no-attention" in lines[1]
    digests = f"source `{'01' * 8}`, reference `{'23' * 8}`."
    assert lines[-2] == f"- SHA-256 of the text: {digests}"
    assert [line[: line.index(":")] for line in lines[-5:-2]] == [
        "- Brevity",
        "- Unpenalised",
        "- Hit the cap",
    ]


def test_a_checkpoint_without_its_run_makes_up_no_training(tmp_path, comparison):
    ours = read_evaluation(tmp_path / "attention")
    record = ours.record | {"training": None, "command": ["evaluate.py", "checkpoint=away"]}
    record.pop("git_commit", None)
    record["hardware"] = {"processor": "Abacus 4", "threads": "1", "torch": "9.9"}
    write_evaluation(tmp_path / "attention", ours.texts, SETTINGS, record)
    text = published(tmp_path, comparison)
    assert "- attention, seed 7: 4,321 parameters, how it was trained is not recorded; 10.0" in text
    assert "Command: `python scripts/evaluate.py checkpoint=away`. Hardware: Abacus 4" in text
    assert "Hardware: Abacus 4, 1 thread; PyTorch 9.9.\n" in text
    assert "None" not in text


def test_a_document_without_the_mark_is_refused_and_kept(tmp_path, comparison):
    document = tmp_path / "README.md"
    document.write_text("no marks here\n")
    config = PublishConfig(
        comparisons=[str(comparison)], document=str(document), pictures=str(tmp_path / "docs")
    )
    with pytest.raises(UserError, match="has no place for this result; add the two lines"):
        publish(config)
    assert document.read_text() == "no marks here\n"
    assert not (tmp_path / "docs").exists()


def test_two_results_of_one_name_are_refused(tmp_path):
    document = tmp_path / "README.md"
    document.write_text("<!-- benchmark:m -->\n<!-- /benchmark:m -->\n")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.md").write_text(f"of {folder}\n")
    tables = [str(tmp_path / folder / "m.md") for folder in ("a", "b")]
    with pytest.raises(UserError, match=r"Two results are called benchmark:m, and .*README\.md"):
        publish(PublishConfig(benchmarks=tables, document=str(document), pictures="docs"))
    assert "of" not in document.read_text()


@pytest.mark.parametrize("name", ["README.md", "m.md"])
def test_text_in_another_encoding_is_refused(tmp_path, name):
    (tmp_path / "README.md").write_text("<!-- benchmark:m -->\n<!-- /benchmark:m -->\n")
    (tmp_path / "m.md").write_text("a table\n")
    (tmp_path / name).write_bytes("<!-- é -->".encode("latin-1"))
    config = PublishConfig(
        benchmarks=[str(tmp_path / "m.md")],
        document=str(tmp_path / "README.md"),
        pictures="docs",
    )
    with pytest.raises(UserError, match=rf"{name} is not UTF-8 text; convert it"):
        publish(config)


def test_an_unfinished_comparison_is_refused(tmp_path):
    (tmp_path / "README.md").write_text(MARKS)
    config = PublishConfig(
        comparisons=[str(tmp_path)], document=str(tmp_path / "README.md"), pictures="docs"
    )
    with pytest.raises(UserError, match="holds no finished comparison; run reproduce"):
        publish(config)


def test_only_the_part_of_this_mark_is_replaced():
    text = f"{MARKS}\n{MARKS.replace('toy', 'other')}\n"
    marks = "<!-- results:other/test-greedy -->", "<!-- /results -->"
    replaced = replace_part(text, marks, r"new \1", Path("x"))
    assert replaced.startswith(MARKS)
    assert r"new \1" in replaced
    assert replaced.count("<!-- /results -->") == 2


def test_nothing_to_publish_is_refused():
    lists = ("comparisons", "summaries", "details", "focus", "places", "benchmarks")
    tables = ("runs", "scores", "curves", "alignments", "table_1")
    named = "give " + ".*".join(f"{name}=" for name in (*lists, *tables)) + ".* or maps="
    with pytest.raises(UserError, match=named):
        PublishConfig(document="README.md", pictures="docs")
    with pytest.raises(UserError, match=r"runs names no folder for same; give runs=\{same:"):
        PublishConfig(runs={"same": []}, document="README.md", pictures="docs")
