"""Europarl is cleaned and split by rule, from the archive or from files."""

import dataclasses
import gzip
import hashlib
import json
import os
import random
import tarfile
from itertools import combinations

import numpy as np
import pytest
from helpers.samples import SMALL, aligned, counts, put
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import EuroparlCorpus
from seq2seq.data import europarl
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.data.splits import DUPLICATE, HELD_OUT, TEST, TRAIN, VALID, assign, clean_and_split
from seq2seq.data.text import read_pairs, write_lines
from seq2seq.errors import UserError


def assign_slowly(pairs, sources, valid, test, elsewhere):
    """The rule of ``assign``, one pair at a time."""
    order = sorted({*sources} - elsewhere)[: valid + test]
    split = {source: TEST if i < test else VALID for i, source in enumerate(order)}
    seen_pairs, seen_sources, labels = set(), set(), []
    for pair, source in zip(pairs, sources, strict=True):
        if source in elsewhere:
            labels.append(HELD_OUT)
            continue
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
    elsewhere=st.sets(st.integers(0, 14), max_size=4),
)
def test_assign_follows_its_rule(pairs, valid, test, elsewhere):
    digests = np.array([source * 10 + target for source, target in pairs], np.uint64)
    sources = np.array([source for source, _ in pairs], np.uint64)
    given_already = np.array([*elsewhere], np.uint64)
    if len({*sources.tolist()} - elsewhere) > valid + test:
        expected = assign_slowly(digests.tolist(), sources.tolist(), valid, test, elsewhere)
        assert assign(digests, sources, valid, test, given_already).tolist() == expected
        return
    with pytest.raises(UserError, match=r"corpus\.test_pairs"):
        assign(digests, sources, valid, test, given_already)


def plain(source):
    """The source but for capitals and spacing."""
    return " ".join(source.split()).casefold()


def raw_text():
    """Pairs with everything cleaning must deal with."""
    rng = random.Random(1)
    words = [f"w{i}" for i in range(40)]
    sides = (" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(1_200))
    pairs = list(zip(sides, sides, strict=True))
    pairs += rng.choices(pairs, k=50)  # exact duplicates
    pairs += [(s, " ".join(t.split()[::-1])) for s, t in rng.choices(pairs, k=50)]  # same source
    pairs += [(s.upper(), t) for s, t in rng.choices(pairs, k=50)]  # same but for capitals
    pairs += [(s.replace(" ", "  "), t) for s, t in rng.choices(pairs, k=50)]  # or for spacing
    pairs += [
        ("", "x"),
        ("x", " \u00a0"),
        ("", ""),
        ("a " * 21, "b " * 20),
        ("c " * 20, "d " * 20),
        ("a b\u2028c", "d"),
    ]
    rng.shuffle(pairs)
    return pairs


CONFIG = EuroparlCorpus(max_words=20, max_ratio=3.0, valid_pairs=20, test_pairs=40)


def raw_files(folder, pairs):
    texts = {language: folder / f"raw.{language}" for language in ("en", "fr")}
    for path, lines in zip(texts.values(), zip(*pairs, strict=True), strict=True):
        write_lines(path, lines)
    return texts


def split(folder, pairs):
    counts = clean_and_split(CONFIG, raw_files(folder, pairs), folder)
    names = ("train", "valid", "test")
    return counts, {n: list(read_pairs(folder / f"{n}.en", folder / f"{n}.fr")) for n in names}


def test_splits_are_clean_of_the_size_asked_for_and_apart(tmp_path):
    pairs = raw_text()
    counts, splits = split(tmp_path, pairs)
    assert (len(splits["valid"]), len(splits["test"])) == (20, 40)
    kept = [pair for name in splits for pair in splits[name]]
    assert len(kept) == len(set(kept))
    assert ("c " * 20).strip() in dict(kept)
    for source, target in kept:
        lengths = sorted((len(source.split()), len(target.split())))
        assert lengths[0] >= 1
        assert lengths[1] <= min(20, 3 * lengths[0])
    sources = {name: {plain(source) for source, _ in splits[name]} for name in splits}
    for one, other in combinations(sources.values(), 2):
        assert not one & other
    # They depend on the text, but not on its order.
    _, turned = split(tmp_path / "turned", pairs[::-1])
    assert sources == {name: {plain(source) for source, _ in turned[name]} for name in turned}
    # The order of the text is kept within each split.
    position = {(s.strip(), t.strip()): i for i, (s, t) in reversed(list(enumerate(pairs)))}
    for name in splits:
        places = [position[pair] for pair in splits[name]]
        assert places == sorted(places)
    # Every pair is counted once.
    assert json.loads((tmp_path / "cleaning.json").read_text())["pairs"] == counts
    assert counts.pop("read") == len(pairs) == sum(counts.values())
    assert {name: len(splits[name]) for name in splits} == {n: counts[n] for n in splits}
    words = [(len(s.split()), len(t.split())) for s, t in pairs]
    uneven = sum(0 < 3 * min(w) < max(w) <= 20 for w in words)
    assert [counts[name] for name in ("empty", "too_long", "uneven")] == [3, 1, uneven]
    assert min(counts["duplicate"], counts["held_out"]) > 0


def test_raw_files_out_of_step_are_refused(tmp_path):
    texts = raw_files(tmp_path, [("a", "b"), ("c", "d")])
    write_lines(texts["en"], ["a", "c", "e"])
    with pytest.raises(UserError, match=r"raw\.en has 3 lines, .*raw\.fr has 2"):
        clean_and_split(CONFIG, texts, tmp_path)


SMALL_SPLIT = EuroparlCorpus(valid_pairs=10, test_pairs=20)
RAW = {
    name: "".join(f"sentence {i} in {language} .\n" for i in range(200)).encode()
    for language, name in europarl.MEMBERS.items()
}


def archive(folder):
    """Bytes of an archive, which is left in ``folder``."""
    put(folder / "raw", RAW)
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
    for source, target in aligned(corpus.train):
        assert source.replace("en", "fr") == target.replace("en", "fr")
    made = corpus.train.source.parent
    assert {path.name for path in made.iterdir()} == {"cleaning.json", *SMALL}
    report = json.loads((made / "cleaning.json").read_text())
    assert report["archive"] == hashlib.sha256(content).hexdigest()
    assert load_corpus(config, tmp_path / "data") == corpus
    assert load_test_sets(config, tmp_path / "data") == corpus.tests
    for change in ({"max_words": 30}, {"max_ratio": 2.0}, {"valid_pairs": 11}, {"test_pairs": 21}):
        other = load_corpus(dataclasses.replace(config, **change), tmp_path / "data")
        assert other.train.source.parent != made
    assert len(remote.requests) == 1


def test_a_damaged_archive_is_refused_and_a_downloaded_one_is_not_kept(remote, tmp_path):
    content = archive(tmp_path)
    config = dataclasses.replace(SMALL_SPLIT, mirror=remote.url)
    mine = dataclasses.replace(SMALL_SPLIT, directory=str(tmp_path))
    for damaged in (content[: len(content) // 2], content[:-4], b"no"):
        remote.files["/fr-en.tgz"] = damaged
        (tmp_path / "fr-en.tgz").write_bytes(damaged)
        for choice in (config, mine):
            with pytest.raises(UserError, match=r"fr-en\.tgz"):
                load_corpus(choice, tmp_path / "data")
        assert (tmp_path / "fr-en.tgz").is_file()
    remote.files["/fr-en.tgz"] = content
    load_corpus(config, tmp_path / "data")


def test_europarl_from_a_folder_in_each_form(tmp_path):
    archive(tmp_path)

    def corpus(folder):
        config = dataclasses.replace(SMALL_SPLIT, directory=str(folder))
        return load_corpus(config, tmp_path / "data")

    from_archive = corpus(tmp_path)
    put(tmp_path / "packed", RAW, ".gz", gzip.compress)
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


@pytest.mark.parametrize("direction", [("en", "fr"), ("fr", "en")])
def test_a_sample_is_found_by_its_digests_in_its_order(tmp_path, monkeypatch, direction, caplog):
    caplog.set_level("INFO")
    pairs = [(f"Line {n} , in English .", f"Ligne {n} , en français .") for n in range(60)]
    for name, lines in zip(europarl.MEMBERS.values(), zip(*pairs, strict=True), strict=True):
        write_lines(tmp_path / "raw" / name, lines)
    chosen = {"train": [40, 3, 17, 22], "valid": [5], "test": [59, 0]}
    digests = {
        split: [europarl.pair_digest(f"line {n},  in English.", pairs[n][1]) for n in numbers]
        for split, numbers in chosen.items()
    }
    digests["train"].insert(1, europarl.pair_digest("elsewhere", "ailleurs"))
    np.savez(tmp_path / "europarl_study.npz", **digests)
    monkeypatch.setattr(europarl, "SAMPLES", tmp_path)
    source, target = direction
    config = EuroparlCorpus(
        directory=str(tmp_path / "raw"), sample="study", source=source, target=target
    )
    corpus = load_corpus(config, tmp_path / "data")
    found = {"train": corpus.train, "valid": corpus.valid, "test": corpus.tests["test"]}
    for split, numbers in chosen.items():
        expected = [pairs[n] if source == "en" else pairs[n][::-1] for n in numbers]
        assert aligned(found[split]) == expected
    assert "4 of 5" in caplog.text
    write_lines(tmp_path / "raw" / "europarl-v7.fr-en.en", ["another"] * 60)
    with pytest.raises(UserError, match=r"corpus\.sample=study"):
        load_corpus(config, tmp_path / "data")
