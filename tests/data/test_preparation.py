"""A corpus is encoded faithfully, once; whatever would alter the result makes a new folder."""

import dataclasses
import errno
import gzip
import logging
import os
import re
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from helpers.samples import ids_of, put
from sacrebleu.metrics import BLEU

from seq2seq.config import FilesCorpus, ModelConfig, TokenizationConfig, TrainConfig
from seq2seq.data import preparation
from seq2seq.data.preparation import advise, prepare, summary
from seq2seq.data.splits import source_digest
from seq2seq.data.vocabulary import EOS, UNK
from seq2seq.errors import UserError
from seq2seq.evaluation.scores import ceiling

ENGLISH = ["a man runs", "a dog runs .", "the man 's dog", "</s> is no <unk>", "a\u00a0b c"] * 4
GERMAN = ["ein Mann läuft", "ein Hund läuft .", "der Hund", "</s> ist kein <pad>", "a b c d"] * 4
VALID = ["eine Katze läuft", "nichts", "der Mann"]
WORDS = TokenizationConfig(kind="whitespace")
SUBWORDS = TokenizationConfig(kind="sentencepiece", vocabulary_size=50)


def corpus(folder, train=(ENGLISH, GERMAN), languages=("en", "de"), **options):
    texts = {
        "train": train,
        "valid": (["a cat runs", "", "the man"], VALID),
        "test": (["a test"], ["ein Test"]),
    }
    files = {
        f"{name}.{language}": "".join(line + "\n" for line in lines).encode()
        for name, sides in texts.items()
        for language, lines in zip(languages, sides, strict=True)
    }
    source, target = languages
    return FilesCorpus(source=source, target=target, directory=put(folder, files), **options)


def folders(data):
    return [path.name for path in (data / "prepared").iterdir() if path.is_dir()]


def test_every_pair_is_encoded_in_order(tmp_path):
    data = prepare(corpus(tmp_path / "text"), WORDS, tmp_path)
    assert data.train.line_numbers.tolist() == list(range(1, len(ENGLISH) + 1))
    for i, (english, german) in enumerate(zip(ENGLISH, GERMAN, strict=True)):
        expected = [*data.source.encode(english), EOS], data.target.encode(german)
        assert ids_of(data.train, i) == expected
    assert data.source.decode(ids_of(data.train, 0)[0]) == "a man runs"
    assert (data.source.language, data.target.language) == ("en", "de")
    assert data.valid.line_numbers.tolist() == [1, 3]
    assert data.skipped["valid.empty"] == 1
    assert type(data.train.source_ids) is np.ndarray  # faster to index than the memmap itself
    assert isinstance(data.train.source_ids.base, np.memmap)


def test_limits_apply_to_training_and_are_counted(tmp_path):
    train = ["a b c", "a b", "", "a", "a b", "a"], ["a", "a b c d", "a", "a", "a b", "a"]
    config = corpus(tmp_path / "text", train, train_pairs=5, train_max_words=3)
    data = prepare(config, dataclasses.replace(WORDS, max_pieces=2), tmp_path)
    assert data.train.line_numbers.tolist() == [4, 5]
    assert data.valid.line_numbers.tolist() == [3]
    left_out = {"train.empty": 1, "train.max_words": 1, "train.max_pieces": 1}
    left_out |= {"valid.empty": 1, "valid.max_words": 0, "valid.max_pieces": 1}
    assert data.skipped == left_out
    said = summary(data).split("\n")
    assert said[0].startswith("train: 2 of 5 pairs")
    assert "source: 1.5 words a sentence, at most 2" in said[1]
    assert "0.00% unknown" in said[2]
    again = prepare(config, dataclasses.replace(WORDS, max_pieces=2), tmp_path)
    assert summary(again).split("\n") == said
    assert data.source.vocabulary.pieces[4:] == ["a", "b"]  # of the pairs that are kept
    assert data.source.vocabulary.counts[4:] == [2, 1]


def test_sources_that_were_learned_are_counted_and_named_once(tmp_path, caplog):
    train = ["A  CAT runs", "the man", "a test", "b"], ["x"] * 4
    limited = corpus(tmp_path / "text", train, train_pairs=2, train_max_words=2)
    assert prepare(limited, WORDS, tmp_path).learned.tolist() == [source_digest("the man")]
    assert "valid: 1 of 3" in caplog.text
    assert "test:" not in caplog.text
    whole = dataclasses.replace(limited, train_pairs=None, train_max_words=None)
    prepare(whole, WORDS, tmp_path)
    assert "valid: 2 of 3" in caplog.text
    assert "test: 1 of 1" in caplog.text
    caplog.clear()
    prepare(whole, WORDS, tmp_path)
    assert caplog.text == ""
    for name in ("test", "test_more"):  # changed, and added, after the first time
        put(tmp_path / "text", {f"{name}.en": b"c\nB\nthe man\n", f"{name}.de": b"x\ny\nz\n"})
    prepare(whole, WORDS, tmp_path)
    assert {line[:16] for line in caplog.messages} == {"test: 2 of 3 sou", "test_more: 2 of "}


CHINESE = ["猫看见狗", "狗看见老人", "老人喜欢小猫", "小狗跑得很快"] * 4
NUMBERS = [f"{word} number" for word in "one two three four five six seven eight nine ten".split()]
ZAHLEN = [f"{word} Zahl" for word in "eins zwei drei vier fünf sechs sieben acht neun zehn".split()]


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [(NUMBERS, ZAHLEN, ("en", "de")), (CHINESE, (NUMBERS + ZAHLEN)[:16], ("zh", "en"))],
)
def test_sides_that_are_exchanged_are_refused(tmp_path, source, target, languages):
    """The sides of all other text, of one other text, or of one file."""

    def files(**names):
        lines = {"source": source * 2, "target": target * 2}
        content = {name: "\n".join(lines[side]).encode() for name, side in names.items()}
        return {name.replace("_", "."): text for name, text in content.items()}

    one, two = languages
    own = {f"{name}_{one}": "source" for name in ("train", "valid", "test")}
    own |= {f"{name}_{two}": "target" for name in ("train", "valid", "test")}
    for exchanged in ({}, {"train"}, {"valid"}, {"test"}):
        names = {
            name: side if name.partition("_")[0] not in exchanged else {"source": "target"}.get(side, "source")
            for name, side in own.items()
        }
        folder = tmp_path / "-".join(["text", *exchanged])
        config = FilesCorpus(source=one, target=two, directory=put(folder, files(**names)))
        if exchanged:
            with pytest.raises(UserError, match=rf"(valid|test)\.({one}|{two}) .*train\."):
                prepare(config, WORDS, tmp_path)
        else:
            prepare(config, WORDS, tmp_path)


@pytest.mark.parametrize("joint", [False, True])
def test_subwords_give_the_text_back_and_are_learnt_again_byte_for_byte(tmp_path, joint):
    config, options = corpus(tmp_path / "text"), dataclasses.replace(SUBWORDS, joint=joint)
    data, again = (prepare(config, options, tmp_path / name) for name in "ab")
    vocabularies = data.source.vocabulary, data.target.vocabulary
    assert [len(vocabulary) for vocabulary in vocabularies] == [50, 50]
    assert (vocabularies[0].pieces == vocabularies[1].pieces) is joint
    for i, english in enumerate(ENGLISH):
        ids, _ = ids_of(data.train, i)
        if "</s>" in english:  # spelt out, it is no text that a subword model learns from
            assert UNK in ids
            assert EOS not in ids[:-1]
        else:
            assert data.source.decode(ids) == english.replace("\u00a0", " ")
    assert sum(data.source.vocabulary.counts) == int((data.train.source_ids > EOS).sum())
    one, two = (
        {path.name: path.read_bytes() for path in made.directory.iterdir()}
        for made in (data, again)
    )
    assert one == two
    assert not [name for name in one if name.endswith(".ids")]


def test_each_side_is_normalised_as_it_is_told(tmp_path):
    marks = "，！（ﬁ①"
    config = corpus(tmp_path / "text", ([marks, *ENGLISH], [marks, *GERMAN]))
    plain = unicodedata.normalize("NFKC", marks)
    for rules, texts in {
        (None, None): (plain, marks),
        ("identity", "nmt_nfkc"): (marks, plain),
        ("nmt_nfkc", "nmt_nfkc"): (plain, plain),
    }.items():
        sides = dict(zip(("source_normalization", "target_normalization"), rules, strict=True))
        data = prepare(config, dataclasses.replace(SUBWORDS, **sides), tmp_path)
        codecs = data.source, data.target
        assert tuple(codec.decode(codec.encode(marks)) for codec in codecs) == texts
    joint = dataclasses.replace(SUBWORDS, joint=True)
    assert (joint.source_normalization, joint.target_normalization) == ("identity", "identity")


@pytest.mark.parametrize("most", [24, 12])
def test_a_subword_model_learns_from_a_sample_of_what_is_kept(tmp_path, monkeypatch, most):
    learnt = []

    def learn(sentences, *options):
        learnt.append(list(sentences))
        return real(learnt[-1], *options)

    real = preparation.SentencePieceTokenizer.train_model
    monkeypatch.setattr(preparation.SentencePieceTokenizer, "train_model", staticmethod(learn))
    monkeypatch.setattr(preparation, "TOKENIZER_SENTENCES", most)
    english = [f"{line} {'long ' * 9}" if i % 5 > 2 else line for i, line in enumerate(ENGLISH * 2)]
    config = corpus(tmp_path / "text", (english, GERMAN * 2), train_max_words=8)
    prepare(config, dataclasses.replace(SUBWORDS, vocabulary_size=40), tmp_path)
    short = [line for line in english if "long" not in line]
    assert [len(sentences) for sentences in learnt] == [most, most]
    assert learnt[0] == (short if most == len(short) else short[1::2])


def test_without_spaces_two_characters_are_a_word(tmp_path):
    texts = {"zh": ["一二三四", "一二三四五", "一"], "en": ["a b"] * 3}
    for languages in (("zh", "en"), ("en", "zh")):
        train = tuple(texts[language] for language in languages)
        config = corpus(tmp_path / languages[0], train, languages, train_max_words=2)
        assert prepare(config, WORDS, tmp_path).train.line_numbers.tolist() == [1, 3]


def test_the_ceiling_is_what_the_pieces_can_say(tmp_path):
    """Words that training has not seen are lost; of subwords, letters are."""
    config = corpus(tmp_path / "text")
    for options in (WORDS, SUBWORDS):
        data = prepare(config, options, tmp_path)
        said = [data.target.decode(data.target.encode(line)) for line in VALID]
        assert "<unk>" in " ".join(said)
        expected = BLEU(tokenize="char").corpus_score(said, [VALID]).score
        assert f"{expected:.2f} BLEU" in ceiling(data, "char")


def test_another_option_gets_another_folder(tmp_path):
    config = corpus(tmp_path / "text")
    recipes = [(config, WORDS)]
    recipes += [(dataclasses.replace(config, train_pairs=7), WORDS)]
    recipes += [(dataclasses.replace(config, train_max_words=3), WORDS)]
    options = {"min_frequency": 2}, {"max_pieces": 3}, {"vocabulary_size": 9}
    recipes += [(config, dataclasses.replace(WORDS, **option)) for option in options]
    for recipe in recipes:
        prepare(*recipe, tmp_path)
    assert len(folders(tmp_path)) == len(recipes)


def test_only_the_content_of_training_and_validation_text_matters(tmp_path, monkeypatch):
    config = corpus(tmp_path / "text")
    first = prepare(config, WORDS, tmp_path)
    plain = tmp_path / "text" / "train.en"
    (tmp_path / "text" / "train.en.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(preparation, "_fill", None)  # what the first call made is opened
        again = prepare(config, dataclasses.replace(WORDS, workers=3), tmp_path)
    assert again.directory == first.directory
    assert (again.skipped, again.hashes) == (first.skipped, first.hashes)
    assert again.train.source_ids.tolist() == first.train.source_ids.tolist()
    valid = tmp_path / "text" / "valid.de"
    valid.write_bytes(valid.read_bytes().replace(b"n", b"m"))
    assert prepare(config, WORDS, tmp_path).directory != first.directory


def test_nothing_left_to_train_on_says_why(tmp_path):
    train = ["", "a b c", "a b"], ["a", "a", "a"]
    config = corpus(tmp_path / "text", train, train_max_words=2)
    with pytest.raises(UserError, match=r"train pairs .* corpus\.train_max_words"):
        prepare(config, dataclasses.replace(WORDS, max_pieces=1), tmp_path)
    with pytest.raises(UserError, match="no sentence"):
        prepare(dataclasses.replace(config, train_max_words=1), SUBWORDS, tmp_path)
    assert folders(tmp_path) == []


@pytest.mark.parametrize("size", [7_999, 8_100, 8_130])  # of the ids, the lines, the offsets
def test_what_cannot_be_written_is_said_and_leaves_no_folder(tmp_path, size):
    resource = pytest.importorskip("resource")
    config = corpus(tmp_path / "text", (["a"] * 1_000, ["b"] * 1_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            prepare(config, WORDS, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert folders(tmp_path) == []


@pytest.mark.parametrize("name", ["valid.target.npy", "manifest.json", "vocabulary.target.tsv"])
def test_a_damaged_folder_is_named(tmp_path, name):
    config = corpus(tmp_path / "text")
    directory = prepare(config, WORDS, tmp_path).directory
    for content in (b"torn", b""):
        (directory / name).write_bytes(content)
        with pytest.raises(UserError, match=directory.name):
            prepare(config, WORDS, tmp_path)


def test_text_that_changes_meanwhile_is_not_kept(tmp_path, monkeypatch):
    config, fill = corpus(tmp_path / "text"), preparation._fill

    def change(*arguments):
        (tmp_path / "text" / "train.en").write_text("w\n" * len(ENGLISH))
        return fill(*arguments)

    monkeypatch.setattr(preparation, "_fill", change)
    with pytest.raises(UserError, match=r"train\.source"):
        prepare(config, WORDS, tmp_path)
    assert folders(tmp_path) == []


@pytest.mark.parametrize(
    ("dropout", "embedding", "named"),
    [(0.4, 0.3, ""), (0.5, 0.1, "model.embedding_dropout=0.3"), (0.1, 0.3, "model.dropout=0.4")],
)
def test_more_dropout_is_advised_where_it_is_low(tmp_path, caplog, dropout, embedding, named):
    text = corpus(tmp_path / "text")
    model = ModelConfig(dropout=dropout, embedding_dropout=embedding)
    config = TrainConfig(name="n", system="s", corpus=text, tokenization=SUBWORDS, model=model)
    with caplog.at_level(logging.INFO):
        advise(config, prepare(text, SUBWORDS, tmp_path))
    assert " ".join(w for w in caplog.text.split() if w.startswith("model.")) == named


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("size", "sides"),
    [
        (500, (["abab baba abba aabb"] * 20, ["aab bba"] * 20)),
        (8, (["abcdefg hij"] * 20, ["abcdefghij klmno"] * 20)),
    ],
    ids=["large", "small"],
)
def test_a_vocabulary_that_fits_no_side_is_refused_with_a_size_that_fits_both(
    tmp_path, size, sides, swapped
):
    config = corpus(tmp_path / "text", sides[::-1] if swapped else sides)
    with pytest.raises(UserError, match="vocabulary_size") as caught:
        prepare(config, dataclasses.replace(SUBWORDS, vocabulary_size=size), tmp_path)
    size = int(re.findall(r" (\d+)", str(caught.value))[-1])
    prepare(config, dataclasses.replace(SUBWORDS, vocabulary_size=size), tmp_path)


@pytest.mark.parametrize("size", [8, 500])
def test_where_no_vocabulary_size_fits_both_sides_one_vocabulary_is_advised(tmp_path, size):
    many = [" ".join(chr(0x4E00 + 10 * line + n) for n in range(10)) for line in range(20)]
    config = corpus(tmp_path / "text", (["ab ba"] * 20, many))
    options = dataclasses.replace(SUBWORDS, vocabulary_size=size)
    with pytest.raises(UserError, match=r"tokenization\.joint=true"):
        prepare(config, options, tmp_path)
    with pytest.raises(UserError, match=r"set it to \d+ or") as caught:
        prepare(config, dataclasses.replace(options, joint=True), tmp_path)
    size = int(re.findall(r" (\d+)", str(caught.value))[-1])
    prepare(config, dataclasses.replace(options, joint=True, vocabulary_size=size), tmp_path)


@pytest.mark.parametrize(
    ("source", "target", "kind", "warned"),
    [("zh", "en", "whitespace", 1), ("a", "th", "whitespace", 1), ("zh", "th", "sentencepiece", 0)],
)
def test_words_of_a_language_without_spaces_are_warned_of_once(
    tmp_path, caplog, source, target, kind, warned
):
    preparation.warn_once.cache_clear()
    config = corpus(tmp_path / "text", languages=(source, target))
    for _ in range(2):
        prepare(config, dataclasses.replace(SUBWORDS, kind=kind), tmp_path)
    assert caplog.text.count("tokenization=sentencepiece") == warned


@pytest.mark.slow
def test_a_script_that_its_workers_would_run_again_is_told_so(tmp_path):
    lines = [
        "import seq2seq",
        "from seq2seq.data import encoding",
        "encoding.WORTH_SHARING = 1",
        'words = ["experiment=smoke", "tokenization.workers=2", "corpus.train=50"]',
        'seq2seq.train(*words, data="data", output="outputs")',
    ]
    (tmp_path / "script.py").write_text("\n".join(lines))
    started = [sys.executable, "script.py"]
    done = subprocess.run(started, cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]
    assert "UserError" in done.stderr
