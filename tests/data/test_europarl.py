import json
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import EuroparlCorpus
from seq2seq.data.europarl import DUPLICATE, HELD_OUT, TEST, TRAIN, VALID, assign, clean_and_split
from seq2seq.data.text import read_lines, write_lines
from seq2seq.errors import UserError


def assign_slowly(pairs, sources, valid, test):
    """The rule of ``assign``, one pair at a time."""
    order = sorted(set(sources))
    if len(order) <= valid + test:
        return None
    split = {s: TEST if i < test else VALID for i, s in enumerate(order[: valid + test])}
    seen_pairs, seen_sources, labels = set(), set(), []
    for pair, source in zip(pairs, sources, strict=True):
        if pair in seen_pairs:
            labels.append(DUPLICATE)
            continue
        label = split.get(source, TRAIN)
        if label != TRAIN and source in seen_sources:
            label = HELD_OUT
        labels.append(label)
        seen_pairs.add(pair)
        seen_sources.add(source)
    return labels


@given(
    pairs=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=40),
    valid=st.integers(1, 4),
    test=st.integers(1, 4),
)
def test_assign_follows_its_rule(pairs, valid, test):
    digests = [source * 10 + target for source, target in pairs]
    sources = [source for source, _ in pairs]
    expected = assign_slowly(digests, sources, valid, test)
    arguments = np.array(digests, np.uint64), np.array(sources, np.uint64), valid, test
    if expected is None:
        with pytest.raises(UserError, match=r"Only \d+ distinct sources are left"):
            assign(*arguments)
    else:
        assert assign(*arguments).tolist() == expected


def plain(source):
    """The source but for capitals and spacing."""
    return " ".join(source.split()).casefold()


def raw_text(seed=1, count=600):
    """Pairs with everything cleaning must deal with."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(40)]
    pairs = []
    for _ in range(count):
        source = " ".join(rng.choices(words, k=rng.randint(1, 12)))
        target = " ".join(rng.choices(words, k=rng.randint(1, 12)))
        pairs.append((source, target))
    pairs += rng.choices(pairs, k=50)  # exact duplicates
    pairs += [(s, " ".join(t.split()[::-1])) for s, t in rng.choices(pairs, k=50)]  # same source
    pairs += [(s.upper(), t) for s, t in rng.choices(pairs, k=50)]  # same but for capitals
    pairs += [(s.replace(" ", "  "), t) for s, t in rng.choices(pairs, k=50)]  # or for spacing
    pairs += [("", "x"), ("x", " \u00a0"), ("", ""), ("a " * 21, "b " * 20), ("a b\u2028c", "d")]
    rng.shuffle(pairs)
    return pairs


CONFIG = EuroparlCorpus(max_words=20, max_ratio=3.0, valid_pairs=20, test_pairs=40)


def split(folder, pairs, config=CONFIG):
    folder.mkdir()
    texts = {language: folder / f"raw.{language}" for language in ("en", "fr")}
    sides = {config.source: 0, config.target: 1}
    for language, side in sides.items():
        write_lines(texts[language], [pair[side] for pair in pairs])
    counts = clean_and_split(config, texts, folder)
    splits = {}
    for name in ("train", "valid", "test"):
        paths = [folder / f"{name}.{language}" for language in sides]
        splits[name] = list(zip(*map(read_lines, paths), strict=True))
    return counts, splits


def test_splits_are_clean_of_the_size_asked_for_and_apart(tmp_path):
    pairs = raw_text()
    _, splits = split(tmp_path / "a", pairs)
    assert (len(splits["valid"]), len(splits["test"])) == (20, 40)
    kept = [pair for name in splits for pair in splits[name]]
    assert len(kept) == len(set(kept))
    for source, target in kept:
        lengths = sorted((len(source.split()), len(target.split())))
        assert lengths[0] >= 1
        assert lengths[1] <= min(20, 3 * lengths[0])
    sources = [{plain(source) for source, _ in pairs} for pairs in splits.values()]
    for one, other in [*pairwise(sources), (sources[0], sources[2])]:
        assert not one & other
    # The order of the text is kept within each split.
    position = {(s.strip(), t.strip()): i for i, (s, t) in reversed(list(enumerate(pairs)))}
    for name in splits:
        places = [position[pair] for pair in splits[name]]
        assert places == sorted(places)


def test_every_pair_is_counted_once(tmp_path):
    pairs = raw_text()
    counts, splits = split(tmp_path / "a", pairs)
    report = json.loads((tmp_path / "a" / "cleaning.json").read_text())
    assert report["pairs"] == vars(counts)
    ways = dict(report["pairs"])
    assert ways.pop("read") == len(pairs) == sum(ways.values())
    assert {name: len(splits[name]) for name in splits} == {name: ways[name] for name in splits}
    assert ways["empty"] == 3
    assert ways["too_long"] == 1
    words = [(len(s.split()), len(t.split())) for s, t in pairs]
    assert ways["uneven"] == sum(0 < 3 * min(w) < max(w) <= 20 for w in words)
    assert min(ways["duplicate"], ways["held_out"]) > 0


def test_the_split_depends_on_the_text_not_on_its_order(tmp_path):
    # Distinct sources, so that no duplicate is chosen by its place.
    pairs = list({plain(source): (source, target) for source, target in raw_text()}.values())
    _, one = split(tmp_path / "a", pairs)
    _, other = split(tmp_path / "b", pairs[::-1])
    assert {name: sorted(one[name]) for name in one} == {n: sorted(other[n]) for n in other}
    # More text moves pairs into training only where new ones took their place.
    _, more = split(tmp_path / "c", [*pairs, ("another new source", "another new target")])
    assert len(set(one["test"]) - set(more["test"])) <= 1


def test_either_side_may_be_the_source(tmp_path):
    config = EuroparlCorpus(source="fr", target="en", max_words=20, valid_pairs=20, test_pairs=40)
    _, splits = split(tmp_path / "a", raw_text(), config)
    _, usual = split(tmp_path / "b", raw_text())
    assert splits == usual


def test_raw_files_out_of_step_are_refused(tmp_path):
    texts = {"en": tmp_path / "raw.en", "fr": tmp_path / "raw.fr"}
    write_lines(texts["en"], ["a", "b", "c"])
    write_lines(texts["fr"], ["a", "b"])
    with pytest.raises(UserError) as caught:
        clean_and_split(CONFIG, texts, tmp_path)
    assert str(caught.value) == (
        f"{texts['fr']} ends after 2 lines but {texts['en']} goes on; line i of one must be the "
        "translation of line i of the other, so get both from one place."
    )


def test_too_little_text_is_refused(tmp_path):
    with pytest.raises(UserError) as caught:
        split(tmp_path / "a", [("one", "un"), ("two", "deux")])
    assert str(caught.value) == (
        "Only 2 distinct sources are left of the corpus after cleaning, too few for "
        "corpus.valid_pairs=20, corpus.test_pairs=40 and any training text; lower these, or raise "
        "corpus.max_words and corpus.max_ratio."
    )
