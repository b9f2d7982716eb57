"""Public datasets by name: mtdata's own index and download, of a web server on this machine."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from itertools import chain

import pytest
from helpers.commands import SMALL, run
from helpers.samples import SMALL as TEXTS
from helpers.samples import aligned, counts, put
from helpers.wmt14 import stand_in, write_archive
from sacrebleu.utils import get_source_file

from seq2seq.config import MtdataCorpus
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.errors import UserError

PAIRS = [(f"Quelle {n} ist hier .", f"source {n} is here .") for n in range(200)]
TSV = "".join(f"{german}\t{english}\n" for german, english in [*PAIRS, PAIRS[0], ("", "x")])
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
CONFIG = MtdataCorpus(source="de", target="en", train=[TRAIN], valid_pairs=10, test_pairs=20)


@pytest.fixture
def public(remote, tmp_path, monkeypatch):
    """The server, and mtdata's cache with a list of what it has."""
    more = "".join(f"extra {n}\tmehr {n}\n" for n in range(7))
    remote.files["/talks.tsv.gz"] = gzip.compress(TSV.encode())
    remote.files["/more.tsv"] = more.encode()
    sides = {f"dev/news.{side}.sgm": [f"Haus {side}", f"Maus {side}"] for side in ("de", "en")}
    remote.files["/dev.tgz"] = write_archive(tmp_path / "dev.tgz", sides).read_bytes()
    over = "".join(f"{german.upper()}\tsome\0thing else\n" for german, _ in PAIRS[:30])
    remote.files["/over.tsv"] = over.encode()
    urls = {TRAIN: "talks.tsv.gz", SWAPPED: "more.tsv", NEWS: "dev.tgz", GONE: "a.tsv"}
    urls[OVERLAP] = "over.tsv"
    entries = [{"did": did, "url": f"{remote.url}/{name}"} for did, name in urls.items()]
    entries[2] |= {"in_ext": "sgm", "in_paths": [*sides]}
    monkeypatch.setenv("MTDATA", str(tmp_path / "cache"))
    command = [sys.executable, "-c", MAKE_INDEX, json.dumps(entries)]
    subprocess.run(command, check=True, stderr=subprocess.PIPE)
    return remote


def test_a_training_text_alone_is_fetched_cleaned_and_split_once(public, tmp_path, capfd):
    corpus = load_corpus(CONFIG, tmp_path)
    assert counts(corpus) == {"train": 170, "valid": 10, "test": 20}
    texts = [corpus.train, corpus.valid, corpus.tests["test"]]
    assert sorted(chain(*map(aligned, texts))) == sorted(PAIRS)
    report = json.loads((corpus.train.source.parent / "cleaning.json").read_text())
    assert report["train"] == [TRAIN]
    assert report["pairs"]["duplicate"] == report["pairs"]["empty"] == 1
    asked = len(public.requests)
    assert load_corpus(CONFIG, tmp_path) == corpus
    assert load_test_sets(CONFIG, tmp_path) == corpus.tests
    load_corpus(replace(CONFIG, valid_pairs=11), tmp_path)  # made again, from mtdata's cache
    assert len(public.requests) == asked == 1
    assert capfd.readouterr() == ("", "")


def test_datasets_named_as_splits_are_taken_as_they_are_in_either_direction(public, tmp_path):
    named = replace(CONFIG, train=[TRAIN], valid=[SWAPPED], test=[NEWS])
    corpus = load_corpus(named, tmp_path)
    assert counts(corpus) == {"train": 200, "valid": 7, f"test_{NEWS}": 2}
    assert aligned(corpus.valid)[0] == ("mehr 0", "extra 0")
    assert aligned(corpus.tests[f"test_{NEWS}"])[1] == ("Maus de", "Maus en")
    both = load_corpus(replace(named, train=[TRAIN, SWAPPED], valid=[]), tmp_path)
    assert counts(both) == {"train": 197, "valid": 10, f"test_{NEWS}": 2}
    french = load_corpus(
        replace(CONFIG, directory=put(tmp_path / "mine", TEXTS), target="fr", source="en"), tmp_path
    )
    assert counts(french)["train"] == 3


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"train": []}, r"corpus\.train=\[ID\]"),
        ({"test": [TRAIN]}, "no id twice"),
        ({"train": ["Here-talk-1-deu-eng"]}, f"Here-talk-1-deu-eng .* nearest first: {TRAIN}"),
        ({"target": "fr"}, f"{TRAIN} .* corpus.target=fr; valid, nearest first: none"),
        ({"target": "nowhere"}, r"corpus\.target=nowhere"),
        ({"train": [TRAIN, GONE]}, f"{GONE} .*404"),
        ({"test_pairs": 500}, r"corpus\.test_pairs=500"),
    ],
)
def test_what_cannot_be_had_is_one_sentence(public, tmp_path, capfd, changes, names):
    with pytest.raises(UserError, match=names):
        load_corpus(replace(CONFIG, **changes), tmp_path)
    assert not [*tmp_path.rglob("*.part"), *tmp_path.rglob("*.de")]
    assert capfd.readouterr() == ("", "")


def test_a_damaged_download_or_list_is_refused(public, tmp_path):
    good = public.files["/talks.tsv.gz"]
    public.files["/talks.tsv.gz"] = good[:-9]
    for _ in range(2):  # mtdata keeps what it has downloaded
        with pytest.raises(UserError, match=f"{TRAIN}.*delete .*cache"):
            load_corpus(CONFIG, tmp_path)
    (listed,) = (tmp_path / "cache").glob("*.pkl")
    listed.write_bytes(b"")
    with pytest.raises(UserError, match=r"list of datasets .*delete .*cache"):
        load_corpus(CONFIG, tmp_path)


def test_without_mtdata_it_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mtdata", None)
    with pytest.raises(UserError, match="pip install mtdata"):
        load_corpus(CONFIG, tmp_path)


@pytest.mark.slow
def test_from_a_name_to_a_score_on_a_public_test_set(public, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stand_in(tmp_path / "sacrebleu", patch, ["Quelle 1 ."] * 3, ["source 1 ."] * 3, "de-en")
        get_source_file("wmt14", "de-en")
    monkeypatch.setenv("SACREBLEU", str(tmp_path / "sacrebleu" / "cache"))
    overrides = [f"corpus.train=[{TRAIN}]", "corpus.valid_pairs=10", "corpus.test_pairs=20"]
    overrides += ["test_sets=[test,wmt14]", "tokenization=whitespace", "training.max_updates=5"]
    own = ["experiment=own_text", "corpus=mtdata", "name=public", "system=attention", *overrides]
    done = run(tmp_path, "reproduce", *own, *SMALL)
    assert "170" in done.stderr
    made = tmp_path / "outputs" / "public" / "attention" / "seed-1" / "evaluations"
    assert {path.name for path in made.iterdir()} >= {"test-beam5", "wmt14-beam5"}
    run(tmp_path, "reproduce", *own, *SMALL)
    assert public.requests == ["/talks.tsv.gz"]


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_dataset_named_as_a_split_shares_no_source_with_the_others(public, tmp_path, split):
    corpus = load_corpus(replace(CONFIG, **{split: [OVERLAP]}), tmp_path)
    (test,) = corpus.tests.values()
    sources = [
        {german.casefold() for german, _ in aligned(t)} for t in (corpus.train, corpus.valid, test)
    ]
    assert len(set.union(*sources)) == sum(map(len, sources)) == 200
    named = corpus.valid if split == "valid" else test
    assert aligned(named)[0][1] == "some thing else"  # without the zero that no text may hold
