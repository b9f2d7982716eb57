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
def test_what_is_written_is_read_back_also_if_it_is_packed(ending, lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.en"
        assert text.write_lines(path, iter(lines)) == len(lines)
        assert list(Path(folder).iterdir()) == [path]
        whole = "".join(f"{line}\n" for line in lines).encode()
        assert path.read_bytes() == whole
        path.write_bytes(PACK[ending](whole))
        assert list(text.read_lines(path)) == lines
        assert text.count_lines(path) == len(lines)
        assert text.content_digest(path) == hashlib.sha256(whole).hexdigest()


def test_every_accent_and_vowel_sign_belongs_to_the_word_before_it():
    words = [f"a{c}" for c in map(chr, range(sys.maxunicode + 1)) if category(c)[0] == "M"]
    assert text.word_pattern().findall(" ".join(words)) == words


def test_only_newline_ends_a_line_and_marks_of_windows_are_dropped(tmp_path):
    path = tmp_path / "a.txt"
    line = "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\x1deight\rnine"
    path.write_bytes(f"\ufeff{line}\r\n\ufefftwo\r\r\n\r\nlast\r".encode())
    # Only at the start of the file is U+FEFF a mark; only before "\n" is "\r" a line end.
    assert list(text.read_lines(path)) == [line, "\ufefftwo\r", "", "last\r"]


REFUSED = {
    "latin-1": ("gut\ndéjà\n".encode("latin-1"), "line 2"),
    "cut off": (b"fine\nd\xc3", "line 2"),
    "utf-16-le": ("機械 翻訳\nword".encode("utf-16-le"), "line 1.* UTF-16"),
    "utf-16": ("été\nword".encode("utf-16"), "line 1"),
    "zero": (b"Hello\0 world\n", "line 1"),
    "gz": (gzip.compress(b"line\n" * 1000)[:-9], ""),
    "xz": (lzma.compress(b"line\n" * 1000)[:-9], ""),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_text_is_refused_with_file_and_line(tmp_path, kind):
    content, line = REFUSED[kind]
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(UserError, match=f"text.*{line}"):
        text.count_lines(tmp_path / "text")


def test_texts_of_different_length_are_refused(tmp_path):
    for name, lines in (("a", ["x", "y"]), ("b", ["x"])):
        text.write_lines(tmp_path / name, lines)
    with pytest.raises(UserError, match=r"a has 2 lines, .*b has 1"):
        text.read_aligned(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_the_lines_of_a_failure_are_kept(tmp_path, failure):
    path = tmp_path / "a.en"
    text.write_lines(path, ["old"])
    writer = text.LineWriter(path)

    def fail_after_a_line():
        with writer:
            writer.write("new")
            if failure is KeyboardInterrupt:
                raise KeyboardInterrupt
            path.rename(tmp_path / "b.en")
            path.mkdir()  # the file cannot take this name

    with pytest.raises(failure):
        fail_after_a_line()
    assert list(text.read_lines(path if path.is_file() else tmp_path / "b.en")) == ["old"]
    if path.is_dir():
        path.rmdir()
    with pytest.raises(UserError, match=r"a\.en\.part"), text.LineWriter(path):
        pass
    assert writer.part.read_bytes() == b"new\n"


def test_a_second_writer_does_not_mix_its_lines_into_a_file(tmp_path):
    path = tmp_path / "a"
    first, second = (text.LineWriter(path) for _ in range(2))
    first.__enter__().write("one")
    second.__enter__().write("two")
    second.__exit__(None)
    with pytest.raises(FileNotFoundError):
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
