import gzip
import hashlib
import lzma
import threading

import pytest
from samples import REAL, SOON, counts, message, put

from seq2seq.config import Multi30kCorpus
from seq2seq.data import multi30k
from seq2seq.data.corpora import obtain, obtain_multi30k
from seq2seq.data.multi30k import Multi30kSource
from seq2seq.data.parallel_text import ParallelText
from seq2seq.data.text import read_lines, write_lines

TEXTS = {
    f"{split}.{language}": "".join(f"{split} {i} {language}\n" for i in range(lines)).encode()
    for split, lines in [("train", 9), ("val", 3), ("test_2016_flickr", 4), ("test_2017_flickr", 5)]
    for language in ("en", "de", "fr")
}


@pytest.fixture
def captions(remote):
    """A public place with small files of the same names, and their pins."""
    remote.files = {f"/raw/{name}.gz": gzip.compress(text) for name, text in TEXTS.items()}
    return Multi30kSource(
        base=f"{remote.url}/raw/",
        digests={name: hashlib.sha256(text).hexdigest() for name, text in TEXTS.items()},
        tests=multi30k.MULTI30K.tests,
        max_bytes=100_000,
        patience=SOON,
    )


def test_the_pins_cover_every_split_and_language():
    splits = ("train", "val", *multi30k.MULTI30K.tests)
    names = {f"{split}.{language}" for split in splits for language in ("en", "de", "fr")}
    assert set(multi30k.MULTI30K.digests) == names
    assert multi30k.MULTI30K.base.startswith("https://")


def test_multi30k_is_downloaded_once(captions, remote, tmp_path):
    config = Multi30kCorpus(source="de", target="en")
    corpus = obtain_multi30k(config, tmp_path, captions)
    assert len(remote.requests) == 8
    assert all(path.startswith("/raw/") and "fr" not in path[-5:] for path, _ in remote.requests)
    folder = tmp_path / "multi30k"
    assert corpus.train == ParallelText(folder / "train.de", folder / "train.en")
    assert corpus.valid == ParallelText(folder / "val.de", folder / "val.en")
    assert list(corpus.tests) == ["test_2016_flickr", "test_2017_flickr"]
    assert (corpus.kind, corpus.source_language, corpus.target_language) == (
        "multi30k",
        "de",
        "en",
    )
    for name in (name for name in TEXTS if not name.endswith("fr")):
        assert (folder / name).read_bytes() == TEXTS[name]
    assert sum(path.is_file() for path in folder.iterdir()) == 8
    assert obtain_multi30k(config, tmp_path, captions) == corpus
    assert len(remote.requests) == 8
    # Another pair fetches only what it lacks.
    other = obtain_multi30k(Multi30kCorpus(source="en", target="fr"), tmp_path, captions)
    assert len(remote.requests) == 12
    assert other.train == ParallelText(folder / "train.en", folder / "train.fr")


def test_a_mirror_replaces_the_public_place(captions, remote, tmp_path):
    mirror = tmp_path / "mirror"
    put(mirror, TEXTS, ending=".gz", pack=gzip.compress)
    config = Multi30kCorpus(mirror=mirror.as_uri())
    obtain_multi30k(config, tmp_path / "data", captions)
    assert remote.requests == []
    remote.files = {f"/mine/{name}.gz": gzip.compress(text) for name, text in TEXTS.items()}
    config = Multi30kCorpus(mirror=f"{remote.url}/mine")
    obtain_multi30k(config, tmp_path / "other", captions)
    assert {path.split("/")[1] for path, _ in remote.requests} == {"mine"}


def test_altered_text_on_a_mirror_is_refused_and_deleted(captions, remote, tmp_path):
    remote.files["/raw/val.de.gz"] = gzip.compress(b"altered\n")
    config = Multi30kCorpus()
    text = message(obtain_multi30k, config, tmp_path, captions)
    assert text.startswith(f"val.de from {captions.base}val.de.gz has SHA-256 ")
    assert captions.digests["val.de"] in text
    assert text.endswith(
        "it is damaged or was altered and has been deleted; run again, set corpus.mirror to "
        "another base URL, or use corpus=files for altered text."
    )
    assert [p.name for p in (tmp_path / "multi30k").iterdir() if "val.de" in p.name] == []
    remote.files["/raw/val.de.gz"] = gzip.compress(TEXTS["val.de"])
    obtain_multi30k(config, tmp_path, captions)


def test_a_broken_download_goes_on_in_the_next_run(captions, remote, tmp_path):
    remote.faults["/raw/train.en.gz"] = ["half"] * 2
    remote.ranges = False
    text = message(obtain_multi30k, Multi30kCorpus(), tmp_path, captions)
    assert text.startswith(f"{captions.base}train.en.gz could not be downloaded in 2 attempts (the")
    assert not (tmp_path / "multi30k" / "train.en").exists()
    obtain_multi30k(Multi30kCorpus(), tmp_path, captions)


def test_a_run_killed_before_it_deletes_an_archive_is_gone_on_from(captions, tmp_path, monkeypatch):
    gunzip = multi30k.gunzip

    def killed(archive, *arguments):
        gunzip(archive, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(multi30k, "gunzip", killed)
    with pytest.raises(KeyboardInterrupt):
        obtain_multi30k(Multi30kCorpus(), tmp_path, captions)
    monkeypatch.undo()
    obtain_multi30k(Multi30kCorpus(), tmp_path, captions)


def test_two_runs_at_once_share_one_download(captions, remote, tmp_path):
    results = []
    run = [
        threading.Thread(
            target=lambda: results.append(obtain_multi30k(Multi30kCorpus(), tmp_path, captions))
        )
        for _ in range(3)
    ]
    for thread in run:
        thread.start()
    for thread in run:
        thread.join()
    assert len(results) == 3
    assert len(remote.requests) == 8


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress)])
@pytest.mark.parametrize("valid", ["val", "valid"])
def test_multi30k_from_a_folder(captions, remote, tmp_path, ending, pack, valid):
    texts = {name.replace("val.", f"{valid}."): text for name, text in TEXTS.items()}
    # A test set without a pin is none of Multi30k's.
    texts["test_other.en"] = texts["test_other.de"] = b"x\n"
    folder = put(tmp_path / "mine", texts, ending, pack)
    corpus = obtain_multi30k(Multi30kCorpus(directory=folder), tmp_path / "data", captions)
    assert corpus.valid.source == tmp_path / "mine" / f"{valid}.de{ending}"
    assert list(read_lines(corpus.tests["test_2017_flickr"].target))[4] == "test_2017_flickr 4 en"
    assert len(corpus.tests) == 2
    assert remote.requests == []
    assert not (tmp_path / "data").exists()


def test_an_altered_file_in_a_folder_is_named(captions, tmp_path):
    # Altered so that line counts and encoding fail too: "altered" is the useful thing to hear.
    texts = TEXTS | {"val.en": b"\xff\n"}
    folder = put(tmp_path / "mine", texts, ".xz", lzma.compress)
    config = Multi30kCorpus(directory=folder)
    digest = hashlib.sha256(b"\xff\n").hexdigest()
    assert message(obtain_multi30k, config, tmp_path, captions) == (
        f"{tmp_path}/mine/val.en.xz is not Multi30k's val.en: its content has SHA-256 {digest}, "
        f"not {captions.digests['val.en']}; take that file from the repository multi30k/dataset, "
        "or use corpus=files for altered text."
    )


def test_files_of_other_names_are_held_against_the_pins_too(captions, tmp_path):
    texts = {n: text for n, text in TEXTS.items() if not n.startswith("train.")}
    texts |= {"train.source": TEXTS["train.de"], "train.target": TEXTS["train.en"]}
    config = Multi30kCorpus(directory=put(tmp_path / "mine", texts))
    corpus = obtain_multi30k(config, tmp_path, captions)
    assert corpus.train.target == tmp_path / "mine" / "train.target"
    put(tmp_path / "mine", {"train.target": b"altered\n" * 9})
    text = message(obtain_multi30k, config, tmp_path, captions)
    assert text.startswith(f"{tmp_path}/mine/train.target is not Multi30k's train.en: its content")


def test_a_downloaded_file_altered_later_is_named(captions, tmp_path):
    config = Multi30kCorpus()
    corpus = obtain_multi30k(config, tmp_path, captions)
    write_lines(corpus.train.target, ["altered"])
    text = message(obtain_multi30k, config, tmp_path, captions)
    assert text.startswith(f"{corpus.train.target} is not Multi30k's train.en: ")
    assert "; delete it to have it downloaded again, or use corpus=files" in text
    corpus.train.target.unlink()
    obtain_multi30k(config, tmp_path, captions)


def test_all_missing_files_of_a_folder_are_named(captions, tmp_path):
    texts = {n: t for n, t in TEXTS.items() if n not in ("train.de", "val.en")}
    folder = put(tmp_path / "mine", texts)
    config = Multi30kCorpus(directory=folder)
    assert message(obtain_multi30k, config, tmp_path, captions) == (
        f"{folder} lacks train.de, val.en (or the same with .gz or .xz), which corpus=multi30k "
        "needs for de to en."
    )


@pytest.mark.skipif(not (REAL / "multi30k").is_dir(), reason=f"no corpora in {REAL}")
@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "fr")])
def test_real_multi30k_has_the_pinned_content(tmp_path, source, target):
    config = Multi30kCorpus(source=source, target=target, directory=str(REAL / "multi30k"))
    assert counts(obtain(config, tmp_path)) == {
        "train": 29_000,
        "valid": 1_014,
        "test_2016_flickr": 1_000,
        "test_2017_flickr": 1_000,
    }
