import dataclasses
import gzip
import hashlib
import json
import os
import tarfile

import pytest
from samples import REAL, SMALL, SOON, at_once, counting, counts, message, put

from seq2seq.config import EuroparlCorpus, TokenizationConfig
from seq2seq.data import europarl
from seq2seq.data.corpora import obtain, obtain_europarl
from seq2seq.data.europarl import EuroparlSource, folder_name
from seq2seq.data.preparation import prepare
from seq2seq.data.text import read_lines
from seq2seq.errors import UserError

EUROPARL = EuroparlCorpus(valid_pairs=10, test_pairs=20)


def sentences(language, count=200):
    return "".join(f"sentence {i} in {language} .\n" for i in range(count)).encode()


RAW = {f"europarl-v7.fr-en.{language}": sentences(language) for language in ("en", "fr")}


def archive(folder, texts=RAW):
    """Bytes of an archive, which is left in ``folder``."""
    put(folder / "raw", texts)
    with tarfile.open(folder / "fr-en.tgz", "w:gz") as tar:
        for name in texts:
            tar.add(folder / "raw" / name, name)
    return (folder / "fr-en.tgz").read_bytes()


def test_europarl_is_downloaded_cleaned_and_split_once(remote, tmp_path):
    remote.files["/v7/fr-en.tgz"] = content = archive(tmp_path)
    source = EuroparlSource(base=f"{remote.url}/v7/", patience=SOON)
    corpora = tmp_path / "corpora"
    corpus = obtain_europarl(EUROPARL, corpora, source)
    assert counts(corpus) == {"train": 170, "valid": 10, "test": 20}
    pairs = zip(read_lines(corpus.train.source), read_lines(corpus.train.target), strict=True)
    assert all(s.replace("en", "fr") == t.replace("en", "fr") for s, t in pairs)
    made = corpus.train.source.parent
    assert sorted(path.name for path in made.iterdir()) == sorted(
        ["cleaning.json", *(f"{s}.{x}" for s in ("train", "valid", "test") for x in ("en", "fr"))]
    )
    assert (corpora / "europarl" / "fr-en.tgz.sha256").read_text() == (
        f"{hashlib.sha256(content).hexdigest()}  fr-en.tgz\n"
    )
    assert obtain_europarl(EUROPARL, corpora, source) == corpus
    other = dataclasses.replace(EUROPARL, test_pairs=30)
    assert counts(obtain_europarl(other, corpora, source))["test"] == 30
    assert counts(corpus)["test"] == 20
    assert len(remote.requests) == 1


def test_another_archive_than_came_first_is_refused(remote, tmp_path):
    """Or text of two archives would lie under one record."""
    remote.files["/fr-en.tgz"] = first = archive(tmp_path / "first")
    source, home = EuroparlSource(base=remote.url, patience=SOON), tmp_path / "corpora" / "europarl"
    obtain_europarl(EUROPARL, home.parent, source)
    (home / "fr-en.tgz").unlink()  # nobody needs it any more
    other = {name: text + b"one more line .\n" for name, text in RAW.items()}
    remote.files["/fr-en.tgz"] = second = archive(tmp_path / "second", other)
    more = dataclasses.replace(EUROPARL, test_pairs=30)
    digests = [hashlib.sha256(content).hexdigest() for content in (first, second)]
    assert message(obtain_europarl, more, home.parent, source) == (
        f"What came for {home}/fr-en.tgz has SHA-256 {digests[1]}, but what came first had "
        f"{digests[0]}, and text beside it may be of that; set corpus.mirror to where that came "
        f"from, or delete {home} to begin with the other."
    )
    assert not (home / "fr-en.tgz").exists()
    remote.files["/fr-en.tgz"] = first
    assert counts(obtain_europarl(more, home.parent, source))["test"] == 30


def test_split_text_of_another_archive_than_the_record_is_refused(remote, tmp_path):
    remote.files["/fr-en.tgz"] = content = archive(tmp_path)
    source, home = EuroparlSource(base=remote.url, patience=SOON), tmp_path / "corpora" / "europarl"
    made = obtain_europarl(EUROPARL, home.parent, source).train.source.parent
    report = json.loads((made / "cleaning.json").read_text())
    assert report["archive"] == hashlib.sha256(content).hexdigest()
    (home / "fr-en.tgz.sha256").write_text(f"{'0' * 64}  fr-en.tgz\n")
    text = message(obtain_europarl, EUROPARL, home.parent, source)
    assert text.startswith(
        f"{made} was split from an archive with SHA-256 {report['archive']}, but"
    )
    assert text.endswith(f" is of one with {'0' * 64}; delete {made} to have that one split.")
    del report["archive"]  # as earlier versions left it
    (made / "cleaning.json").write_text(json.dumps(report))
    assert counts(obtain_europarl(EUROPARL, home.parent, source))["train"] == 170


def test_a_damaged_archive_is_not_kept(remote, tmp_path):
    content = archive(tmp_path)
    remote.files["/fr-en.tgz"] = content[:-10]  # whole by its length, broken inside
    source = EuroparlSource(base=remote.url, patience=SOON)
    corpora = tmp_path / "corpora"
    text = message(obtain_europarl, EUROPARL, corpora, source)
    assert text.startswith("fr-en.tgz is damaged or no archive of this kind (")
    assert list((corpora / "europarl").iterdir()) == []
    remote.files["/fr-en.tgz"] = content
    obtain_europarl(EUROPARL, corpora, source)


def test_europarl_from_a_folder_in_each_form(remote, tmp_path):
    source = EuroparlSource(base=remote.url, patience=SOON)
    archive(tmp_path)

    def corpus(folder):
        config = dataclasses.replace(EUROPARL, directory=str(folder))
        return obtain_europarl(config, tmp_path / "corpora", source)

    from_archive = corpus(tmp_path)
    put(tmp_path / "packed", RAW, ".gz", gzip.compress)
    from_texts = corpus(tmp_path / "packed")
    assert counts(from_texts) == {"train": 170, "valid": 10, "test": 20}
    assert from_texts.train.source.read_bytes() == from_archive.train.source.read_bytes()
    # Already split files are taken as they are, all test sets of them.
    put(tmp_path / "ready", SMALL | {"test_all.en": b"a\n", "test_all.fr": b"b\n"})
    ready = corpus(tmp_path / "ready")
    assert counts(ready) == {"train": 3, "valid": 1, "test": 2, "test_all": 1}
    assert remote.requests == []
    assert (tmp_path / "fr-en.tgz").is_file()


def test_rules_are_refused_for_text_that_is_split(tmp_path, monkeypatch):
    put(tmp_path, SMALL)
    words = TokenizationConfig(kind="whitespace")
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    for folder in (tmp_path, f"~/{tmp_path.name}"):
        config = dataclasses.replace(EUROPARL, directory=str(folder))
        with pytest.raises(UserError, match=r"\.valid_pairs=10 would have no effect: .* already"):
            prepare(config, words, tmp_path / "data")
    usual = dataclasses.replace(EuroparlCorpus(), directory=str(tmp_path))
    assert len(prepare(usual, words, tmp_path / "data").train) == 3


def test_a_users_own_archive_is_never_deleted(tmp_path):
    (tmp_path / "fr-en.tgz").write_bytes(b"no archive")
    config = dataclasses.replace(EUROPARL, directory=str(tmp_path))
    assert "fr-en.tgz is damaged" in message(obtain, config, tmp_path / "data")
    assert (tmp_path / "fr-en.tgz").is_file()


def test_a_folder_without_europarl(tmp_path):
    config = dataclasses.replace(EUROPARL, directory=str(tmp_path))
    assert message(obtain, config, tmp_path) == (
        f"corpus.directory={tmp_path} holds no Europarl: looked for train, valid and test text "
        "(train.en, train.fr, ...), for europarl-v7.fr-en.en and europarl-v7.fr-en.fr, and for "
        "fr-en.tgz."
    )


@pytest.mark.skipif(not (REAL / "europarl").is_dir(), reason=f"no corpora in {REAL}")
def test_real_europarl_is_taken_as_it_is(tmp_path):
    corpus = obtain(EuroparlCorpus(directory=str(REAL / "europarl")), tmp_path)
    assert set(corpus.tests) >= {"test"}
    first = next(read_lines(corpus.valid.source)), next(read_lines(corpus.valid.target))
    assert all(first)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "other",
    [
        {"max_words": 30},
        {"max_ratio": 2.0},
        {"valid_pairs": 11},
        {"test_pairs": 21},
        {"source": "fr", "target": "en"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_other_settings_make_another_folder(other):
    config = dataclasses.replace(EUROPARL, **other)
    assert folder_name(config, []) != folder_name(EUROPARL, [])


def test_other_rules_and_other_files_make_another_folder(tmp_path, monkeypatch):
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for path in (mine, theirs):
        path.write_text("text\n")
        os.utime(path, (1, 1))
    names = [folder_name(EUROPARL, texts) for texts in ([], [mine], [theirs])]
    os.utime(mine, (2, 2))
    names.append(folder_name(EUROPARL, [mine]))
    mine.write_text("other text\n")
    os.utime(mine, (2, 2))
    names.append(folder_name(EUROPARL, [mine]))
    monkeypatch.setattr(europarl, "RULES", europarl.RULES + 1)
    names.append(folder_name(EUROPARL, [mine]))
    assert len(set(names)) == 6


def test_runs_at_once_split_the_text_once(tmp_path, monkeypatch):
    put(tmp_path / "raw", RAW)
    config = dataclasses.replace(EUROPARL, directory=str(tmp_path / "raw"))
    made = counting(monkeypatch, europarl, "clean_and_split")
    found = at_once(lambda: obtain(config, tmp_path / "data"))
    assert len(made) == 1
    assert found[0] == found[1] == found[2]
