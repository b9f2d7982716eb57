"""How a trained model searches for translations."""

from dataclasses import dataclass
from typing import Annotated

from seq2seq.config.checks import Count, Natural, Settings, between
from seq2seq.errors import UserError

Beam = Annotated[int, between(1, 10_000)]
SEARCH_NAMES = {
    "length_penalty": "length-penalty",
    "max_ratio": "ratio",
    "max_extra": "extra",
    "forbid_unknown": "no-unk",
    "replace_unknown": "replaced",
}
"""What a setting that is not the usual one adds to the name of a search."""
SAMPLING_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p", "seed": "seed"}


@dataclass(kw_only=True)
class DecodingConfig(Settings):
    """How a trained model searches for a translation."""

    beam: Beam = 5
    """Hypotheses kept per sentence; 1 is greedy search."""
    n_best: Beam = 1
    """Hypotheses returned per sentence, best first; at most ``beam``, and fewer where fewer end."""
    length_penalty: Annotated[float, between(0)] = 1.0
    """Rank by log-probability / length ** length_penalty: 0 for none, 1 for the mean per piece."""
    batch_size: Count = 64
    """Sentences searched together; changes speed only."""
    max_ratio: Annotated[float, between(0, 1000)] = 2.0
    """A hypothesis ends at max_ratio x source pieces + max_extra pieces."""
    max_extra: Annotated[int, between(1, 1_000_000)] = 10
    """Pieces added to that limit: see max_ratio."""
    forbid_unknown: bool = False
    """Never write ``<unk>``."""
    replace_unknown: bool = False
    """Replace each ``<unk>`` by the source piece it looked at most; for vocabularies of words, and
    models with attention."""
    sample: bool = False
    """Draw translations at random instead of searching: n_best of them; beam has no effect."""
    temperature: Annotated[float, between(0.01)] = 1.0
    """Sampling: what logits are divided by; below 1 likely pieces become likelier."""
    top_k: Count | None = None
    """Sampling: draw from this many of the likeliest pieces; null for all."""
    top_p: Annotated[float, between(0.001, 1)] = 1.0
    """Sampling: draw from the fewest pieces that together have this probability."""
    seed: Natural = 1
    """Sampling: seed; each sentence has random numbers of its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.beam and not self.sample:
            raise UserError(f"decoding.n_best={self.n_best} needs a decoding.beam as wide.")
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
