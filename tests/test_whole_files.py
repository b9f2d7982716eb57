"""Folders appear whole, readable, and also on file systems that lack a call."""

import errno
import os
import pathlib
import stat

import pytest

from seq2seq.files import locked, make_folder, write_whole

WORK = {errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP}


@pytest.mark.parametrize("code", [*sorted(WORK), errno.EIO, errno.ENOSPC])
def test_only_a_call_that_a_file_system_lacks_is_done_without(tmp_path, monkeypatch, code):
    sync = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    if code in WORK:
        folder = make_folder(tmp_path / "a", lambda part: (part / "file").write_text("b"))
        assert (folder / "file").read_text() == "b"
    else:
        with pytest.raises(OSError, match=os.strerror(code)):
            make_folder(tmp_path / "a", lambda part: (part / "file").write_text("b"))
        assert not (tmp_path / "a").exists()


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")

    def replace(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(pathlib.Path, "replace", replace)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        write_whole(tmp_path / "a", b"new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


def test_a_new_folder_and_then_its_name_reach_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    folder = make_folder(tmp_path / "a", lambda part: (part / "file").write_text("b"))
    paths = folder / "file", folder, tmp_path
    assert flushed == [path.stat().st_ino for path in paths]


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_work_goes_on(tmp_path, monkeypatch, caplog, code):
    fcntl = pytest.importorskip("fcntl")

    def flock(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    with locked(tmp_path / "lock", wait=False):
        (tmp_path / "done").touch()
    assert (tmp_path / "done").exists()
    assert str(tmp_path / "lock") in caplog.text


def test_a_folder_has_the_modes_of_this_process_whatever_was_put_into_it(tmp_path):
    def fill(part):
        (part / "private").touch(0o600)
        (part / "locked").touch(0o444)

    before = os.umask(0o027)
    try:
        folder = make_folder(tmp_path / "a", fill)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o640}


def test_no_link_is_written_through(tmp_path):
    (tmp_path / "precious").write_text("mine")
    for name in ("a", "a.part"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "a").is_symlink()
