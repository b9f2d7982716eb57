"""A trained model as a folder of tensors, plain JSON and text files.

- ``model.safetensors``: every parameter and buffer
- ``optimizer.safetensors``: moments and step counters (optional)
- ``unaveraged.safetensors``: the weights that updates change, if the model's are an average
- ``rng.safetensors``: states of PyTorch's random generators (optional)
- ``state.json``: the trainer's progress, such as update, epoch, best metric
- ``config.json``: the :class:`~seq2seq.config.TrainConfig` of the training
- ``tokenizer.*``, ``vocabulary.*``: the text codecs of both sides
- ``manifest.json``: SHA-256 of each file above

No file is a pickle, so loading runs no code from the folder.
"""

import re
import shutil
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import torch
from jaxtyping import UInt8
from safetensors import SafetensorError
from safetensors.torch import load_file, load_model, save_file, save_model
from torch import Tensor

from seq2seq.config import Natural, Stored, TrainConfig, read_json
from seq2seq.data.tokenization import TextCodec
from seq2seq.errors import UserError
from seq2seq.files import file_digest, read_object, replacing_folder, write_json
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress

FORMAT = 4
MANIFEST = "manifest.json"
MODEL, OPTIMIZER, RNG = "model.safetensors", "optimizer.safetensors", "rng.safetensors"
UNAVERAGED = "unaveraged.safetensors"
REMEDY = "copy the folder again, or use another one"


@dataclass
class MetricsState(Stored):
    """Metrics of the updates since the last log line."""

    nonfinite: Natural = 0
    finite: list[list[float]] = field(default_factory=list)
    """Likelihood, gradient norm and target tokens of each update that was not skipped."""

    @property
    def updates(self) -> int:
        return self.nonfinite + len(self.finite)


@dataclass
class TrainingState(Stored):
    """Content of ``state.json``: what resuming needs besides tensors."""

    progress: Progress
    metrics: MetricsState


@dataclass(frozen=True)
class Checkpoint:
    """A model and its text codecs at one moment of its training."""

    config: TrainConfig
    model: TranslationModel
    source: TextCodec
    target: TextCodec
    state: TrainingState
    rng: dict[str, Tensor] = field(default_factory=dict)
    """Random states of :func:`capture_rng`; those of rank n > 0 as ``rank-<n>/<name>``."""
    directory: Path = Path()
    """Folder of the checkpoint that was loaded, never the run folder above it."""
    sha256: str = ""
    """SHA-256 of the manifest, which lists that of every other file."""


def save_checkpoint(
    directory: Path,
    checkpoint: Checkpoint,
    optimizer: torch.optim.Optimizer | None = None,
    unaveraged: Sequence[Tensor] = (),
) -> None:
    """Write a checkpoint to ``directory``; training cannot resume from one without optimizer."""
    try:
        with replacing_folder(directory) as folder:
            save_model(checkpoint.model, str(folder / MODEL))
            if optimizer is not None:
                moments = {
                    f"{index}.{name}": value.detach().contiguous()
                    for index, values in optimizer.state_dict()["state"].items()
                    for name, value in values.items()
                }
                save_file(moments, folder / OPTIMIZER)
            if unaveraged:
                save_file({str(i): one for i, one in enumerate(unaveraged)}, folder / UNAVERAGED)
            if checkpoint.rng:
                save_file(checkpoint.rng, folder / RNG)
            write_json(folder / "state.json", checkpoint.state)
            write_json(folder / "config.json", checkpoint.config)
            checkpoint.source.save(folder, "source")
            checkpoint.target.save(folder, "target")
            files = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
            write_json(folder / MANIFEST, {"format": FORMAT, "files": files})
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"The checkpoint {directory} cannot be written ({error}), and any earlier one is kept; "
            "free some space, or check the folder's permissions, and run the same command again."
        ) from error


def has_manifest(folder: Path) -> bool:
    """Whether ``folder`` has a manifest. It is written last, so no other file is checked."""
    return (folder / MANIFEST).is_file()


def remove_checkpoint(folder: Path) -> None:
    """Delete a checkpoint, its manifest first, so that a half-deleted one has no manifest."""
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def newest_checkpoints(run: Path) -> list[Path]:
    """Folders ``update-<n>`` and ``interim-<n>`` of a run folder, newest first."""
    found = [
        folder
        for folder in (run / "checkpoints").glob("*-*")
        if re.fullmatch(r"(update|interim)-[0-9]+", folder.name)
    ]
    return sorted(found, key=lambda one: (int(one.name.partition("-")[2]), one.name), reverse=True)


def find_checkpoint(path: Path) -> Path:
    """Return ``path`` if it is a checkpoint, else the best one of this run, else its newest."""
    path = path.expanduser()
    path = path if path.name.strip(".") else path.resolve()  # "." has no name of its own
    best = path / "checkpoints" / "best"
    for folder in (path, best, *newest_checkpoints(path)):
        for found in (folder, folder.parent / f"{folder.name}.old"):  # see replacing_folder
            if has_manifest(found):
                return found
        if folder == best and best.exists():
            raise UserError(f"{MANIFEST} is missing in {best}; {REMEDY}.")
    raise UserError(
        f"There is no checkpoint at {path}; name a folder with {MANIFEST}, or a run folder such as "
        "outputs/<experiment>/<system>/seed-1."
    )


def load_checkpoint(path: Path, device: torch.device) -> Checkpoint:
    """Load a checkpoint onto ``device``; ``path`` is its folder, or a run folder."""
    folder = find_checkpoint(path)
    sha256 = file_digest(folder / MANIFEST)
    names = verify(folder)
    config = read_config(folder)
    source, target = TextCodec.load(folder, "source"), TextCodec.load(folder, "target")
    try:
        with torch.random.fork_rng(devices=[]):
            model = TranslationModel(config.model, len(source.vocabulary), len(target.vocabulary))
        load_model(model, folder / MODEL)
    except (RuntimeError, SafetensorError) as error:
        raise UserError(f"{folder / MODEL} does not fit config.json: {error}; {REMEDY}.") from None
    checkpoint = Checkpoint(
        config,
        model.to(device),
        source,
        target,
        state=read_json(folder / "state.json", TrainingState, REMEDY),
        rng=load_file(folder / RNG) if RNG in names else {},
        directory=folder,
        sha256=sha256,
    )
    if not has_manifest(folder) or file_digest(folder / MANIFEST) != sha256:  # a training saves
        raise UserError(f"{folder} was replaced while it was loaded; run the same command again.")
    return checkpoint


def read_config(folder: Path) -> TrainConfig:
    """Read the config.json of a checkpoint or run folder."""
    return read_json(folder / "config.json", TrainConfig, REMEDY)


def load_optimizer(
    folder: Path, optimizer: torch.optim.Optimizer, unaveraged: Sequence[Tensor] = ()
) -> None:
    """Load a checkpoint into ``optimizer``, its weights before averaging into ``unaveraged``."""
    verify(folder, OPTIMIZER)
    if unaveraged:
        verify(folder, UNAVERAGED)
        weights = load_file(folder / UNAVERAGED)
        for place, tensor in enumerate(unaveraged):
            tensor.copy_(weights[str(place)])
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in load_file(folder / OPTIMIZER).items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = tensor
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def capture_rng() -> dict[str, UInt8[Tensor, "_"]]:
    """States of PyTorch's generators: ``cpu``, and ``cuda.<index>`` per GPU if CUDA is in use."""
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {"cpu": torch.get_rng_state(), **{f"cuda.{i}": state for i, state in enumerate(gpus)}}


def restore_rng(states: Mapping[str, Tensor]) -> None:
    """Restore the generator states of :func:`capture_rng`; skip GPUs that this machine lacks."""
    for name, state in states.items():
        index = name.removeprefix("cuda.")
        if name == "cpu":
            torch.set_rng_state(state)
        elif int(index) < torch.cuda.device_count():
            torch.cuda.set_rng_state(state, int(index))


def verify(folder: Path, *names: str) -> Set[str]:
    """Compare ``names``, or all files but the optimizer's, with the manifest; list its names."""
    manifest = read_object(folder / MANIFEST, REMEDY)
    files = manifest.get("files")
    if manifest.get("format") != FORMAT or not isinstance(files, dict):
        raise UserError(f"{MANIFEST} in {folder} is not of format {FORMAT}; {REMEDY}.")
    for name in names or sorted(files.keys() - {OPTIMIZER, UNAVERAGED}):
        path = folder / name
        if not path.is_file() or file_digest(path) != files.get(name):
            raise UserError(f"{name} in {folder} is missing or altered; {REMEDY}.")
    return files.keys()
