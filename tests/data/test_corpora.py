"""Every kind of corpus becomes checked text files, found by name, made or downloaded once."""

import dataclasses
import gzip
import hashlib
import json
import lzma
import os
import shutil
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.samples import REAL, SMALL, aligned, counts, put

from seq2seq.config import EuroparlCorpus, FilesCorpus, GrammarCorpus, Multi30kCorpus
from seq2seq.data import grammar, multi30k
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.data.download import fetch
from seq2seq.data.europarl import NAME
from seq2seq.data.text import ParallelText
from seq2seq.errors import UserError

FILES = FilesCorpus(source="en", target="fr")


def in_folder(folder, **changes):
    return dataclasses.replace(FILES, directory=str(folder), **changes)


def test_folders_may_name_the_sides_pack_the_files_and_hold_more_test_sets(tmp_path, caplog):
    words = {"en": "source", "fr": "target"}
    texts = {f"{n[:-2]}{words[n[-2:]]}".replace("valid", "val"): t for n, t in SMALL.items()}
    texts |= {"test_news.source": b"a\n", "test_news.target": b"b\n", "test.notes": b"unrelated"}
    put(tmp_path / "mine", texts | {"test.hyp.target": b"c\nd\n"}, ".xz", lzma.compress)
    corpus = load_corpus(in_folder(tmp_path / "mine"), tmp_path / "data")
    assert list(corpus.tests) == ["test", "test_news"]
    assert corpus.valid == ParallelText(
        *(tmp_path / "mine" / f"val.{s}.xz" for s in words.values())
    )
    assert "test.hyp.target.xz is left out" in caplog.text
    put(tmp_path / "mine", {"train.en": b"a\n", "train.fr": b"b\n"})
    put(tmp_path / "mine", {"train.en.gz": b"not read"})
    train = load_corpus(in_folder(tmp_path / "mine"), tmp_path / "data").train
    assert train == ParallelText(tmp_path / "mine" / "train.en", tmp_path / "mine" / "train.fr")


def test_test_sets_are_found_without_any_other_text_and_never_made(tmp_path):
    put(tmp_path, {"test.en": b"a\n", "test.fr": b"b\n"})
    put(tmp_path, {"train.en": b"\xff", "train.fr": b""})  # not looked at
    tests = load_test_sets(in_folder(tmp_path), tmp_path)
    assert {name: aligned(text) for name, text in tests.items()} == {"test": [("a", "b")]}
    with pytest.raises(UserError, match="prepare"):
        load_test_sets(GrammarCorpus(), tmp_path / "data")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("changes", "settings", "key"),
    [
        ({"valid.fr": b"b\nc"}, {}, r"valid\.fr"),
        ({"test.fr": b"", "test.en": b""}, {}, r"test\.en"),
        ({"train.fr": "été\nd\nf\n".encode("latin-1")}, {}, r"train\.fr, line 1"),
        ({"valid.fr": None}, {}, "valid"),
        ({"test.en": None}, {}, "test"),
        ({}, {"source": "de"}, r"corpus\.source=de"),
        ({}, {"directory": "no"}, r"folder no; .*corpus\.directory"),
        ({}, {"directory": None}, r"corpus\.directory"),
        ({}, {"valid_pairs": 1}, r"corpus\.valid_pairs"),
        ({"valid.en": None}, {"test_pairs": 1}, r"corpus\.valid_pairs"),
        ({"train.en": None, "valid.en": None}, {"valid_pairs": 1}, r"train\.en"),
        ({"valid.en": None}, {"valid_pairs": 3}, r"corpus\.valid_pairs=3"),
    ],
)
def test_text_that_is_no_corpus_is_refused(tmp_path, changes, settings, key):
    kept = {n: t for n, t in (SMALL | changes).items() if t is not None}
    put(tmp_path / "mine", kept)
    config = dataclasses.replace(in_folder(tmp_path / "mine"), **settings)
    with pytest.raises(UserError, match=key):
        load_corpus(config, tmp_path / "data")
    assert not list(tmp_path.glob("data/corpora/*/*/*"))


def test_the_grammar_refuses_a_folder():
    with pytest.raises(UserError, match=r"corpus\.directory"):
        load_corpus(GrammarCorpus(directory="."), Path("data"))


@pytest.mark.parametrize(("kept", "taken"), [("valid", "test"), ("test", "valid"), ("", "both")])
def test_text_is_split_off_once_and_again_only_for_another_text(tmp_path, kept, taken):
    """Blank and repeated lines stay in training, where prepare counts them."""
    pairs = [(f"Source {n % 150} .", f"cible {n} .") for n in range(200)] + [("", "x"), ("x", " ")]
    sides = ["".join(line + "\n" for line in side).encode() for side in zip(*pairs, strict=True)]
    put(tmp_path / "mine", dict(zip(("train.en", "train.fr"), sides, strict=True)))
    sizes = {"valid": 20, "test": 30}
    if kept:
        put(tmp_path / "mine", {f"{kept}.en": b"SOURCE  7 .\n", f"{kept}.fr": b"autre .\n"})
        del sizes[kept]
    config = in_folder(tmp_path / "mine", **{f"{name}_pairs": n for name, n in sizes.items()})
    corpus = load_corpus(config, tmp_path / "data")
    texts = {"train": corpus.train, "valid": corpus.valid, "test": corpus.tests["test"]}
    split = {name: aligned(text) for name, text in texts.items()}
    assert {name: len(split[name]) for name in sizes} == sizes
    held_out = {s.casefold() for name in ("valid", "test") for s, _ in split[name]}
    held_out |= {"source 7 ."} if kept else set()
    assert split["train"] == [pair for pair in pairs if pair[0].casefold() not in held_out]
    assert not kept or split[kept] == [("SOURCE  7 .", "autre .")]
    assert load_test_sets(config, tmp_path / "data") == corpus.tests
    os.utime(tmp_path / "mine" / "train.en", (2, 2))  # perhaps another text
    with pytest.raises(UserError, match="directory=FOLDER"):
        load_test_sets(config, tmp_path / "data")
    assert load_corpus(config, tmp_path / "data").train != corpus.train


@pytest.mark.parametrize(
    ("endings", "given", "languages"),
    [
        ("en fr", {"source": "fr"}, ("fr", "en")),
        ("en fr", {"target": "fr"}, ("en", "fr")),
        ("en.gz fr.xz en.bak", {"source": "en"}, ("en", "fr")),
        ("en.txt fr.txt", {"source": "en"}, ("en", "target")),
        ("en de", {}, ("en", "de")),
        ("source target", {}, ("source", "target")),
        ("de en fr", {"source": "en", "target": "fr"}, ("en", "fr")),
        ("en fr", {}, r"corpus\.source"),
        ("de en", {"target": "fr"}, r"\.de"),
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


def test_the_grammar_writes_a_corpus_once_per_setting(tmp_path, monkeypatch):
    written = []

    def write_corpus(config, directory):
        written.append(config.seed)
        put(directory, {n.replace("fr", "de"): text for n, text in SMALL.items()})

    monkeypatch.setattr(grammar, "write_corpus", write_corpus)
    with ThreadPoolExecutor(3) as pool:  # at once
        first, *others = pool.map(lambda _: load_corpus(GrammarCorpus(), tmp_path), range(3))
    assert [first, first] == others
    assert first == load_corpus(GrammarCorpus(train_pairs=2, train_max_words=30), tmp_path)
    assert load_test_sets(GrammarCorpus(), tmp_path) == first.tests
    folder = first.train.source.parent
    assert load_corpus(GrammarCorpus(seed=2), tmp_path).train.source.parent != folder
    turned = load_corpus(GrammarCorpus(source="de", target="en"), tmp_path)
    assert turned.train.source.parent != folder  # lengths are those of its source
    # So does other code, or another word.
    package = shutil.copytree(Path(grammar.__file__).parent, tmp_path / "grammar")
    monkeypatch.setattr(grammar, "__file__", str(package / "__init__.py"))
    assert load_corpus(GrammarCorpus(), tmp_path) == first
    with (package / "lexicon.tsv").open("a") as table:
        table.write("name\tOtto\tOtto\n")
    assert load_corpus(GrammarCorpus(), tmp_path) != first
    assert written == [1, 2, 1, 1]


def test_a_download_is_tried_again_and_a_failure_names_the_ways_out(remote, tmp_path):
    remote.files["/v7/a.gz"] = gzip.compress(b"text")
    remote.busy = 2
    assert fetch(f"{remote.url}/v7", "a.gz", tmp_path).read_bytes() == remote.files["/v7/a.gz"]
    assert len(remote.requests) == 3
    for base in (remote.url, "ftp://host", "nonsense"):
        with pytest.raises(UserError, match=r"corpus\.mirror .* corpus\.directory"):
            fetch(base, "b.gz", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gz"]


CAPTIONS = {
    f"{split}.{language}": "".join(f"{split} {i} {language}\n" for i in range(lines)).encode()
    for split, lines in [("train", 9), ("val", 3), ("test_2016_flickr", 4), ("test_2017_flickr", 5)]
    for language in ("en", "de", "fr")
}


def test_multi30k_is_downloaded_once_and_is_the_pinned_text(remote, monkeypatch, tmp_path):
    assert set(multi30k.DIGESTS) == set(CAPTIONS)
    assert multi30k.BASE.startswith("https://")
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in CAPTIONS.items()}
    monkeypatch.setattr(multi30k, "DIGESTS", digests)
    monkeypatch.setattr(multi30k, "BASE", f"{remote.url}/raw/")
    remote.files = {f"/raw/{name}.gz": gzip.compress(text) for name, text in CAPTIONS.items()}
    good = remote.files["/raw/val.de.gz"]
    for content in (gzip.compress(b"altered\n"), good[:-9], b"<html>"):
        remote.files["/raw/val.de.gz"] = content
        with pytest.raises(UserError, match=r"val\.de"):
            load_corpus(Multi30kCorpus(), tmp_path)
    remote.files["/raw/val.de.gz"] = good
    remote.requests.clear()
    corpus = load_corpus(Multi30kCorpus(source="de", target="en"), tmp_path)
    folder = tmp_path / "corpora" / "multi30k" / "de-en"
    assert corpus.valid == ParallelText(folder / "val.de", folder / "val.en")
    assert list(corpus.tests) == ["test_2016_flickr", "test_2017_flickr"]
    files = {name: text for name, text in CAPTIONS.items() if not name.endswith("fr")}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert load_test_sets(Multi30kCorpus(source="en", target="de"), tmp_path)
    assert len(remote.requests) == 8
    remote.files = {name.replace("raw", "mirror"): text for name, text in remote.files.items()}
    load_corpus(Multi30kCorpus(mirror=f"{remote.url}/mirror"), tmp_path / "data")
    texts = {name.replace("val.", "valid."): text for name, text in CAPTIONS.items()}
    texts["test_other.en"] = texts["test_other.de"] = b"x\n"  # without a pin: not Multi30k's
    mine = Multi30kCorpus(directory=put(tmp_path / "mine", texts, ".xz", lzma.compress))
    corpus = load_corpus(mine, tmp_path)
    assert list(corpus.tests) == ["test_2016_flickr", "test_2017_flickr"]
    corpus.valid.target.write_bytes(b"altered\n" * 3)
    with pytest.raises(UserError, match=r"valid\.en\.xz"):
        load_corpus(mine, tmp_path)


@pytest.mark.skipif(not (REAL / "multi30k").is_dir(), reason=f"no corpora in {REAL}")
def test_real_multi30k_has_the_pinned_content(tmp_path):
    config = Multi30kCorpus(source="en", target="fr", directory=str(REAL / "multi30k"))
    sizes = {"test_2016_flickr": 1_000, "test_2017_flickr": 1_000}
    assert counts(load_corpus(config, tmp_path)) == {"train": 29_000, "valid": 1_014, **sizes}


def test_europarl_is_downloaded_cleaned_and_split_once_or_taken_from_a_folder(remote, tmp_path):
    plain = [(f"sentence {i} in en .", f"sentence {i} in fr .") for i in range(200)]
    kept = [("c " * 20, "d " * 20), ("one", "un deux trois")]  # just within the limits
    left_out = {"empty": [("", "x"), ("x", "\u00a0")], "too_long": [("a " * 21, "b " * 20)]}
    left_out |= {"uneven": [("x", "y y y y")], "duplicate": [(" sentence 5 in en .", plain[5][1])]}
    pairs = [*plain, *kept, *(pair for some in left_out.values() for pair in some)]
    raw = {
        f"{NAME}.{language}": "".join(f"{line}\n" for line in lines).encode()
        for language, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True)
    }
    put(tmp_path / "raw", raw)
    with tarfile.open(tmp_path / "fr-en.tgz", "w:gz") as tar:
        for name in raw:
            tar.add(tmp_path / "raw" / name, name)
    content = (tmp_path / "fr-en.tgz").read_bytes()
    remote.files["/v7/fr-en.tgz"] = content
    config = EuroparlCorpus(max_words=20, valid_pairs=10, test_pairs=20, mirror=f"{remote.url}/v7")
    corpus = load_corpus(config, tmp_path / "data")
    folder = corpus.train.source.parent
    assert {path.name for path in folder.iterdir()} == {"cleaning.json", *SMALL}
    texts = [*aligned(corpus.train), *aligned(corpus.valid), *aligned(corpus.tests["test"])]
    assert sorted(texts) == sorted((s.strip(), t.strip()) for s, t in [*plain, *kept])
    report = json.loads((folder / "cleaning.json").read_text())
    assert report["archive"] == hashlib.sha256(content).hexdigest()
    assert {way: report["pairs"][way] for way in left_out} == {
        way: len(some) for way, some in left_out.items()
    }
    assert load_corpus(config, tmp_path / "data") == corpus
    assert load_test_sets(config, tmp_path / "data") == corpus.tests
    for change in ({"max_words": 30}, {"valid_pairs": 11}, {"test_pairs": 21}):
        other = load_corpus(dataclasses.replace(config, **change), tmp_path / "data")
        assert other.train.source.parent != folder
    assert len(remote.requests) == 1
    put(tmp_path / "packed", raw, ".gz", gzip.compress)
    for own in (tmp_path, tmp_path / "raw", tmp_path / "packed"):
        mine = dataclasses.replace(config, directory=str(own))
        again = load_corpus(mine, tmp_path / "data")
        assert again.train.source.read_bytes() == corpus.train.source.read_bytes()
    ready = put(tmp_path / "ready", SMALL | {"test_all.en": b"a\n", "test_all.fr": b"b\n"})
    taken = load_corpus(dataclasses.replace(config, directory=ready), tmp_path / "data")
    assert counts(taken) == {"train": 3, "valid": 1, "test": 2, "test_all": 1}
    (tmp_path / "fr-en.tgz").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"fr-en\.tgz"):
        load_corpus(dataclasses.replace(config, directory=str(tmp_path)), tmp_path / "data")
