"""What evaluate keeps of attention: maps of a few lines, links scored against those of people."""

import dataclasses
import json
from pathlib import Path

import pytest
from toy_evaluation import settings

from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.folder import read_evaluation
from seq2seq.evaluation.references import reference_links


def test_where_the_model_looked_is_kept_for_a_few_lines_of_every_length(run, monkeypatch):
    (found,) = evaluate(settings(run))
    lengths = [len(found.texts.sources[one.line].split()) for one in found.texts.maps]
    assert len(lengths) <= 9
    assert {length > 2 for length in lengths} == {True, False}
    for one in found.texts.maps:
        assert one.source == found.texts.sources[one.line].split()
        assert one.hypothesis == found.texts.hypotheses[one.line].split()
    other = next(
        line
        for line, said in enumerate(found.texts.hypotheses)
        if said and line not in {one.line for one in found.texts.maps}
    )
    monkeypatch.setattr(Translator, "translate", lambda *_, **__: pytest.fail("translated again"))
    (more,) = evaluate(settings(run, maps=[other + 1]))
    assert {one.line for one in more.texts.maps} == {one.line for one in found.texts.maps} | {other}
    assert read_evaluation(more.directory) == more
    with pytest.raises(UserError, match=r"maps names line 101, but test has 100; lines count from"):
        evaluate(settings(run, maps=[101], output=str(run / "new")))
    assert not (run / "new").exists()
    third = next(line for line in range(100) if line not in {one.line for one in more.texts.maps})
    (both,) = evaluate(settings(run, maps=[third + 1]))
    shown = {one.line for one in both.texts.maps}
    assert shown >= {one.line for one in more.texts.maps}  # those of earlier calls stay
    with pytest.raises(UserError, match="maps"):
        settings(run, maps=[0])


def aligned_text(folder: Path, links: str) -> dict[str, str]:
    """Three lines of text of one's own, and links for them."""
    (folder / "own.src").write_text("a b\n\nc d e\n", encoding="utf-8")
    (folder / "own.ref").write_text("B A\n\nE D C\n", encoding="utf-8")
    (folder / "own.gold").write_text(links, encoding="utf-8")
    names = {"source": "own.src", "reference": "own.ref", "gold": "own.gold"}
    return {**{key: str(folder / name) for key, name in names.items()}, "output": str(folder)}


def test_attention_is_scored_against_links_of_people(run, tmp_path):
    config = settings(run, **aligned_text(tmp_path, "1-2 2-1\n\n1-3 2p2 3-1\n"))
    translator = Translator.load(run, "cpu", "fp32")
    links = reference_links(translator, ["a b", "", "c d e"], ["B A", "", "E D C"], 3)
    found = {(line, *link) for line, row in enumerate(links) for link in row}
    sure = {(0, 0, 1), (0, 1, 0), (2, 0, 2), (2, 2, 0)}
    (evaluation,) = evaluate(config)
    content = json.loads((evaluation.directory / "alignment.json").read_text(encoding="utf-8"))
    assert content["sentences"] == 3
    hits = len(found & sure) + len(found & (sure | {(2, 1, 1)}))
    assert content["shifts"]["0"]["aer"] == pytest.approx(1 - hits / (len(found) + len(sure)))
    moved = {(line, s, t + 1) for line, s, t in found if t + 1 < (2 if line == 0 else 3)}
    assert content["shifts"]["1"]["links"] == len(moved)
    assert content["shifts"]["1"]["recall"] == pytest.approx(len(moved & sure) / len(sure))
    # 0-0, 1-1 and 0-0, 1-1, 2-2, of which 1-1 alone is a link, a possible one.
    assert content["diagonal"]["aer"] == pytest.approx(1 - 1 / (5 + 4))
    assert content["diagonal"]["links"] == 5
    # Links of other people replace it, the same ones leave it alone, and none remove it.
    path, before = evaluation.directory / "alignment.json", content
    evaluate(config)
    assert json.loads(path.read_text(encoding="utf-8")) == before
    Path(config.gold).write_text("1-1\n\n1-1\n", encoding="utf-8")
    evaluate(config)
    assert json.loads(path.read_text(encoding="utf-8"))["shifts"]["0"]["sure"] == 2
    evaluate(dataclasses.replace(config, gold=None))
    assert not path.exists()


def test_links_of_another_model_or_text_are_scored_anew(run, other_checkpoint, tmp_path):
    texts = aligned_text(tmp_path, "1-2 2-1\n\n1-3 2p2 3-1\n")
    identities = []

    def score(checkpoint: Path) -> None:
        (evaluation,) = evaluate(settings(checkpoint, **texts))
        content = json.loads((evaluation.directory / "alignment.json").read_text(encoding="utf-8"))
        assert content["identity"] == evaluation.record["identity"]
        identities.append(content["identity"])

    score(run)
    score(other_checkpoint)
    for side, changed in {"source": "b a\n\nc d e\n", "reference": "A B\n\nE D C\n"}.items():
        Path(texts[side]).write_text(changed, encoding="utf-8")
        score(other_checkpoint)
    assert all(identities.count(one) == 1 for one in identities)


def test_links_that_do_not_fit_are_refused_where_they_were_asked_for(run, tmp_path, caplog):
    texts = aligned_text(tmp_path, "1-2 2-9\n\n1-3\n")
    with pytest.raises(UserError, match=r"own.gold, line 1: a link names word 2 of 2 and word 9"):
        evaluate(settings(run, **texts))
    with pytest.raises(UserError, match="gold goes with source and reference"):
        settings(run, gold=texts["gold"])
    for side, name in {"en": "own.src", "de": "own.ref", "align": "own.gold"}.items():
        (tmp_path / f"own.{side}").write_bytes((tmp_path / name).read_bytes())
    (evaluation,) = evaluate(
        settings(run, test_sets=[], test_texts={"own": str(tmp_path / "own")}, output=str(tmp_path))
    )
    assert "The links of own are not scored: " in caplog.text
    assert not (evaluation.directory / "alignment.json").exists()
