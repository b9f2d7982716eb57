"""A folder is there whole or not at all, whatever happens while it is written or read."""

import shutil
from pathlib import Path

import pytest
from small_checkpoint import CPU, save

from seq2seq import sealed_folder
from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.codec import TextCodec
from seq2seq.errors import UserError


def test_a_save_replaces_the_old_checkpoint_and_leaves_nothing_beside_it(tmp_path):
    for update in (1, 2):
        save(tmp_path / "last", state={"update": update})
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    assert load_checkpoint(tmp_path / "last", CPU).state == {"update": 2}


@pytest.mark.parametrize("operations", range(5))
def test_a_crash_anywhere_in_the_swap_leaves_a_whole_checkpoint(tmp_path, monkeypatch, operations):
    class PowerCutError(BaseException):
        pass

    left = [operations]

    def until_the_power_is_cut(operation):
        def run(*arguments, **settings):
            if left[0] == 0:
                raise PowerCutError
            left[0] -= 1
            return operation(*arguments, **settings)

        return run

    # In turn: clear .part, clear .old, rename the folder to .old, rename .part, delete .old.
    save(tmp_path / "last", state={"update": 1})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", until_the_power_is_cut(Path.rename))
        patch.setattr(sealed_folder.shutil, "rmtree", until_the_power_is_cut(shutil.rmtree))
        with pytest.raises(PowerCutError):
            save(tmp_path / "last", state={"update": 2})
    survivor = load_checkpoint(tmp_path / "last", CPU)
    assert survivor.state == {"update": 2 if operations == 4 else 1}
    save(tmp_path / "last", state={"update": 3})
    assert load_checkpoint(tmp_path / "last", CPU).state == {"update": 3}
    assert [path.name for path in tmp_path.iterdir()] == ["last"]


def test_a_failing_disk_keeps_the_old_checkpoint_and_says_so(tmp_path, monkeypatch):
    save(tmp_path / "last", state={"update": 1})

    def full(self, directory, side):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TextCodec, "save", full)
    with pytest.raises(UserError, match=r"last cannot be written .*No space left .* is kept: free"):
        save(tmp_path / "last", state={"update": 2})
    assert load_checkpoint(tmp_path / "last", CPU).state == {"update": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["last"]


def test_a_folder_of_something_else_is_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(UserError, match=r"thesis exists and was not written by seq2seq"):
        save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").exists()
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty")
    assert load_checkpoint(tmp_path / "empty", CPU).state == {"update": 1}


def test_a_checkpoint_replaced_while_it_is_read_is_read_anew(tmp_path, monkeypatch):
    save(tmp_path / "last", state={"update": 1})
    load, times = TextCodec.load.__func__, []

    def load_slowly(cls, directory, side):
        times.append(side)
        if len(times) == 1:
            save(tmp_path / "last", state={"update": 2})
        return load(cls, directory, side)

    monkeypatch.setattr(TextCodec, "load", classmethod(load_slowly))
    assert load_checkpoint(tmp_path / "last", CPU).state == {"update": 2}
    assert times == ["source", "target"] * 2
