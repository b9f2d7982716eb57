"""What is saved comes back bit by bit; what is damaged or does not fit is refused."""

import contextlib
import errno
import os
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from helpers.small_checkpoint import (
    CPU,
    ENGLISH,
    OPTIMIZERS,
    experiment,
    new_model,
    reseal,
    save,
    save_whole,
    train,
    training_state,
)
from safetensors.torch import load_file, save_file

from seq2seq import checkpoint as checkpoint_module
from seq2seq.checkpoint import (
    MetricsState,
    TrainingState,
    capture_rng,
    find_checkpoint,
    load_checkpoint,
    load_optimizer,
    newest_checkpoints,
    restore_rng,
)
from seq2seq.errors import UserError
from seq2seq.record import Progress


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A checkpoint with every optional part."""
    return save_whole(tmp_path_factory.mktemp("whole") / "best")


def load_all(folder):
    found = load_checkpoint(folder, CPU)
    load_optimizer(folder, OPTIMIZERS["adam"](found.model.parameters()))
    restore_rng(found.rng)


@pytest.mark.parametrize("tie", [True, False])
def test_everything_comes_back(tmp_path, tie):
    config = experiment(tie=tie)
    model, updates = new_model(config), MetricsState(1, [[-1.25, 1 / 3, 2]])
    state = TrainingState(Progress(update=7, best_metric=-1.25), updates)
    save(tmp_path / "a" / "last", model, config, state=state)
    before = torch.get_rng_state()
    found = load_checkpoint(tmp_path / "a" / "last", CPU)
    assert torch.equal(torch.get_rng_state(), before)
    assert (found.config, found.state, found.rng) == (config, state, {})
    assert found.directory == tmp_path / "a" / "last"
    assert found.source.vocabulary.pieces == ENGLISH.vocabulary.pieces
    assert (found.source.language, found.target.language) == ("en", "de")
    assert found.target.encode("ein hund") == [4, 5]
    saved, loaded = model.state_dict(), found.model.state_dict()
    assert list(saved) == list(loaded)
    assert all(torch.equal(saved[name], loaded[name]) for name in saved)
    assert (found.model.output.weight is found.model.target_embedding.weight) == tie


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_three_updates_saved_and_three_more_are_six(tmp_path, kind):
    straight = new_model(experiment())
    optimizer = OPTIMIZERS[kind](straight.parameters())
    train(straight, optimizer, 3)
    save(tmp_path / "last", straight, optimizer=optimizer, rng=capture_rng())
    train(straight, optimizer, 3)

    torch.manual_seed(99)
    found = load_checkpoint(tmp_path / "last", CPU)
    resumed = OPTIMIZERS[kind](found.model.parameters())
    load_optimizer(tmp_path / "last", resumed)
    restore_rng({**found.rng, "cuda.63": torch.zeros(0)})  # a GPU this machine does not have
    train(found.model, resumed, 3)
    for one, other in zip(straight.parameters(), found.model.parameters(), strict=True):
        assert torch.equal(one, other)
    torch.testing.assert_close(optimizer.state_dict(), resumed.state_dict(), atol=0, rtol=0)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [flip, Path.unlink, lambda path: path.write_bytes(b"{}")])
def test_a_damaged_file_is_refused_by_name(whole, tmp_path, damage):
    assert not any(path.read_bytes().startswith((b"\x80", b"PK")) for path in whole.iterdir())
    for number, name in enumerate(sorted(path.name for path in whole.iterdir())):
        folder = Path(shutil.copytree(whole, tmp_path / str(number)))
        damage(folder / name)
        with pytest.raises(UserError, match=r"\." if name == "manifest.json" else name):
            load_all(folder)


class Bomb:
    """Unpickling one raises RuntimeError."""

    def __reduce__(self):
        return exec, ("raise RuntimeError",)


def tensors(**changes):
    def change(path):
        kept = {name: tensor.clone() for name, tensor in load_file(path).items()} | changes
        path.unlink()
        save_file({name: tensor for name, tensor in kept.items() if tensor is not None}, path)

    return change


def content(new, after=False):
    return lambda path: path.write_bytes((path.read_bytes() if after else b"") + new)


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("model.safetensors", content(pickle.dumps(Bomb())), "model.safetensors"),
        ("model.safetensors", tensors(**{"output.bias": None}), "output.bias"),
        ("model.safetensors", tensors(**{"output.bias": torch.zeros(3)}), "output.bias"),
        ("vocabulary.target.tsv", content(b"katze\t1\n", after=True), "output.bias"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(whole, tmp_path, file, change, named):
    """The manifest agrees with the files, as in a checkpoint that is altered on purpose."""
    folder = Path(shutil.copytree(whole, tmp_path / "best"))
    (folder / "model.pt").write_bytes(pickle.dumps(Bomb()))  # nothing opens it
    load_all(folder)
    change(folder / file)
    reseal(folder)
    with pytest.raises(UserError, match=named):
        load_all(folder)


def test_a_checkpoint_is_found_where_one_stands_and_in_its_run(whole, tmp_path, monkeypatch):
    run = tmp_path / "seed-1"
    with pytest.raises(UserError, match="no checkpoint at"):
        find_checkpoint(run)
    for update in (2, 10, 9):
        save(run / "checkpoints" / f"update-{update}")
    (run / "checkpoints" / "update-11.part").mkdir()
    (run / "checkpoints" / "update-12").mkdir()  # half deleted: no manifest
    assert find_checkpoint(run) == run / "checkpoints" / "update-10"
    newest = ["update-12", "update-10", "update-9", "update-2"]
    assert [path.name for path in newest_checkpoints(run)] == newest
    best = run / "checkpoints" / "best"
    shutil.copytree(whole, best)
    (best / "deeper").mkdir()
    monkeypatch.setenv("HOME", str(run))
    for place, name in ((run, "."), (best, "."), (best / "deeper", ".."), (tmp_path, "~")):
        monkeypatch.chdir(place)
        assert find_checkpoint(Path(name)).resolve() == best
    (best / "manifest.json").unlink()
    with pytest.raises(UserError, match="best"):  # no other is taken for it
        find_checkpoint(run)


def test_a_checkpoint_without_what_resuming_needs_is_refused(tmp_path):
    optimizer = OPTIMIZERS["adam"](new_model(experiment()).parameters())
    with pytest.raises(UserError, match="optimizer"):
        load_optimizer(save(tmp_path / "bare"), optimizer)


def test_a_checkpoint_that_is_replaced_meanwhile_is_not_mixed(tmp_path, monkeypatch):
    read = checkpoint_module.load_model
    save(tmp_path / "best", state=training_state(0))

    def replaced(model, path):
        read(model, path)
        save(tmp_path / "best", state=training_state(1))

    monkeypatch.setattr(checkpoint_module, "load_model", replaced)
    with pytest.raises(UserError, match="best was replaced"):
        load_checkpoint(tmp_path / "best", CPU)


class PowerCutError(BaseException):
    pass


class Disk:
    """Lets ``room`` steps of writing pass; the next one stops half way, later ones at once."""

    def __init__(self, monkeypatch, room, error):
        self.room, self.error, self.steps = room, error, 0
        places = [(checkpoint_module, "save_file"), (os, "fsync")]
        places += [(Path, name) for name in ("write_bytes", "mkdir", "replace", "rename")]
        if isinstance(error, PowerCutError):  # neither can it clean up
            places += [(shutil, "rmtree"), (Path, "unlink")]
        for owner, name in places:
            monkeypatch.setattr(owner, name, self.limited(getattr(owner, name), name))

    def limited(self, operation, name):
        def run(*arguments, **settings):
            self.steps += 1
            if self.steps <= self.room:
                return operation(*arguments, **settings)
            if name == "write_bytes" and self.steps == self.room + 1:
                path, text = arguments
                operation(path, text[: len(text) // 2])
            raise self.error

        return run


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left"), PowerCutError()], ids=["full", "power cut"]
)
def test_a_save_that_fails_at_any_step_leaves_a_whole_checkpoint(tmp_path, monkeypatch, error):
    save(tmp_path / "last", state=training_state(1))
    keep = shutil.copytree(tmp_path / "last", tmp_path / "keep")
    for room in range(100):
        with monkeypatch.context() as patch:
            disk = Disk(patch, room, error)
            with contextlib.suppress(UserError, PowerCutError):
                save(tmp_path / "last", state=training_state(2))
        update = load_checkpoint(tmp_path / "last", CPU).state.progress.update
        if disk.steps <= room:
            break
        assert update == 1 or not (tmp_path / "last.part").exists()
        save(tmp_path / "last", state=training_state(3))  # whatever was left is no obstacle
        assert {path.name for path in tmp_path.iterdir()} == {"last", "keep"}
        shutil.rmtree(tmp_path / "last")
        shutil.copytree(keep, tmp_path / "last")
    assert room > 15
    assert update == 2
