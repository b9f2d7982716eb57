"""Joined and cut sentences: no word is lost, and parts are translated one by one."""

import pytest
import same_content
from helpers.small_checkpoint import tiny_translator

from seq2seq.config import DecodingConfig


def test_joining_keeps_all_short_sentences_in_their_order():
    sources = [" ".join([f"s{n}"] * (4 + n % 14)) for n in range(100)]
    references = [source.upper() for source in sources]
    short = [source for source in sources if 5 <= len(source.split()) <= 15]
    made = dict(same_content.same_content(sources, references))
    assert made.keys() == {f"joined-{n}" for n in range(1, 6)}
    for count in (1, 3, 5):
        parts = [part for part, _ in made[f"joined-{count}"]]
        assert parts == [short[n : n + count] for n in range(0, len(short), count)]
        assert all(line == " ".join(part).upper() for part, line in made[f"joined-{count}"])


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
    made = dict(same_content.same_content([source, long, uncut], ["a", "b", "c"]))
    assert made["cut"] == [(same_content.cut(long), "b")]


def test_sentences_apart_are_translated_one_by_one_and_scored_together():
    translator, search = tiny_translator(), DecodingConfig(beam=2, max_extra=5)
    lines = [(["a dog barks", "the cat sees"], "one"), (["cats and dogs bark"], "two")]
    whole, apart = (
        same_content.translate(translator, lines, search, apart) for apart in (False, True)
    )
    assert apart.sources == whole.sources == ["a dog barks the cat sees", "cats and dogs bark"]
    assert apart.references == whole.references == ["one", "two"]
    first, second, third = translator.translate([*lines[0][0], *lines[1][0]], search)
    assert apart.hypotheses == [f"{first.text} {second.text}", third.text]
    said = [first.log_probability + second.log_probability, third.log_probability]
    assert apart.log_probabilities == pytest.approx(said)
    together = translator.translate(whole.sources, search)
    assert whole.hypotheses == [hypothesis.text for hypothesis in together]
