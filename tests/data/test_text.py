"""Text files are read and written exactly, completely or not at all."""

import gzip
import hashlib
import lzma
import os
import sys
import tempfile
import threading
from pathlib import Path
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data import text
from seq2seq.errors import UserError

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\ufeff"))
PACK = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


@settings(max_examples=50)
@given(ending=st.sampled_from([*PACK]), lines=st.lists(LINE))
def test_what_is_written_is_read_back_and_equal_lines_make_equal_files(ending, lines):
    with tempfile.TemporaryDirectory() as folder:
        one, two = (Path(folder) / f"{name}.en{ending}" for name in ("one", "two"))
        assert text.write_lines(one, iter(lines)) == text.write_lines(two, lines) == len(lines)
        assert list(text.read_lines(one)) == lines
        assert text.count_lines(one) == len(lines)
        assert {path.name for path in Path(folder).iterdir()} == {one.name, two.name}
        assert one.read_bytes() == two.read_bytes()
        whole = "".join(f"{line}\n" for line in lines).encode()
        assert text.content_digest(one) == hashlib.sha256(whole).hexdigest()


def test_every_accent_and_vowel_sign_belongs_to_the_word_before_it():
    words = [f"a{c}" for c in map(chr, range(sys.maxunicode + 1)) if category(c)[0] == "M"]
    assert text.word_pattern().findall(" ".join(words)) == words


def test_only_newline_ends_a_line_and_marks_of_windows_are_dropped(tmp_path):
    path = tmp_path / "a.txt"
    line = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\x1deight\rnine"
    path.write_bytes(f"\ufeff{line}\r\n\ufefftwo\r\r\n\r\nlast\r".encode())
    # Only at the start of the file is U+FEFF a mark; only before "\n" is "\r" a line end.
    assert list(text.read_lines(path)) == [line, "\ufefftwo\r", "", "last\r"]


def test_line_ends_of_old_macs_are_refused(tmp_path):
    (tmp_path / "mac").write_bytes(b"one\rtwo\rthree\r")
    with pytest.raises(UserError, match=r"mac .* CR"):
        list(text.read_lines(tmp_path / "mac"))


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("gut\ndéjà\n".encode("latin-1"), "line 2, byte 2.* ENCODING "),
        (b"fine\nd\xc3", "line 2, byte 2"),
        ("été\nword".encode("utf-16-le"), "line 1, .* UTF-16LE "),
        ("機械 翻訳\nword".encode("utf-16-le"), "line 1, .* UTF-16LE "),
        ("été\nword".encode("utf-16-be"), "line 1, .* UTF-16BE "),
        ("機械 翻訳\nword".encode("utf-16"), "line 1, .* UTF-16 "),
        ("機械 翻訳\nword".encode("gb18030"), "line 1, .* ENCODING "),
        ("機械 翻訳\nword".encode("shift-jis"), "line 1, .* ENCODING "),
        (b"Hello\0 world\n", "line 1, byte 6: .*tr -d"),
    ],
)
def test_other_encodings_are_refused_with_line_and_byte_and_what_they_may_be(
    tmp_path, content, named
):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(UserError, match=f"text, {named}"):
        list(text.read_lines(tmp_path / "text"))


@pytest.mark.parametrize("ending", [".gz", ".xz"])
def test_packed_files_are_known_without_their_ending_and_damaged_ones_refused(tmp_path, ending):
    (tmp_path / "train.en").write_bytes(PACK[ending](b"one\ntwo\n"))
    assert list(text.read_lines(tmp_path / "train.en")) == ["one", "two"]
    path = tmp_path / f"a{ending}"
    for content in (PACK[ending](b"line\n" * 1000)[:-9], b"<html>no</html>"):
        path.write_bytes(content)
        for read in (text.count_lines, text.content_digest):
            with pytest.raises(UserError, match=f"a{ending}"):
                read(path)


@pytest.mark.parametrize("name", ["no.txt", "no.gz"])
def test_missing_files_and_folders_are_refused(tmp_path, name):
    with pytest.raises(UserError, match=name):
        list(text.read_lines(tmp_path / name))
    (tmp_path / name).mkdir()
    with pytest.raises(UserError, match=name):
        list(text.read_lines(tmp_path / name))


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, UserError])
def test_only_a_writer_that_is_told_to_keeps_what_a_failure_left(tmp_path, keep, failure):
    path = tmp_path / "a.gz"
    text.write_lines(path, ["old"])
    writer = text.LineWriter(path, keep_unfinished=keep)

    def fail_after_a_line():
        with writer:
            writer.write("new")
            if failure is KeyboardInterrupt:
                raise KeyboardInterrupt
            path.rename(tmp_path / "b.gz")
            path.mkdir()  # the file cannot take this name

    with pytest.raises(failure):
        fail_after_a_line()
    assert list(text.read_lines(path if path.is_file() else tmp_path / "b.gz")) == ["old"]
    assert writer.part.exists() == keep
    assert not keep or gzip.decompress(writer.part.read_bytes()) == b"new\n"


def test_lines_that_a_failure_left_are_not_written_over(tmp_path):
    part = tmp_path / "a.part"
    part.write_text("old\n")
    with pytest.raises(UserError, match=str(part)), text.LineWriter(tmp_path / "a", True):
        pass
    assert part.read_text() == "old\n"
    part.write_text("")
    with text.LineWriter(tmp_path / "a", True) as writer:
        writer.write("new")
    assert (tmp_path / "a").read_text() == "new\n"


def test_a_second_writer_does_not_mix_its_lines_into_a_file(tmp_path):
    path = tmp_path / "a"
    first, second = (text.LineWriter(path, True) for _ in range(2))
    first.__enter__().write("one")
    second.__enter__().write("two")
    second.__exit__(None)
    with pytest.raises(UserError, match="cannot be written"):
        first.__exit__(None)
    assert path.read_text() == "two\n"


def test_a_link_stays_one_and_its_target_is_replaced(tmp_path):
    target, link = tmp_path / "deep" / "a.txt", tmp_path / "link"
    text.write_lines(target, ["old"])
    link.symlink_to(target)
    text.write_lines(link, ["new"])
    assert link.is_symlink()
    assert target.read_bytes() == b"new\n"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_written_to_as_it_is(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    text.write_lines(pipe, ["one", "two"])
    reader.join()
    assert read == [b"one\ntwo\n"]
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1000)
    path = tmp_path / "train.en.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"b" * 999 + b"\n" + b"c" * 10**6))
    lines = text.read_lines(path)
    assert [next(lines), next(lines)] == ["a", "b" * 999]
    with pytest.raises(UserError, match=r"line 3 .*1,000"):
        next(lines)


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="no names of open files here")
@pytest.mark.parametrize("by_number", [True, False])
def test_a_file_that_is_being_written_to_is_written_on(tmp_path, by_number):
    """As the log of a job, which /dev/stdout, /dev/fd/1 and its own name lead to."""
    log = tmp_path / "log"
    with log.open("w") as stream:
        stream.write("before\n")
        stream.flush()
        name = Path(f"/dev/fd/{stream.fileno()}") if by_number else log
        text.write_lines(name, ["one", "two"])
        stream.write("after\n")
    assert log.read_text() == "before\none\ntwo\nafter\n"
    assert list(tmp_path.iterdir()) == [log]
