"""Multi30k is downloaded once, and whatever is read of it is the pinned text."""

import gzip
import hashlib
import lzma

import pytest
from helpers.samples import REAL, counts, put

from seq2seq.config import Multi30kCorpus
from seq2seq.data import multi30k
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.data.text import ParallelText, write_lines
from seq2seq.errors import UserError

TEXTS = {
    f"{split}.{language}": "".join(f"{split} {i} {language}\n" for i in range(lines)).encode()
    for split, lines in [("train", 9), ("val", 3), ("test_2016_flickr", 4), ("test_2017_flickr", 5)]
    for language in ("en", "de", "fr")
}


@pytest.fixture
def captions(remote, monkeypatch):
    """A public place with small files of the same names, and their pins."""
    assert set(multi30k.DIGESTS) == set(TEXTS)
    assert multi30k.BASE.startswith("https://")
    remote.files = {f"/raw/{name}.gz": gzip.compress(text) for name, text in TEXTS.items()}
    digests = {name: hashlib.sha256(text).hexdigest() for name, text in TEXTS.items()}
    monkeypatch.setattr(multi30k, "DIGESTS", digests)
    monkeypatch.setattr(multi30k, "BASE", f"{remote.url}/raw/")
    return remote


def test_multi30k_is_downloaded_once(captions, tmp_path):
    corpus = load_corpus(Multi30kCorpus(source="de", target="en"), tmp_path)
    folder = tmp_path / "corpora" / "multi30k"
    assert corpus.train == ParallelText(folder / "train.de", folder / "train.en")
    assert corpus.valid == ParallelText(folder / "val.de", folder / "val.en")
    assert list(corpus.tests) == ["test_2016_flickr", "test_2017_flickr"]
    files = {name: text for name, text in TEXTS.items() if not name.endswith("fr")}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    assert load_corpus(Multi30kCorpus(source="de", target="en"), tmp_path) == corpus
    assert load_test_sets(Multi30kCorpus(source="de", target="en"), tmp_path) == corpus.tests
    assert len(captions.requests) == 8
    load_corpus(Multi30kCorpus(source="en", target="fr"), tmp_path)
    assert len(captions.requests) == 12  # another pair fetches only what it lacks
    put(tmp_path / "mirror", TEXTS, ending=".gz", pack=gzip.compress)
    load_corpus(Multi30kCorpus(mirror=(tmp_path / "mirror").as_uri()), tmp_path / "data")
    assert len(captions.requests) == 12  # of the public place


def test_an_altered_or_damaged_download_is_named_and_not_kept(captions, tmp_path):
    good = gzip.compress(TEXTS["val.de"])
    for content in (gzip.compress(b"altered\n"), good[:-9], b"<html>"):
        captions.files["/raw/val.de.gz"] = content
        with pytest.raises(UserError, match=r"val\.de"):
            load_corpus(Multi30kCorpus(), tmp_path)
    captions.files["/raw/val.de.gz"] = good
    load_corpus(Multi30kCorpus(), tmp_path)


def test_multi30k_from_a_folder_is_the_pinned_text(captions, tmp_path):
    texts = {name.replace("val.", "valid."): text for name, text in TEXTS.items()}
    texts["test_other.en"] = texts["test_other.de"] = b"x\n"  # without a pin: not Multi30k's
    config = Multi30kCorpus(directory=put(tmp_path / "mine", texts, ".xz", lzma.compress))
    corpus = load_corpus(config, tmp_path / "data")
    assert corpus.valid.source == tmp_path / "mine" / "valid.de.xz"
    assert list(corpus.tests) == ["test_2016_flickr", "test_2017_flickr"]
    assert captions.requests == []
    assert not (tmp_path / "data").exists()
    write_lines(corpus.valid.target, ["altered"] * 3)
    with pytest.raises(UserError, match=r"valid\.en\.xz"):
        load_corpus(config, tmp_path / "data")


@pytest.mark.skipif(not (REAL / "multi30k").is_dir(), reason=f"no corpora in {REAL}")
def test_real_multi30k_has_the_pinned_content(tmp_path):
    config = Multi30kCorpus(source="en", target="fr", directory=str(REAL / "multi30k"))
    sizes = {"test_2016_flickr": 1_000, "test_2017_flickr": 1_000}
    assert counts(load_corpus(config, tmp_path)) == {"train": 29_000, "valid": 1_014, **sizes}
