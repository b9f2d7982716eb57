"""Europarl is cleaned and split by rule, from the archive or from files."""

import dataclasses
import gzip
import hashlib
import json
import os
import random
import tarfile
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import REAL, SMALL, counts, put

from seq2seq.config import EuroparlCorpus
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.data.europarl import DUPLICATE, HELD_OUT, TEST, TRAIN, VALID, assign, clean_and_split
from seq2seq.data.parallel_text import read_aligned
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


def test_raw_files_out_of_step_and_too_little_text_are_refused(tmp_path):
    texts = {"en": tmp_path / "raw.en", "fr": tmp_path / "raw.fr"}
    write_lines(texts["en"], ["a", "b", "c"])
    write_lines(texts["fr"], ["a", "b"])
    with pytest.raises(UserError, match=r"raw\.fr ends after 2 lines"):
        clean_and_split(CONFIG, texts, tmp_path)
    with pytest.raises(UserError, match=r"corpus\.valid_pairs=20"):
        split(tmp_path / "a", [("one", "un"), ("two", "deux")])


SMALL_SPLIT = EuroparlCorpus(valid_pairs=10, test_pairs=20)
RAW = {
    f"europarl-v7.fr-en.{language}": "".join(f"sentence {i} in {language} .\n" for i in range(200))
    for language in ("en", "fr")
}


def archive(folder):
    """Bytes of an archive, which is left in ``folder``."""
    put(folder / "raw", {name: text.encode() for name, text in RAW.items()})
    with tarfile.open(folder / "fr-en.tgz", "w:gz") as tar:
        tar.add(folder / "raw", "raw")
        for name in RAW:
            tar.add(folder / "raw" / name, name)
    return (folder / "fr-en.tgz").read_bytes()


def test_europarl_is_downloaded_cleaned_and_split_once(remote, tmp_path):
    remote.files["/v7/fr-en.tgz"] = content = archive(tmp_path)
    config = dataclasses.replace(SMALL_SPLIT, mirror=f"{remote.url}/v7")
    corpus = load_corpus(config, tmp_path / "data")
    assert counts(corpus) == {"train": 170, "valid": 10, "test": 20}
    for source, target in zip(*read_aligned(corpus.train.source, corpus.train.target), strict=True):
        assert source.replace("en", "fr") == target.replace("en", "fr")
    made = corpus.train.source.parent
    texts = {
        f"{name}.{language}" for name in ("train", "valid", "test") for language in ("en", "fr")
    }
    assert {path.name for path in made.iterdir()} == {"cleaning.json", *texts}
    report = json.loads((made / "cleaning.json").read_text())
    assert report["archive"] == hashlib.sha256(content).hexdigest()
    assert load_corpus(config, tmp_path / "data") == corpus
    assert load_test_sets(config, tmp_path / "data") == corpus.tests
    for change in ({"max_words": 30}, {"max_ratio": 2.0}, {"valid_pairs": 11}, {"test_pairs": 21}):
        other = load_corpus(dataclasses.replace(config, **change), tmp_path / "data")
        assert other.train.source.parent != made
    assert len(remote.requests) == 1


@pytest.mark.parametrize("damage", [lambda c: c[: len(c) // 2], lambda c: c[:-4], lambda c: b"no"])
def test_a_damaged_archive_is_refused_and_a_downloaded_one_is_not_kept(remote, tmp_path, damage):
    content = archive(tmp_path)
    remote.files["/fr-en.tgz"] = damage(content)
    config = dataclasses.replace(SMALL_SPLIT, mirror=remote.url)
    with pytest.raises(UserError, match=r"fr-en\.tgz"):
        load_corpus(config, tmp_path / "data")
    remote.files["/fr-en.tgz"] = content
    load_corpus(config, tmp_path / "data")
    (tmp_path / "fr-en.tgz").write_bytes(damage(content))
    mine = dataclasses.replace(SMALL_SPLIT, directory=str(tmp_path))
    with pytest.raises(UserError, match=r"fr-en\.tgz"):
        load_corpus(mine, tmp_path / "data")
    assert (tmp_path / "fr-en.tgz").is_file()


def test_europarl_from_a_folder_in_each_form(tmp_path):
    archive(tmp_path)

    def corpus(folder):
        config = dataclasses.replace(SMALL_SPLIT, directory=str(folder))
        return load_corpus(config, tmp_path / "data")

    from_archive = corpus(tmp_path)
    put(tmp_path / "packed", {n: t.encode() for n, t in RAW.items()}, ".gz", gzip.compress)
    from_texts = corpus(tmp_path / "packed")
    assert counts(from_texts) == {"train": 170, "valid": 10, "test": 20}
    assert from_texts.train.source.read_bytes() == from_archive.train.source.read_bytes()
    assert corpus(tmp_path / "packed") == from_texts
    os.utime(tmp_path / "packed" / "europarl-v7.fr-en.en.gz", (2, 2))  # perhaps another text
    assert corpus(tmp_path / "packed") != from_texts
    # Already split files are taken as they are, all test sets of them.
    put(tmp_path / "ready", SMALL | {"test_all.en": b"a\n", "test_all.fr": b"b\n"})
    assert counts(corpus(tmp_path / "ready")) == {"train": 3, "valid": 1, "test": 2, "test_all": 1}
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"europarl-v7\.fr-en\.en and .*fr-en\.tgz"):
        corpus(tmp_path / "empty")


@pytest.mark.skipif(not (REAL / "europarl").is_dir(), reason=f"no corpora in {REAL}")
def test_real_europarl_is_taken_as_it_is(tmp_path):
    tests = load_test_sets(EuroparlCorpus(directory=str(REAL / "europarl")), tmp_path)
    assert set(tests) >= {"test"}
    assert not list(tmp_path.iterdir())
