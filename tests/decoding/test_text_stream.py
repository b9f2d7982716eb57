"""Texts of any kind through a translator: one line out for each line in, whatever comes."""

import gzip
import io
import logging
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_translator import GREEDY, echo
from tiny_translator import tiny_codec, tiny_translator

from seq2seq.config import DecodingConfig, TranslateConfig
from seq2seq.data.codec import TextCodec
from seq2seq.data.text import LONGEST_LINE
from seq2seq.data.tokenization import MosesWordTokenizer
from seq2seq.decoding.text_stream import answer_prompt, translate_text
from seq2seq.decoding.word_links import align, pharaoh
from seq2seq.errors import UserError

RAW = "der hund\r\n\r\n🐕\tläuft\nhund\u2028heim\n\ufeffdaneben\nheim"
ANSWER = "der hund\n\n🐕 läuft\nhund heim\n<unk>\nheim\n"
MARK = b"\xef\xbb\xbf"
THREE = ("hypotheses", "n_best_list", "alignments")


def stage(source="-", hypotheses="-", decoding=GREEDY, **others):
    return TranslateConfig(
        checkpoint="unused", decoding=decoding, input=str(source), hypotheses=hypotheses, **others
    )


def give_standard_input(monkeypatch, data):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"))


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz"])
def test_a_file_gives_one_line_per_line(tmp_path, name):
    data = MARK + RAW.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    out = tmp_path / "new" / "out.txt"
    assert translate_text(echo(), stage(tmp_path / name, str(out), chunk=2)) == 6
    assert out.read_bytes() == ANSWER.encode()
    assert [path.name for path in out.parent.iterdir()] == ["out.txt"]


def test_standard_input_goes_to_standard_output(monkeypatch, capfdbinary):
    give_standard_input(monkeypatch, MARK + RAW.encode())
    assert translate_text(echo(), stage(chunk=4)) == 6
    assert capfdbinary.readouterr().out == ANSWER.encode()


def test_line_numbers_run_on_across_chunks(tmp_path, monkeypatch, caplog):
    give_standard_input(monkeypatch, b"der\nder\nder\nder\nder hund heim\n")
    with caplog.at_level(logging.INFO):
        translate_text(echo(max_pieces=2), stage("-", str(tmp_path / "out"), chunk=2))
    assert "Line 5 has 3 pieces" in caplog.text
    assert "Translated 5 lines; 0 hypotheses were cut at the length cap" in caplog.text


def test_an_empty_input_gives_an_empty_file(tmp_path, monkeypatch):
    give_standard_input(monkeypatch, b"")
    assert translate_text(echo(), stage("-", str(tmp_path / "out"))) == 0
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize(("from_file", "chunk"), [(True, 1), (False, 1), (False, 2), (False, 3)])
def test_bad_bytes_are_refused_by_line_and_leave_the_old_file(
    tmp_path, monkeypatch, caplog, from_file, chunk
):
    out = tmp_path / "out.txt"
    out.write_text("before\n", encoding="utf-8")
    data = b"der\nhund\nl\xe4uft\n"
    (tmp_path / "in.txt").write_bytes(data)
    give_standard_input(monkeypatch, data)
    translator = echo()
    source = tmp_path / "in.txt" if from_file else "-"
    with pytest.raises(UserError, match="line 3, byte 2: 0xe4 is not valid UTF-8; convert"):
        translate_text(translator, stage(source, str(out), chunk=chunk))
    assert bool(translator.model.batches) != from_file  # a file is checked before the work
    assert out.read_text(encoding="utf-8") == "before\n"
    # A pipe cannot be read again: what was translated of it stays.
    part = tmp_path / "out.txt.part"
    assert part.exists() != from_file
    assert from_file or part.read_text() == "der\nhund\n"
    assert from_file or caplog.messages == [f"Stopped after 2 lines; they are in {part}."]
    assert {path.name for path in tmp_path.iterdir()} - {part.name} == {"in.txt", "out.txt"}


def test_a_line_of_standard_input_without_end_fills_no_memory(monkeypatch):
    class Endless(io.RawIOBase):
        given = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.given += len(buffer)
            assert self.given < 4 * LONGEST_LINE
            buffer[:] = b"a" * len(buffer)
            return len(buffer)

    class Stream:
        buffer = io.BufferedReader(Endless())

    monkeypatch.setattr("sys.stdin", Stream())
    with pytest.raises(UserError, match=r"Standard input, line 1 has more than 1,048,576 bytes"):
        translate_text(echo(), stage())


def test_an_absent_input_and_an_unwritable_output_are_refused(tmp_path, monkeypatch):
    with pytest.raises(UserError, match=r"no file .*absent\.txt"):
        translate_text(echo(), stage(tmp_path / "absent.txt", str(tmp_path / "out")))
    give_standard_input(monkeypatch, b"der\n")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"out cannot be written .*choose another place"):
        translate_text(echo(), stage("-", str(tmp_path / "file" / "out")))


def test_hypotheses_n_best_list_and_alignments_of_one_text(tmp_path):
    lines = ["der hund", "", "heim läuft der"]
    (tmp_path / "in").write_text("\n".join(lines), encoding="utf-8")
    paths = {key: tmp_path / key for key in THREE}
    search = DecodingConfig(beam=3, n_best=2)
    outputs = {key: str(path) for key, path in paths.items()}
    assert translate_text(echo(), stage(tmp_path / "in", decoding=search, **outputs)) == 3
    text = {key: path.read_text(encoding="utf-8").split("\n")[:-1] for key, path in paths.items()}
    assert text["hypotheses"] == lines
    assert text["alignments"] == ["0-0 1-1", "", "0-0 1-1 2-2"]
    found = echo().translate(lines, search)
    expected = [
        (number, each.text, each.score)
        for number, best in enumerate(found)
        for each in [best, *best.alternatives]
    ]
    assert [number for number, _, _ in expected] == [0, 0, 1, 2, 2]
    read = [line.split(" ||| ") for line in text["n_best_list"]]
    assert [(int(number), written) for number, written, _ in read] == [e[:2] for e in expected]
    for (*_, score), (*_, exact) in zip(read, expected, strict=True):
        assert float(score) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("key", THREE)
def test_each_output_can_have_standard_output_alone(monkeypatch, capfdbinary, key):
    give_standard_input(monkeypatch, b"der hund\n\n")
    translate_text(echo(), stage(**{"hypotheses": None, key: "-"}))
    lines = capfdbinary.readouterr().out.decode().split("\n")
    assert len(lines) == 3
    assert lines[0].startswith({"hypotheses": "der", "n_best_list": "0 |||"}.get(key, "0-0 1-1"))


def test_outputs_that_would_mix_are_refused(tmp_path, monkeypatch):
    give_standard_input(monkeypatch, b"")
    with pytest.raises(UserError, match="hypotheses and alignments cannot share standard output"):
        translate_text(echo(), stage(alignments="-"))
    with pytest.raises(UserError, match=r"nothing to write; give hypotheses"):
        stage(hypotheses=None)
    with pytest.raises(UserError, match="chunk=0 is out of range"):
        stage(chunk=0)


@pytest.mark.parametrize(
    ("names", "over"),
    [
        ({"source": "text", "hypotheses": "text"}, "input"),
        ({"source": "text.part", "hypotheses": "text"}, "input"),
        ({"source": "text.part", "hypotheses": "link"}, "input"),
        ({"source": "text", "hypotheses": "a", "n_best_list": "./b/../a"}, "hypotheses"),
        ({"source": "text", "hypotheses": "a.part", "alignments": "a"}, "hypotheses"),
    ],
)
def test_nothing_is_written_over_the_text_or_another_output(tmp_path, monkeypatch, names, over):
    monkeypatch.chdir(tmp_path)
    for name in ("text", "text.part"):
        Path(name).write_text("der hund\n")
    Path("link").symlink_to("text")
    with pytest.raises(UserError, match=rf"would be written over {over}=.*; give it a file of its"):
        translate_text(echo(), stage(**names))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "text", "text.part"]
    assert Path("text").read_text() == Path("text.part").read_text() == "der hund\n"


def test_a_device_may_take_several_outputs(tmp_path):
    (tmp_path / "in").write_text("der\n")
    assert translate_text(echo(), stage(tmp_path / "in", os.devnull, alignments=os.devnull)) == 1


def test_alignments_of_a_model_without_attention_are_refused(tmp_path):
    translator = tiny_translator("fixed")
    with pytest.raises(UserError, match="A model without attention has no alignments; leave out"):
        translate_text(translator, stage(hypotheses=None, alignments=str(tmp_path / "a")))
    assert not list(tmp_path.iterdir())
    replaced = stage(decoding=DecodingConfig(replace_unknown=True))
    with pytest.raises(UserError, match=r"no alignments; leave out decoding\.replace_unknown"):
        translate_text(translator, replaced)


def test_lines_of_other_words_than_those_between_spaces_have_no_links(tmp_path, caplog):
    lines = ["the dog´s dog", "the dog barks", "", "a\u200bdog barks", "it's a dog"]
    (tmp_path / "in").write_text("\n".join(lines), encoding="utf-8")
    translator = tiny_translator()
    translate_text(translator, stage(tmp_path / "in", None, alignments=str(tmp_path / "links")))
    found = [set(line.split()) for line in (tmp_path / "links").read_text().split("\n")]
    assert [bool(links) for links in found] == [False, True, False, False, True, False]
    assert caplog.messages == [
        "Lines of alignments left empty: 2, whose texts the model cuts into other words than those "
        "between spaces."
    ]
    caplog.clear()
    translate_text(translator, stage(tmp_path / "in", str(tmp_path / "out")))
    assert caplog.messages == []


def test_links_of_moses_words_are_refused_before_the_work(tmp_path):
    translator = echo()
    translator.target = TextCodec(MosesWordTokenizer("de"), translator.target.vocabulary)
    with pytest.raises(UserError, match=r"words of tokenization=moses; leave out alignments, or"):
        translate_text(translator, stage(tmp_path / "none", alignments=str(tmp_path / "links")))
    with pytest.raises(UserError, match="leave out alignments"):
        answer_prompt(translator, stage(alignments="-"))
    assert not list(tmp_path.iterdir())


def test_hypotheses_that_nothing_would_show_are_refused():
    with pytest.raises(UserError, match=r"Only the best of decoding\.n_best=2 would be written"):
        translate_text(echo(), stage(decoding=DecodingConfig(n_best=2)))


class Interrupted(io.BytesIO):
    """A text in whose midst Ctrl-C is pressed."""

    def readline(self, size=-1):
        return self.__next__()

    def __next__(self):
        line = super().readline()
        if line == b"stop\n":
            raise KeyboardInterrupt
        return line


def interrupt(monkeypatch, data):
    class Stream:
        buffer = Interrupted(data)

    monkeypatch.setattr("sys.stdin", Stream())


def test_what_is_written_before_an_interrupt_is_kept(tmp_path, monkeypatch, caplog):
    interrupt(monkeypatch, b"der\nhund\nheim\nstop\nder\n")
    out, links = tmp_path / "out.txt.gz", tmp_path / "links"
    out.write_bytes(b"before")
    config = stage(hypotheses=str(out), alignments=str(links), chunk=2)
    with pytest.raises(KeyboardInterrupt):
        translate_text(echo(), config)
    assert out.read_bytes() == b"before"
    assert gzip.decompress((tmp_path / "out.txt.gz.part").read_bytes()) == b"der\nhund\n"
    assert (tmp_path / "links.part").read_text() == "0-0\n0-0\n"
    assert [record.getMessage() for record in caplog.records] == [
        f"Interrupted after 2 lines; they are in {out}.part and {links}.part."
    ]


def test_an_interrupt_before_the_first_line_leaves_no_file(tmp_path, monkeypatch, caplog):
    interrupt(monkeypatch, b"stop\n")
    with pytest.raises(KeyboardInterrupt):
        translate_text(echo(), stage(hypotheses=str(tmp_path / "out")))
    assert not list(tmp_path.iterdir())
    assert caplog.messages == ["Interrupted after 0 lines."]


ODD = "\x00\x07\x0b\x0c\x1b\x1c\x85\u2028\u2029\u200d\u202e\ufeff\r\t▁|😀👩‍👩‍👧שלוםشجرة é"
LINE = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20)
    | st.text(st.sampled_from(ODD + "dogcats "), max_size=20)
    | st.lists(st.sampled_from(["the", "dog", "barks", "cat"]), max_size=9).map(" ".join)
)
BATCH, CHUNK = st.integers(1, 8), st.integers(1, 9)


def search_of(batch_size):
    return DecodingConfig(beam=2, n_best=2, batch_size=batch_size, max_length=5)


def agree(one, other):
    """Equal texts; of two equally good ones, either."""
    close = one.score == pytest.approx(other.score, abs=1e-4)
    return close and (one.text == other.text or one.score == pytest.approx(other.score, abs=1e-5))


@settings(max_examples=12)
@given(st.lists(LINE, min_size=1, max_size=5), BATCH, CHUNK, st.data())
def test_neither_company_nor_order_changes_a_translation(lines, batch_size, chunk, data):
    translator, search = tiny_translator(), search_of(batch_size)
    alone = [translator.translate(line, search) for line in lines]
    order = data.draw(st.permutations(range(len(lines))))
    found = list(translator.stream([lines[i] for i in order], search, chunk=chunk))
    assert len(found) == len(lines)
    for i, hypothesis in zip(order, found, strict=True):
        assert agree(hypothesis, alone[i]), lines[i]
        assert len(hypothesis.text.splitlines()) <= 1


def normalised(text):
    tokenizer = tiny_codec().tokenizer
    return tokenizer.detokenize(tokenizer.tokenize(text))


@settings(max_examples=12)
@given(
    st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), max_size=5),
    st.sampled_from([b"", MARK]),
    st.booleans(),
    BATCH,
    CHUNK,
)
def test_files_keep_their_lines(pairs, mark, ended, batch_size, chunk):
    translator, tokenizer = tiny_translator(), tiny_codec().tokenizer
    search = search_of(batch_size)
    text = "".join(line + end for line, end in pairs)
    content = mark + (text if ended else text.removesuffix("\n")).encode()
    rows = content.split(b"\n")
    rows = rows[:-1] if rows[-1] == b"" else rows
    sources = [row.removeprefix(MARK if n == 0 else b"").decode() for n, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        paths = {key: Path(folder) / key for key in THREE}
        (Path(folder) / "in").write_bytes(content)
        config = stage(
            Path(folder) / "in",
            decoding=search,
            chunk=chunk,
            **{key: str(path) for key, path in paths.items()},
        )
        assert translate_text(translator, config) == len(sources)
        written = {key: path.read_bytes().decode().split("\n") for key, path in paths.items()}
    assert written["hypotheses"].pop() == written["alignments"].pop() == ""
    assert len(written["hypotheses"]) == len(written["alignments"]) == len(sources)
    blocks = [int(row.partition(" ||| ")[0]) for row in written["n_best_list"][:-1]]
    assert sorted(set(blocks)) == list(range(len(sources)))
    assert blocks == sorted(blocks)
    for source, links in zip(sources, written["alignments"], strict=True):
        found = translator.translate(source, search, attention=True)
        expected = align(found, tokenizer, tokenizer)
        read = [word for word in normalised(source).split(" ") if word]
        assert links == (pharaoh(expected) if len(read) == len(source.split()) else "")
