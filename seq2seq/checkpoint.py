"""A trained model as a folder of tensors, plain JSON and text files.

- ``model.safetensors``: every parameter and buffer
- ``optimizer.safetensors``: moments and step counters (optional)
- ``rng.safetensors``: states of PyTorch's random generators (optional)
- ``state.json``: the trainer's progress, such as update, epoch, best metric
- ``config.json``: the :class:`~seq2seq.config.TrainConfig` of the training
- ``tokenizer.*``, ``vocabulary.*``: the text codecs of both sides
- ``manifest.json``: SHA-256 of each file above

Loading runs no code from the folder: there is no pickle in it. Files that are missing or altered
are refused, and so are tensors that do not fit the config.
"""

import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

import torch
from jaxtyping import UInt8
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from seq2seq.config import Natural, Stored, TrainConfig, between, from_json, read_json
from seq2seq.data.tokenization import TextCodec
from seq2seq.errors import UserError
from seq2seq.files import file_digest, read_object, replacing_folder, write_json
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress

FORMAT = 3
MANIFEST = "manifest.json"
MODEL, OPTIMIZER, RNG = "model.safetensors", "optimizer.safetensors", "rng.safetensors"
REQUIRED = {MODEL, "config.json", "state.json", "tokenizer.source.json", "tokenizer.target.json"}
REQUIRED |= {"vocabulary.source.tsv", "vocabulary.target.tsv"}
OPTIONAL = {RNG, "tokenizer.source.model", "tokenizer.target.model"}
OPTIMIZER_STATE = {
    torch.optim.Adam: ("exp_avg", "exp_avg_sq", "step"),
    torch.optim.Adadelta: ("acc_delta", "square_avg", "step"),
    torch.optim.SGD: ("momentum_buffer",),
}
"""What each optimizer keeps of a parameter: tensors of its shape, but for the scalar ``step``."""
REMEDY = "copy the folder again, or use another one"


def _logged(key: str, row: list[float]) -> None:
    """The rule that numbers are a likelihood, a gradient's norm, and the tokens of an update."""
    if len(row) != 3 or row[2] < 1:
        raise UserError(f"{key}={row} are not the numbers of an update.")


@dataclass
class MetricsState(Stored):
    """The updates since the last log line."""

    nonfinite: Natural = 0
    finite: list[Annotated[list[float], _logged]] = field(default_factory=list)
    """Likelihood, gradient norm and target tokens of each update."""


@dataclass
class RateState(Stored):
    """What plateaus have made of the learning rate."""

    plateau_factor: Annotated[float, between(0)] = 1.0
    stale: Natural = 0
    """Validations since the best, or since the rate was lowered."""


@dataclass
class TrainingState(Stored):
    """What ``state.json`` holds: all that resuming needs besides tensors."""

    progress: Progress
    learning_rate: RateState
    metrics: MetricsState
    conditions: dict[str, str]
    """What the last bits depend on, such as the number of threads."""


@dataclass(frozen=True)
class Checkpoint:
    """A model and its text codecs at one moment of its training."""

    config: TrainConfig
    model: TranslationModel
    """Where it was loaded: in training mode like any new module."""
    source: TextCodec
    target: TextCodec
    state: TrainingState
    rng: Mapping[str, Tensor] = field(default_factory=dict)
    """For :func:`restore_rng`; empty when none was saved."""
    directory: Path = Path()
    """The folder that it was loaded from, also when a run folder was given."""
    sha256: str = ""
    """Of the manifest there, which holds that of every file: names this very checkpoint."""


def save_checkpoint(
    directory: Path, checkpoint: Checkpoint, optimizer: torch.optim.Optimizer | None = None
) -> None:
    """Write a checkpoint to ``directory``, replacing the one that is there.

    Without an optimizer, whose settings are in the config, the model can only translate.

    Raises:
        UserError: it cannot be written, most often because the disk is full.
    """
    try:
        with replacing_folder(directory) as folder:
            save_file(_tensors_of(checkpoint.model), folder / MODEL)
            if optimizer is not None:
                moments = {
                    f"{index}.{name}": value.detach().contiguous()
                    for index, values in optimizer.state_dict()["state"].items()
                    for name, value in values.items()
                    if value is not None  # SGD's buffer where there is no momentum
                }
                save_file(moments, folder / OPTIMIZER)
            if checkpoint.rng:
                save_file(dict(checkpoint.rng), folder / RNG)
            write_json(folder / "state.json", checkpoint.state)
            write_json(folder / "config.json", checkpoint.config)
            checkpoint.source.save(folder, "source")
            checkpoint.target.save(folder, "target")
            files = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
            write_json(folder / MANIFEST, {"format": FORMAT, "files": files})
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"The checkpoint {directory} cannot be written ({error}); the one before it is kept: "
            "free some space, or check the folder's permissions, and run the same command again."
        ) from error


def has_manifest(folder: Path) -> bool:
    """Whether ``folder`` was written to its end; loading shows whether it is also intact."""
    return (folder / MANIFEST).is_file()


def remove_checkpoint(folder: Path) -> None:
    """Delete a folder, its manifest first: cut off, that leaves nothing that looks whole."""
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def newest_checkpoints(run: Path) -> list[Path]:
    """The checkpoints ``update-<n>`` and ``interim-<n>`` of a run folder, newest first."""
    found = []
    for folder in (run / "checkpoints").glob("*-*"):
        kind, _, number = folder.name.partition("-")
        if kind in ("update", "interim") and number.isdecimal():
            found.append((int(number), kind, folder))
    return [folder for _, _, folder in sorted(found, reverse=True)]


def find_checkpoint(path: Path) -> Path:
    """The checkpoint folder meant by ``path``: itself, or the best (else newest) of a run folder.

    Raises:
        UserError: there is none, or the best has lost its manifest: no other is taken for it.
    """
    path = path.expanduser()
    path = path if path.name.strip(".") else path.resolve()  # a name, not "." or ".."
    best = path / "checkpoints" / "best"
    for folder in (path, best, *newest_checkpoints(path)):
        for found in (folder, folder.parent / f"{folder.name}.old"):  # see replacing_folder
            if has_manifest(found):
                return found
        if folder == best and best.exists():
            raise UserError(f"{MANIFEST} is missing in {best}; {REMEDY}.")
    raise UserError(
        f"There is no checkpoint at {path}; give checkpoint=FOLDER: one with a {MANIFEST}, or a "
        "run folder such as outputs/<experiment>/<system>/seed-1."
    )


def load_checkpoint(path: Path, device: torch.device) -> Checkpoint:
    """Load the checkpoint at ``path``, a checkpoint folder or a run folder, onto ``device``.

    The random generators are left as they are; :func:`restore_rng` sets them.

    Raises:
        UserError: there is none, a file is missing or altered, or the parts do not fit together.
    """
    folder = find_checkpoint(path)
    names = _verify(folder, REQUIRED | OPTIONAL)
    if missing := REQUIRED - names:
        raise UserError(f"{min(missing)} is missing in {folder}; {REMEDY}.")
    where = folder / "config.json"
    settings = read_object(where, REMEDY)
    # Version 0.2 wrote those of reproduce, too.
    ours = {one.name: settings[one.name] for one in fields(TrainConfig) if one.name in settings}
    config = from_json(TrainConfig, ours, str(where))
    source, target = TextCodec.load(folder, "source"), TextCodec.load(folder, "target")
    for codec in (source, target):
        if not codec.language.isprintable():  # it reaches the terminal
            raise UserError(f"The language {codec.language!r} in {folder} is no code such as en.")
    return Checkpoint(
        config,
        _load_model(config, source, target, folder).to(device),
        source,
        target,
        state=read_json(folder / "state.json", TrainingState, REMEDY),
        rng=_read_tensors(folder / RNG) if RNG in names else {},
        directory=folder,
        sha256=file_digest(folder / MANIFEST),
    )


def _load_model(
    config: TrainConfig, source: TextCodec, target: TextCodec, folder: Path
) -> TranslationModel:
    sizes = len(source.vocabulary), len(target.vocabulary)
    tensors = _read_tensors(folder / MODEL)
    with torch.random.fork_rng(devices=[]):
        # First without memory: a config that does not fit the file must not allocate what it asks.
        with torch.device("meta"):
            expected = _tensors_of(TranslationModel(config.model, *sizes))
        _require_fit(expected, tensors, f"{MODEL} in {folder} does not fit config.json")
        model = TranslationModel(config.model, *sizes)
    for name, tensor in _tensors_of(model).items():
        tensor.copy_(tensors[name])
    return model


def load_optimizer(path: Path, optimizer: torch.optim.Optimizer) -> None:
    """Load the moments saved at ``path`` into a new ``optimizer``; its settings stay as they are.

    Raises:
        UserError: the checkpoint has no such state, or that of another kind or model.
    """
    folder = find_checkpoint(path)
    if not _verify(folder, {OPTIMIZER}):
        raise UserError(
            f"The checkpoint {folder} was saved without its optimizer: it can translate, but not "
            "be trained further; give the last checkpoint of a run."
        )
    tensors = _read_tensors(folder / OPTIMIZER)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    (names,) = (names for kind, names in OPTIMIZER_STATE.items() if isinstance(optimizer, kind))
    state: dict[int, dict[str, Tensor]] = {}
    if tensors:  # SGD without momentum has none, and neither has a training before its first step
        expected = {
            f"{i}.{name}": torch.zeros(()) if name == "step" else parameter
            for i, parameter in enumerate(parameters)
            for name in names
        }
        _require_fit(expected, tensors, f"{OPTIMIZER} in {folder} does not fit this training")
        state = {i: {n: tensors[f"{i}.{n}"] for n in names} for i in range(len(parameters))}
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


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
    """Set PyTorch's generators to what :func:`capture_rng` returned; absent GPUs are left out."""
    for name, state in states.items():
        index = name.removeprefix("cuda.")
        if name == "cpu":
            torch.set_rng_state(state)
        elif int(index) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, int(index))


def _verify(folder: Path, names: Collection[str]) -> set[str]:
    """Check these files by the manifest; return those that it lists."""
    manifest = read_object(folder / MANIFEST, REMEDY)
    if manifest.get("format") != FORMAT or not isinstance(files := manifest.get("files"), dict):
        raise UserError(
            f"{MANIFEST} in {folder} is not of format {FORMAT}; use the version of seq2seq that "
            f"wrote it, or {REMEDY}."
        )
    for name in sorted(listed := files.keys() & set(names)):
        if not (folder / name).is_file():
            raise UserError(f"{name} is missing in {folder}; {REMEDY}.")
        if file_digest(folder / name) != files[name]:
            raise UserError(
                f"{name} in {folder} is altered: its SHA-256 is not that in {MANIFEST}; {REMEDY}."
            )
    return listed


def _tensors_of(model: TranslationModel) -> dict[str, Tensor]:
    """Parameters and buffers by name; a tied one appears once, under its first name."""
    named: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        named.setdefault(id(tensor), (name, tensor.detach()))
    return dict(named.values())


def _read_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, ValueError) as error:
        raise UserError(f"{path} is not a safetensors file ({error}); {REMEDY}.") from None


def _require_fit(expected: Mapping[str, Tensor], found: Mapping[str, Tensor], what: str) -> None:
    """Refuse tensors of other names, shapes or types than expected."""
    for name in sorted(expected.keys() | found.keys()):
        wanted, given = (
            "absent" if tensor is None else f"{tensor.dtype} {tuple(tensor.shape)}"
            for tensor in (expected.get(name), found.get(name))
        )
        if given != wanted:
            raise UserError(
                f"{what}: tensor {name} is {given}, not {wanted}; it was saved by another version "
                "of seq2seq, or altered."
            )
