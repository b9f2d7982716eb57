"""Every kind of corpus becomes checked text files, found by name, made or downloaded once."""

import dataclasses
import gzip
import lzma
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers.samples import SMALL, put

from seq2seq.config import EuroparlCorpus, FilesCorpus, GrammarCorpus
from seq2seq.data import grammar
from seq2seq.data.corpora import load_corpus, load_test_sets
from seq2seq.data.download import fetch
from seq2seq.data.text import ParallelText, read_aligned
from seq2seq.errors import UserError

FILES = FilesCorpus(source="en", target="fr")


def in_folder(folder):
    return dataclasses.replace(FILES, directory=str(folder))


def test_folders_may_name_the_sides_pack_the_files_and_hold_more_test_sets(tmp_path):
    words = {"en": "source", "fr": "target"}
    texts = {f"{n[:-2]}{words[n[-2:]]}".replace("valid", "val"): t for n, t in SMALL.items()}
    texts |= {"test_news.source": b"a\n", "test_news.target": b"b\n", "test.notes": b"unrelated"}
    put(tmp_path / "mine", texts, ".xz", lzma.compress)
    corpus = load_corpus(in_folder(tmp_path / "mine"), tmp_path / "data")
    assert list(corpus.tests) == ["test", "test_news"]
    assert corpus.valid == ParallelText(
        *(tmp_path / "mine" / f"val.{s}.xz" for s in words.values())
    )


def test_the_two_sides_of_a_text_have_names_of_one_kind(tmp_path):
    put(tmp_path, SMALL | {"train.source": b"x\n", "train.target": b"y\n"})
    assert load_corpus(in_folder(tmp_path), tmp_path).train.source == tmp_path / "train.en"
    (tmp_path / "train.fr").unlink()
    expected = ParallelText(tmp_path / "train.source", tmp_path / "train.target")
    assert load_corpus(in_folder(tmp_path), tmp_path).train == expected


def test_test_sets_are_found_without_any_other_text(tmp_path):
    put(tmp_path, {"test.en": b"a\n", "test.fr": b"b\n"})
    put(tmp_path, {"train.en": b"\xff", "train.fr": b""})  # not looked at
    tests = load_test_sets(in_folder(tmp_path), tmp_path)
    assert tests == {"test": ParallelText(*(tmp_path / f"test.{e}" for e in ("en", "fr")))}
    assert read_aligned(tests["test"].source, tests["test"].target) == (["a"], ["b"])


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"valid.fr": b"b\nc"}, r"valid\.fr"),
        ({"test.fr": b""}, r"test\.fr"),
        ({"train.fr": "été\nd\nf\n".encode("latin-1")}, r"train\.fr, line 1"),
    ],
)
def test_text_that_is_no_corpus_is_refused(tmp_path, changes, names):
    put(tmp_path, SMALL | changes)
    with pytest.raises(UserError, match=names):
        load_corpus(in_folder(tmp_path), tmp_path)


def test_options_that_do_not_fit_are_named(tmp_path):
    refused = {
        "corpus.directory is set": GrammarCorpus(directory="."),
        "corpus.directory=no": EuroparlCorpus(directory="no"),
        "corpus.directory=FOLDER": FILES,
    }
    for key, config in refused.items():
        with pytest.raises(UserError, match=key):
            load_corpus(config, tmp_path)


def test_all_missing_files_and_a_folder_that_cannot_be_written_are_named(tmp_path):
    put(tmp_path, {"train.de": b"a\n", "train.en": b"b\n"})
    lacks = r"train\.fr, valid\.en, valid\.fr, test\.en, test\.fr .* has \.de and \.en"
    with pytest.raises(UserError, match=lacks):
        load_corpus(in_folder(tmp_path), tmp_path)
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(UserError, match=f"{tmp_path}/data"):
        load_corpus(GrammarCorpus(), tmp_path / "data")


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
    with pytest.raises(UserError, match=r"corpus\.mirror .* corpus\.directory"):
        fetch(remote.url, "b.gz", tmp_path)
    for base in ((tmp_path / "no").as_uri(), "ftp://host", "nonsense"):
        with pytest.raises(UserError, match=r"corpus\.mirror"):
            fetch(base, "c.gz", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gz"]


def test_a_file_beside_the_test_sets_is_left_out_and_named(tmp_path, caplog):
    put(tmp_path, SMALL | {"test.hyp.fr": b"c\nd\n", "test_b.en.gz": gzip.compress(b"x\n")})
    assert list(load_corpus(in_folder(tmp_path), tmp_path / "data").tests) == ["test"]
    assert "test.hyp.fr is left out" in caplog.text
    assert "test_b.en.gz is left out" in caplog.text
    (tmp_path / "test.en").unlink()
    with pytest.raises(UserError, match=r"lacks test\.en"):
        load_corpus(in_folder(tmp_path), tmp_path / "data")


def test_a_test_set_is_found_but_never_made(tmp_path):
    with pytest.raises(UserError, match="prepare"):
        load_test_sets(GrammarCorpus(), tmp_path)
    assert not list(tmp_path.iterdir())
