"""What is saved comes back bit by bit; what is damaged or does not fit is refused."""

import contextlib
import errno
import json
import os
import pickle
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from helpers.small_checkpoint import (
    CPU,
    ENGLISH,
    LENGTHS,
    OPTIMIZERS,
    SOURCE,
    TARGET,
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
from seq2seq.config import DecodingConfig
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.files import file_digest
from seq2seq.record import Progress


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A checkpoint with every optional part."""
    return save_whole(tmp_path_factory.mktemp("whole") / "best")


def load_all(folder):
    found = load_checkpoint(folder, CPU)
    load_optimizer(folder, OPTIMIZERS["adam"](found.model.parameters()))
    restore_rng(found.rng)
    return found


def test_settings_that_earlier_versions_had_are_left_out(tmp_path):
    save(folder := tmp_path / "best", new_model(experiment()), experiment())
    config = json.loads((folder / "config.json").read_text())
    config["training"]["adapt_threads"] = True
    (folder / "config.json").write_text(json.dumps({**config, "seeds": [1], "systems": {}}))
    reseal(folder)
    assert load_checkpoint(folder, CPU).config == experiment()


def test_a_checkpoint_of_format_3_computes_what_it_did(tmp_path):
    """Its query and readout read the word as large as the LSTM does."""
    model = new_model(experiment()).eval()
    model.decoder.word_scale = 1.0
    expected, _ = model(SOURCE, LENGTHS, TARGET)
    save(folder := tmp_path / "best", model, experiment())
    reseal(folder, version=3)
    found = load_checkpoint(folder, CPU).model.eval()
    torch.testing.assert_close(found(SOURCE, LENGTHS, TARGET)[0], expected)


@pytest.mark.parametrize("tie", [True, False])
def test_everything_comes_back(tmp_path, tie):
    config = experiment(tie)
    model = new_model(config)
    updates = MetricsState(1, [[-1.25, 1 / 3, 2]])
    state = TrainingState(Progress(update=7, best_metric=-1.25), updates, {"name": "é"})
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


DAMAGE = {
    "missing": lambda path: path.unlink(),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: path.write_bytes(b""),
    "flipped byte": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "foreign JSON": lambda path: path.write_bytes(b"{}"),
    "not UTF-8": lambda path: path.write_bytes(b"\xff" + path.read_bytes()),
}


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_by_name(whole, tmp_path, damage):
    assert not any(path.read_bytes().startswith((b"\x80", b"PK")) for path in whole.iterdir())
    for number, name in enumerate(sorted(path.name for path in whole.iterdir())):
        folder = Path(shutil.copytree(whole, tmp_path / str(number)))
        DAMAGE[damage](folder / name)
        with pytest.raises(UserError, match="manifest" if name == "manifest.json" else name):
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


def settings(group, **changes):
    def change(path):
        config = json.loads(path.read_bytes())
        (config[group] if group else config).update(changes)
        path.write_text(json.dumps(config), encoding="utf-8")

    return change


def content(new, after=False):
    return lambda path: path.write_bytes((path.read_bytes() if after else b"") + new)


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("model.safetensors", content(pickle.dumps(Bomb())), "not a safetensors file"),
        ("model.safetensors", tensors(**{"output.bias": None}), r"output\.bias is absent"),
        ("model.safetensors", tensors(**{"output.bias": torch.zeros(3)}), r"\(3,\), not .*\(7,\)"),
        ("vocabulary.target.tsv", content(b"katze\t1\n", after=True), r"\(7,\), not .*\(8,\)"),
        ("config.json", settings("model", surprise=1), "config.json: .*surprise"),
        ("config.json", settings("model", dropout="high"), "config.json: .*dropout"),
        ("state.json", content(b"[1]"), "state.json"),
        ("tokenizer.source.json", settings(None, language="en\x1b[2J"), r"en\\x1b"),
        ("optimizer.safetensors", tensors(**{"0.exp_avg": torch.zeros(())}), r"0\.exp_avg is"),
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


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("progress", "epoch", -1),
        ("progress", "update", 3),  # the best one is later
        ("progress", "seconds", -1.0),
        ("progress", "seconds", 10**400),
        ("metrics", "nonfinite", -1),
        ("metrics", "finite", [[1.0, 2.0, 0]]),
        ("conditions", "threads", 2),
    ],
)
def test_a_state_out_of_range_is_refused(whole, tmp_path, group, key, value):
    folder = Path(shutil.copytree(whole, tmp_path / "best"))
    state = {
        "progress": asdict(Progress(update=9, best_update=5, validated_update=9)),
        "metrics": {"nonfinite": 0, "finite": [[1.0, 2.0, 3]]},
        "conditions": {"threads": "2"},
    }
    (folder / "state.json").write_text(json.dumps(state))
    reseal(folder)
    assert load_checkpoint(folder, CPU).state.progress.update == 9
    state[group][key] = value
    (folder / "state.json").write_text(json.dumps(state))
    reseal(folder)
    with pytest.raises(UserError, match=r"state\.json is damaged \(.*" + key):
        load_checkpoint(folder, CPU)


def test_a_checkpoint_may_be_where_one_stands(whole, tmp_path, monkeypatch):
    inside = tmp_path / "checkpoints" / "best" / "deeper"
    shutil.copytree(whole, inside.parent)
    inside.mkdir()
    for place, name in ((tmp_path, "."), (inside.parent, "."), (inside, "..")):
        monkeypatch.chdir(place)
        assert find_checkpoint(Path(name)).resolve() == inside.parent
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_checkpoint(Path("~")) == inside.parent
    with pytest.raises(UserError, match="no checkpoint at /"):
        find_checkpoint(Path("/"))
    (tmp_path / "a" / "b" / "seed-1" / "checkpoints").mkdir(parents=True)
    for above in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(UserError, match=rf"one of .*{tmp_path.name}/a/b/seed-1"):
            find_checkpoint(above)


def test_the_optimizer_of_another_kind_or_model_is_refused(whole, tmp_path):
    model = load_checkpoint(whole, CPU).model
    for kind, parameters in (("sgd", model.parameters()), ("adam", [model.output.bias])):
        with pytest.raises(UserError, match="does not fit this training"):
            load_optimizer(whole, OPTIMIZERS[kind](parameters))
    save(tmp_path / "bare")
    with pytest.raises(UserError, match="no optimizer"):
        load_optimizer(tmp_path / "bare", OPTIMIZERS["adam"](model.parameters()))


def test_a_run_folder_means_its_best_checkpoint_else_its_newest(tmp_path):
    run = tmp_path / "seed-1"
    with pytest.raises(UserError, match="no checkpoint at"):
        load_checkpoint(run, CPU)
    for update in (2, 10, 9):
        save(run / "checkpoints" / f"update-{update}", state=training_state(update))
    (run / "checkpoints" / "update-11.part").mkdir()
    (run / "checkpoints" / "update-12").mkdir()  # half deleted: no manifest
    assert find_checkpoint(run) == run / "checkpoints" / "update-10"
    newest = ["update-12", "update-10", "update-9", "update-2"]
    assert [path.name for path in newest_checkpoints(run)] == newest
    save(run / "checkpoints" / "best", state=training_state(1))
    assert load_checkpoint(run, CPU).state.progress.update == 1
    translator = Translator.load(run, device="cpu", precision="fp32")
    assert translator.max_pieces == 20
    assert len(translator.translate(["a dog", "", "barks"], DecodingConfig(beam=2))) == 3
    (run / "checkpoints" / "best" / "manifest.json").unlink()
    with pytest.raises(UserError, match="best"):  # no other is taken for it
        load_checkpoint(run, CPU)


@pytest.mark.parametrize("times", [1, 3, 9])
def test_a_checkpoint_that_is_replaced_meanwhile_is_loaded_whole(tmp_path, monkeypatch, times):
    """Weights are read, and then there is another checkpoint; the last time, there is none yet."""
    read, made = checkpoint_module.load_file, []
    save(best := tmp_path / "best", state=training_state(0))

    def replaced(path):
        tensors = read(path)
        if len(made) < times:
            made.append(training_state(len(made) + 1))
            model = new_model(experiment())
            model.output.bias.data.fill_(len(made))
            save(best, model, state=made[-1])
        elif len(made) == times:
            made.append(None)
            best.rename(tmp_path / "best.old")
        return tensors

    monkeypatch.setattr(checkpoint_module, "load_file", replaced)
    if times == 9:
        with pytest.raises(UserError, match="best was replaced"):
            load_checkpoint(best, CPU)
        return
    found = load_checkpoint(best, CPU)
    assert found.sha256 == file_digest(tmp_path / "best.old" / "manifest.json")
    assert found.state.progress.update == found.model.output.bias[0] == times


# -- writing ---------------------------------------------------------------------------------------


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
