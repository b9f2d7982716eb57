"""Speed and memory of training, for several ways to compute the same update.

python benchmarks/training.py sizes=[m,l] paths=[plain,fast] attention=[additive,local_p]
"""

import itertools
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import torch
from harness import main, peak_memory, ratio_by_round, time_in_turns, write_results
from jaxtyping import Int
from omegaconf import DictConfig

from seq2seq.config import (
    ATTENTION_KINDS,
    AttentionConfig,
    DecoderConfig,
    EncoderConfig,
    ModelConfig,
    TrainingConfig,
    require_choice,
)
from seq2seq.data.batching import Batch
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.device import choose_device, choose_precision, keep_freed_memory
from seq2seq.model.fast import compiled
from seq2seq.model.translation import TranslationModel
from seq2seq.training.graphs import GradientStep
from seq2seq.training.optimization import WeightAverage, build_optimizer, clipped_step

log = logging.getLogger(__name__)

PATHS = {
    "plain": "a loop over the target words (`model.decoder.recurrence=reference`), in float32",
    "plain-bf16": "plain, with bfloat16 products",
    "fast-fp32": "the default settings, but in float32 (`training.precision=fp32`)",
    "fast-torch": "the default settings without compiled kernels",
    "fast-calls": "the default settings without recorded CUDA graphs",
    "fast": "the default settings",
}
"""Name -> description of each way to compute the update."""


class Size(NamedTuple):
    """Widths of a model with one layer (``encoder``: of each direction), and shape of its batches.

    All sentences of a batch have ``source`` and ``target`` positions, ends included: no padding.
    """

    embedding: int
    encoder: int
    decoder: int
    attention: int
    vocabulary: int
    batch: int
    source: int
    target: int


SIZES = {
    "tiny": Size(16, 16, 32, 32, vocabulary=100, batch=8, source=7, target=6),
    "m": Size(256, 256, 512, 512, vocabulary=8_000, batch=64, source=14, target=13),
    "m30": Size(256, 256, 512, 512, vocabulary=8_000, batch=64, source=30, target=30),
    "m100": Size(256, 256, 512, 512, vocabulary=8_000, batch=16, source=100, target=100),
    "l": Size(620, 1_000, 1_000, 1_000, vocabulary=30_000, batch=80, source=30, target=30),
}
"""``m`` is the default model on sentences of Multi30k's length, ``m30`` and ``m100`` on longer
ones; ``l`` has the widths of Bahdanau et al. 2014; ``tiny`` only shows that everything runs."""


class Workload(NamedTuple):
    """A model and its batch; equal workloads have equal weights, ids and dropout."""

    size: Size
    attention: str
    seed: int
    device: torch.device

    def config(self, recurrence: str) -> ModelConfig:
        """Config of the model, with the default dropout."""
        return ModelConfig(
            embedding_dim=self.size.embedding,
            encoder=EncoderConfig(hidden_size=self.size.encoder),
            attention=AttentionConfig(kind=self.attention, size=self.size.attention),
            decoder=DecoderConfig(hidden_size=self.size.decoder, recurrence=recurrence),
        )

    def model(self, recurrence: str) -> TranslationModel:
        """Build the model with its initial weights, on the CPU."""
        torch.manual_seed(self.seed)
        vocabulary = self.size.vocabulary
        return TranslationModel(self.config(recurrence), vocabulary, vocabulary)

    def batch(self) -> Batch:
        """Draw a batch of random ids on the CPU, without padding."""
        generator, size = torch.Generator().manual_seed(self.seed), self.size

        def pieces(length: int) -> Int[torch.Tensor, "B length"]:
            shape = (size.batch, length)
            return torch.randint(len(SPECIALS), size.vocabulary, shape, generator=generator)

        target = pieces(size.target - 1)
        return Batch(
            source=pieces(size.source),
            source_lengths=torch.full((size.batch,), size.source),
            target_input=torch.cat([torch.full((size.batch, 1), BOS), target], dim=1),
            target_output=torch.cat([target, torch.full((size.batch, 1), EOS)], dim=1),
            target_cells=torch.arange(size.batch * size.target),
        )


class Training(NamedTuple):
    """A model, and a function that makes one update of it."""

    model: TranslationModel
    update: Callable[[], None]
    products: str
    """Precision of matrix products: fp32 | bf16."""
    kernels: str
    """Name of the operations: native (compiled) | triton | torch."""


def start(path: str, workload: Workload) -> Training:
    """Prepare a training by ``path``, one of :data:`PATHS`, up to its first update."""
    keep_freed_memory()
    settings, device = TrainingConfig(), workload.device
    model = workload.model("reference" if path.startswith("plain") else "fast").to(device)
    precision = {"plain": "fp32", "plain-bf16": "bf16", "fast-fp32": "fp32"}.get(path, "auto")
    products = choose_precision(precision, device)
    optimizer, batch = build_optimizer(model, settings.optimizer), workload.batch()
    average = WeightAverage(model, settings.optimizer.schedule == "average")
    number = itertools.count(1_000)  # at first, an average costs more time than in most updates
    scale = 1 / len(batch.target_cells)
    gradients = GradientStep(model, device, products, settings.label_smoothing)
    recorded = device.type == "cuda" and path not in ("plain", "plain-bf16", "fast-calls")

    def choosing() -> AbstractContextManager[object]:
        if path == "fast-torch":
            return patch.object(compiled, "compiled_operations", lambda _: None)
        return nullcontext()

    def update() -> None:  # as Trainer makes one
        choose_precision(precision, device)  # the last path to start would set TF32 for all
        with choosing():
            add = gradients.add if recorded else gradients.add_eagerly
            clipped_step(optimizer, settings.clip_norm, add(batch, scale))
            optimizer.zero_grad(set_to_none=not recorded)
            average.add(next(number))

    with choosing():
        name = compiled.choose_operations(device, products).name
    return Training(model, update, "bf16" if products == torch.bfloat16 else "fp32", name)


def train(path: str, workload: Workload) -> None:
    """Train for three updates, to measure memory."""
    training = start(path, workload)
    for _ in range(3):  # from the second update on, the optimizer's state exists
        training.update()


def benchmark_training(config: DictConfig) -> Path:
    """Measure with the settings of ``configs/training.yaml``; return the path of the table."""
    for key, choices in (("sizes", SIZES), ("paths", PATHS), ("attention", ATTENTION_KINDS)):
        for name in config[key]:
            require_choice(key, name, tuple(choices))
    device = choose_device(config.device)
    runs = []
    for size in config.sizes:
        log.info("size %s: %s of %s", size, ", ".join(config.paths), ", ".join(config.attention))
        workloads = [Workload(SIZES[size], kind, config.seed, device) for kind in config.attention]
        runs += [{"size": size, **run} for run in _measure(workloads, config)]
    parts = ["training", *config.sizes]
    parts += [name for name in (*config.attention, device.type) if name not in ("additive", "cpu")]
    path = Path(config.output) / "-".join(parts)
    first = {run["size"]: run for run in reversed(runs)}
    rows = [_row(run, first[run["size"]]) for run in runs]
    return write_results(path, "Training speed", rows, _notes(config), runs, device)


def _measure(workloads: list[Workload], config: DictConfig) -> list[dict[str, Any]]:
    """Measure each kind and path. Memory comes first, while this process holds little."""
    given = {(load.attention, path): (path, load) for load in workloads for path in config.paths}
    device = workloads[0].device
    peaks = {case: peak_memory(partial(train, *of), device) for case, of in given.items()}
    trainings = {case: start(*of) for case, of in given.items()}
    cases = {case: training.update for case, training in trainings.items()}
    timed = time_in_turns(cases, config.updates, config.rounds, device)
    return [
        {
            "attention": kind,
            "path": path,
            "target_tokens": workloads[0].size.batch * workloads[0].size.target,
            "products": training.products,
            "kernels": training.kernels,
            "rounds_seconds": timed[kind, path],
            "median_seconds": median(second for turn in timed[kind, path] for second in turn),
            "peak_megabytes": peaks[kind, path],
        }
        for (kind, path), training in trainings.items()
    ]


def _row(run: dict[str, Any], first: dict[str, Any]) -> dict[str, str]:
    theirs, own = ([median(turn) for turn in each["rounds_seconds"]] for each in (first, run))
    return {
        **{key: run[key] for key in ("size", "attention", "path", "products", "kernels")},
        "ms/update": f"{1e3 * run['median_seconds']:,.1f}",
        "target tokens/s": f"{run['target_tokens'] / run['median_seconds']:,.0f}",
        f"speed over {first['attention']}, {first['path']}": (
            "1" if run is first else ratio_by_round(theirs, own)
        ),
        "peak MB": f"{run['peak_megabytes']:,.0f}",
    }


def _notes(config: DictConfig) -> list[str]:
    described = {
        name: ", ".join(f"{key} {value:,}" for key, value in SIZES[name]._asdict().items())
        for name in config.sizes
    }
    return [
        *(f"{name}: {size}." for name, size in described.items()),
        "Sizes: encoder is the width of each direction; batch is the number of sentences, each "
        "with this number of source and target positions, none of them padding.",
        *(f"{path}: {PATHS[path]}." for path in config.paths),
        f"Medians over {config.rounds} rounds of {config.updates} updates of each row in turn; "
        "speeds relative to the first row of a size within a round, median and range. Memory of "
        "each row in a fresh process, Python and PyTorch included, in MB (a million bytes). "
        f"Seed {config.seed}.",
    ]


if __name__ == "__main__":
    main("training", benchmark_training)
