"""What a stranger's checkpoint, config or cache can make this package do: nothing but refuse."""

import json
import os
import pickle
import struct
from pathlib import Path

import launch
import numpy as np
import pytest
import torch
from launch import compose_config
from safetensors.torch import load_file, save_file
from small_checkpoint import CPU, OPTIMIZERS, reseal, save_whole

from seq2seq.checkpoint import load_checkpoint, load_optimizer, restore_rng
from seq2seq.data.dataset import EncodedPairs
from seq2seq.data.tokenization import load_tokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.files import open_plain, parse_json


@pytest.fixture
def checkpoint(tmp_path):
    return save_whole(tmp_path / "best")


def refusal(folder):
    with pytest.raises(UserError) as caught:
        load_checkpoint(folder, CPU)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 3_000
    return sentence


def put(folder, name, content):
    """Give a file another content, with a manifest that agrees."""
    (folder / name).write_bytes(content)
    reseal(folder)


def alter(folder, name, change):
    data = json.loads((folder / name).read_bytes())
    change(data)
    put(folder, name, json.dumps(data).encode())


def tensor_header(**tensors):
    header = json.dumps(
        {
            name: {"dtype": kind, "shape": shape, "data_offsets": [0, size]}
            for name, (kind, shape, size) in tensors.items()
        }
    ).encode()
    return struct.pack("<Q", len(header)) + header


# -- files -----------------------------------------------------------------------------------------

NAMES = ("manifest.json", "config.json", "model.safetensors", "vocabulary.source.tsv")


@pytest.mark.parametrize("name", NAMES)
def test_a_link_is_not_followed(checkpoint, tmp_path, name):
    outside = tmp_path / "outside"
    (checkpoint / name).rename(outside)
    (checkpoint / name).symlink_to(outside)
    assert "is not a plain file" in refusal(checkpoint)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_pipe_does_not_block(checkpoint, name):
    (checkpoint / name).unlink()
    os.mkfifo(checkpoint / name)
    assert "is not a plain file" in refusal(checkpoint)


@pytest.mark.parametrize("name", ["manifest.json", "config.json", "vocabulary.target.tsv"])
def test_a_file_beyond_all_measure_is_not_read(checkpoint, name):
    os.truncate(checkpoint / name, 1 << 40)  # a hole: it takes no room on the disk
    assert "has 1,099,511,627,776 bytes, more than the" in refusal(checkpoint)


def test_the_size_is_looked_at_before_the_content(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    with open_plain(path, 5) as file:
        assert file.read() == b"12345"
    with pytest.raises(UserError, match="has 5 bytes, more than the 4 such a file may have"):
        open_plain(path, 4)
    with pytest.raises(FileNotFoundError):
        open_plain(tmp_path / "b", 4)


@pytest.mark.parametrize(
    "name", ["../x", "/etc/hostname", "a/b", ".", "x" * 5000, "\0", "\ud800", ""]
)
def test_names_in_the_manifest_lead_nowhere(checkpoint, name):
    manifest = json.loads((checkpoint / "manifest.json").read_bytes())
    manifest["files"][name] = {"bytes": 0, "sha256": ""}
    (checkpoint / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    if name != Path(name).name:
        assert "is not a name in that folder" in refusal(checkpoint)
    else:  # a file that does not belong to it is not looked at
        assert load_checkpoint(checkpoint, CPU).state == {"update": 1}


@pytest.mark.parametrize("entry", [None, 5, [], {}, {"bytes": 5}, {"bytes": 1e300, "sha256": None}])
def test_a_manifest_of_other_things_is_refused(checkpoint, entry):
    manifest = json.loads((checkpoint / "manifest.json").read_bytes())
    manifest["files"]["config.json"] = entry
    (checkpoint / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert "is altered" in refusal(checkpoint)
    (checkpoint / "manifest.json").write_text('{"format": 1, "files": []}', encoding="utf-8")
    assert "it lists no files" in refusal(checkpoint)


def test_a_path_that_cannot_be_looked_up_is_a_sentence(tmp_path):
    assert "cannot be read (File name too long)" in refusal(tmp_path / ("x" * 300))


# -- JSON ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"NaN",
        b"[-Infinity]",
        b"1e999",
        b"1" * 5000,
        b"\xff",
        b"",
        b"{} {}",
    ],
)
def test_json_is_plain_or_refused(checkpoint, content):
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        parse_json(content)
    put(checkpoint, "state.json", content)
    assert "state.json in" in refusal(checkpoint)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("layers", 10**9, "out of range"),
        ("layers", 10**30, "out of range"),
        ("hidden", 10**18, "out of range"),
        ("hidden", 1.5, "config key 'hidden' holds 1.5"),
        ("hidden", True, "config key 'hidden' holds True"),
        ("hidden", None, "config key 'hidden' holds None"),
        ("hidden", "4\x1b[2J\n", r"config key 'hidden' holds '4\x1b[2J\n'"),
    ],
)
def test_a_config_that_asks_for_more_than_there_is_builds_nothing(checkpoint, key, value, problem):
    alter(checkpoint, "config.json", lambda c: c["model"]["encoder"].update({key: value}))
    assert problem in refusal(checkpoint)


def test_deep_and_wide_models_are_refused_by_their_weights(checkpoint):
    alter(checkpoint, "config.json", lambda c: c["model"]["encoder"].update(layers=100))
    assert "does not fit config.json" in refusal(checkpoint)
    alter(checkpoint, "config.json", lambda c: c["model"].update(embedding_dim=1_000_000))
    assert "does not fit config.json" in refusal(checkpoint)


@pytest.mark.parametrize(
    ("group", "key", "value"),
    [
        ("corpus", "kind", ["grammar"]),
        ("corpus", "kind", "os.system"),
        ("model", "_target_", "os.system"),
        ("evaluation", "edges", ["a"]),
        ("evaluation", "edges", [[10]]),
        ("training", "optimizer", []),
    ],
)
def test_a_config_of_other_types_is_refused(checkpoint, group, key, value):
    alter(checkpoint, "config.json", lambda config: config[group].update({key: value}))
    assert "config.json" in refusal(checkpoint)


def test_a_config_without_a_key_is_refused(checkpoint):
    alter(checkpoint, "config.json", lambda config: config.pop("systems"))
    assert "the config key 'systems' is missing" in refusal(checkpoint)


def test_interpolations_of_a_checkpoint_stay_text(checkpoint, monkeypatch):
    monkeypatch.setenv("SECRET", "told")
    tricks = ["${oc.env:SECRET}", "${oc.decode:'[1]'}", "${..seed}", "${eval:1+1}"]
    alter(
        checkpoint,
        "config.json",
        lambda c: c.update(output=tricks[0], systems={"attention": tricks, "fixed": []}),
    )
    config = load_checkpoint(checkpoint, CPU).config
    assert (config.output, config.systems["attention"]) == (tricks[0], tricks)


# -- text and tensors ------------------------------------------------------------------------------


def test_a_count_of_endless_digits_is_refused(tmp_path):
    path = tmp_path / "vocabulary.source.tsv"
    path.write_text("<pad>\t0\n<unk>\t" + "1" * 5000 + "\n", encoding="utf-8")
    with pytest.raises(UserError, match="vocabulary"):
        Vocabulary.load(path)


@pytest.mark.parametrize(
    "description",
    [
        {"kind": "moses", "language": 5},
        {"kind": "moses", "language": ["en"]},
        {"kind": ["moses"], "language": "en"},
        {"kind": "sentencepiece", "language": "en"},
        ["moses"],
    ],
)
def test_a_tokenizer_of_other_things_is_refused(tmp_path, description):
    path = tmp_path / "tokenizer.source.json"
    path.write_text(json.dumps(description), encoding="utf-8")
    (tmp_path / "tokenizer.source.model").write_bytes(b"\x0a\x05garbage")
    with pytest.raises(UserError, match="make or copy the folder again"):
        load_tokenizer(tmp_path, "source")


@pytest.mark.parametrize(
    "content",
    [
        tensor_header(a=("F32", [10**9], 4 * 10**9)) + bytes(8),
        tensor_header(a=("F32", [2**62, 4], 0)),
        tensor_header(a=("F32", [0, 2**63 + 5], 0)),
        tensor_header(a=("F32", [0, 2**50], 0)),
        tensor_header(a=("F32", [1] * 10_000, 4)) + bytes(4),
        tensor_header(a=("F4", [2], 1)) + bytes(1),
        tensor_header(a=("F6_E2M3", [4], 3)) + bytes(3),
        struct.pack("<Q", 2**60) + b"{}",
        b"",
    ],
)
@pytest.mark.parametrize("name", ["model.safetensors", "rng.safetensors"])
def test_a_header_that_lies_allocates_nothing(checkpoint, name, content):
    put(checkpoint, name, content)
    assert f"{name} in {checkpoint} is no safetensors file (" in refusal(checkpoint)


def swap(name, tensor):
    def change(tensors, settings):
        tensors[name] = tensor

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (swap("0.exp_avg", torch.tensor(0.0)), r"0\.exp_avg has shape \(\), its parameter"),
        (swap("0.step", torch.zeros(7, 6)), r"0\.step has shape \(7, 6\), its parameter \(\)"),
        (swap("0.exp_avg", torch.zeros(7, 6).double()), r"0\.exp_avg is torch\.float64, not"),
        (swap("-1.step", torch.tensor(1.0)), r"-1\.step belongs to no parameter"),
        (swap("99.step", torch.tensor(1.0)), r"99\.step belongs to no parameter"),
        (swap("0.max_exp_avg_sq", torch.zeros(7, 6)), "belongs to another kind of optimizer"),
        (lambda t, s: t.pop("0.exp_avg_sq"), r"0\.exp_avg_sq is missing"),
        (lambda t, s: s["scalars"].update({"0.step": "x"} if t.pop("0.step") else {}), "is no te"),
        (lambda t, s: s["groups"][0].update(amsgrad=True), "its setting amsgrad is True, not"),
        (lambda t, s: s["groups"][0].update(lr="fast"), "must be real number"),
        (lambda t, s: s["groups"][0].update(lr=-1.0), r"its rate is -1\.0"),
        (lambda t, s: s.update(groups=[]), "shorter|longer"),
        (lambda t, s: s.update(groups=[5]), "its settings are no settings"),
        (lambda t, s: s.pop("scalars"), "scalars"),
    ],
)
def test_an_optimizer_takes_only_what_it_would_have_made(checkpoint, change, problem):
    tensors = load_file(checkpoint / "optimizer.safetensors")
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    settings = json.loads((checkpoint / "optimizer.json").read_bytes())
    change(tensors, settings)
    (checkpoint / "optimizer.safetensors").unlink()
    save_file(tensors, checkpoint / "optimizer.safetensors")
    put(checkpoint, "optimizer.json", json.dumps(settings).encode())
    optimizer = OPTIMIZERS["adam"](load_checkpoint(checkpoint, CPU).model.parameters())
    with pytest.raises(UserError, match=rf"does not fit this training: .*({problem})"):
        load_optimizer(checkpoint, optimizer)


@pytest.mark.parametrize("name", ["cpu.0", "cuda", "cuda.-1", "cuda.x", "eval", ""])
def test_random_states_of_other_generators_are_refused(name):
    with pytest.raises(UserError, match=f"there is no generator {name}"):
        restore_rng({name: torch.get_rng_state()})


# -- configs, caches, downloads --------------------------------------------------------------------

TRICKS = {
    "name: '${evil:1}'": "evil",
    "_target_: os.system": "_target_",
    "model:\n  _target_: os.system": "_target_",
    "name: !!python/object/apply:os.system ['touch TRACE']": "python/object",
    "name: !!python/name:os.system": "python/name",
    "name: ${oc.create:{_target_:os.system}}": "name",
    "name: *unknown": "unknown",
    "name: [": "is not plain YAML",
}


@pytest.mark.parametrize(("trick", "says"), TRICKS.items())
def test_an_experiment_file_names_no_code(tmp_path, monkeypatch, trick, says):
    """The files of ``configs/``, with a stranger's experiment among them."""
    configs = tmp_path / "configs"
    configs.mkdir()
    for entry in launch.CONFIGS.iterdir():
        if entry.name != "experiment":
            (configs / entry.name).symlink_to(entry)
    (configs / "experiment").mkdir()
    for entry in (launch.CONFIGS / "experiment").iterdir():
        (configs / "experiment" / entry.name).symlink_to(entry)
    trick = trick.replace("TRACE", str(tmp_path / "trace"))
    text = f"# @package _global_\ndefaults:\n  - quickstart\n  - _self_\n{trick}\n"
    (configs / "experiment" / "evil.yaml").write_text(text)
    monkeypatch.setattr(launch, "CONFIGS", configs)
    with pytest.raises(UserError, match=says) as caught:
        compose_config("train", ["experiment=evil"])
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "trace").exists()


def test_a_cached_array_that_is_a_pickle_is_not_opened(tmp_path):
    trace = tmp_path / "trace"

    class Bomb:
        def __reduce__(self):
            return Path.touch, (trace,)

    np.save(tmp_path / "train.source.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects in dtype"):
        EncodedPairs.load(tmp_path, "train")
    (tmp_path / "train.source.npy").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ValueError, match="allow_pickle"):
        EncodedPairs.load(tmp_path, "train")
    assert not trace.exists()
