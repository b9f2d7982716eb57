"""Damage and full disks: a checkpoint comes back as it was, from the one before, or not at all."""

import errno
import logging
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from small_checkpoint import CPU, OPTIMIZERS, save, save_whole

from seq2seq import checkpoint as checkpoint_module
from seq2seq.checkpoint import load_checkpoint, load_optimizer
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.training.trainer import Trainer

PLACES = 50


def content(folder):
    """All that a load brings, in a form that compares."""
    found = load_checkpoint(folder, CPU)
    optimizer = OPTIMIZERS["adam"](found.model.parameters())
    load_optimizer(folder, optimizer)
    state = optimizer.state_dict()
    tensors = {**found.model.state_dict(), **found.rng}
    tensors |= {f"{i}.{k}": v for i, row in state["state"].items() for k, v in row.items()}
    plain = [
        found.config,
        found.state,
        state["param_groups"],
        *((side.language, side.vocabulary.pieces) for side in (found.source, found.target)),
    ]
    return plain, {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def place(generator, folder):
    """A random byte of the folder: each file as often as every other, whatever its size."""
    path = generator.choice(sorted(folder.iterdir()))
    return path, generator.randrange(path.stat().st_size)


def cut(generator, folder):
    path, size = place(generator, folder)
    os.truncate(path, size)
    return f"{path.name} cut to {size} bytes"


def flip(generator, folder):
    path, byte = place(generator, folder)
    bit = generator.randrange(8)
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)
    return f"{path.name} byte {byte} bit {bit}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return save_whole(tmp_path_factory.mktemp("whole") / "best")


@pytest.mark.parametrize("damage", [cut, flip])
def test_damage_at_random_places_is_refused_or_harmless(whole, tmp_path, damage):
    generator = random.Random(1)
    expected, sentences = content(whole), []
    for number in range(PLACES):
        folder = Path(shutil.copytree(whole, tmp_path / str(number)))
        what = damage(generator, folder)
        try:
            found = content(folder)
        except UserError as error:
            sentences.append(str(error))
        else:
            assert found == expected, what
    assert len(sentences) >= PLACES - 2  # a flip may leave a manifest of the same meaning
    for sentence in sentences:
        assert "\n" not in sentence
        assert sentence.endswith(".")


@pytest.mark.parametrize("damage", [cut, flip])
def test_training_goes_on_from_the_checkpoint_before_a_damaged_one(tmp_path, caplog, damage):
    write_reversal_corpus(tmp_path / "corpus", train=40)
    config = reversal_experiment(tmp_path, validate_every=1, max_updates=2, dev_bleu_sentences=0)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    run = Trainer(config, data).run()
    newest, before = run.newest()
    expected = content_of_trainer(config, data, before)
    keep = Path(shutil.copytree(newest, tmp_path / "keep"))
    generator = random.Random(2)
    for _ in range(PLACES):
        shutil.rmtree(newest)
        shutil.copytree(keep, newest)
        what = damage(generator, newest)
        trainer = Trainer(config, data)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            progress, _ = trainer.saves.restore(CPU)
        if progress.update == 2:  # a flip may leave a manifest of the same meaning
            assert bytes_of(trainer) == content_of_trainer(config, data, keep), what
        else:
            assert progress.update == 1, what
            assert "Trying the checkpoint before it." in caplog.text, what
            assert bytes_of(trainer) == expected, what


def bytes_of(trainer):
    moments = trainer.optimizer.state_dict()["state"]
    tensors = [
        *trainer.model.state_dict().values(),
        *(v for m in moments.values() for v in m.values()),
    ]
    return [tensor.numpy().tobytes() for tensor in [*tensors, torch.get_rng_state()]]


def content_of_trainer(config, data, folder):
    trainer = Trainer(config, data)
    trainer.saves._restore(folder, CPU)
    return bytes_of(trainer)


class FullDisk:
    """Lets ``room`` steps of writing pass; the next one stops half way, later ones at once."""

    def __init__(self, monkeypatch, room):
        self.room = room
        self.steps = 0
        for owner, name in (
            (checkpoint_module, "save_file"),
            (Path, "write_bytes"),
            (Path, "write_text"),
            (Path, "mkdir"),
            (Path, "replace"),
            (Path, "rename"),
            (os, "fsync"),
        ):
            monkeypatch.setattr(owner, name, self.limited(getattr(owner, name), name))

    def limited(self, operation, name):
        def run(*arguments, **settings):
            self.steps += 1
            if self.steps <= self.room:
                return operation(*arguments, **settings)
            if name in ("write_bytes", "write_text") and self.steps == self.room + 1:
                path, text = arguments
                operation(path, text[: len(text) // 2], **settings)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return run


def test_a_disk_that_fills_up_at_any_step_keeps_the_checkpoint_and_says_what_to_free(
    tmp_path, monkeypatch
):
    save(tmp_path / "last", state={"update": 1})
    room, message = 0, ""
    while True:
        with monkeypatch.context() as patch:
            disk = FullDisk(patch, room)
            try:
                save(tmp_path / "last", state={"update": 2})
            except UserError as error:
                message = str(error)
        if disk.steps <= room:
            break
        assert "last cannot be written ([Errno 28] No space left on device)" in message, room
        assert f"MB are free in {tmp_path}) or mend" in message
        names = sorted(path.name for path in tmp_path.iterdir())
        assert names in (["last"], ["last", "last.old"], ["last.old"])
        update = load_checkpoint(tmp_path / "last", CPU).state["update"]
        # Both renames done, the new checkpoint is in its place; its folder's list may be unflushed.
        assert update == (2 if names == ["last", "last.old"] else 1), room
        shutil.rmtree(tmp_path / "last.old", ignore_errors=True)
        if update == 2 or names == ["last.old"]:
            save(tmp_path / "last", state={"update": 1})
        room += 1
    assert room > 20
    assert load_checkpoint(tmp_path / "last", CPU).state == {"update": 2}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 96 kB, where this process may make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this process may not mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full_keeps_the_checkpoint(small_disk):
    save_whole(small_disk / "last")
    expected = content(small_disk / "last")
    sentences = []
    for ballast in range(0, 96, 4):
        (small_disk / "ballast").write_bytes(b"")
        try:
            (small_disk / "ballast").write_bytes(bytes(1024 * ballast))
        except OSError:
            break
        try:
            save_whole(small_disk / "last")
        except UserError as error:
            sentences.append(str(error))
        assert sorted(p.name for p in small_disk.iterdir()) == ["ballast", "last"]
        assert content(small_disk / "last") == expected
    assert len(sentences) > 2
    for sentence in sentences:
        assert "No space left on device" in sentence
        assert "free some space (it takes" in sentence
