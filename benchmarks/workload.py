"""What is trained: models and batches of fixed size, and the paths to one and the same update."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from naive import NaiveModel, naive_loss
from torch import nn

from seq2seq.allocator import freed_memory_kept
from seq2seq.config import (
    AttentionConfig,
    DecoderConfig,
    EncoderConfig,
    ModelConfig,
    TrainingConfig,
)
from seq2seq.data.batching import Batch
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.device import choose_precision
from seq2seq.model.kernels import choose_kernels, torch_only
from seq2seq.model.translation import TranslationModel
from seq2seq.training.optimization import build_optimizer
from seq2seq.training.updater import Updater


@dataclass(frozen=True)
class Size:
    """The widths of a model of one layer, and the shape of its batches."""

    embedding: int
    encoder: int
    """Units per direction."""
    decoder: int
    attention: int
    vocabulary: int
    """Pieces of each side."""
    batch: int
    """Sentences."""
    source: int
    """Positions of every source sentence."""
    target: int
    """Steps of every target sentence, the end included."""

    @property
    def target_tokens(self) -> int:
        """Target tokens of one update; none is padding."""
        return self.batch * self.target

    def describe(self, attention: str) -> str:
        """The model with this kind of attention, and its batches, in words."""
        attends = f"attention {self.attention:,}" if attention == "additive" else "no attention"
        return (
            f"embedding {self.embedding:,}, encoder {self.encoder:,} per direction, decoder "
            f"{self.decoder:,}, {attends}, vocabularies of {self.vocabulary:,}; {self.batch} "
            f"sentences of {self.source} source and {self.target} target positions, none padding"
        )

    def model_config(self, attention: str, recurrence: str) -> ModelConfig:
        """The model's config; all that is not named here is the default, dropout included."""
        return ModelConfig(
            embedding_dim=self.embedding,
            encoder=EncoderConfig(hidden_size=self.encoder),
            attention=AttentionConfig(kind=attention, size=self.attention),
            decoder=DecoderConfig(hidden_size=self.decoder, recurrence=recurrence),
        )

    def random_batch(self, seed: int) -> Batch:
        """A batch on the host without padding; equal seeds give equal ids."""
        generator = torch.Generator().manual_seed(seed)

        def pieces(length: int) -> torch.Tensor:
            shape = (self.batch, length)
            return torch.randint(len(SPECIALS), self.vocabulary, shape, generator=generator)

        target = pieces(self.target - 1)
        return Batch(
            source=pieces(self.source),
            source_lengths=torch.full((self.batch,), self.source),
            target_input=torch.cat([torch.full((self.batch, 1), BOS), target], dim=1),
            target_output=torch.cat([target, torch.full((self.batch, 1), EOS)], dim=1),
            target_cells=torch.arange(self.batch * self.target),
            indices=np.arange(self.batch),
        )


SIZES = {
    "tiny": Size(16, 16, 32, 32, vocabulary=100, batch=8, source=7, target=6),
    "m": Size(256, 256, 512, 512, vocabulary=8_000, batch=64, source=14, target=13),
    "m30": Size(256, 256, 512, 512, vocabulary=8_000, batch=64, source=30, target=30),
    "l": Size(620, 1_000, 1_000, 1_000, vocabulary=30_000, batch=80, source=30, target=30),
}
"""``m`` is the default model on sentences of Multi30k's length, ``l`` has the widths of Bahdanau et
al. 2014, and ``tiny`` only shows that everything runs."""


@dataclass(frozen=True)
class Workload:
    """What every path trains: equal workloads give equal weights, ids and dropout."""

    size: Size
    attention: str
    """additive | fixed."""
    seed: int
    device: torch.device

    def model(self, recurrence: str) -> TranslationModel:
        """The project's model at its start, on the host."""
        torch.manual_seed(self.seed)
        config = self.size.model_config(self.attention, recurrence)
        return TranslationModel(config, self.size.vocabulary, self.size.vocabulary)


class Training(NamedTuple):
    """A model, and what makes one update of it."""

    model: nn.Module
    update: Callable[[], None]
    products: str
    """Precision of matrix products: fp32 | bf16."""
    kernels: str
    """native (compiled) | triton | torch."""


def _naive(workload: Workload) -> Training:
    """The naive model under PyTorch's own Adam, in float32."""
    size, settings = workload.size, TrainingConfig()
    config = size.model_config(workload.attention, "reference")
    model = NaiveModel(config, size.vocabulary, size.vocabulary)
    model.load_from(workload.model("reference"))
    model.to(workload.device)
    optimizer = torch.optim.Adam(model.parameters())
    on_host = size.random_batch(workload.seed)

    def update() -> None:
        batch = on_host.to(workload.device)
        encoded = model.encode(batch.source, batch.source_lengths)
        logits = model.decode(batch.target_input, encoded)
        loss = naive_loss(logits, batch.target_output, settings.label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimizer.step()

    return Training(model, update, "fp32", "torch")


def _project(workload: Workload, recurrence: str, precision: str, compiled: bool) -> Training:
    """The project's model, updated as the trainer does it, with the default settings."""
    settings, device = TrainingConfig(), workload.device
    model = workload.model(recurrence).to(device)
    products = choose_precision(precision, device)
    optimizer = build_optimizer(model, settings.optimizer)
    updater = Updater(model, optimizer, settings, device, products)
    batch = workload.size.random_batch(workload.seed)
    choosing = nullcontext if compiled else torch_only

    def update() -> None:
        with choosing(), freed_memory_kept():
            updater.update([batch])

    with choosing():
        kernels = choose_kernels(device, torch.float32, products).name
    return Training(model, update, "bf16" if products == torch.bfloat16 else "fp32", kernels)


PATHS = {
    "naive": "packed encoder, then attention, LSTM cell and output layer in one taped loop",
    "hoisted": "a taped loop, without what can be computed for all steps at once "
    "(`model.decoder.recurrence=reference`), in float32",
    "hoisted-bf16": "hoisted, with bfloat16 products",
    "fast-fp32": "the default settings, but in float32 (`training.precision=fp32`)",
    "fast-torch": "the default settings without compiled kernels",
    "fast": "the default settings",
}
"""Name -> description of each way to make the update."""


def start(path: str, workload: Workload) -> Training:
    """The training by ``path``, one of :data:`PATHS`, ready for its first update."""
    if path == "naive":
        return _naive(workload)
    recurrence = "reference" if path.startswith("hoisted") else "fast"
    precision = {"hoisted": "fp32", "hoisted-bf16": "bf16", "fast-fp32": "fp32"}.get(path, "auto")
    return _project(workload, recurrence, precision, compiled=path != "fast-torch")


def train(path: str, workload: Workload) -> None:
    """Train for three updates: what memory is measured of."""
    training = start(path, workload)
    for _ in range(3):  # the optimizer's state is there from the second on
        training.update()
