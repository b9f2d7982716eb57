"""Validation and test text taken from a training text of the user's."""

import random
import re
from dataclasses import replace

import pytest
from helpers.samples import SMALL, aligned, put

from seq2seq.config import FilesCorpus
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.errors import UserError

CONFIG = FilesCorpus(source="en", target="fr", valid_pairs=20, test_pairs=30)
RANDOM = random.Random(1)
PAIRS = [(f"Source {n} .", f"cible {n} .") for n in range(200)]
PAIRS += [(source, target + " bis") for source, target in RANDOM.choices(PAIRS, k=80)]
PAIRS += [(source.upper(), target) for source, target in RANDOM.choices(PAIRS, k=80)]
PAIRS += [*RANDOM.choices(PAIRS, k=80), ("", "x"), ("x", " ")]
RANDOM.shuffle(PAIRS)


def written(path, pairs=PAIRS):
    """The config of ``pairs`` in a folder."""
    sides = ("\n".join(side).encode() for side in zip(*pairs, strict=True))
    put(path, dict(zip(("train.en", "train.fr"), sides, strict=True)))
    return replace(CONFIG, directory=str(path))


def splits(config, data):
    corpus = load_corpus(config, data)
    texts = {"train": corpus.train, "valid": corpus.valid, **corpus.tests}
    return {name: aligned(text) for name, text in texts.items()}


def test_no_source_is_in_two_splits_and_the_rest_is_all_training_text(tmp_path):
    taken = splits(written(tmp_path / "mine"), tmp_path)
    assert (len(taken["valid"]), len(taken["test"])) == (20, 30)
    assert set(taken["valid"] + taken["test"]) <= set(PAIRS)
    sources = {name: {source.casefold() for source, _ in taken[name]} for name in taken}
    held_out = sources["valid"] | sources["test"]
    assert len(held_out) == 50
    # Duplicates and empty lines stay in training, where prepare counts them, in their order.
    assert taken["train"] == [pair for pair in PAIRS if pair[0].casefold() not in held_out]
    other = splits(written(tmp_path / "sorted", sorted(PAIRS)), tmp_path)
    assert sources == {name: {source.casefold() for source, _ in other[name]} for name in other}


def test_the_test_text_is_found_again_and_made_again_only_for_another_text(tmp_path):
    config = written(tmp_path / "mine")
    tests = load_corpus(config, tmp_path / "data").tests
    assert tests == load_test_sets(config, tmp_path / "data")
    written(tmp_path / "mine", PAIRS[1:])
    assert load_corpus(config, tmp_path / "data").tests != tests
    (tmp_path / "mine" / "train.en").unlink()
    with pytest.raises(UserError, match=r"train\.en .* directory=FOLDER"):
        load_test_sets(config, tmp_path / "data")


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        (
            {"valid_pairs": None, "test_pairs": None},
            r"corpus\.valid_pairs=44 corpus\.test_pairs=44",
        ),
        ({"valid_pairs": 190}, r"corpus\.valid_pairs=190"),
        ({"directory": "ready"}, r"valid files.*corpus\.valid_pairs\.$"),
        ({"directory": "no_text"}, r"train\.en"),
        ({"directory": "file"}, r"corpus\.directory=file is not a folder"),
        ({"directory": "half"}, r"half .*add test\.fr"),
        ({"directory": "half", "test_pairs": None}, r"half .*add test\.fr"),
        ({"directory": "uneven", "valid_pairs": None}, r" uneven/valid\.fr has 2"),
    ],
)
def test_what_cannot_be_split_is_refused(tmp_path, monkeypatch, changes, names):
    monkeypatch.chdir(tmp_path)
    config = written(tmp_path / "mine")
    put(tmp_path / "ready", SMALL)
    put(tmp_path / "no_text", {"notes": b""})
    train = {name: text for name, text in SMALL.items() if name.startswith("train")}
    put(tmp_path / "half", train | {"test.en": b"a\n"})
    put(tmp_path / "uneven", train | {"valid.en": b"a\n", "valid.fr": b"b\nc\n"})
    (tmp_path / "file").write_text("one\ttwo\n")
    with pytest.raises(UserError, match=names):
        load_corpus(replace(config, **changes), tmp_path)
    assert not list(tmp_path.glob("corpora/files/*/*"))


@pytest.mark.parametrize(("kept", "taken"), [("valid", "test"), ("test", "valid")])
def test_a_split_of_ones_own_shares_no_source_with_those_that_are_taken(tmp_path, kept, taken):
    config = replace(written(tmp_path / "mine"), **{f"{kept}_pairs": None})
    own = [(source.lower(), "anders") for source, _ in PAIRS[:40]]
    sides = ("\n".join(side).encode() for side in zip(*own, strict=True))
    put(tmp_path / "mine", dict(zip((f"{kept}.en", f"{kept}.fr"), sides, strict=True)))
    texts = splits(config, tmp_path / "data")
    sources = {name: {source.casefold() for source, _ in texts[name]} for name in texts}
    assert texts[kept] == own
    assert len(texts[taken]) == (20 if taken == "valid" else 30)
    for one, other in (("train", "valid"), ("train", "test"), ("valid", "test")):
        assert not sources[one] & sources[other]
    assert {source.casefold() for source, _ in PAIRS} == set.union(*sources.values())


@pytest.mark.parametrize(
    ("endings", "given", "languages"),
    [
        ("en fr", {"source": "fr"}, ("fr", "en")),
        ("en fr", {"target": "fr"}, ("en", "fr")),
        ("en.gz fr.gz align", {"source": "en"}, ("en", "fr")),
        ("en fr.xz en.bak", {"source": "en"}, ("en", "fr")),
        ("en.txt fr.txt", {"source": "en"}, "no files train"),
        ("en de", {}, ("en", "de")),
        ("en de", {"source": "de"}, ("de", "en")),
        ("source target", {}, ("source", "target")),
        ("de en fr", {"source": "en", "target": "fr"}, ("en", "fr")),
        ("en fr", {}, "source=en corpus.target=fr or corpus.source=fr corpus.target=en"),
        ("de en fr", {"source": "fr"}, "target=de or corpus.source=fr corpus.target=en"),
        ("de en", {"target": "fr"}, r"\.de and \.en"),
        ("", {}, "no files train"),
    ],
)
def test_the_endings_of_the_files_are_the_languages(tmp_path, endings, given, languages):
    put(tmp_path, {f"train.{ending}": b"" for ending in endings.split()})
    if isinstance(languages, str):
        with pytest.raises(UserError, match=languages):
            FilesCorpus(directory=str(tmp_path), **given)
    else:
        config = FilesCorpus(directory=str(tmp_path), **given)
        assert (config.source, config.target) == languages


@pytest.mark.parametrize(("there", "lacks"), [("valid", "test"), ("test", "valid")])
def test_only_the_settings_of_what_is_missing_are_offered_and_they_work(tmp_path, there, lacks):
    config = replace(written(tmp_path / "mine"), valid_pairs=None, test_pairs=None)
    put(tmp_path / "mine", {f"{there}.en": b"a", f"{there}.fr": b"b"})
    with pytest.raises(UserError, match=rf"lacks {lacks}\.en, {lacks}\.fr") as caught:
        load_corpus(config, tmp_path)
    offered = re.findall(r"corpus\.(\w+)=(\d+)", str(caught.value))
    assert [key for key, _ in offered] == [f"{lacks}_pairs"]
    load_corpus(replace(config, **{key: int(value) for key, value in offered}), tmp_path)


def test_no_split_is_offered_for_half_a_text(tmp_path):
    config = replace(written(tmp_path / "mine"), valid_pairs=None, test_pairs=None)
    put(tmp_path / "mine", {"valid.en": b"a", "test.en": b"a", "test.fr": b"b"})
    with pytest.raises(UserError, match=r"lacks valid\.fr .* add them\.$"):
        load_corpus(config, tmp_path)
