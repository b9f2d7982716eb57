import dataclasses
import lzma
import shutil
from pathlib import Path

import pytest
from samples import SMALL, message, put

from seq2seq.config import EuroparlCorpus, FilesCorpus, GrammarCorpus, Multi30kCorpus
from seq2seq.data import corpora, grammar
from seq2seq.data.corpora import obtain
from seq2seq.data.folders import new_folder
from seq2seq.data.parallel_text import ParallelText

FILES = FilesCorpus(source="en", target="fr")


def in_folder(folder):
    return dataclasses.replace(FILES, directory=str(folder))


def named(folder, **changes):
    paths = {
        f"{split}_{side}": str(folder / f"{split}.{language}")
        for split in ("train", "valid", "test")
        for side, language in (("source", "en"), ("target", "fr"))
    }
    return dataclasses.replace(FILES, **(paths | changes))


def test_files_by_folder_and_by_path_are_the_same_corpus(tmp_path):
    put(tmp_path / "mine", SMALL)
    corpus = obtain(in_folder(tmp_path / "mine"), tmp_path / "data")
    assert corpus == obtain(named(tmp_path / "mine"), tmp_path / "data")
    assert corpus.train == ParallelText(tmp_path / "mine/train.en", tmp_path / "mine/train.fr")
    assert list(corpus.tests) == ["test"]


def test_folders_may_name_the_sides_pack_the_files_and_hold_more_test_sets(tmp_path):
    words = {"en": "source", "fr": "target"}
    texts = {f"{n[:-2]}{words[n[-2:]]}": text for n, text in SMALL.items()}
    texts |= {"test_news.source": b"a\n", "test_news.target": b"b\n", "test.notes": b"unrelated"}
    put(tmp_path / "mine", texts, ".xz", lzma.compress)
    (tmp_path / "mine" / "train.align").write_text("0-0\n\n0-0\n")
    corpus = obtain(in_folder(tmp_path / "mine"), tmp_path / "data")
    assert list(corpus.tests) == ["test", "test_news"]
    assert corpus.train.alignments == tmp_path / "mine" / "train.align"
    assert corpus.valid.alignments is None


def test_a_test_set_with_one_side_is_not_passed_over(tmp_path):
    put(tmp_path / "mine", SMALL | {"test_news.fr": b"b\n"})
    text = message(obtain, in_folder(tmp_path / "mine"), tmp_path)
    assert text == (
        f"{tmp_path}/mine lacks test_news.en (or the same with .gz or .xz), which corpus=files "
        "needs for en to fr."
    )


def test_the_two_sides_of_a_text_are_found_under_names_that_belong_together(tmp_path):
    val = {"val.en": b"a\n", "val.fr": b"b\n", "val.align": b"0-0\n", "valid.align": b"\n\n"}
    put(tmp_path / "mine", {n: text for n, text in SMALL.items() if n != "valid.fr"} | val)
    corpus = obtain(in_folder(tmp_path / "mine"), tmp_path)
    paths = [tmp_path / "mine" / name for name in val]
    assert corpus.valid == ParallelText(*paths[:3])
    sides = {"train.source": b"x\n", "train.target": b"y\n"}
    put(tmp_path / "mine", sides | {"test.source": b"z\n"})
    assert obtain(in_folder(tmp_path / "mine"), tmp_path) == corpus
    (tmp_path / "mine" / "train.fr").unlink()  # both sides are of the other text then
    paths = [tmp_path / "mine" / name for name in sides]
    assert obtain(in_folder(tmp_path / "mine"), tmp_path).train == ParallelText(*paths)
    (tmp_path / "mine" / "train.source").unlink()
    text = message(obtain, in_folder(tmp_path / "mine"), tmp_path)
    assert "lacks train.fr (or" in text


def test_a_side_that_is_there_plain_and_packed_must_be_one_text(tmp_path):
    """The plain one may be that of an older text, and out of step with the other language."""
    put(
        tmp_path,
        {"train.en": SMALL["train.en"], "train.fr": SMALL["train.fr"]},
        ".xz",
        lzma.compress,
    )
    put(tmp_path, {n: text for n, text in SMALL.items() if n != "train.fr"})
    assert obtain(in_folder(tmp_path), tmp_path).train.source == tmp_path / "train.en"
    put(tmp_path, {"train.en": SMALL["train.en"].upper()})
    assert message(obtain, in_folder(tmp_path), tmp_path) == (
        f"{tmp_path}/train.en and train.en.xz are both there, and are not of one text; remove "
        "the one that does not belong to the text of the other language."
    )


def test_an_empty_folder(tmp_path):
    names = "train.en, train.fr, valid.en, valid.fr, test.en, test.fr"
    assert f"lacks {names} (or" in message(obtain, in_folder(tmp_path), tmp_path)


@pytest.mark.parametrize("kind", [FilesCorpus, Multi30kCorpus, EuroparlCorpus])
def test_a_folder_that_is_not_there(tmp_path, kind):
    config = kind(source="en", target="fr", directory=str(tmp_path / "no"))
    assert message(obtain, config, tmp_path) == (
        f"corpus.directory={tmp_path / 'no'} is not a folder; check the path."
    )


def test_paths_that_are_missing(tmp_path):
    put(tmp_path, SMALL)
    assert message(obtain, named(tmp_path, train_target=None, test_source=None), tmp_path) == (
        "corpus=files needs six paths, or corpus.directory instead of them; not set: "
        "corpus.train_target, corpus.test_source."
    )
    assert message(obtain, named(tmp_path, valid_source=f"{tmp_path}/no.en"), tmp_path) == (
        f"corpus.valid_source={tmp_path}/no.en is not a file; check the path."
    )
    assert message(obtain, named(tmp_path, directory=str(tmp_path)), tmp_path) == (
        "corpus.directory and corpus.train_source are both set; corpus=files takes a folder or "
        "six paths, so remove one."
    )


def test_line_counts_that_differ(tmp_path):
    put(tmp_path, SMALL | {"valid.fr": b"b\nc"})
    assert message(obtain, in_folder(tmp_path), tmp_path) == (
        f"The line counts of the valid text differ: {tmp_path}/valid.en has 1, "
        f"{tmp_path}/valid.fr has 2; line i of one must belong to line i of the other, so get "
        "both from one place."
    )


def test_line_separators_of_unicode_are_no_line_ends(tmp_path):
    put(tmp_path, SMALL | {"valid.fr": "b\u2028c\u0085d\n".encode()})
    obtain(in_folder(tmp_path), tmp_path)


def test_alignments_must_keep_step_too(tmp_path):
    put(tmp_path, SMALL | {"test.align": b"0-0\n"})
    assert f"{tmp_path}/test.align has 1; line i" in message(obtain, in_folder(tmp_path), tmp_path)


@pytest.mark.parametrize("name", ["train.en", "test.fr"])
def test_empty_files(tmp_path, name):
    put(tmp_path, SMALL | {name: b""})
    assert message(obtain, in_folder(tmp_path), tmp_path) == (
        f"{tmp_path}/{name} is empty; the {name[:-3]} text needs at least one line in each "
        "language."
    )


def test_other_encodings(tmp_path):
    put(tmp_path, SMALL | {"train.fr": "été\nd\nf\n".encode("latin-1")})
    text = message(obtain, in_folder(tmp_path), tmp_path)
    assert text.startswith(f"{tmp_path}/train.fr, line 1, byte 1: 0xe9 is not valid UTF-8; ")


def test_options_without_effect_are_refused(tmp_path):
    both = Multi30kCorpus(directory=str(tmp_path), mirror="https://host/")
    assert message(obtain, both, tmp_path) == (
        "corpus.directory and corpus.mirror are both set; with a directory nothing is downloaded, "
        "so remove one."
    )
    idle = dataclasses.replace(in_folder(tmp_path), directory=None, mirror="https://host/")
    assert message(obtain, idle, tmp_path) == (
        "corpus.mirror is set but corpus=files downloads nothing; remove it."
    )
    assert message(obtain, GrammarCorpus(directory=str(tmp_path)), tmp_path) == (
        "corpus.directory is set but corpus=grammar writes its own text; remove it, or use "
        "corpus=files for text of yours."
    )


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    text = message(obtain, GrammarCorpus(), tmp_path / "data")
    assert text == (
        f"{tmp_path}/data/corpora: Not a directory; check the path, its permissions and the free "
        "space, or set data to another folder."
    )


def test_the_grammar_writes_a_corpus_once_per_setting(tmp_path, monkeypatch):
    written = []

    def write_corpus(config, directory):
        written.append(config.seed)
        put(directory, {n.replace("fr", "de"): text for n, text in SMALL.items()})
        put(directory, {"train.align": b"\n\n\n", "valid.align": b"\n", "test.align": b"\n\n"})

    monkeypatch.setattr(grammar, "write_corpus", write_corpus, raising=False)
    corpus = obtain(GrammarCorpus(), tmp_path)
    assert corpus == obtain(GrammarCorpus(train_pairs=2, train_max_words=30), tmp_path)
    assert list(corpus.tests) == ["test"]
    folder = corpus.train.source.parent
    assert folder.parent == tmp_path / "corpora"
    assert folder.name.startswith("grammar-")
    assert corpus.tests["test"].alignments == folder / "test.align"
    assert obtain(GrammarCorpus(seed=2), tmp_path).train.source.parent != folder
    turned = obtain(GrammarCorpus(source="de", target="en"), tmp_path)
    assert turned.train.source.parent != folder  # its alignments run the other way
    assert written == [1, 2, 1]


def test_grammar_written_by_other_code_is_another_corpus(tmp_path, monkeypatch):
    before = corpora._grammar_hash(GrammarCorpus())
    package = shutil.copytree(Path(grammar.__file__).parent, tmp_path / "grammar")
    monkeypatch.setattr(grammar, "__file__", str(package / "__init__.py"))
    assert corpora._grammar_hash(GrammarCorpus()) == before
    with (package / "lexicon.py").open("a") as code:
        code.write("# altered\n")
    assert corpora._grammar_hash(GrammarCorpus()) != before


def test_a_folder_is_made_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "a" / "made"

    def make(fail):
        with new_folder(folder) as part:
            assert list(part.iterdir()) == []
            (part / "file").write_text("x")
            assert not folder.exists()
            if fail:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(fail=True)
    assert list(folder.parent.iterdir()) == []
    (tmp_path / "a" / "made.part" / "old").mkdir(parents=True)  # left by a killed process
    make(fail=False)
    assert [path.name for path in folder.parent.iterdir()] == ["made"]
