"""Public datasets by name: mtdata's own index and download, of a web server on this machine."""

import dataclasses
import json
import lzma
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import chain

import pytest
from helpers.samples import SMALL, aligned, counts, put
from helpers.wmt14 import write_archive

from seq2seq.config import CorpusConfig, MtdataCorpus, from_json
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.errors import UserError

PAIRS = [(f"Quelle {n} ist hier .", f"source {n} is here .") for n in range(200)]
MAKE_INDEX = """
import importlib, json, sys, types
import pybtex.database
from mtdata.entry import Entry
def load_all(index):
    while entries:
        index.add_entry(Entry(**entries.pop()))
entries = json.loads(sys.argv[1])
importlib.import_module = lambda *_, **__: types.SimpleNamespace(load_all=load_all)
import mtdata.index
"""
"""A list of few datasets is made and stored by mtdata, which else takes 20 seconds for all."""
TRAIN, SWAPPED, NEWS = "Here-talks-1-deu-eng", "Here-more-2.1-eng-deu", "Here-news_deen-14-deu-eng"
GONE, OVERLAP = "Gone-a-1-deu-eng", "Here-over-1-deu-eng"
URLS = {TRAIN: "talks.tsv.xz", SWAPPED: "more.tsv", NEWS: "dev.tgz", GONE: "a.tsv"}
URLS[OVERLAP] = "over.tsv"
CONFIG = MtdataCorpus(source="de", target="en", train=[TRAIN], valid_pairs=10, test_pairs=20)


def table(pairs):
    return "".join("\t".join(pair) + "\n" for pair in pairs).encode()


@pytest.fixture(scope="module")
def cache(server, tmp_path_factory):
    """mtdata's cache with a list of what the server has."""
    entries = [{"did": did, "url": f"{server.url}/{name}"} for did, name in URLS.items()]
    entries[2] |= {"in_ext": "sgm", "in_paths": ["dev/news.de.sgm", "dev/news.en.sgm"]}
    folder = tmp_path_factory.mktemp("mtdata")
    command = [sys.executable, "-c", MAKE_INDEX, json.dumps(entries)]
    environment = {**os.environ, "MTDATA": str(folder)}
    subprocess.run(command, check=True, stderr=subprocess.PIPE, env=environment)
    return folder


@pytest.fixture
def public(remote, cache, tmp_path, monkeypatch):
    """The server with its files. Of the news and the overlap, PAIRS have the sources, too."""
    monkeypatch.setenv("MTDATA", str(shutil.copytree(cache, tmp_path / "cache")))
    news = {"dev/news.de.sgm": [PAIRS[0][0], "Maus"], "dev/news.en.sgm": ["house", "mouse"]}
    remote.files |= {
        "/talks.tsv.xz": lzma.compress(table([*PAIRS, PAIRS[0], ("", "x")])),
        "/more.tsv": table((f"extra {n}", f"mehr {n}") for n in range(7)),
        "/dev.tgz": write_archive(tmp_path / "dev.tgz", news).read_bytes(),
        "/over.tsv": table((german.upper(), "some\0thing else") for german, _ in PAIRS[:30]),
    }
    return remote


def test_a_training_text_alone_is_fetched_cleaned_and_split_once(public, tmp_path, capfd):
    corpus = load_corpus(CONFIG, tmp_path)
    assert counts(corpus) == {"train": 170, "valid": 10, "test": 20}
    texts = [corpus.train, corpus.valid, corpus.tests["test"]]
    assert sorted(chain(*map(aligned, texts))) == sorted(PAIRS)
    report = json.loads((corpus.train.source.parent / "cleaning.json").read_text())
    assert report["train"] == [TRAIN]
    assert report["pairs"]["duplicate"] == report["pairs"]["empty"] == 1
    assert load_corpus(CONFIG, tmp_path) == corpus
    stored = from_json(CorpusConfig, json.loads(json.dumps(dataclasses.asdict(CONFIG))))
    assert load_test_sets(stored, tmp_path) == corpus.tests
    assert public.requests == ["/talks.tsv.xz"]
    assert capfd.readouterr() == ("", "")


def test_datasets_named_as_splits_are_taken_as_they_are_in_either_direction(public, tmp_path):
    """And no source is in two splits, though the datasets have some in common."""

    def loaded(**datasets):
        corpus = load_corpus(replace(CONFIG, **datasets), tmp_path)
        pairs = [*map(aligned, [corpus.train, corpus.valid, *corpus.tests.values()])]
        sources = [{source.casefold() for source, _ in split} for split in pairs]
        assert len(set.union(*sources)) == sum(map(len, sources))
        return counts(corpus), *pairs

    size, _, valid, _ = loaded(valid=[OVERLAP])
    assert size == {"train": 150, "valid": 30, "test": 20}
    # Without the zero that no text may hold.
    assert valid == [(german.upper(), "some thing else") for german, _ in PAIRS[:30]]
    size, train, valid, test = loaded(train=[TRAIN, SWAPPED], test=[NEWS])
    assert size == {"train": 196, "valid": 10, f"test_{NEWS}": 2}
    assert {(f"mehr {n}", f"extra {n}") for n in range(7)} <= {*train, *valid}
    assert test == [(PAIRS[0][0], "house"), ("Maus", "mouse")]
    assert len(public.requests) == 4  # mtdata keeps what it has downloaded


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"train": []}, r"corpus\.train=\[ID\]"),
        ({"test": [TRAIN]}, "no id twice"),
        ({"train": ["Here-talk-1-deu-eng"]}, f"Here-talk-1-deu-eng .* nearest first: {TRAIN}"),
        ({"target": "fr"}, f"{TRAIN} .* corpus.target=fr; valid, nearest first: none"),
        ({"target": "nowhere"}, r"corpus\.target=nowhere"),
        ({"train": [TRAIN, GONE]}, f"{GONE} .*404"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(public, tmp_path, capfd, changes, names):
    with pytest.raises(UserError, match=names):
        load_corpus(replace(CONFIG, **changes), tmp_path)
    assert not [*tmp_path.rglob("*.part"), *tmp_path.rglob("*.de")]
    assert capfd.readouterr() == ("", "")


def test_a_damaged_download_or_list_is_refused(public, tmp_path):
    public.files["/talks.tsv.xz"] = public.files["/talks.tsv.xz"][:-9]
    with pytest.raises(UserError, match=f"{TRAIN}.*delete .*cache"):
        load_corpus(CONFIG, tmp_path)
    (listed,) = (tmp_path / "cache").glob("*.pkl")
    listed.write_bytes(b"")
    with pytest.raises(UserError, match=r"list of datasets .*delete .*cache"):
        load_corpus(CONFIG, tmp_path)


def test_without_mtdata_it_is_asked_for_unless_the_text_is_there(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mtdata", None)
    with pytest.raises(UserError, match="pip install mtdata"):
        load_corpus(CONFIG, tmp_path)
    own = replace(CONFIG, directory=put(tmp_path / "mine", SMALL), source="en", target="fr")
    assert counts(load_corpus(own, tmp_path)) == {"train": 3, "valid": 1, "test": 2}
