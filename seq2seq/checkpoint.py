"""A trained model as a folder of tensors, plain JSON and text files.

- ``model.safetensors``: every parameter and buffer
- ``optimizer.safetensors``, ``optimizer.json``: moments and step counters; settings (optional)
- ``rng.safetensors``: states of PyTorch's random generators (optional)
- ``state.json``: the trainer's place, such as update, epoch, best score
- ``config.json``: the whole :class:`~seq2seq.config.ExperimentConfig`
- ``tokenizer.*``, ``vocabulary.*``: the text codecs of both sides
- ``manifest.json``: size and SHA-256 of each file above (:mod:`~seq2seq.sealed_folder`)

Loading runs no code from the folder: there is no pickle in it, and a file that does not belong to
it is not read. What is read is a plain file of bounded size. Files that are missing, cut short or
altered are refused, and so are tensors that do not fit the config.
"""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import UInt8
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from seq2seq.config import ExperimentConfig, from_json, to_json
from seq2seq.data.codec import TextCodec
from seq2seq.errors import UserError
from seq2seq.files import JSON_BYTES, TEXT_BYTES, digest, read_plain, write_json
from seq2seq.model.translation import TranslationModel
from seq2seq.optimizer_state import join_state, split_state
from seq2seq.sealed_folder import (
    MANIFEST,
    REMEDY,
    locate,
    read_json,
    read_undisturbed,
    replacing,
    verify,
)
from seq2seq.tensor_file import TENSOR_BYTES, read_tensors

REQUIRED = {
    "config.json": JSON_BYTES,
    "model.safetensors": TENSOR_BYTES,
    "state.json": JSON_BYTES,
    "tokenizer.source.json": JSON_BYTES,
    "tokenizer.target.json": JSON_BYTES,
    "vocabulary.source.tsv": TEXT_BYTES,
    "vocabulary.target.tsv": TEXT_BYTES,
}
"""Files of every checkpoint, and the most bytes that each may have."""
OPTIONAL = {
    "rng.safetensors": 1 << 26,  # some kilobytes for each process
    "tokenizer.source.model": TEXT_BYTES,
    "tokenizer.target.model": TEXT_BYTES,
}
OPTIMIZER = {"optimizer.json": JSON_BYTES, "optimizer.safetensors": TENSOR_BYTES}
"""Only training reads them."""


@dataclass(frozen=True)
class Checkpoint:
    """What :func:`load_checkpoint` found."""

    config: ExperimentConfig
    model: TranslationModel
    """On the device asked for, in training mode like any new module."""
    source: TextCodec
    target: TextCodec
    state: dict[str, Any]
    """What the trainer gave :func:`save_checkpoint`, as it comes back from JSON."""
    rng: dict[str, Tensor]
    """For :func:`restore_rng`; empty when none was saved."""
    directory: Path
    """The checkpoint folder itself, also when a run folder was given."""
    sha256: str
    """Of its manifest, which holds that of every file: names this very checkpoint."""


def save_checkpoint(
    directory: Path,
    model: TranslationModel,
    config: ExperimentConfig,
    source: TextCodec,
    target: TextCodec,
    optimizer_state: dict[str, Any] | None,
    state: dict[str, Any],
    rng: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a checkpoint to ``directory``, in the place of the one that is there.

    Args:
        directory: the checkpoint folder; its parents are created.
        model: the bare model (not wrapped for distribution), on any device.
        config: the experiment it was trained by.
        source: codec of the source side.
        target: codec of the target side.
        optimizer_state: ``optimizer.state_dict()``, or None for a model only to translate with.
        state: the trainer's place, as JSON data (keys are strings; tuples come back as lists).
        rng: :func:`capture_rng`, or None.

    Raises:
        UserError: ``directory`` holds something else than a checkpoint, or the disk refuses.
    """
    try:
        with replacing(directory) as folder:
            save_file(_tensors_of(model), folder / "model.safetensors")
            if optimizer_state is not None:
                tensors, settings = split_state(optimizer_state)
                save_file(tensors, folder / "optimizer.safetensors")
                write_json(folder / "optimizer.json", settings)
            if rng is not None:
                save_file(dict(rng), folder / "rng.safetensors")
            write_json(folder / "state.json", state)
            write_json(folder / "config.json", to_json(config))
            source.save(folder, "source")
            target.save(folder, "target")
            _require_readable(folder)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"The checkpoint {directory} cannot be written ({error}); what was saved before is "
            f"kept: free some space ({_space(directory, model, optimizer_state)}) or mend the "
            "rights of the folder, and go on by the same command."
        ) from error


def _require_readable(folder: Path) -> None:
    """Refuse to save what loading would refuse for its size."""
    for name, most in {**REQUIRED, **OPTIONAL, **OPTIMIZER}.items():
        path = folder / name
        if path.exists() and (size := path.stat().st_size) > most:
            raise UserError(
                f"The checkpoint is not saved: its {name} has {size:,} bytes, more than the "
                f"{most:,} it may have; lower tokenization.vocabulary_size, training.log_every or "
                "the number of processes."
            )


def _space(directory: Path, model: TranslationModel, optimizer: dict[str, Any] | None) -> str:
    """How much room a checkpoint takes, and how much there is."""
    tensors = [
        *_tensors_of(model).values(),
        *split_state(optimizer or {"state": {}, "param_groups": []})[0].values(),
    ]
    needed = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    existing = next(folder for folder in directory.absolute().parents if folder.exists())
    free = shutil.disk_usage(existing).free
    return f"it takes {needed / 1e6:,.1f} MB and more, {free / 1e6:,.1f} MB are free in {existing}"


def newest_checkpoints(run: Path) -> list[Path]:
    """The checkpoints ``update-<n>`` and ``interim-<n>`` of a run folder, newest first.

    Those that have lost their manifest are among them, to be refused by whoever loads them.
    """
    found = []
    for folder in (run / "checkpoints").glob("*-*"):
        kind, _, number = folder.name.partition("-")
        if kind in ("update", "interim") and number.isdecimal() and _holds_something(folder):
            found.append((int(number), kind, folder))
    return [folder for _, _, folder in sorted(found, reverse=True)]


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def find_checkpoint(path: Path) -> Path:
    """The checkpoint folder meant by ``path``: itself, or the best (else newest) of a run folder.

    Raises:
        UserError: there is none, or the best has lost its manifest: no other is taken for it.
    """
    best = path / "checkpoints" / "best"
    for folder in (path, best, *newest_checkpoints(path)):
        if found := locate(folder):
            return found
        if folder == best and _holds_something(best):
            raise UserError(f"{MANIFEST} is missing in {best}; {REMEDY}.")
    if not path.exists():
        raise UserError(
            f"There is no checkpoint at {path}: the path does not exist; give a checkpoint folder, "
            "or a run folder such as outputs/<experiment>/<system>/seed-1."
        )
    if (path / "model.safetensors").exists():
        raise UserError(f"{MANIFEST} is missing in {path}; {REMEDY}.")
    raise UserError(
        f"{path} is neither a checkpoint (it has no {MANIFEST}) nor a run folder with one (it has "
        "no checkpoints/best or checkpoints/update-<n>); give one of these."
    )


def load_checkpoint(path: Path, device: torch.device) -> Checkpoint:
    """Load the checkpoint at ``path``, a checkpoint folder or a run folder, onto ``device``.

    The random generators are left as they are; :func:`restore_rng` sets them.

    Raises:
        UserError: there is none, a file is missing or altered, or the parts do not fit together.
    """
    with _disk_errors(path):
        return read_undisturbed(lambda: find_checkpoint(path), lambda folder: _load(folder, device))


@contextlib.contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"The checkpoint {path} cannot be read ({error.strerror or error}); check the path and "
            "its rights, or use another one."
        ) from error


def _load(folder: Path, device: torch.device) -> Checkpoint:
    names = verify(folder, {**REQUIRED, **OPTIONAL, **OPTIMIZER})
    if unlisted := REQUIRED.keys() - names:
        raise UserError(f"{MANIFEST} in {folder} does not list {min(unlisted)}; {REMEDY}.")
    where = folder / "config.json"
    config = from_json(ExperimentConfig, read_json(where), str(where))
    source, target = TextCodec.load(folder, "source"), TextCodec.load(folder, "target")
    tensors = read_tensors(folder / "model.safetensors", REMEDY)
    model = _build_model(config, source, target, tensors, folder)
    saved = "rng.safetensors" in names
    rng = read_tensors(folder / "rng.safetensors", REMEDY) if saved else {}
    state = read_json(folder / "state.json")
    sha256 = digest([read_plain(folder / MANIFEST, JSON_BYTES)])
    return Checkpoint(config, model.to(device), source, target, state, rng, folder, sha256)


def _build_model(
    config: ExperimentConfig,
    source: TextCodec,
    target: TextCodec,
    tensors: Mapping[str, Tensor],
    folder: Path,
) -> TranslationModel:
    sizes = len(source.vocabulary), len(target.vocabulary)
    # First without memory: a config that does not fit the file must not allocate what it asks for.
    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        _require_fit(_tensors_of(TranslationModel(config.model, *sizes)), tensors, folder)
    with torch.random.fork_rng(devices=[]):
        model = TranslationModel(config.model, *sizes)
    for name, tensor in _tensors_of(model).items():
        tensor.copy_(tensors[name])
    return model


def load_optimizer(path: Path, optimizer: torch.optim.Optimizer) -> None:
    """Give ``optimizer`` the state saved at ``path``, exactly.

    ``optimizer`` must be new, of the same kind, and over the parameters of the loaded model.

    Raises:
        UserError: the checkpoint has no such state, or that of another optimizer or model.
    """

    def read(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
        if verify(folder, OPTIMIZER) != OPTIMIZER.keys():
            raise UserError(
                f"The checkpoint {folder} was saved without its optimizer: it can translate, but "
                "training cannot go on from it; give the last checkpoint of a run."
            )
        tensors = read_tensors(folder / "optimizer.safetensors", REMEDY)
        return tensors, read_json(folder / "optimizer.json")

    with _disk_errors(path):
        tensors, settings = read_undisturbed(lambda: find_checkpoint(path), read)
    try:
        state = join_state(tensors, settings, optimizer)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"The optimizer saved in {path} does not fit this training: {error}; "
            "resume with the config it was saved with."
        ) from None
    optimizer.load_state_dict(state)


def capture_rng() -> dict[str, UInt8[Tensor, "_"]]:
    """States of PyTorch's generators: ``cpu``, and ``cuda.<index>`` of each GPU once one is used.

    The package draws from no other global generator: batch order is a function of seed and epoch.
    """
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_initialized():
        for index, state in enumerate(torch.cuda.get_rng_state_all()):
            states[f"cuda.{index}"] = state
    return states


def restore_rng(states: Mapping[str, Tensor]) -> None:
    """Set PyTorch's generators to what :func:`capture_rng` saw; absent GPUs are passed over.

    Raises:
        UserError: the states are those of another version of PyTorch.
    """
    try:
        for name, state in states.items():
            kind, _, index = name.partition(".")
            if name == "cpu":
                torch.set_rng_state(state)
            elif kind != "cuda" or not (index.isascii() and index.isdigit()):
                raise ValueError(f"there is no generator {name}")
            elif torch.cuda.is_available() and int(index) < torch.cuda.device_count():
                torch.cuda.set_rng_state(state, int(index))
    except (RuntimeError, TypeError, ValueError) as error:
        raise UserError(
            f"The random state in the checkpoint does not fit PyTorch {torch.__version__} "
            f"({error}); resume with the version that saved it."
        ) from error


def _tensors_of(model: TranslationModel) -> dict[str, Tensor]:
    """Parameters and buffers by name; a tied one appears once, under its first name."""
    named: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            named[name] = tensor.detach()
    return named


def _require_fit(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], folder: Path) -> None:
    """Refuse tensors of other names, shapes or types than the model's."""

    def refuse(problem: str) -> None:
        raise UserError(
            f"model.safetensors in {folder} does not fit config.json and the vocabularies: tensor "
            f"{problem}; it was altered, or saved by another version of seq2seq."
        )

    if missing := expected.keys() - found.keys():
        refuse(f"{min(missing)} is missing")
    if unknown := found.keys() - expected.keys():
        refuse(f"{min(unknown)} is unknown")
    for name, tensor in expected.items():
        if found[name].shape != tensor.shape:
            refuse(f"{name} has shape {tuple(found[name].shape)}, not {tuple(tensor.shape)}")
        if found[name].dtype != tensor.dtype:
            refuse(f"{name} is {found[name].dtype}, not {tensor.dtype}")
