"""How translations are searched for and scored."""

from dataclasses import dataclass, field

from seq2seq.config.checks import require_choice, require_range
from seq2seq.errors import UserError

SEARCH_NAMES = {
    "length_penalty": "norm",
    "coverage_penalty": "coverage",
    "max_ratio": "ratio",
    "max_extra": "extra",
    "max_length": "max",
    "min_length": "min",
    "no_repeat_ngram": "no-repeat",
    "forbid_unknown": "no-unk",
    "replace_unknown": "replaced",
}
"""What a search is called for, beside its beam, where the setting is not the usual one."""
SAMPLING_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p", "seed": "seed"}


@dataclass(kw_only=True)
class DecodingConfig:
    """How a trained model searches for a translation."""

    beam: int = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    n_best: int = 1
    """Hypotheses returned per sentence, best first; at most ``beam``, and fewer where fewer end."""
    length_penalty: float = 1.0
    """Hypotheses rank by log-probability / length ** length_penalty: 0 for none, 1 for the mean per
    piece."""
    coverage_penalty: float = 0.0
    """Weight of what finished hypotheses lose for source words not looked at (Wu et al. 2016); 0
    for none. A model without attention loses nothing."""
    batch_size: int = 64
    """Sentences searched together; changes speed only."""
    max_ratio: float = 2.0
    """A hypothesis ends at max_ratio x source pieces + max_extra pieces."""
    max_extra: int = 10
    """See max_ratio."""
    max_length: int | None = None
    """Most pieces of a hypothesis whatever the source's length, its end counted; null for no such
    limit."""
    min_length: int = 0
    """Fewest pieces before a hypothesis may end; the longest allowed length makes room for them."""
    no_repeat_ngram: int = 0
    """No run of this many pieces comes twice in a hypothesis; 0 allows any."""
    forbid_unknown: bool = False
    """Never write <unk>."""
    replace_unknown: bool = False
    """Replace each <unk> by the source piece it looked at most; for vocabularies of words. Models
    without attention replace none; ``translate`` refuses it for them."""
    sample: bool = False
    """Draw translations at random instead of searching: n_best of them, whatever the beam."""
    temperature: float = 1.0
    """Sampling: what logits are divided by; below 1 likely pieces become likelier."""
    top_k: int | None = None
    """Sampling: draw from this many of the likeliest pieces; null for all."""
    top_p: float = 1.0
    """Sampling: draw from the fewest pieces that together have this probability."""
    seed: int = 1
    """Sampling: seed of the chance, which is each sentence's own."""

    def __post_init__(self) -> None:
        require_range("decoding.beam", self.beam, 1)
        require_range("decoding.n_best", self.n_best, 1)
        require_range("decoding.length_penalty", self.length_penalty, 0)
        require_range("decoding.coverage_penalty", self.coverage_penalty, 0)
        require_range("decoding.batch_size", self.batch_size, 1)
        require_range("decoding.max_ratio", self.max_ratio, 0, 1000)
        require_range("decoding.max_extra", self.max_extra, 1)
        require_range("decoding.min_length", self.min_length, 0)
        require_range("decoding.max_length", self.max_length, 1)
        require_range("decoding.no_repeat_ngram", self.no_repeat_ngram, 0)
        require_range("decoding.temperature", self.temperature, 0.01)
        require_range("decoding.top_k", self.top_k, 1)
        require_range("decoding.top_p", self.top_p, 0.001, 1)
        require_range("decoding.seed", self.seed, 0)
        if self.n_best > self.beam and not self.sample:
            raise UserError(
                f"decoding.n_best={self.n_best} is more than decoding.beam={self.beam} can find; "
                "widen the beam, or ask for fewer."
            )
        if self.max_length is not None and self.max_length <= self.min_length:
            raise UserError(
                f"decoding.max_length={self.max_length} leaves no room for decoding.min_length="
                f"{self.min_length} pieces and an end; raise the one or lower the other."
            )
        for key in () if self.sample else SAMPLING_NAMES:
            if getattr(self, key) != getattr(DecodingConfig, key):
                raise UserError(f"decoding.{key} needs decoding.sample=true.")

    @property
    def name(self) -> str:
        """How folders and tables call this search: ``greedy``, ``beam5-no-unk``, ``sample-seed2``.

        Searches that may find something else are called something else, so that none takes
        another's place.
        """
        search = "greedy" if self.beam == 1 else f"beam{self.beam}"
        words = ["sample" if self.sample else search]
        names = SAMPLING_NAMES if self.sample else {}
        for key, word in {**SEARCH_NAMES, **names}.items():
            value = getattr(self, key)
            if value != getattr(DecodingConfig, key):
                number = repr(value).removesuffix(".0")
                words.append(word if isinstance(value, bool | str) else word + number)
        return "-".join(words)


@dataclass(kw_only=True)
class EvaluationConfig:
    """How translations are scored: buckets of source length and intervals."""

    length_buckets: list[int] = field(default_factory=lambda: [10, 20, 30, 40, 50, 60])
    """Upper edges of the length buckets in source words; the last bucket is open."""
    bootstrap: int = 1_000
    """Bootstrap resamples for intervals and paired tests."""
    seed: int = 12_345
    """Seed of the resampling."""
    confidence: float = 0.95
    """Coverage of the intervals."""
    tokenize: str = "13a"
    """How sacreBLEU cuts text for BLEU: 13a (what is usual) | none (at spaces alone, for text in
    tokens) | intl | char. Dev BLEU in training is always that of 13a."""
    ter: bool = False
    """Score TER (Snover et al. 2006) too. It is slow on long sentences: about 0.5 ms for one of ten
    words, 20 ms for forty, 75 ms for sixty and 250 ms for a hundred."""

    def __post_init__(self) -> None:
        if (
            not self.length_buckets
            or sorted(set(self.length_buckets)) != list(self.length_buckets)
            or self.length_buckets[0] < 1
        ):
            raise UserError(
                f"evaluation.length_buckets={list(self.length_buckets)} must be rising positive "
                "numbers of words, such as [10, 20, 30]."
            )
        require_choice("evaluation.tokenize", self.tokenize, ("13a", "none", "intl", "char"))
        require_range("evaluation.seed", self.seed, 0)
        require_range("evaluation.bootstrap", self.bootstrap, 100)
        require_range("evaluation.confidence", self.confidence, 0.5, 0.999)
