"""What the benchmarks read."""

from dataclasses import MISSING, dataclass, field, fields

from seq2seq.config.checks import require_choice, require_distinct, require_range
from seq2seq.config.corpus import CorpusConfig, TokenizationConfig
from seq2seq.errors import UserError

EVERY_BENCHMARK = ("corpus", "data", "output", "tokenization", "seed")
READ = {
    "sizes": ("paths", "attention", "updates", "alternations", "threads", "device"),
    "checkpoint": (
        *("test_set", "beams", "batch_sizes", "most_batches"),
        *("alternations", "threads", "device"),
    ),
    "search_sizes": ("attention", "beams", "batch_sizes", "threads", "device"),
    "pairs": ("batch_sizes",),
    "peers": ("peers_python", "peer_updates", "alternations", "threads"),
    "peers_quality": ("peers", "peers_python", "peer_training", "peer_updates", "threads"),
    "peers_translate": (
        *("peers", "peers_python", "peer_training", "beams", "batch_sizes"),
        *("alternations", "threads"),
    ),
}
"""Benchmark -> the settings that it reads, besides the one that asks for it. What no benchmark's
outcome hangs on, or a config group fills in, is refused by none."""


@dataclass(kw_only=True)
class BenchmarkConfig:
    """``benchmark``: how fast training is, by several paths to the same update; or translation."""

    sizes: list[str] = field(default_factory=lambda: ["m"])
    """tiny | m | m30 | l: models and batches to time (``seq2seq/benchmark/sizes.py``)."""
    paths: list[str] = field(default_factory=lambda: ["naive", "fast"])
    """Ways to train, compared with the first (``seq2seq/benchmark/paths.py``)."""
    attention: str = "additive"
    """additive | fixed."""
    updates: int = 3
    """Updates of one path before it is the next one's turn."""
    alternations: int = 5
    """Turns of each path."""
    threads: int | None = None
    """Processor threads; null for as many as PyTorch takes by itself."""
    device: str = "auto"
    """auto (cuda when there is one) | cpu | cuda."""
    seed: int = 1
    """Seed of weights, ids and dropout."""
    output: str = "outputs/benchmark"
    """Folder for the tables and the raw timings."""
    peers: list[str] = field(default_factory=list)
    """joeynmt | opennmt | eole: other toolkits to train on ``corpus`` in turns with this one,
    ``alternations`` times, instead of timing ``sizes``."""
    peers_python: str | None = None
    """Python of the environment that the peers are installed in; null for the one that runs."""
    peer_updates: int = 200
    """Updates of each program that are timed, a multiple of 20; 20 more come first."""
    corpus: CorpusConfig
    """The text that the peers are trained on, and ``checkpoint`` translates."""
    data: str = "data"
    """Folder for corpora."""
    checkpoint: str | None = None
    """Checkpoint folder, or run folder, whose translation of ``corpus`` to time instead of
    ``sizes``."""
    test_set: str | None = None
    """Name of the test set that ``checkpoint`` translates; null for the first of ``corpus``."""
    beams: list[int] = field(default_factory=lambda: [1, 5])
    """Widths of the searches; 1 is greedy search."""
    batch_sizes: list[int] = field(default_factory=lambda: [1, 64])
    """Sentences that ``checkpoint`` translates together; the rest is timed at the largest."""
    most_batches: int = 100
    """Batches that ``checkpoint`` translates in a turn at most: of a set with more of them every
    second sentence is taken, or every third, and so on."""
    search_sizes: list[str] = field(default_factory=list)
    """tiny | m | m30 | l: models, their weights random, to measure the memory of searches with,
    instead of timing ``sizes``."""
    peers_translate: bool = False
    """Time the peers' translation instead of their training."""
    peers_quality: bool = False
    """Time until a dev perplexity of 5.6 and of 5.0 instead: ``peer_training`` updates of each
    program, with a validation after each ``peer_updates``."""
    peer_training: int = 1000
    """Updates that each model is trained for before it translates, a multiple of 20. The models are
    kept, and trained once."""
    pairs: list[int] = field(default_factory=list)
    """Pairs of ``corpus``, read over and over, to prepare and to go through once in batches of the
    largest of ``batch_sizes``, for time and memory, instead of timing ``sizes``."""
    tokenization: TokenizationConfig = field(
        default_factory=lambda: TokenizationConfig(kind="sentencepiece", vocabulary_size=8000)
    )
    """How ``pairs`` are cut."""

    def __post_init__(self) -> None:
        require_choice("attention", self.attention, ("additive", "fixed"))
        require_choice("device", self.device, ("auto", "cpu", "cuda"))
        for name in ("updates", "alternations", "threads", "most_batches"):
            require_range(name, getattr(self, name), 1)
        require_range("seed", self.seed, 0)
        require_distinct("sizes", self.sizes)
        require_distinct("paths", self.paths)
        require_distinct("beams", self.beams)
        require_distinct("batch_sizes", self.batch_sizes)
        for name in ("beams", "batch_sizes"):
            for value in getattr(self, name):
                require_range(name, value, 1)
        if self.peer_updates < 20 or self.peer_updates % 20:
            raise UserError(f"peer_updates={self.peer_updates} must be a multiple of 20 above 0.")
        if self.peer_training < 40 or self.peer_training % 20:
            raise UserError(
                f"peer_training={self.peer_training} must be a multiple of 20, and at least 40."
            )
        others = [name for name in ("peers_translate", "peers_quality") if getattr(self, name)]
        if others and not self.peers:
            raise UserError(f"{others[0]}=true names no peers; give peers=[...].")
        if len(others) > 1:
            raise UserError(f"{' and '.join(others)} are benchmarks of their own; give one.")
        for pairs in self.pairs:
            require_range("pairs", pairs, 1)
        given = {
            "checkpoint": self.checkpoint is not None,
            "peers": bool(self.peers),
            "search_sizes": bool(self.search_sizes),
            "pairs": bool(self.pairs),
        }
        if sum(given.values()) > 1:
            both = " and ".join(name for name, there in given.items() if there)
            raise UserError(f"{both} are benchmarks of their own; give one of them at a time.")
        chosen = next((name for name, there in given.items() if there), "sizes")
        self._refuse_idle(others[0] if others else chosen)

    def _refuse_idle(self, benchmark: str) -> None:
        """Refuse what is set and has no effect on the ``benchmark`` that is asked for."""
        read = {benchmark, *EVERY_BENCHMARK, *READ[benchmark]}
        for setting in fields(self):
            fresh = setting.default_factory
            usual = setting.default if fresh is MISSING else fresh()
            if setting.name not in read and getattr(self, setting.name) != usual:
                raise UserError(
                    f"{setting.name} would have no effect on the benchmark of {benchmark}; leave "
                    "it out."
                )
