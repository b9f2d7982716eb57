"""Every kind of corpus becomes checked text files, found by name, made or downloaded once."""

import dataclasses
import gzip
import hashlib
import json
import lzma
import os
import shutil
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from helpers.samples import SMALL, aligned, joined, put

from seq2seq.config import EuroparlCorpus, FilesCorpus, GrammarCorpus, Multi30kCorpus
from seq2seq.data import grammar, multi30k
from seq2seq.data.corpora import load_corpus, load_texts, source_digest
from seq2seq.data.europarl import NAME
from seq2seq.errors import UserError


@pytest.fixture
def remote(monkeypatch, tmp_path_factory):
    """A web server on this machine: its address, and the folder whose files it serves."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    folder = tmp_path_factory.mktemp("remote")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


def load(config, data, **changes):
    """The texts of a corpus by name; its test sets are found again."""
    config = dataclasses.replace(config, **changes)
    corpus = load_corpus(config, data)
    assert load_texts(config, data) == corpus.tests
    return {"train": corpus.train, "valid": corpus.valid, **corpus.tests}


def home(*given, **changes):
    """The folder of the texts that ``load`` finds."""
    return load(*given, **changes)["train"].source.parent


def test_files_may_name_the_sides_be_packed_and_hold_more_test_sets(tmp_path):
    own = tmp_path / "own"
    config = FilesCorpus(source="en", target="fr", directory=str(own))
    packed = "val.source", "val.target", "test.fr", "test.en", "test_b.source", "test_b.target"
    put(own, dict.fromkeys(packed, b"a\n"), ".xz", lzma.compress)
    put(own, {"test.hyp.fr": b"c\n", "train.source": b"", "train.en": b"a\n", "train.fr": b"b\n"})
    texts = load(config, tmp_path)
    assert {name: [text.source.name, text.target.name] for name, text in texts.items()} == {
        "train": ["train.en", "train.fr"],
        "valid": ["val.source.xz", "val.target.xz"],
        "test": ["test.en.xz", "test.fr.xz"],
        "test_b": ["test_b.source.xz", "test_b.target.xz"],
    }


@pytest.mark.parametrize(("kept", "split"), [("valid", "test"), ("test", "valid")])
def test_text_is_split_off_once_and_again_only_for_another_text(tmp_path, kept, split):
    """Blank and repeated lines stay in training, where prepare counts them."""
    pairs = [(f"Source {n % 150} .", f"cible {n} .") for n in range(200)]
    pairs += [("", "x"), *((f"blank {n}", " ") for n in range(50))]
    sides = zip(*pairs, strict=True)
    files = {"train.en": joined(next(sides)), "train.fr": joined(next(sides))}
    own = put(tmp_path, files | {f"{kept}.en": b"SOURCE  7 .\n", f"{kept}.fr": b"autre .\n"})
    config = FilesCorpus(source="en", target="fr", directory=own, **{f"{split}_pairs": 30})
    texts = {name: aligned(text) for name, text in load(config, tmp_path).items()}
    assert texts[kept] == [("SOURCE  7 .", "autre .")]
    assert [bool(target.strip()) for _, target in texts[split]] == [True] * 30
    held_out = {source_digest(source) for source, _ in texts["valid"] + texts["test"]}
    assert texts["train"] == [pair for pair in pairs if source_digest(pair[0]) not in held_out]
    before = home(config, tmp_path)
    os.utime(tmp_path / "train.en", (2, 2))  # perhaps another text
    with pytest.raises(UserError, match="directory=FOLDER"):
        load_texts(config, tmp_path)
    assert home(config, tmp_path) != before


@pytest.mark.parametrize(
    ("endings", "given", "languages"),
    [
        ("en fr", {"source": "fr"}, ("fr", "en")),
        ("en.gz fr.xz en.bak", {"source": "en"}, ("en", "fr")),
        ("en de", {}, ("en", "de")),
        ("de en fr", {"source": "en", "target": "fr"}, ("en", "fr")),
    ],
)
def test_the_endings_of_the_files_are_the_languages(tmp_path, endings, given, languages):
    directory = put(tmp_path, {f"train.{ending}": b"" for ending in endings.split()})
    config = FilesCorpus(directory=directory, **given)
    assert (config.source, config.target) == languages


def test_each_setting_and_each_word_of_the_grammar_has_a_text_of_its_own(tmp_path, monkeypatch):
    config = GrammarCorpus(train=9, valid=2, test_per_bucket=2, max_words=10)
    folder = home(config, tmp_path)
    assert home(config, tmp_path, train_pairs=2, train_max_words=30) == folder
    changes = {"seed": 2}, {"train": 10}, {"max_words": 11}, {"source": "de", "target": "en"}
    others = [home(config, tmp_path, **change) for change in changes]
    package = shutil.copytree(Path(grammar.__file__).parent, tmp_path / "copy")
    monkeypatch.setattr(grammar, "__file__", str(package / "__init__.py"))
    assert home(config, tmp_path) == folder
    with (package / "lexicon.tsv").open("a") as table:
        table.write("name\tOtto\tOtto\n")
    others.append(home(config, tmp_path))
    assert len({folder, *others}) == 1 + len(others)


CAPTIONS = {
    f"{split}.{language}": joined(f"{split} {i} {language}" for i in range(3))
    for split in ("train", "val", "test_2016_flickr", "test_2017_flickr")
    for language in ("en", "de", "fr")
}


def test_multi30k_is_downloaded_once_and_is_the_pinned_text(remote, monkeypatch, tmp_path):
    url, folder = remote
    assert multi30k.DIGESTS.keys() == CAPTIONS.keys()
    assert multi30k.BASE.startswith("https://")
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in CAPTIONS.items()}
    monkeypatch.setattr(multi30k, "DIGESTS", digests)
    config = Multi30kCorpus(mirror=url)
    with pytest.raises(UserError, match=r"corpus\.mirror .* corpus\.directory"):
        load_corpus(config, tmp_path)
    put(folder, CAPTIONS, ".gz", gzip.compress)
    good = gzip.compress(CAPTIONS["val.de"])
    for content in (gzip.compress(b"altered\n"), good[:-9], b"<html>"):
        put(folder, {"val.de.gz": content})
        with pytest.raises(UserError, match=r"val\.de"):
            load_corpus(config, tmp_path)
    put(folder, {"val.de.gz": good})
    found = home(config, tmp_path)
    files = {name: text for name, text in CAPTIONS.items() if not name.endswith("fr")}
    assert {path.name: path.read_bytes() for path in found.iterdir()} == files
    shutil.rmtree(folder)  # nothing is asked for again
    assert home(config, tmp_path, source="en", target="de") == found
    own = {name.replace("val.", "valid."): text for name, text in CAPTIONS.items()}
    own |= {"test_other.en": b"x\n", "test_other.de": b"x\n"}  # without a pin: not Multi30k's
    config = Multi30kCorpus(directory=put(tmp_path / "own", own, ".xz", lzma.compress))
    assert [*load(config, tmp_path)] == ["train", "valid", "test_2016_flickr", "test_2017_flickr"]
    put(tmp_path / "own", {"valid.en.xz": b"altered\n" * 3})
    with pytest.raises(UserError, match=r"valid\.en\.xz"):
        load_corpus(config, tmp_path)


def test_europarl_is_downloaded_cleaned_and_split_once_or_taken_from_a_folder(remote, tmp_path):
    kept = [(f"sentence {i} in en .", f"sentence {i} in fr .") for i in range(200)]
    kept += [("c " * 20, "d " * 20), ("one", "un deux trois")]  # just within the limits
    left_out = [("", "x"), ("x", "\u00a0"), ("a " * 21, "b " * 20), ("x", "y y y y")]
    left_out += [(" sentence 5 in en .", kept[5][1])]
    sides = zip(*kept, *left_out, strict=True)
    raw = {f"{NAME}.{language}": joined(next(sides)) for language in ("en", "fr")}
    put(tmp_path / "raw", raw)
    url, served = remote
    archive = served / "fr-en.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for name in raw:
            tar.add(tmp_path / "raw" / name, name)
    config = EuroparlCorpus(max_words=20, valid_pairs=10, test_pairs=20, mirror=url)
    texts = load(config, tmp_path)
    folder = home(config, tmp_path)
    assert {path.name for path in folder.iterdir()} == {"cleaning.json", *SMALL}
    pairs = [pair for text in texts.values() for pair in aligned(text)]
    assert sorted(pairs) == sorted((source.strip(), target.strip()) for source, target in kept)
    report = json.loads((folder / "cleaning.json").read_text())
    assert report["archive"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    counts = {"read": 207, "empty": 2, "too_long": 1, "uneven": 1, "duplicate": 1}
    assert counts.items() <= report["pairs"].items()
    archive.rename(tmp_path / archive.name)  # nothing is asked for again
    for change in ({"max_words": 30}, {"valid_pairs": 11}, {"test_pairs": 21}):
        assert home(config, tmp_path, **change) != folder
    for own in (tmp_path, tmp_path / "raw"):
        again = load(config, tmp_path, directory=str(own))
        assert again["train"].source.read_bytes() == texts["train"].source.read_bytes()
    ready = put(tmp_path / "ready", SMALL | {"test_all.en": b"a\n", "test_all.fr": b"b\n"})
    assert [*load(config, tmp_path, directory=ready)] == ["train", "valid", "test", "test_all"]
