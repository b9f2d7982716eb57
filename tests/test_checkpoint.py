"""What is saved comes back bit by bit; what is damaged or does not fit is refused."""

import errno
import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from helpers.small_checkpoint import (
    CPU,
    OPTIMIZERS,
    experiment,
    reseal,
    save,
    save_whole,
    small,
    train,
    training_state,
)

from seq2seq import checkpoint
from seq2seq.errors import UserError
from seq2seq.record import Progress


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A checkpoint with every optional part."""
    return save_whole(tmp_path_factory.mktemp("whole") / "best")


def load_all(folder):
    found = checkpoint.load_checkpoint(folder, CPU)
    checkpoint.load_optimizer(folder, OPTIMIZERS["adam"](found.model.parameters()))


@pytest.mark.parametrize("tie", [True, False])
def test_everything_comes_back(tmp_path, tie):
    folder, metrics = tmp_path / "a" / "last", checkpoint.MetricsState(1, [[-1.25, 1 / 3, 2]])
    state = checkpoint.TrainingState(Progress(update=7, best_metric=-1.25), metrics)
    made = replace(small(experiment(tie_embedding=tie)), state=state)
    checkpoint.save_checkpoint(folder, made)
    before = torch.get_rng_state()
    found = checkpoint.load_checkpoint(folder, CPU)
    assert torch.equal(torch.get_rng_state(), before)
    assert (found.config, found.state, found.rng) == (made.config, state, {})
    assert found.directory == folder
    assert found.source.encodes_like(made.source)
    assert found.target.encodes_like(made.target)
    saved, loaded = made.model.state_dict(), found.model.state_dict()
    torch.testing.assert_close(saved, loaded, rtol=0, atol=0)
    assert (found.model.output.weight is found.model.target_embedding.weight) == tie


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.slow
def test_three_updates_saved_and_three_more_are_six(tmp_path, kind):
    straight = small()
    optimizer = OPTIMIZERS[kind](straight.model.parameters())
    train(straight.model, optimizer, 3)
    with_rng = replace(straight, rng=checkpoint.capture_rng())
    checkpoint.save_checkpoint(tmp_path / "last", with_rng, optimizer)
    train(straight.model, optimizer, 3)

    torch.manual_seed(99)
    found = checkpoint.load_checkpoint(tmp_path / "last", CPU)
    resumed = OPTIMIZERS[kind](found.model.parameters())
    checkpoint.load_optimizer(tmp_path / "last", resumed)
    lacking = {"cuda.63": torch.zeros(0)}  # of a GPU that this machine does not have
    checkpoint.restore_rng(found.rng | lacking)
    train(found.model, resumed, 3)
    for one, other in ((straight.model, found.model), (optimizer, resumed)):
        torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=0, atol=0)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [flip, Path.unlink, lambda path: path.write_bytes(b"{}")])
def test_a_damaged_file_is_refused_by_name(whole, tmp_path, damage):
    for path in whole.iterdir():
        assert not path.read_bytes().startswith((b"\x80", b"PK"))  # no pickle, no archive of one
        folder = Path(shutil.copytree(whole, tmp_path / path.name))
        damage(folder / path.name)
        with pytest.raises(UserError, match=r"\." if path.name == "manifest.json" else path.name):
            load_all(folder)


@pytest.mark.parametrize(
    ("file", "content", "named"),
    [
        ("model.safetensors", b"no tensors", "model.safetensors"),
        ("model.safetensors", safetensors.torch.save({}), "output.bias"),
        ("vocabulary.target.tsv", b"<pad>\t0\n<unk>\t0\n<s>\t0\n</s>\t0\n", "output.bias"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(whole, tmp_path, file, content, named):
    """The manifest agrees with the files, as in a checkpoint that is altered on purpose."""
    folder = Path(shutil.copytree(whole, tmp_path / "best"))
    (folder / "model.pt").write_bytes(b"no pickle")  # nothing opens it
    load_all(folder)
    (folder / file).write_bytes(content)
    reseal(folder)
    with pytest.raises(UserError, match=named):
        load_all(folder)


def test_a_checkpoint_is_found_where_one_stands_and_in_its_run(whole, tmp_path, monkeypatch):
    run = tmp_path / "seed-1"
    with pytest.raises(UserError, match="no checkpoint at"):
        checkpoint.find_checkpoint(run)
    for update in (2, 10, 9):
        save(run / "checkpoints" / f"update-{update}")
    (run / "checkpoints" / "update-11.part").mkdir()
    (run / "checkpoints" / "update-12").mkdir()  # half deleted: no manifest
    assert checkpoint.find_checkpoint(run).name == "update-10"
    newest = ["update-12", "update-10", "update-9", "update-2"]
    assert [path.name for path in checkpoint.newest_checkpoints(run)] == newest
    best = Path(shutil.copytree(whole, run / "checkpoints" / "best"))
    monkeypatch.setenv("HOME", str(run))
    for place, name in ((run, "."), (best, "."), (run / "checkpoints", ".."), (tmp_path, "~")):
        monkeypatch.chdir(place)
        assert checkpoint.find_checkpoint(Path(name)).resolve() == best
    (best / "manifest.json").unlink()
    with pytest.raises(UserError, match="best"):  # no other is taken for it
        checkpoint.find_checkpoint(run)


def test_a_checkpoint_that_is_replaced_meanwhile_is_not_mixed(tmp_path, monkeypatch):
    read = checkpoint.load_model
    save(tmp_path / "best", state=training_state(0))

    def replaced(model, path):
        read(model, path)
        save(tmp_path / "best", state=training_state(1))

    monkeypatch.setattr(checkpoint, "load_model", replaced)
    with pytest.raises(UserError, match="best was replaced"):
        checkpoint.load_checkpoint(tmp_path / "best", CPU)


class PowerCutError(BaseException):
    pass


def break_disk(patch, room, error):
    """Let ``room`` steps of writing pass, and no other."""
    places = [(checkpoint, "save_model"), (os, "fsync")]
    places += [(Path, name) for name in ("open", "mkdir", "replace", "rename")]
    if isinstance(error, PowerCutError):  # neither can it clean up
        places += [(shutil, "rmtree"), (Path, "unlink")]
    steps = iter(range(room))

    def limited(operation):
        def run(*arguments, **settings):
            if next(steps, None) is None:
                raise error
            return operation(*arguments, **settings)

        return run

    for owner, name in places:
        patch.setattr(owner, name, limited(getattr(owner, name)))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), PowerCutError()], ids=["full", "power cut"]
)
def test_a_save_that_fails_at_any_step_leaves_a_whole_checkpoint(tmp_path, monkeypatch, error):
    for room in itertools.count():
        save(tmp_path / "last", state=training_state(1))  # whatever was left is no obstacle
        assert [path.name for path in tmp_path.iterdir()] == ["last"]
        failed = None
        with monkeypatch.context() as patch:
            break_disk(patch, room, error)
            try:
                save(tmp_path / "last", state=training_state(2))
            except (UserError, PowerCutError) as caught:
                failed = caught
        update = checkpoint.load_checkpoint(tmp_path / "last", CPU).state.progress.update
        if not failed:
            break
        assert update == 1 or not (tmp_path / "last.part").exists()
    assert room > 15
    assert update == 2
