"""Files and folders appear whole, readable, and also on file systems that lack a call."""

import errno
import os
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from seq2seq.files import make_folder, parse_object, write_whole


def fill(part):
    (part / "file").write_text("b")


def failing(code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EIO])
def test_only_a_call_that_a_file_system_lacks_is_done_without(tmp_path, monkeypatch, caplog, code):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(os, "fsync", failing(code))
    if code == errno.EIO:
        with pytest.raises(OSError, match=os.strerror(code)):
            make_folder(tmp_path / "a", fill)
        assert not (tmp_path / "a").exists()
        return
    monkeypatch.setattr(fcntl, "flock", failing(code))
    assert (make_folder(tmp_path / "a", fill) / "file").read_text() == "b"
    assert str(tmp_path / "a.lock") in caplog.text


def test_a_new_folder_and_then_its_name_reach_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    folder = make_folder(tmp_path / "a", fill)
    paths = folder / "file", folder, tmp_path
    assert flushed == [path.stat().st_ino for path in paths]


def test_only_one_of_those_that_want_a_folder_makes_it(tmp_path):
    made = []

    def fill_slowly(part):
        made.append(part)
        time.sleep(0.1)  # the others arrive

    with ThreadPoolExecutor(3) as pool:
        pool.map(lambda _: make_folder(tmp_path / "a", fill_slowly), range(3))
    assert made == [tmp_path / "a.part"]


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(pathlib.Path, "replace", failing(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        write_whole(tmp_path / "a", b"new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


@pytest.mark.parametrize("content", [b'{"a": NaN}', b"[1]", b"{", b"\xff", b'{"a":' * 9_999])
def test_what_is_not_a_json_object_is_one_error(content):
    with pytest.raises(ValueError):  # noqa: PT011
        parse_object(content)
