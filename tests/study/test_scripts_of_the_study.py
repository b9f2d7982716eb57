"""What the study's scripts make of texts and models, where the answer is known."""

import lzma
import random
import re
import tarfile
from collections import Counter
from dataclasses import replace

import cram
import numpy as np
import pytest
import same_content
import sample
import torch
from content import count_content, training_pairs
from floors import unrelated
from helpers.small_checkpoint import SENTENCES, tiny_translator
from helpers.synthetic_translations import evaluated, translated
from packed import LOSSES, main, read_all, write_all

from seq2seq.config import DecodingConfig
from seq2seq.data.europarl import ARCHIVE, NAME
from seq2seq.data.text import ParallelText, read_lines, write_lines
from seq2seq.evaluation.translations import ReferenceScores
from seq2seq.files import write_json

SOURCES = [SENTENCES[1], SENTENCES[2], SENTENCES[0]]


def test_what_is_packed_is_read_again_without_the_text_of_the_corpus(tmp_path):
    losses = [[0.25 * n for n in range(count)] for count in (0, 7, 10, 31)]
    scores = ReferenceScores([-sum(of) for of in losses], [len(of) for of in losses])
    record = {"experiment": "e", "identity": {"source": "s", "reference": "r"}}
    for name, quality in (("b", 0.9), ("a", 0.4), ("b", 0.5)):
        texts = translated({5: 3, 15: 1}, lambda words, quality=quality: quality)
        texts = replace(texts, reference_scores=scores)
        evaluation = evaluated(tmp_path / f"{name}-{quality}", texts, name, **record)
        write_json(evaluation.directory / LOSSES, losses)
        main([str(evaluation.directory)], tmp_path / "results")
    pool = tmp_path / "results" / "e" / "test"
    a, b = read_all(pool)
    assert (a.name, b.name) == ("a-seed-1", "b-seed-1")
    assert b.hypotheses == texts.hypotheses  # the later of two with one name
    for key in ("bleu", "chrf"):
        np.testing.assert_array_equal(getattr(b, key), evaluation.counts.arrays[key])
    expected = [[sum(of), len(of)] for of in losses]
    assert b.losses(range(10_000)) == pytest.approx(np.array(expected), abs=0.03)
    written = pool.with_name("test.npz.xz").read_bytes()
    assert write_all(tmp_path / "again", [b, a]).read_bytes() == written
    assert texts.sources[0].encode() not in lzma.decompress(written)


def test_content_words_are_those_of_a_slow_loop(tmp_path):
    luck, vocabulary = random.Random(1), [f"word{number}" for number in range(3_000)]
    words = [*vocabulary, "the", "THEN", ","]
    references = [" ".join(luck.choices(words, k=count)) for count in [8, 12, 34, 40] * 60]
    hypotheses = [" ".join(line.split()[: luck.randrange(40)]) for line in references]
    lines = [" ".join([vocabulary[n % 90]] * (1 + n % 12)) for n in range(600)]
    write_lines(tmp_path / "train", lines)
    text = ParallelText(tmp_path / "train", tmp_path / "train")
    read = [line for line in lines[:400] if len(line.split()) <= 9]

    def words_of(line):
        return re.findall(r"\w+", line.lower())

    spread = Counter(word for line in references for word in {*words_of(line)})
    seen = Counter(word for line in read for word in words_of(line))
    expected = []
    for number, line in enumerate(references):
        found = words_of(line)
        for position, word in enumerate(found):
            if len(word) > 3 and found.count(word) == 1 and spread[word] <= 0.02 * len(references):
                group = sum(seen[word] > limit for limit in (0, 9, 99, 999))
                said = word in words_of(hypotheses[number])
                expected.append((number, 10 * position // len(found), group, said))
    content, (there,) = count_content(
        references, [hypotheses], lambda: [target for _, target in training_pairs(text, 400, 9)]
    )
    assert [*zip(content.line, content.place, content.seen, there, strict=True)] == expected
    assert {group for _, _, group, _ in expected} == {0, 1, 2}


def test_unrelated_references_are_of_other_sentences_as_long():
    lengths = [3, 5, 3, 5, 3, 9]
    lines = unrelated([" ".join("a" * length) for length in lengths])
    assert all(line != number for number, line in enumerate(lines))
    assert sum(lengths[line] != lengths[number] for number, line in enumerate(lines)) <= 3


def test_joining_and_cutting_keep_all_words_in_their_order():
    long = "when we came, as the president of that house said; we voted for it. no one was, no. "
    uncut = "no punctuation " * 21
    sources = [" ".join([f"s{n}"] * (4 + n % 14)) for n in range(100)] + [3 * long, uncut]
    made = dict(same_content.same_content(sources, [source.upper() for source in sources]))
    ((cut, reference),) = made.pop("cut")
    assert " ".join(cut) == reference.lower().strip() == (3 * long).strip()
    assert [len(part.split()) for part in cut] == 3 * [10, 8]
    short = [source for source in sources if 5 <= len(source.split()) <= 15]
    for count in range(1, 6):
        parts = [part for part, _ in made[f"joined-{count}"]]
        assert parts == [short[n : n + count] for n in range(0, len(short), count)]
        assert all(line == " ".join(part).upper() for part, line in made[f"joined-{count}"])


def test_parts_are_translated_one_by_one_and_the_whole_at_once():
    translator, search = tiny_translator(), DecodingConfig(beam=2, max_extra=5)
    texts = ["a dog barks", "the cat sees", "cats and dogs bark", "a dog barks the cat sees"]
    one, two, three, whole = (said.text for said in translator.translate(texts, search))
    lines = [(texts[:2], "one"), (texts[2:3], "two")]
    for apart, hypothesis in ((True, f"{one} {two}"), (False, whole)):
        found = same_content.translate(translator, lines, search, apart)
        assert found.hypotheses == [hypothesis, three]
        assert found.sources == [texts[3], texts[2]]


def test_pairs_of_europarl_are_found_by_their_digests_in_their_order(tmp_path, monkeypatch):
    sides = {"en": "Line {} , in English .", "fr": "Ligne {} , en français ."}
    with tarfile.open(tmp_path / ARCHIVE, "w:gz") as tar:
        for language, line in sides.items():
            write_lines(tmp_path / language, (line.format(n) for n in range(60)))
            tar.add(tmp_path / language, f"{NAME}.{language}")
    chosen = {"train": [40, 3, 60, 22], "valid": [5], "test": [59, 0]}  # there is no line 60
    digests = {
        split: [sample.pair_digest(f"line {n},  in English.", sides["fr"].format(n)) for n in lines]
        for split, lines in chosen.items()
    }
    np.savez(tmp_path / "digests.npz", **digests)
    monkeypatch.setattr(sample, "DIGESTS", tmp_path / "digests.npz")
    sample.main(str(tmp_path / "made"), str(tmp_path))
    for split, lines in chosen.items():
        for language, line in sides.items():
            found = [*read_lines(tmp_path / "made" / f"{split}.{language}")]
            assert found == [line.format(n) for n in lines if n < 60]


@pytest.fixture(scope="module")
def fixed():
    """Translator, and the vectors of its encoder."""
    translator = tiny_translator("fixed")
    return translator, cram.encoded(translator, SOURCES)


def read_from(translator, vectors):
    """Translations from vectors, and what forced decoding says of the references."""
    texts = cram.Translations(SOURCES, SENTENCES, [""] * 3, [False] * 3)
    made = cram.translate(translator, texts, vectors)
    return made.hypotheses, -torch.tensor(made.reference_scores.log_probabilities)


def test_the_vectors_of_the_encoder_give_what_the_model_gives(fixed):
    translator, vectors = fixed
    hypotheses, found = read_from(translator, vectors)
    assert hypotheses == [one.text for one in translator.translate(SOURCES, beam=1)]
    losses = -torch.tensor(translator.score(SOURCES, SENTENCES))
    torch.testing.assert_close(found, losses, rtol=1e-4, atol=1e-4)
    pieces = cram.piece_losses(*cram.reading(translator, SOURCES, vectors), SENTENCES)
    sums = torch.tensor([sum(of) for of in pieces])
    torch.testing.assert_close(sums, losses, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("which", ["free", "bounded", "within"])
def test_cramming_lowers_each_loss_within_the_limits_and_alone(fixed, which, monkeypatch):
    monkeypatch.setattr(cram, "STEPS", 20)
    translator, vectors = fixed
    beginnings = [sentence[first:] for sentence in SENTENCES for first in (0, 4, 9, 13)]
    frame = {
        "free": cram.Frame.free(8),
        "bounded": cram.Frame.free(8, 0.5),
        "within": cram.Frame.within(cram.encoded(translator, beginnings)),
    }[which]
    together, found = cram.cram(translator, vectors, SENTENCES, frame, 0.1)
    torch.testing.assert_close(read_from(translator, together)[1], found, rtol=1e-4, atol=1e-4)
    before = read_from(translator, frame.vectors(frame.coordinates(vectors)))[1]
    assert (found < before - 0.1).all()
    assert (frame.coordinates(together).norm(dim=1) <= frame.radius * (1 + 1e-5)).all()
    assert (together.abs().amax() == 0.5) == (which == "bounded")
    alone, _ = cram.cram(translator, vectors[1:2], SENTENCES[1:2], frame, 0.1)
    torch.testing.assert_close(alone[0], together[1], rtol=1e-3, atol=1e-4)
