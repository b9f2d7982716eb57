"""Texts of any kind through a translator: one line out for each line in, whatever comes."""

import gzip
import io
import logging
import os
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest
from helpers.echo_model import GREEDY, echo
from helpers.small_checkpoint import tiny_translator
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig, TranslateConfig
from seq2seq.decoding.hypothesis import pharaoh
from seq2seq.decoding.text_stream import answer_prompt, translate_text
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
def test_a_file_gives_one_line_per_line(tmp_path, name, caplog):
    caplog.set_level(logging.INFO)
    data = MARK + RAW.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    out = tmp_path / "new" / "out.txt"
    assert translate_text(echo(), stage(tmp_path / name, str(out), chunk=2)) == 6
    assert out.read_bytes() == ANSWER.encode()
    assert caplog.messages[-1].endswith("vocabulary: 1")
    assert [path.name for path in out.parent.iterdir()] == ["out.txt"]


def test_standard_input_goes_to_standard_output(monkeypatch, capfdbinary):
    give_standard_input(monkeypatch, MARK + RAW.encode())
    assert translate_text(echo(), stage(chunk=4)) == 6
    assert capfdbinary.readouterr().out == ANSWER.encode()


def test_lines_and_capped_hypotheses_are_counted_across_chunks(tmp_path, monkeypatch, caplog):
    give_standard_input(monkeypatch, b"der\nder hund\n\nder\nder hund heim\n")
    search = DecodingConfig(beam=1, max_ratio=0, max_extra=2)
    with caplog.at_level(logging.INFO):
        config = stage("-", str(tmp_path / "out"), search, chunk=2)
        translate_text(echo(max_pieces=2), config)
    assert "Line 5 has 3 pieces" in caplog.text
    [said] = [message for message in caplog.messages if ": 5; 2 " in message]
    assert "decoding.max_ratio" in said


@pytest.mark.parametrize("from_file", [True, False])
def test_bad_bytes_are_refused_and_leave_the_old_file(tmp_path, monkeypatch, caplog, from_file):
    out = tmp_path / "out.txt"
    out.write_text("before\n", encoding="utf-8")
    data = b"der\nhund\nl\xe4uft\n"
    (tmp_path / "in.txt").write_bytes(data)
    give_standard_input(monkeypatch, data)
    translator = echo()
    source = tmp_path / "in.txt" if from_file else "-"
    with pytest.raises(UserError, match="line 3 "):
        translate_text(translator, stage(source, str(out), chunk=2))
    assert bool(translator.model.batches) != from_file  # a file is checked before the work
    assert out.read_text(encoding="utf-8") == "before\n"
    # A pipe cannot be read again: what was translated of it stays.
    part = tmp_path / "out.txt.part"
    assert part.exists() != from_file
    assert from_file or part.read_text() == "der\nhund\n"
    assert from_file or str(part) in caplog.text
    if not from_file:  # the same command again keeps them, too
        give_standard_input(monkeypatch, data)
        with pytest.raises(UserError, match=str(part)):
            translate_text(translator, stage(source, str(out), chunk=2))
        assert part.read_text() == "der\nhund\n"


def test_lines_that_cannot_get_their_name_stay_in_a_file_that_is_named(tmp_path, caplog):
    (tmp_path / "in").write_text("der\nhund\n")
    paths = {key: tmp_path / key for key in THREE}
    (tmp_path / "link").symlink_to(paths["hypotheses"])
    outputs = {key: str(path) for key, path in paths.items()} | {"hypotheses": f"{tmp_path}/link"}
    translator = echo()
    encode = translator.model.encode

    def encode_after_another_took_a_name(*batch):
        paths["n_best_list"].mkdir(exist_ok=True)
        return encode(*batch)

    translator.model.encode = encode_after_another_took_a_name
    with pytest.raises(OSError, match="n_best_list"):
        translate_text(translator, stage(tmp_path / "in", **outputs))
    parts = [tmp_path / f"{key}.part" for key in ("hypotheses", "n_best_list")]
    assert [part.read_text().count("\n") for part in parts] == [2, 2]
    assert all(str(part) in caplog.text for part in parts)


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
    expected = [
        f"{number} ||| {each.text} ||| {each.score:.6f}"
        for number, best in enumerate(echo().translate(lines, search))
        for each in [best, *best.alternatives]
    ]
    assert len(expected) == 5
    assert text["n_best_list"] == expected


@pytest.mark.parametrize(
    "names",
    [
        {"alignments": "-"},
        {"source": "text", "hypotheses": "link"},
        {"source": "text", "hypotheses": "a", "n_best_list": "./b/../a"},
        {"source": "text.part", "hypotheses": "link"},
    ],
)
def test_outputs_that_would_mix_or_be_lost_are_refused(tmp_path, monkeypatch, names):
    monkeypatch.chdir(tmp_path)
    for name in ("text", "text.part"):
        Path(name).write_text("der hund\n")
    Path("link").symlink_to("text")
    with pytest.raises(UserError):
        translate_text(echo(), stage(**names))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "text", "text.part"]
    assert Path("text").read_text() == Path("text.part").read_text() == "der hund\n"


def test_a_device_may_take_several_outputs(tmp_path):
    (tmp_path / "in").write_text("der\n")
    assert translate_text(echo(), stage(tmp_path / "in", os.devnull, alignments=os.devnull)) == 1


def test_links_that_a_model_cannot_give_are_refused_before_the_work(tmp_path):
    config = stage(tmp_path / "none", alignments=str(tmp_path / "links"))
    with pytest.raises(UserError, match="alignments"):
        translate_text(tiny_translator("fixed"), config)
    assert not list(tmp_path.iterdir())


def test_the_prompt_names_the_words_that_have_no_known_form(monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", Mock(side_effect=["Hund, Der der. xyz .", EOFError]))
    answer_prompt(echo(), stage())
    named = [line.split('"')[1::2] for line in capsys.readouterr().out.split("\n") if '"' in line]
    assert named == [[","], ["."], ["xyz"]]


def test_lines_of_other_words_than_those_between_spaces_have_no_links(tmp_path, caplog):
    lines = ["the dog´s dog", "the dog barks", "", "a\u200bdog barks", "it's a dog"]
    (tmp_path / "in").write_text("\n".join(lines), encoding="utf-8")
    config = stage(tmp_path / "in", None, alignments=str(tmp_path / "links"))
    translate_text(tiny_translator(), config)
    found = [set(line.split()) for line in (tmp_path / "links").read_text().split("\n")]
    assert [bool(links) for links in found] == [False, True, False, False, True, False]
    [message] = caplog.messages
    assert "alignments" in message
    assert ": 2." in message


ODD = "\x07\x0b\x0c\x1b\x1c\x85\u2028\u2029\u200d\u202e\ufeff\r\t▁|😀👩‍👩‍👧שלוםشجرة é"
LINE = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), max_size=20)
    | st.text(st.sampled_from(ODD + "dogcats "), max_size=20)
    | st.lists(st.sampled_from(["the", "dog", "barks", "cat"]), max_size=9).map(" ".join)
)
BATCH, CHUNK = st.integers(1, 8), st.integers(1, 9)


def search_of(batch_size, n_best=1):
    return DecodingConfig(beam=2, n_best=n_best, batch_size=batch_size, max_ratio=0, max_extra=5)


@settings(max_examples=12)
@given(st.lists(LINE, min_size=1, max_size=5), BATCH, CHUNK, st.data())
def test_neither_company_nor_order_changes_a_translation(lines, batch_size, chunk, data):
    translator, search = tiny_translator(), search_of(batch_size, n_best=2)
    alone = [translator.translate(line, search) for line in lines]
    order = data.draw(st.permutations(range(len(lines))))
    found = list(translator.stream([lines[i] for i in order], search, chunk=chunk))
    assert len(found) == len(lines)
    for i, hypothesis in zip(order, found, strict=True):
        assert hypothesis.score == pytest.approx(alone[i].score, abs=1e-4)
        ties = [h.text for h in alone[i].alternatives if h.score > alone[i].score - 1e-4]
        assert hypothesis.text in (alone[i].text, *ties), lines[i]
        assert len(hypothesis.text.splitlines()) <= 1


@settings(max_examples=12)
@given(
    st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), max_size=5),
    st.sampled_from([b"", MARK]),
    st.booleans(),
    BATCH,
    CHUNK,
)
def test_files_keep_their_lines(pairs, mark, ended, batch_size, chunk):
    translator = tiny_translator()
    search = search_of(batch_size)
    text = "".join(line + end for line, end in pairs)
    content = mark + (text if ended else text.removesuffix("\n")).encode()
    rows = content.split(b"\n")
    rows = rows[:-1] if rows[-1] == b"" else rows
    sources = [row.removeprefix(MARK if n == 0 else b"").decode() for n, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        source, out, links = (Path(folder) / name for name in ("in", "out", "links"))
        source.write_bytes(content)
        config = stage(source, str(out), search, alignments=str(links), chunk=chunk)
        assert translate_text(translator, config) == len(sources)
        assert out.read_bytes().count(b"\n") == len(sources)
        *written, last = links.read_text(encoding="utf-8").split("\n")
    assert last == ""
    for source, links in zip(sources, written, strict=True):
        found = translator.translate(source, search, attention=True)
        assert links == pharaoh(found.links() or [])
