"""Settings of the training."""

import re
from dataclasses import field
from typing import Annotated

from annotated_types import Interval, Len

from seq2seq.config.checks import Count, Device, Natural, Place, Precision, one_of, settings
from seq2seq.errors import UserError

NonNegative = Annotated[float, Interval(ge=0)]
Decay = Annotated[float, Interval(ge=0, lt=1)]


INHERITED = re.compile(
    r"model\.(?!dropout|embedding_dropout|initialization|decoder\.recurrence)"
    r"|corpus\.(source|target)$|tokenization\.(?!max_pieces)"
)
"""Pattern of the settings that a training has from its ``init_from``."""


@settings
class OptimizerConfig:
    """Settings of the optimizer and of the learning-rate schedule."""

    kind: Annotated[str, one_of("adam", "adadelta", "sgd")] = "adam"
    """adam | adadelta (the paper's) | sgd."""
    learning_rate: NonNegative = 2e-3
    """Learning rate after warm-up. Adadelta multiplies the step that it computes by it (1 in the
    paper)."""
    betas: Annotated[list[Decay], Len(2, 2)] = field(default_factory=lambda: [0.9, 0.98])
    """Decay rates of Adam."""
    warmup_updates: Natural = 100
    """Number of updates over which the learning rate rises linearly from zero."""
    schedule: Annotated[str, one_of("average", "constant", "inverse_sqrt", "linear")] = "average"
    """Learning rate after warm-up: average (constant; validation and checkpoints use the average of
    the weights over about the last tenth of the updates) | constant | inverse_sqrt (falls
    with 1 / sqrt(update)) | linear (falls to zero at the end of max_epochs or max_updates)."""


@settings
class TrainingConfig:
    """Settings of the training: batches, loss, limits, validation, checkpoints, logs."""

    batch_size: Count = 64
    """Maximum number of sentence pairs per micro-batch."""
    gradient_accumulation: Count = 1
    """Number of micro-batches per update; the loss is the mean over all of them."""
    loss_normalization: Annotated[str, one_of("token", "sentence")] = "token"
    """token (mean loss per target token) | sentence (mean loss per sentence, as in the paper; its
    gradients are larger)."""
    init_from: Place | None = None
    """Fine-tuning: run or checkpoint folder whose weights, tokenizers, vocabularies and their
    settings training starts from; null for new ones. Optimizer, schedule and limits are new."""
    max_epochs: Count = 30
    """Maximum number of passes over the training data. A finished run continues if max_epochs,
    max_updates or patience is raised; with schedule=linear, only patience may be raised."""
    max_updates: Count | None = None
    """Maximum number of updates; null for no limit."""
    validate_every: Count | None = None
    """Number of updates between validations; null for one validation per epoch."""
    patience: Count = 5
    """Number of validations in a row without improvement after which training ends."""
    early_stopping_metric: Annotated[str, one_of("loss", "bleu")] = "loss"
    """Dev-set metric, loss | bleu, that selects the best checkpoint. Training ends when it stops
    improving (see patience)."""
    clip_norm: NonNegative = 1.0
    """Maximum gradient norm; larger gradients are scaled down to it. 0 for no limit."""
    label_smoothing: Annotated[float, Interval(ge=0, le=0.99)] = 0.1
    """Fraction of the target probability that is spread evenly over the vocabulary."""
    precision: Precision = "auto"
    """Precision of matrix products: auto (bf16 where it is fast, otherwise fp32) | fp32 | bf16."""
    device: Device = "auto"
    """auto (cuda if available) | cpu | cuda."""
    dev_bleu_sentences: Natural = 500
    """Number of dev sentences translated greedily at each validation for BLEU; 0 for none."""
    deterministic: bool = False
    """Whether to refuse CUDA operations that are not deterministic; on a CPU, all operations are
    deterministic."""
    save_minutes: NonNegative = 10.0
    """Minutes between two saves of the state, in addition to the save at each validation."""
    keep_epochs: list[Count] = field(default_factory=list)
    """Epochs to come, such as [1,2,4], whose final state is kept as checkpoints/epoch-<n>."""
    log_every: Count = 50
    """Number of updates between two lines of metrics."""
    logger: Annotated[str, one_of("none", "tensorboard", "wandb")] = "none"
    """Program that shows the metrics (install it with pip): none | tensorboard | wandb."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        if self.early_stopping_metric == "bleu" and self.dev_bleu_sentences < 1:
            raise UserError("training.early_stopping_metric=bleu needs dev_bleu_sentences.")
