"""What the study's scripts make of texts and models, where the answer is known."""

import lzma
import math
import random
import re
import tarfile
from collections import Counter
from dataclasses import replace

import cram
import numpy as np
import packed
import pytest
import same_content
import sample
import torch
from content import count_content
from helpers.small_checkpoint import SENTENCES, tiny_translator
from helpers.synthetic_translations import evaluated, translated

from seq2seq.config import DecodingConfig
from seq2seq.data.europarl import ARCHIVE, NAME
from seq2seq.data.text import read_lines, write_lines
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.evaluation.translations import ReferenceScores

SOURCES = [SENTENCES[1], SENTENCES[2], SENTENCES[0]]


def test_what_is_packed_is_read_again_without_the_text_of_the_corpus(tmp_path, monkeypatch):
    losses = [[0.25 * n for n in range(count)] for count in (0, 7, 10, 31)]
    monkeypatch.setattr(packed, "read_losses", lambda evaluation: losses)
    scores = ReferenceScores([-sum(of) for of in losses], [len(of) for of in losses])
    record = {"experiment": "e", "identity": {"source": "s", "reference": "r"}}
    record["config"] = {"corpus": {"kind": "files"}}
    for name, quality in (("b", 0.9), ("a", 0.4), ("b", 0.5)):
        texts = translated({5: 3, 15: 1}, lambda words, quality=quality: quality)
        texts = replace(texts, reference_scores=scores)
        evaluation = evaluated(tmp_path / f"{name}-{quality}", texts, name, **record)
        packed.main([str(evaluation.directory)], tmp_path / "results")
    pool = tmp_path / "results" / "e" / "test"
    a, b = packed.read_all(pool)
    assert (a.name, b.name) == ("a-seed-1", "b-seed-1")
    assert b.hypotheses == texts.hypotheses  # the later of two with one name
    np.testing.assert_array_equal(b.bleu, evaluation.counts.bleu)
    expected = [[sum(of), len(of)] for of in losses]
    assert b.losses(range(10_000)) == pytest.approx(np.array(expected), abs=0.03)
    written = pool.with_name("test.npz.xz").read_bytes()
    assert packed.write_all(tmp_path / "again", [b, a]).read_bytes() == written
    assert texts.sources[0].encode() not in lzma.decompress(written)


def test_content_words_are_those_of_a_slow_loop():
    luck, vocabulary = random.Random(1), [f"word{number}" for number in range(3_000)]
    words = [*vocabulary, "the", "THEN", ","]
    references = [" ".join(luck.choices(words, k=count)) for count in [8, 12, 34, 40] * 60]
    hypotheses = [" ".join(line.split()[: luck.randrange(40)]) for line in references]

    def words_of(line):
        return re.findall(r"\w+", line.lower())

    spread = Counter(word for line in references for word in {*words_of(line)})
    expected = []
    for number, line in enumerate(references):
        found = words_of(line)
        for position, word in enumerate(found):
            if len(word) > 3 and found.count(word) == 1 and spread[word] <= 0.02 * len(references):
                said = word in words_of(hypotheses[number])
                expected.append((number, 10 * position // len(found), said))
    content, (there,) = count_content(references, [hypotheses])
    assert [*zip(content.line, content.place, there, strict=True)] == expected


def test_joining_keeps_all_words_in_their_order():
    sources = [" ".join([f"s{n}"] * (4 + n % 14)) for n in range(100)]
    made = dict(same_content.same_content(sources, [source.upper() for source in sources]))
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
    """Translator, the vectors of its encoder, and the pieces of the references."""
    translator = tiny_translator("fixed")
    codec = translator.target
    rows = [torch.tensor([BOS, *codec.encode(line), EOS]) for line in SENTENCES]
    return translator, cram.encoded(translator, SOURCES), rows


def test_the_vectors_of_the_encoder_give_what_the_model_gives(fixed, monkeypatch):
    monkeypatch.setattr(cram, "STEPS", 1)
    translator, vectors, rows = fixed
    _, found = cram.cram(translator.model, vectors, rows, rate=0.0)
    expected = -torch.tensor(translator.score(SOURCES, SENTENCES)) / math.log(2)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("largest", [math.inf, 0.5])
def test_cramming_lowers_each_loss_within_the_limits_and_alone(fixed, largest, monkeypatch):
    monkeypatch.setattr(cram, "STEPS", 20)
    translator, vectors, rows = fixed
    together, found = cram.cram(translator.model, vectors, rows, 0.1, largest)
    monkeypatch.setattr(cram, "STEPS", 1)
    before, after = (
        cram.cram(translator.model, of, rows, 0.0)[1]
        for of in (vectors.clamp(-largest, largest), together)
    )
    torch.testing.assert_close(after, found, rtol=1e-4, atol=1e-4)
    assert (found < before - 0.1).all()
    assert (together.abs().amax() <= 0.5) == (largest == 0.5)
    monkeypatch.setattr(cram, "STEPS", 20)
    alone, _ = cram.cram(translator.model, vectors[1:2], rows[1:2], 0.1, largest)
    torch.testing.assert_close(alone[0], together[1], rtol=1e-3, atol=1e-4)


def test_nonsense_keeps_the_pieces_or_draws_them_and_has_the_codes_of_a_slow_loop(
    fixed, monkeypatch
):
    monkeypatch.setattr(cram, "STEPS", 1)
    translator, vectors, rows = fixed
    read = []
    monkeypatch.setattr(cram, "cram", lambda m, v, of, rate: (read.append(of), torch.zeros(3)))
    size = len(translator.target.vocabulary)
    found = cram.nonsense(translator.model, vectors, rows, rows, size, 0.1)
    _, shuffled, drawn = read
    pieces = [int(piece) for row in rows for piece in row[1:-1]]
    for row, other, code in zip(rows, shuffled, found["shuffled"]["code"], strict=True):
        assert sorted(other.tolist()) == sorted(row.tolist())
        assert (other[0], other[-1]) == (row[0], row[-1])
        shares = [pieces.count(int(piece)) / len(pieces) for piece in row[1:-1]]
        assert code == pytest.approx(-sum(map(math.log2, shares)), rel=1e-4)
    assert [len(row) for row in drawn] == [len(row) for row in rows]
    assert found["random"]["code"][0] == pytest.approx((len(rows[0]) - 2) * math.log2(size - 4))
