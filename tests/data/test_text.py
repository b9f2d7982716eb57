"""Text files are read and written exactly, completely or not at all."""

import gzip
import hashlib
import lzma
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.data import text
from seq2seq.errors import UserError

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\ufeff"))


@settings(max_examples=50)
@given(pack=st.sampled_from([bytes, gzip.compress, lzma.compress]), lines=st.lists(LINE))
def test_what_is_written_is_read_back_also_if_it_is_packed(pack, lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.en"
        assert text.write_lines(path, iter(lines)) == len(lines)
        assert [*Path(folder).iterdir()] == [path]
        whole = "".join(f"{line}\n" for line in lines).encode()
        assert path.read_bytes() == whole
        path.write_bytes(pack(whole))
        assert [*text.read_lines(path)] == lines
        assert text.content_digest(path) == hashlib.sha256(whole).hexdigest()


def test_only_newline_ends_a_line_and_marks_of_windows_are_dropped(tmp_path):
    line = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\x1deight\rnine"
    (tmp_path / "a").write_bytes(f"\ufeff{line}\r\n\ufefftwo\r\r\n\r\nlast\r".encode())
    # Only at the start of the file is U+FEFF a mark; only before "\n" is "\r" a line end.
    assert [*text.read_lines(tmp_path / "a")] == [line, "\ufefftwo\r", "", "last\r"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("gut\ndéjà\n".encode("latin-1"), "line 2"),
        ("機械 翻訳\nword".encode("utf-16-le"), "line 1.* UTF-16"),
        (b"Hello\0 world\n", "line 1"),
        (gzip.compress(b"line\n" * 1000, mtime=0)[:-9], ""),
    ],
)
def test_what_is_not_text_is_refused_with_file_and_line(tmp_path, content, named):
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(UserError, match=f"text.*{named}"):
        text.count_lines(tmp_path / "text")


def test_lines_whose_name_is_taken_meanwhile_are_kept(tmp_path):
    def lines(taking):
        yield "new"
        taking()

    path, part = tmp_path / "a", tmp_path / "a.part"
    with pytest.raises(FileNotFoundError):  # another process was faster, and keeps its lines
        text.write_lines(path, lines(lambda: text.write_lines(path, ["two"])))
    assert path.read_text() == "two\n"
    path.unlink()
    with pytest.raises(IsADirectoryError):
        text.write_lines(path, lines(path.mkdir))
    assert part.read_text() == "new\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_written_to_as_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    text.write_lines(pipe, ["one", "two"])
    assert os.read(reader, 99) == b"one\ntwo\n"
    os.close(reader)
    assert [*tmp_path.iterdir()] == [pipe]
