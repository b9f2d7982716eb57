"""What is saved comes back bit by bit; what is damaged or does not fit is refused in a sentence."""

import json
import pickle
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_checkpoint import (
    CPU,
    ENGLISH,
    FILES,
    OPTIMIZERS,
    experiment,
    new_model,
    reseal,
    save,
    save_whole,
    train,
)

from seq2seq.checkpoint import (
    OPTIMIZER,
    OPTIONAL,
    REQUIRED,
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A checkpoint with every optional part."""
    return save_whole(tmp_path_factory.mktemp("whole") / "best")


@pytest.fixture
def checkpoint(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "best"))


@pytest.mark.parametrize("tie", [True, False])
def test_everything_comes_back(tmp_path, tie):
    config = experiment(tie)
    model = new_model(config)
    state = {"update": 7, "best": -1.25, "nested": {"rate": 1e-3, "seen": [1, 2]}, "name": "é"}
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
    optimizer.param_groups[0]["lr"] *= 0.5  # a schedule's doing: it must come back too
    save(tmp_path / "last", straight, optimizer_state=optimizer.state_dict(), rng=capture_rng())
    train(straight, optimizer, 3)

    torch.manual_seed(99)
    found = load_checkpoint(tmp_path / "last", CPU)
    resumed = OPTIMIZERS[kind](found.model.parameters())
    load_optimizer(tmp_path / "last", resumed)
    restore_rng(found.rng)
    train(found.model, resumed, 3)
    for one, other in zip(straight.parameters(), found.model.parameters(), strict=True):
        assert torch.equal(one, other)
    again = optimizer.state_dict(), resumed.state_dict()
    assert again[0]["param_groups"] == again[1]["param_groups"]
    assert again[0]["state"].keys() == again[1]["state"].keys()
    for index, values in again[0]["state"].items():
        for name, value in values.items():
            other = again[1]["state"][index][name]
            assert type(other) is type(value)
            if isinstance(value, torch.Tensor):
                assert other.dtype == value.dtype
                assert torch.equal(other, value)


def test_how_the_optimizer_computes_belongs_to_the_machine(tmp_path):
    model = new_model(experiment())
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    train(model, optimizer, 1)
    save(tmp_path / "last", model, optimizer_state=optimizer.state_dict())
    plain = torch.optim.Adam(model.parameters(), foreach=False)
    load_optimizer(tmp_path / "last", plain)
    assert not plain.param_groups[0]["fused"]


def test_the_files_are_the_listed_ones_and_none_is_a_pickle(checkpoint):
    assert sorted(path.name for path in checkpoint.iterdir()) == sorted(FILES)
    for path in checkpoint.iterdir():
        assert not path.read_bytes().startswith((b"\x80", b"PK"))


@pytest.mark.parametrize(
    ("limits", "name"),
    [(REQUIRED, "state.json"), (OPTIONAL, "rng.safetensors"), (OPTIMIZER, "optimizer.json")],
)
def test_what_loading_would_refuse_for_its_size_is_not_saved(tmp_path, monkeypatch, limits, name):
    monkeypatch.setitem(limits, name, 5)
    with pytest.raises(UserError, match=rf"not saved: its {name} has .* bytes, more than the 5 "):
        save_whole(tmp_path / "last")
    assert not (tmp_path / "last").exists()


class Bomb:
    """Unpickling one leaves a trace."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


def test_pickles_lying_in_the_folder_are_never_opened(checkpoint, tmp_path):
    trace = tmp_path / "exploded"
    for name in ("model.pt", "optimizer.pt", "state.pkl", "pytorch_model.bin", "rng.pt"):
        (checkpoint / name).write_bytes(pickle.dumps(Bomb(trace)))
    found = load_checkpoint(checkpoint, CPU)
    load_optimizer(checkpoint, OPTIMIZERS["adam"](found.model.parameters()))
    assert not trace.exists()
    with (checkpoint / "model.pt").open("rb") as file:
        pickle.load(file)
    assert trace.exists()  # the bomb is a real one


def test_a_pickle_in_the_place_of_the_tensors_is_refused(checkpoint, tmp_path):
    trace = tmp_path / "exploded"
    (checkpoint / "model.safetensors").write_bytes(pickle.dumps(Bomb(trace)))
    reseal(checkpoint)
    with pytest.raises(UserError, match=r"model\.safetensors in .* is no safetensors file"):
        load_checkpoint(checkpoint, CPU)
    assert not trace.exists()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_one_altered_byte_is_refused(checkpoint, name, place):
    data = bytearray((checkpoint / name).read_bytes())
    data[int(place * (len(data) - 2))] ^= 0x11  # not the final line end
    (checkpoint / name).write_bytes(data)
    with pytest.raises(UserError, match=r"; (copy the folder anew|use the version)"):
        load_checkpoint(checkpoint, CPU)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "cut", "empty"])
def test_missing_and_cut_files_are_refused_by_name(checkpoint, name, damage):
    path = checkpoint / name
    data = path.read_bytes()
    path.unlink() if damage == "missing" else path.write_bytes(data[: {"cut": -3}.get(damage, 0)])
    with pytest.raises(UserError) as caught:
        load_checkpoint(checkpoint, CPU)
    message = str(caught.value)
    assert name in message
    assert str(checkpoint) in message
    assert ("missing" if damage == "missing" else "altered") in message
    assert message.endswith("; copy the folder anew, or use another one.")


def test_an_altered_optimizer_is_refused_when_it_is_asked_for(checkpoint):
    model = load_checkpoint(checkpoint, CPU).model
    (checkpoint / "optimizer.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"optimizer\.safetensors in .* it has 0 bytes, but \d+"):
        load_optimizer(checkpoint, OPTIMIZERS["adam"](model.parameters()))


def alter_config(checkpoint, change):
    path = checkpoint / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")
    reseal(checkpoint)


def alter_tensors(checkpoint, change):
    path = checkpoint / "model.safetensors"
    tensors = load_file(path)
    change(tensors)
    path.unlink()
    save_file(tensors, path)
    reseal(checkpoint)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda t: t.pop("output.bias"), "tensor output.bias is missing"),
        (lambda t: t.update(extra=torch.zeros(1)), "tensor extra is unknown"),
        (
            lambda t: t.update({"output.bias": torch.zeros(3)}),
            r"tensor output.bias has shape \(3,\), not \(7,\)",
        ),
        (
            lambda t: t.update({"output.bias": torch.zeros(7, dtype=torch.float16)}),
            "tensor output.bias is torch.float16, not torch.float32",
        ),
    ],
)
def test_tensors_that_do_not_fit_are_refused(checkpoint, change, problem):
    alter_tensors(checkpoint, change)
    with pytest.raises(UserError, match=rf"does not fit config\.json .*: {problem}; it was alt"):
        load_checkpoint(checkpoint, CPU)


def test_a_config_that_asks_for_the_moon_allocates_nothing(checkpoint):
    def change(config):
        config["model"]["decoder"]["hidden"] = 1_000_000

    alter_config(checkpoint, change)
    with pytest.raises(UserError, match=r"does not fit config\.json .* has shape"):
        load_checkpoint(checkpoint, CPU)


def test_a_vocabulary_of_another_size_is_refused(checkpoint):
    with (checkpoint / "vocabulary.target.tsv").open("a", encoding="utf-8") as file:
        file.write("katze\t1\n")
    reseal(checkpoint)
    with pytest.raises(UserError, match=r"has shape \(7, 6\), not \(8, 6\)"):
        load_checkpoint(checkpoint, CPU)


def test_unknown_config_keys_formats_and_foreign_names_are_refused(checkpoint):
    manifest = checkpoint / "manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**content, "format": 2}), encoding="utf-8")
    with pytest.raises(UserError, match=r"is of format 2, not 1; use the version"):
        load_checkpoint(checkpoint, CPU)
    entry = {"bytes": 0, "sha256": ""}
    manifest.write_text(
        json.dumps({"format": 1, "files": {"../config.json": entry}}), encoding="utf-8"
    )
    with pytest.raises(UserError, match=r"'\.\./config\.json' is not a name in that folder"):
        load_checkpoint(checkpoint, CPU)
    del content["files"]["vocabulary.source.tsv"]
    manifest.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UserError, match=r"does not list vocabulary\.source\.tsv"):
        load_checkpoint(checkpoint, CPU)
    alter_config(checkpoint, lambda config: config.update(surprise=1))
    with pytest.raises(UserError, match=r"config\.json: surprise is not a config key"):
        load_checkpoint(checkpoint, CPU)


def test_the_optimizer_of_another_kind_or_model_is_refused(checkpoint, tmp_path):
    model = load_checkpoint(checkpoint, CPU).model
    with pytest.raises(UserError, match=r"does not fit this training: its setting .*another kind"):
        load_optimizer(checkpoint, OPTIMIZERS["sgd"](model.parameters()))
    with pytest.raises(UserError, match=r"it has \d+ parameters, not 1; resume with the config"):
        load_optimizer(checkpoint, OPTIMIZERS["adam"]([model.output.bias]))
    shapes = [torch.zeros(2, requires_grad=True) for _ in model.parameters()]
    with pytest.raises(UserError, match=r"0\.exp_avg has shape \(7, 6\), its parameter \(2,\)"):
        load_optimizer(checkpoint, OPTIMIZERS["adam"](shapes))
    save(tmp_path / "bare")
    with pytest.raises(UserError, match=r"saved without its optimizer: it can translate, but"):
        load_optimizer(tmp_path / "bare", OPTIMIZERS["adam"](model.parameters()))


def test_a_run_folder_means_its_best_checkpoint_else_its_newest(tmp_path):
    run = tmp_path / "seed-1"
    for update in (2, 10, 9):
        save(run / "checkpoints" / f"update-{update}", state={"update": update})
    (run / "checkpoints" / "update-11.part").mkdir()
    (run / "checkpoints" / "update-12").mkdir()  # half deleted: no manifest
    assert find_checkpoint(run) == run / "checkpoints" / "update-10"
    assert [path.name for path in newest_checkpoints(run)] == ["update-10", "update-9", "update-2"]
    save(run / "checkpoints" / "best", state={"update": 1})
    assert load_checkpoint(run, CPU).state == {"update": 1}
    translator = Translator.load(run, device="cpu", precision="fp32")
    assert (translator.device, translator.precision, translator.max_pieces) == (
        CPU,
        torch.float32,
        20,
    )
    assert len(translator.translate(["a dog", "", "barks"], DecodingConfig(beam=2))) == 3


def test_paths_without_a_checkpoint_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(UserError, match=r"There is no checkpoint at .*nowhere: the path does not"):
        load_checkpoint(tmp_path / "nowhere", CPU)
    with pytest.raises(UserError, match=r"is neither a checkpoint \(it has no manifest\.json\) no"):
        load_checkpoint(tmp_path, CPU)


def test_random_states_come_back(tmp_path):
    states = capture_rng()
    expected = torch.rand(3)
    torch.manual_seed(5)
    restore_rng(states)
    assert torch.equal(torch.rand(3), expected)
    restore_rng({**states, "cuda.63": states["cpu"]})  # a GPU this machine does not have
    assert torch.equal(torch.rand(3), expected)
    with pytest.raises(UserError, match=r"random state .* does not fit PyTorch"):
        restore_rng({"cpu": torch.zeros(3, dtype=torch.uint8)})
