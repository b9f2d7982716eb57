"""A trained model as a folder of tensors, plain JSON and text files.

- ``model.safetensors``: every parameter and buffer
- ``optimizer.safetensors``: moments and step counters (optional)
- ``unaveraged.safetensors``: if the model's weights are an average (schedule=average), the weights
  that the next update changes
- ``rng.safetensors``: states of PyTorch's random generators (optional)
- ``state.json``: the trainer's progress, such as update, epoch, best metric
- ``config.json``: the :class:`~seq2seq.config.TrainConfig` of the training
- ``tokenizer.*``, ``vocabulary.*``: the text codecs of both sides
- ``manifest.json``: SHA-256 of each file above

Loading runs no code from the folder, because no file is a pickle. Loading refuses missing or
altered files, and tensors that do not fit the config.
"""

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import torch
from jaxtyping import UInt8
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from seq2seq.config import (
    Natural,
    Stored,
    TrainConfig,
    from_json,
    known_settings,
    read_json,
)
from seq2seq.data.tokenization import TextCodec
from seq2seq.errors import UserError
from seq2seq.files import file_digest, read_object, replacing_folder, write_json
from seq2seq.model.translation import TranslationModel
from seq2seq.record import Progress

FORMAT, OLDEST = 4, 3
"""Format that is written, and the oldest format that can be read."""
MANIFEST = "manifest.json"
MODEL, OPTIMIZER, RNG = "model.safetensors", "optimizer.safetensors", "rng.safetensors"
UNAVERAGED = "unaveraged.safetensors"
REQUIRED = {MODEL, "config.json", "state.json", "tokenizer.source.json", "tokenizer.target.json"}
REQUIRED |= {"vocabulary.source.tsv", "vocabulary.target.tsv"}
OPTIONAL = {RNG, "tokenizer.source.model", "tokenizer.target.model"}
OPTIMIZER_STATE = {
    torch.optim.Adam: ("exp_avg", "exp_avg_sq", "step"),
    torch.optim.Adadelta: ("acc_delta", "square_avg", "step"),
    torch.optim.SGD: ("momentum_buffer",),
}
"""Optimizer -> names of the state tensors of each parameter.

The tensors have the parameter's shape, except ``step``, which is a scalar."""
REMEDY = "copy the folder again, or use another one"


def _logged(key: str, row: list[float]) -> None:
    """Reject a row that is not (likelihood, gradient norm, number of tokens >= 1)."""
    if len(row) != 3 or row[2] < 1:
        raise UserError(f"{key}={row} must be [likelihood, gradient norm, tokens >= 1].")


@dataclass
class MetricsState(Stored):
    """Metrics of the updates since the last log line."""

    nonfinite: Natural = 0
    finite: list[Annotated[list[float], _logged]] = field(default_factory=list)
    """Likelihood, gradient norm and target tokens of each update that was not skipped."""

    @property
    def updates(self) -> int:
        return self.nonfinite + len(self.finite)


@dataclass
class TrainingState(Stored):
    """Content of ``state.json``: what resuming needs besides tensors."""

    progress: Progress
    metrics: MetricsState
    conditions: dict[str, str]
    """Conditions that change the last bits of results, such as the number of threads."""


@dataclass(frozen=True)
class Checkpoint:
    """A model and its text codecs at one moment of its training."""

    config: TrainConfig
    model: TranslationModel
    """The model. After loading it is in training mode, like any new module."""
    source: TextCodec
    target: TextCodec
    state: TrainingState
    rng: Mapping[str, Tensor] = field(default_factory=dict)
    """Random states of :func:`capture_rng`; those of rank n > 0 as ``rank-<n>/<name>``."""
    directory: Path = Path()
    """Folder of the checkpoint that was loaded, never the run folder above it."""
    sha256: str = ""
    """SHA-256 of the manifest. It identifies the checkpoint, because the manifest lists the SHA-256
    of every other file."""


def save_checkpoint(
    directory: Path,
    checkpoint: Checkpoint,
    optimizer: torch.optim.Optimizer | None = None,
    unaveraged: Sequence[Tensor] = (),
) -> None:
    """Write a checkpoint to ``directory``, replacing the one that is there.

    Without ``optimizer``, training cannot resume from the checkpoint. If the model's weights are an
    average, ``unaveraged`` holds the weights that the next update changes. UserError if a file
    cannot be written, most often because the disk is full.
    """
    try:
        with replacing_folder(directory) as folder:
            save_file(_tensors_of(checkpoint.model), folder / MODEL)
            if optimizer is not None:
                moments = {
                    f"{index}.{name}": value.detach().contiguous()
                    for index, values in optimizer.state_dict()["state"].items()
                    for name, value in values.items()
                    if value is not None  # None: SGD's buffer if there is no momentum
                }
                save_file(moments, folder / OPTIMIZER)
            if unaveraged:
                save_file({str(i): one for i, one in enumerate(unaveraged)}, folder / UNAVERAGED)
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
    found = []
    for folder in (run / "checkpoints").glob("*-*"):
        kind, _, number = folder.name.partition("-")
        if kind in ("update", "interim") and number.isdecimal():
            found.append((int(number), kind, folder))
    return [folder for _, _, folder in sorted(found, reverse=True)]


def find_checkpoint(path: Path) -> Path:
    """Return ``path`` if it is a checkpoint folder.

    If it is a run folder, return the best checkpoint, or the newest if there is no best one.
    UserError if there is no checkpoint, or if the best one lacks its manifest.
    """
    path = path.expanduser()
    path = path if path.name.strip(".") else path.resolve()  # "." has no name of its own
    best = path / "checkpoints" / "best"
    for folder in (path, best, *newest_checkpoints(path)):
        for found in (folder, folder.parent / f"{folder.name}.old"):  # see replacing_folder
            if has_manifest(found):
                return found
        if folder == best and best.exists():
            raise UserError(f"{MANIFEST} is missing in {best}; {REMEDY}.")
    deeper = [*path.glob("*/checkpoints"), *path.glob("*/*/checkpoints")]
    if runs := sorted(str(folder.parent) for folder in deeper):
        raise UserError(f"{path} is a folder of runs; name one of them: {', '.join(runs[:9])}.")
    raise UserError(
        f"There is no checkpoint at {path}; name a folder with {MANIFEST}, or a run folder such as "
        "outputs/<experiment>/<system>/seed-1."
    )


def load_checkpoint(path: Path, device: torch.device, tries: int = 5) -> Checkpoint:
    """Load a checkpoint onto ``device``; ``path`` is its folder, or a run folder.

    The random generators do not change; :func:`restore_rng` sets them. If a training replaces the
    checkpoint meanwhile, loading starts again; there are ``tries`` tries in all. UserError if there
    is no checkpoint, a file is missing or altered, or the tensors do not fit the config.
    """
    folder = find_checkpoint(path)
    sha256 = _manifest_digest(folder)
    try:
        return _load(folder, device, sha256)
    except (UserError, OSError):
        if tries == 1 or (sha256 and sha256 == _manifest_digest(folder)):
            raise
    return load_checkpoint(path, device, tries - 1)


def _manifest_digest(folder: Path) -> str:
    """SHA-256 of a checkpoint's manifest; "" if the manifest is gone."""
    try:
        return file_digest(folder / MANIFEST)
    except FileNotFoundError:
        return ""


def _load(folder: Path, device: torch.device, sha256: str) -> Checkpoint:
    """Load the checkpoint whose manifest has this SHA-256; UserError if another one replaced it."""
    names = _verify(folder, REQUIRED | OPTIONAL)
    if missing := REQUIRED - names:
        raise UserError(f"{MANIFEST} in {folder} does not list {min(missing)}; {REMEDY}.")
    config = read_config(folder)
    source, target = TextCodec.load(folder, "source"), TextCodec.load(folder, "target")
    for codec in (source, target):
        if not codec.language.isprintable():  # it is printed at the prompt
            raise UserError(
                f"The language {codec.language!r} in {folder} is not a code such as en; {REMEDY}."
            )
    sizes = len(source.vocabulary), len(target.vocabulary)
    tensors = _read_tensors(folder / MODEL)
    with torch.random.fork_rng(devices=[]):
        # Built first on the device "meta", without memory: a wrong config could ask for too much.
        with torch.device("meta"):
            expected = _tensors_of(TranslationModel(config.model, *sizes))
        _require_fit(expected, tensors, f"{MODEL} in {folder} does not fit config.json")
        model = TranslationModel(config.model, *sizes)
    for name, tensor in _tensors_of(model).items():
        tensor.copy_(tensors[name])
    if read_object(folder / MANIFEST, REMEDY)["format"] < FORMAT:
        _read_words_as_stored(model)
    checkpoint = Checkpoint(
        config,
        model.to(device),
        source,
        target,
        state=read_json(folder / "state.json", TrainingState, REMEDY),
        rng=_read_tensors(folder / RNG) if RNG in names else {},
        directory=folder,
        sha256=sha256,
    )
    if _manifest_digest(folder) != sha256:
        raise UserError(f"{folder} was replaced while it was loaded; run the same command again.")
    return checkpoint


def read_config(folder: Path) -> TrainConfig:
    """Read the config.json of a checkpoint or run folder."""
    where = folder / "config.json"
    return from_json(TrainConfig, stored_settings(read_object(where, REMEDY)), str(where))


def stored_settings(content: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a training from the ``content`` of its config.json.

    For a file of version 0.2, drop the settings of ``reproduce``, and add those of normalisation.
    """
    ours = {one.name: content[one.name] for one in fields(TrainConfig) if one.name in content}
    ours = known_settings(ours)
    match ours.get("tokenization"):
        case {"kind": "sentencepiece", **rest}:
            rules = dict.fromkeys(("source_normalization", "target_normalization"), "nmt_nfkc")
            ours["tokenization"] = {"kind": "sentencepiece", **rules, **rest}
    return ours


@torch.no_grad()
def _read_words_as_stored(model: TranslationModel) -> None:
    """Divide the weights of query and readout for the input word by ``word_scale``, in place.

    In format 3, these weights multiply the word's embedding. Since format 4, they multiply the
    embedding times ``word_scale``. The division keeps the results equal.
    """
    decoder = model.decoder
    if decoder.attends_first:
        decoder.readout_layer.weight[:, decoder.state_and_context_size :] /= decoder.word_scale
    if decoder.attention.word_query is not None:
        decoder.attention.word_query.weight /= decoder.word_scale


def load_optimizer(
    path: Path, optimizer: torch.optim.Optimizer, unaveraged: Sequence[Tensor] = ()
) -> None:
    """Load the optimizer state at ``path`` into a new ``optimizer``, whose settings do not change.

    The weights before averaging are copied into ``unaveraged``. UserError if the checkpoint has no
    such state, or that of another optimizer or model.
    """
    folder = find_checkpoint(path)
    wanted = {OPTIMIZER, UNAVERAGED} if unaveraged else {OPTIMIZER}
    if missing := wanted - _verify(folder, wanted):
        raise UserError(
            f"The checkpoint {folder} has no {min(missing)}, so training cannot resume from it; "
            "use another checkpoint of the run."
        )
    if unaveraged:
        weights = _read_tensors(folder / UNAVERAGED)
        expected = {str(place): tensor for place, tensor in enumerate(unaveraged)}
        _require_fit(expected, weights, f"{UNAVERAGED} in {folder} does not fit this training")
        for name, tensor in expected.items():
            tensor.copy_(weights[name])
    tensors = _read_tensors(folder / OPTIMIZER)
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    (names,) = (names for kind, names in OPTIMIZER_STATE.items() if isinstance(optimizer, kind))
    state: dict[int, dict[str, Tensor]] = {}
    if tensors:  # none for SGD without momentum, and before the first step
        expected = {
            f"{i}.{name}": torch.zeros(()) if name == "step" else parameter
            for i, parameter in enumerate(parameters)
            for name in names
        }
        _require_fit(expected, tensors, f"{OPTIMIZER} in {folder} does not fit this training")
        state = {i: {n: tensors[f"{i}.{n}"] for n in names} for i in range(len(parameters))}
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def capture_rng() -> dict[str, UInt8[Tensor, "_"]]:
    """States of PyTorch's generators: ``cpu``, and ``cuda.<index>`` per GPU if CUDA is in use.

    The package uses no other global generator; the order of batches depends on seed and epoch only.
    """
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


def _verify(folder: Path, names: Collection[str]) -> set[str]:
    """Check the files in ``names`` that the manifest lists; return the names of these files."""
    manifest = read_object(folder / MANIFEST, REMEDY)
    known = manifest.get("format") in range(OLDEST, FORMAT + 1)
    if not known or not isinstance(files := manifest.get("files"), dict):
        raise UserError(
            f"{MANIFEST} in {folder} is not of format {OLDEST} to {FORMAT}; use the version of "
            f"seq2seq that wrote it, or {REMEDY}."
        )
    for name in sorted(listed := files.keys() & set(names)):
        if not (folder / name).is_file():
            raise UserError(f"{name} is missing in {folder}; {REMEDY}.")
        if file_digest(folder / name) != files[name]:
            raise UserError(
                f"{name} in {folder} is altered: its SHA-256 differs from {MANIFEST}; {REMEDY}."
            )
    return listed


def _tensors_of(model: TranslationModel) -> dict[str, Tensor]:
    """Parameters and buffers by name; a shared tensor appears once, under its first name."""
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
    """Raise a UserError that begins with ``what`` if names, shapes or types differ."""
    for name in sorted(expected.keys() | found.keys()):
        wanted, given = (
            "absent" if tensor is None else f"{tensor.dtype} {tuple(tensor.shape)}"
            for tensor in (expected.get(name), found.get(name))
        )
        if given != wanted:
            raise UserError(
                f"{what}: tensor {name} is {given}, not {wanted}; the file may be altered, or "
                f"written by another version of seq2seq; {REMEDY}."
            )
