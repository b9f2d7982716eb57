"""How translations are searched for and scored."""

from dataclasses import dataclass, field
from typing import Annotated

from seq2seq.config.checks import Count, Natural, Settings, between, one_of, rising
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
"""What a setting that is not the usual one adds to the name of a search."""
SAMPLING_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p", "seed": "seed"}


@dataclass(kw_only=True)
class DecodingConfig(Settings):
    """How a trained model searches for a translation."""

    beam: Count = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    n_best: Count = 1
    """Hypotheses returned per sentence, best first; at most ``beam``, and fewer where fewer end."""
    length_penalty: Annotated[float, between(0)] = 1.0
    """Rank by log-probability / length ** length_penalty: 0 for none, 1 for the mean per piece."""
    coverage_penalty: Annotated[float, between(0)] = 0.0
    """Weight of what finished hypotheses lose for source words not looked at (Wu et al. 2016); 0
    for none. A model without attention loses nothing."""
    batch_size: Count = 64
    """Sentences searched together; changes speed only."""
    max_ratio: Annotated[float, between(0, 1000)] = 2.0
    """A hypothesis ends at max_ratio x source pieces + max_extra pieces."""
    max_extra: Count = 10
    """See max_ratio."""
    max_length: Count | None = None
    """Most pieces of a hypothesis, its end counted, whatever the source; null for no such limit."""
    min_length: Natural = 0
    """Fewest pieces before a hypothesis may end; the longest allowed length makes room for them."""
    no_repeat_ngram: Natural = 0
    """No run of this many pieces comes twice in a hypothesis; 0 allows any."""
    forbid_unknown: bool = False
    """Never write ``<unk>``."""
    replace_unknown: bool = False
    """Replace each ``<unk>`` by the source piece it looked at most; for vocabularies of words, and
    models with attention."""
    sample: bool = False
    """Draw translations at random instead of searching: n_best of them, whatever the beam."""
    temperature: Annotated[float, between(0.01)] = 1.0
    """Sampling: what logits are divided by; below 1 likely pieces become likelier."""
    top_k: Count | None = None
    """Sampling: draw from this many of the likeliest pieces; null for all."""
    top_p: Annotated[float, between(0.001, 1)] = 1.0
    """Sampling: draw from the fewest pieces that together have this probability."""
    seed: Natural = 1
    """Sampling: seed of the chance, which is each sentence's own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.beam and not self.sample:
            raise UserError(f"decoding.n_best={self.n_best} needs a decoding.beam as wide.")
        if self.max_length is not None and self.max_length <= self.min_length:
            raise UserError(f"decoding.max_length={self.max_length} must exceed min_length.")
        for key in () if self.sample else SAMPLING_NAMES:
            if getattr(self, key) != getattr(DecodingConfig, key):
                raise UserError(f"decoding.{key} needs decoding.sample=true.")

    @property
    def name(self) -> str:
        """How folders and tables call this search: ``greedy``, ``beam5-no-unk``, ``sample-seed2``.

        Searches that may find something else have another name.
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
class EvaluationConfig(Settings):
    """How translations are scored: buckets of source length and intervals."""

    length_buckets: Annotated[list[Count], rising] = field(
        default_factory=lambda: [10, 20, 30, 40, 50, 60]
    )
    """Upper edges of the length buckets in source words; the last bucket is open."""
    bootstrap: Annotated[int, between(100)] = 1_000
    """Bootstrap resamples for intervals and paired tests."""
    seed: Natural = 12_345
    """Seed of the resampling."""
    confidence: Annotated[float, between(0.5, 0.999)] = 0.95
    """Coverage of the intervals."""
    tokenize: Annotated[str, one_of("13a", "none", "intl", "char")] = "13a"
    """How sacreBLEU cuts text for BLEU: 13a (what is usual) | none (at spaces alone, for text in
    tokens) | intl | char. Dev BLEU in training is always that of 13a."""
    ter: bool = False
    """Score TER (Snover et al. 2006) too: 20 ms for a sentence of forty words, 250 of a hundred."""
