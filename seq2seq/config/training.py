"""How a model is trained."""

from dataclasses import dataclass, field

from seq2seq.config.checks import require_choice, require_range
from seq2seq.errors import UserError


@dataclass(kw_only=True)
class OptimizerConfig:
    """The update rule and its learning-rate schedule."""

    kind: str = "adam"
    """adam | adadelta (the paper's) | sgd."""
    learning_rate: float = 1e-3
    """Step size after warm-up (Adadelta: the factor on its own step, 1 in the paper)."""
    epsilon: float = 1e-8
    """Denominator constant of Adam and Adadelta (1e-6 in the paper)."""
    rho: float = 0.95
    """Adadelta's decay."""
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    """Adam's decays."""
    momentum: float = 0.0
    """SGD's momentum."""
    weight_decay: float = 0.0
    """L2 penalty."""
    warmup_updates: int = 0
    """Updates over which the rate rises linearly from zero."""
    schedule: str = "plateau"
    """constant | plateau (multiply by decay_factor when the early-stopping metric stalls) |
    inverse_sqrt | linear (to zero at max_epochs or max_updates)."""
    decay_factor: float = 0.5
    """Plateau: factor on the rate."""
    decay_patience: int = 1
    """Plateau: validations without improvement before the rate drops."""

    def __post_init__(self) -> None:
        require_choice("training.optimizer.kind", self.kind, ("adam", "adadelta", "sgd"))
        schedules = ("constant", "plateau", "inverse_sqrt", "linear")
        require_choice("training.optimizer.schedule", self.schedule, schedules)
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise UserError(
                f"training.optimizer.betas={list(self.betas)} must be two numbers in [0, 1), "
                "such as [0.9, 0.999]."
            )
        if self.epsilon <= 0:
            raise UserError(
                f"training.optimizer.epsilon={self.epsilon} must be more than 0: a denominator "
                "without it can be 0."
            )
        for name in ("learning_rate", "epsilon", "momentum", "weight_decay"):
            require_range(f"training.optimizer.{name}", getattr(self, name), 0)
        for name in ("warmup_updates", "decay_patience"):
            require_range(f"training.optimizer.{name}", getattr(self, name), 0)
        for name in ("rho", "decay_factor"):
            require_range(f"training.optimizer.{name}", getattr(self, name), 0, 1)


@dataclass(kw_only=True)
class TrainingConfig:
    """How a model is trained, and when training ends."""

    batch_size: int = 64
    """Sentences, or target tokens with batch_unit=tokens, in a micro-batch."""
    batch_unit: str = "sentences"
    """sentences | tokens."""
    gradient_accumulation: int = 1
    """Micro-batches per update; its loss is a mean over all of them."""
    loss_normalization: str = "token"
    """token | sentence (the paper's): an update's loss is the mean per target token, or per pair of
    its summed loss, whose gradient is as many times longer as a sentence has tokens."""
    max_epochs: int = 30
    """Training ends after so many passes over the data."""
    max_updates: int | None = None
    """Training ends after so many updates; null for no limit."""
    validate_every: int | None = None
    """Updates between validations; null for once an epoch."""
    patience: int = 5
    """Training ends after so many validations without improvement."""
    early_stopping_metric: str = "loss"
    """loss | bleu of the dev set: picks the best checkpoint and drives patience."""
    clip_norm: float = 1.0
    """Largest gradient norm; longer gradients are scaled down to it; 0 for no limit."""
    label_smoothing: float = 0.1
    """Share of the target probability spread evenly over the vocabulary."""
    precision: str = "auto"
    """auto (bf16 where the processor has it, else fp32) | fp32 | bf16."""
    device: str = "auto"
    """auto (cuda when there is one) | cpu | cuda."""
    adapt_threads: bool = True
    """On a CPU, use fewer threads while other programs take the cores; sums then differ in their
    last bits. false: always the same number."""
    dev_bleu_sentences: int = 500
    """Dev sentences translated greedily at each validation for BLEU by length; 0 for none."""
    max_nonfinite_updates: int = 10
    """Updates with a loss or gradient that is not finite are skipped; more of them end training."""
    deterministic: bool = False
    """Refuse operations that may give other bits when repeated; for CUDA, a CPU has none."""
    save_minutes: float = 10.0
    """Minutes after which the state is saved between two validations."""
    keep_last: int = 2
    """Newest checkpoints kept in addition to the best one: to fall back to, or to average."""
    log_every: int = 50
    """Updates between two lines of metrics."""
    tensorboard: bool = False
    """Write TensorBoard events next to metrics.jsonl (pip install tensorboard)."""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        for name, choices in {
            "batch_unit": ("sentences", "tokens"),
            "loss_normalization": ("token", "sentence"),
            "early_stopping_metric": ("loss", "bleu"),
            "precision": ("auto", "fp32", "bf16"),
            "device": ("auto", "cpu", "cuda"),
        }.items():
            require_choice(f"training.{name}", getattr(self, name), choices)
        for name in ("batch_size", "gradient_accumulation", "max_epochs", "max_updates"):
            require_range(f"training.{name}", getattr(self, name), 1)
        for name in ("validate_every", "patience", "keep_last", "log_every"):
            require_range(f"training.{name}", getattr(self, name), 1)
        for name in ("clip_norm", "max_nonfinite_updates", "save_minutes", "dev_bleu_sentences"):
            require_range(f"training.{name}", getattr(self, name), 0)
        require_range("training.label_smoothing", self.label_smoothing, 0, 0.99)
        if self.early_stopping_metric == "bleu" and self.dev_bleu_sentences < 1:
            raise UserError(
                "training.early_stopping_metric=bleu needs dev translations; "
                "set training.dev_bleu_sentences to 1 or more."
            )
