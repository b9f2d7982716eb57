"""The paths to one and the same update that are compared: from the naive loop to the default."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from seq2seq.benchmark.naive import NaiveModel, naive_loss
from seq2seq.benchmark.sizes import Size
from seq2seq.config import TrainingConfig
from seq2seq.device import choose_precision
from seq2seq.model.kernels import choose_kernels, torch_only
from seq2seq.model.translation import TranslationModel
from seq2seq.training.optimization import build_optimizer
from seq2seq.training.training_step import TrainingStep


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
        vocabulary = self.size.vocabulary
        return TranslationModel(self.size.model(self.attention, recurrence), vocabulary, vocabulary)


class NaiveTraining:
    """The naive model under PyTorch's own Adam, in float32."""

    precision = torch.float32
    kernel_name = "torch"

    def __init__(self, workload: Workload) -> None:
        self.config = TrainingConfig()
        self.device = workload.device
        self.batch = workload.size.random_batch(workload.seed)
        vocabulary = workload.size.vocabulary
        model = NaiveModel(
            workload.size.model(workload.attention, "reference"), vocabulary, vocabulary
        )
        model.load_from(workload.model("reference"))
        self.model = model.to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def update(self) -> None:
        """Forward, backward, clipping, the optimizer's step."""
        batch = self.batch.to(self.device)
        encoded = self.model.encode(batch.source, batch.source_lengths)
        logits = self.model.decode(batch.target_input, encoded)
        loss = naive_loss(logits, batch.target_output, self.config.label_smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        self.optimizer.step()


class ProjectTraining:
    """The project's model and updater, with the default settings of training."""

    def __init__(self, workload: Workload, recurrence: str, precision: str, plain: bool) -> None:
        self.config = TrainingConfig()
        self.device = workload.device
        self.batch = workload.size.random_batch(workload.seed)
        self.model = workload.model(recurrence).to(self.device)
        self.optimizer = build_optimizer(self.model, self.config.optimizer)
        self.precision = choose_precision(precision, self.device)
        self.plain = plain
        self.step = TrainingStep(
            self.model, self.optimizer, self.config, self.device, self.precision
        )

    @property
    def kernel_name(self) -> str:
        """Which kernels this machine has for this path: native | triton | torch."""
        with self.kernels():
            return choose_kernels(self.device, torch.float32, self.precision).name

    def kernels(self) -> AbstractContextManager[None]:
        """A context in which this path's kernels are chosen."""
        return torch_only() if self.plain else nullcontext()

    def update(self) -> None:
        """One update by the trainer's own class."""
        with self.kernels():
            self.step.run([self.batch])


Training = NaiveTraining | ProjectTraining


@dataclass(frozen=True)
class TrainingPath:
    """One way to make the update; see ``PATHS``."""

    description: str
    naive: bool = False
    """:class:`NaiveTraining`; the fields below are for the project's own model."""
    recurrence: str = "fast"
    """fast | reference."""
    precision: str = "auto"
    """auto | fp32 | bf16."""
    plain: bool = False
    """Rule out compiled kernels: PyTorch operations alone."""

    def start(self, workload: Workload) -> Training:
        """A model at its start, ready for its first update."""
        if self.naive:
            return NaiveTraining(workload)
        return ProjectTraining(workload, self.recurrence, self.precision, self.plain)


PATHS = {
    "naive": TrainingPath(
        "packed encoder, then attention, LSTM cell and output layer in one taped loop", naive=True
    ),
    "hoisted": TrainingPath(
        "taped loop without what can be computed for all steps at once "
        "(`model.decoder.recurrence=reference`), in float32",
        recurrence="reference",
        precision="fp32",
    ),
    "hoisted-bf16": TrainingPath(
        "taped loop without what can be computed for all steps at once "
        "(`model.decoder.recurrence=reference`), with bfloat16 products",
        recurrence="reference",
        precision="bf16",
    ),
    "fast-fp32": TrainingPath(
        "the default settings, but in float32 (`training.precision=fp32`)", precision="fp32"
    ),
    "fast-torch": TrainingPath("the default settings without compiled kernels", plain=True),
    "fast": TrainingPath("the default settings"),
}
