"""What every toolkit is told alike: the model, the update, the length of a run, the search."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PeerSetting:
    """One training, in terms that all toolkits share.

    The model is a bidirectional LSTM encoder of one layer and an LSTM decoder of one layer with
    additive attention, trained by Adam.
    """

    embedding: int = 256
    """Width of source and target embeddings."""
    hidden: int = 512
    """Units of the decoder and of the attention, an even number: half of it is each direction's."""
    dropout: float = 0.2
    label_smoothing: float = 0.1
    batch_size: int = 64
    """Sentences per update."""
    learning_rate: float = 1e-3
    clip_norm: float = 1.0
    """Largest gradient norm."""
    min_frequency: int = 2
    """Words seen less often in the training text become <unk>."""
    threads: int = 2
    """Threads for PyTorch in each program; none of them starts processes to load data."""
    warm_up: int = 20
    """Updates before the clock starts; every program reports after each so many updates."""
    updates: int = 200
    """Updates that are timed; a multiple of ``warm_up``."""
    validate_every: int | None = None
    """Updates between two validations; None for those that a program makes by itself."""
    seed: int = 1

    @property
    def total_updates(self) -> int:
        """Updates of a run, those of the warm-up included."""
        return self.warm_up + self.updates


@dataclass(frozen=True, kw_only=True)
class PeerSearch:
    """One search, in terms that all toolkits share; what ends it and ranks it is each one's own."""

    beam: int
    """1 is greedy search."""
    precision: str
    """fp32 | bf16."""
    batch_size: int = 64
    """Sentences translated together."""
    max_length: int = 60
    """Most words of a translation, for models that have not learnt to end one."""
