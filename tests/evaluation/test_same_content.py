"""Joined and cut sentences: no word is lost, and parts are translated one by one."""

import pytest
from helpers.toy_evaluation import settings

from seq2seq.evaluation import same_content
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.test_sets import Sentences


def test_joining_keeps_all_short_sentences_in_their_order():
    sources = [" ".join([f"s{n}"] * (4 + n % 14)) for n in range(100)]
    references = [source.upper() for source in sources]
    short = [source for source in sources if 5 <= len(source.split()) <= 15]
    made = dict(same_content.same_content(Sentences(sources, references)))
    assert made.keys() == {f"joined-{n}{end}" for n in range(1, 6) for end in ("", "-apart")}
    for count in (1, 3, 5):
        whole, apart = (made[f"joined-{count}{end}"] for end in ("", "-apart"))
        assert whole.parts is None
        assert apart.parts == [short[n : n + count] for n in range(0, len(short), count)]
        assert whole.sources == apart.sources == [" ".join(parts) for parts in apart.parts]
        assert whole.references == apart.references == [line.upper() for line in whole.sources]
        assert whole.digests() == apart.digests()


def test_cutting_after_punctuation_keeps_all_words():
    source = (
        "when we came, as the president of that house said; we voted for it. nobody was there, no."
    )
    parts = same_content.cut(source)
    assert " ".join(parts) == source
    assert len(parts) == 2
    assert all(len(part.split()) >= same_content.PART for part in parts)
    uncut = "no punctuation " * 21
    assert same_content.cut(uncut) == [uncut.strip()]
    long = f"{source}  {source} {source}"
    made = dict(same_content.same_content(Sentences([source, long, uncut], ["a", "b", "c"])))
    assert made["cut"].sources == [long]
    assert made["cut-apart"].references == ["b"]
    assert made["cut-apart"].parts == [same_content.cut(long)]


def test_sentences_apart_are_translated_one_by_one_and_scored_together(run, tmp_path):
    lines = ["a b c d e", "h g f e d c b a", "b b a a c d e", "a"]
    for name in ("source", "reference"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    own = {name: str(tmp_path / name) for name in ("source", "reference")}
    config = settings(run, **own, output=str(tmp_path / "made"), same_content=True)
    found = {evaluation.directory.name: evaluation for evaluation in evaluate(config)}
    assert len(found) == 1 + 2 * same_content.MOST_JOINED
    alone, whole = found["source-greedy"], found["source-joined-2-greedy"]
    apart = found["source-joined-2-apart-greedy"]
    assert apart.texts.sources == whole.texts.sources == [" ".join(lines[:2]), lines[2]]
    first, second, third, _ = alone.texts.hypotheses
    assert apart.texts.hypotheses == [f"{first} {second}", third]
    said = alone.texts.log_probabilities
    assert apart.texts.log_probabilities == pytest.approx([said[0] + said[1], said[2]])
    assert apart.texts.references == whole.texts.references
    # A loss given the whole source is nothing that the parts were translated with.
    assert apart.texts.reference_scores is None
    assert len(whole.texts.reference_scores.pieces) == 2
    again = evaluate(config)
    assert [one.texts for one in again] == [one.texts for one in found.values()]
