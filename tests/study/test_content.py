"""Content words in packed results, against a slow loop over a text."""

import random
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import packed
import pytest
import read_again
from groups import Groups, recall_of
from helpers.synthetic_translations import evaluated as translations
from recall import CONTRASTS
from synthetic_results import packed as evaluated

from seq2seq.config import FilesCorpus
from seq2seq.errors import UserError
from seq2seq.evaluation.translations import Translations
from seq2seq.files import digest

LIMITS = (0, 9, 99, 999)
LUCK = random.Random(1)
VOCABULARY = [f"word{number}" for number in range(3_000)]
REFERENCES = [
    " ".join(LUCK.choice([*VOCABULARY, "the", "THEN", ","]) for _ in range(length))
    for length in [8, 12, 34, 40] * 60
]
TRAINING = [" ".join([VOCABULARY[n % 90]] * (1 + n % 12)) for n in range(600)]


def losing(share):
    luck = random.Random(share)
    lines = [line.split() for line in REFERENCES]
    return [" ".join(w for w in line if luck.random() > share) or "." for line in lines]


def words_of(text):
    return re.findall(r"\w+", text.lower())


SPREAD = Counter(word for reference in REFERENCES for word in {*words_of(reference)})
READ = [text for text in TRAINING[:400] if len(text.split()) <= 9]
SEEN = Counter(word for text in READ for word in words_of(text))


def slow(hypotheses, line):
    """Tenth, group of its count in training, and whether it is found, of each word of a line."""
    words, found = words_of(REFERENCES[line]), []
    for position, word in enumerate(words):
        if len(word) > 3 and words.count(word) == 1 and SPREAD[word] <= 0.02 * len(REFERENCES):
            group = sum(SEEN[word] > limit for limit in LIMITS)
            found.append((10 * position // len(words), group, word in words_of(hypotheses[line])))
    return found


@pytest.fixture
def text(tmp_path):
    """A corpus of files: the training text on both sides, the references as test set."""
    for name, lines in {"train": TRAINING, "valid": TRAINING[:9], "test": REFERENCES}.items():
        for side in ("en", "fr"):
            (tmp_path / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def systems(root):
    """Two systems that lose words, one with two seeds: packed, and their evaluations."""
    made = []
    for name, seed, share in (("a", 1, 0.2), ("a", 2, 0.5), ("b", 1, 0.8)):
        hypotheses = losing(share)
        texts = Translations(
            REFERENCES, REFERENCES, hypotheses, [False] * len(hypotheses), [-1.0] * len(hypotheses)
        )
        made.append(evaluated(root, name, None, seed=seed, texts=texts))
    return made


def test_packed_counts_are_those_of_a_slow_loop(text, monkeypatch):
    corpus = FilesCorpus(source="en", target="fr", directory=str(text))
    config = SimpleNamespace(corpus=corpus, data=str(text))
    monkeypatch.setattr(packed, "read_config", lambda folder: config)
    made, results = systems(text), text / "results"
    packed.main([str(evaluation.directory) for _, evaluation in made], results)
    pool = results / "figure2-cpu" / "test"
    for one, (_, evaluation) in zip(packed.read_all(pool), made, strict=True):
        content = one.content
        for line in range(len(REFERENCES)):
            of = content.line == line
            numbers = (content.place[of], content.seen[of], one.found[of])
            assert [*zip(*numbers, strict=True)] == slow(evaluation.texts.hypotheses, line)
    assert {*content.seen.tolist()} == {0, 1, 2}
    groups = Groups.of(packed.read_all(pool))
    long = groups.short_and_long()[1]
    lines = np.flatnonzero(long.members)
    shares = []
    for _, evaluation in made[:2]:
        words = [one for line in lines for one in slow(evaluation.texts.hypotheses, line)]
        tenths = [[found for place, _, found in words if place == n] for n in range(10)]
        shares.append([np.mean(tenth) for tenth in tenths])
    recall = recall_of("place")(long, groups["a"])
    assert recall[0] == pytest.approx(np.mean(shares, axis=0))
    first, *middle, last = (np.mean(shares, axis=0)[n] for n in (0, 3, 4, 5, 6, 9))
    contrast = {name: float(recall[0] @ weights) for name, weights in CONTRASTS.items()}
    assert contrast == pytest.approx(
        {
            "middle minus ends": np.mean(middle) - (first + last) / 2,
            "first minus middle": first - np.mean(middle),
            "last minus middle": last - np.mean(middle),
        }
    )


def test_floors_alone_have_no_training_text_to_count_words_in(text):
    made, results = systems(text), text / "results"
    texts = Translations(REFERENCES, REFERENCES, REFERENCES, capped=[])
    identity = {"source": "s", "reference": "r"}
    floor = {"experiment": "figure2-cpu", "identity": identity}
    translations(text / "copying", texts, "copying", None, **floor)
    for pool in ([], [one for one, _ in made]):
        if pool:
            packed.write_all(results / "figure2-cpu" / "test", pool)
        with pytest.raises(UserError, match="together with a trained system"):
            packed.main([str(text / "copying")], results)
        assert len(packed.read_all(results / "figure2-cpu" / "test")) == len(pool)


def test_what_is_packed_already_is_counted_the_same(text, monkeypatch):
    results, made = text / "results", systems(text)
    reference = digest(f"{line}\n".encode() for line in REFERENCES)
    for one, _ in made:
        one.record["reference"] = reference
    pool = results / "figure2-cpu" / "test"
    packed.write_all(pool, [one for one, _ in made])
    assert not packed.read_all(pool)[0].found.size
    read_again.main(str(text / "train"), str(text / "test"), results=results)
    for one, (_, evaluation) in zip(packed.read_all(pool), made, strict=True):
        line = one.content.line
        numbers = zip(one.content.place, one.content.seen, one.found, strict=True)
        expected = [w for n in range(len(REFERENCES)) for w in slow(evaluation.texts.hypotheses, n)]
        assert [*numbers] == expected
        assert one.hypotheses == evaluation.texts.hypotheses
    assert (np.diff(line) >= 0).all()
