"""How a model is trained."""

from dataclasses import dataclass, field
from typing import Annotated

from seq2seq.config.checks import Count, Device, Natural, Precision, Settings, between, one_of
from seq2seq.errors import UserError

NonNegative = Annotated[float, between(0)]
Share = Annotated[float, between(0, 1)]


@dataclass(kw_only=True)
class OptimizerConfig(Settings):
    """The update rule and its learning-rate schedule."""

    kind: Annotated[str, one_of("adam", "adadelta", "sgd")] = "adam"
    """adam | adadelta (the paper's) | sgd."""
    learning_rate: NonNegative = 1e-3
    """Step size after warm-up (Adadelta: the factor on its own step, 1 in the paper)."""
    epsilon: Annotated[float, between(1e-30)] = 1e-8
    """Denominator constant of Adam and Adadelta (1e-6 in the paper)."""
    rho: Share = 0.95
    """Adadelta's decay."""
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    """Adam's decays."""
    momentum: NonNegative = 0.0
    """SGD's momentum."""
    weight_decay: NonNegative = 0.0
    """L2 penalty."""
    warmup_updates: Natural = 0
    """Updates over which the rate rises linearly from zero."""
    schedule: Annotated[str, one_of("constant", "plateau", "inverse_sqrt", "linear")] = "plateau"
    """constant | plateau (multiply by decay_factor when the early-stopping metric stalls) |
    inverse_sqrt | linear (evenly towards zero at the end of max_epochs or max_updates)."""
    decay_factor: Share = 0.5
    """Plateau: factor on the rate."""
    decay_patience: Natural = 1
    """Plateau: validations without improvement before the rate drops."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise UserError(f"training.optimizer.betas={self.betas} must be two, each in [0, 1).")


@dataclass(kw_only=True)
class TrainingConfig(Settings):
    """How a model is trained, and when training ends."""

    batch_size: Count = 64
    """Sentences, or target tokens with batch_unit=tokens, in a micro-batch."""
    batch_unit: Annotated[str, one_of("sentences", "tokens")] = "sentences"
    """sentences | tokens."""
    gradient_accumulation: Count = 1
    """Micro-batches per update; its loss is a mean over all of them."""
    loss_normalization: Annotated[str, one_of("token", "sentence")] = "token"
    """Mean loss per token | sentence (the paper's; its gradient is larger, by sentence length)."""
    max_epochs: Count = 30
    """Training ends after so many passes over the data."""
    max_updates: Count | None = None
    """Training ends after so many updates; null for no limit."""
    validate_every: Count | None = None
    """Updates between validations; null for once an epoch."""
    patience: Count = 5
    """Training ends after so many validations without improvement."""
    early_stopping_metric: Annotated[str, one_of("loss", "bleu")] = "loss"
    """loss | bleu of the dev set: picks the best checkpoint and drives patience."""
    clip_norm: NonNegative = 1.0
    """Largest gradient norm; longer gradients are scaled down to it; 0 for no limit."""
    label_smoothing: Annotated[float, between(0, 0.99)] = 0.1
    """Share of the target probability spread evenly over the vocabulary."""
    precision: Precision = "auto"
    """auto (bf16 where the processor has it, else fp32) | fp32 | bf16."""
    device: Device = "auto"
    """auto (cuda when there is one) | cpu | cuda."""
    adapt_threads: bool = False
    """On a CPU, use fewer threads while other programs take the cores; then the last bits depend on
    other programs."""
    dev_bleu_sentences: Natural = 500
    """Dev sentences translated greedily at each validation for BLEU by length; 0 for none."""
    max_nonfinite_updates: Natural = 10
    """Updates with a loss or gradient that is not finite are skipped; more of them end training."""
    deterministic: bool = False
    """Refuse operations that may give other bits when repeated; a CPU has none, CUDA has."""
    save_minutes: NonNegative = 10.0
    """Minutes after which the state is saved between two validations."""
    keep_last: Count = 2
    """Checkpoints of the newest validations that are kept, besides the best one and the newest of
    all: to fall back to, or to average."""
    keep_epochs: list[Count] = field(default_factory=list)
    """Epochs whose last state is kept, as checkpoints/epoch-<n>: [1,2,4]."""
    log_every: Count = 50
    """Updates between two lines of metrics."""
    logger: Annotated[str, one_of("none", "tensorboard", "wandb", "mlflow")] = "none"
    """none | tensorboard | wandb | mlflow: where metrics are sent, too (pip install it)."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.early_stopping_metric == "bleu" and self.dev_bleu_sentences < 1:
            raise UserError("training.early_stopping_metric=bleu needs dev_bleu_sentences > 0.")
