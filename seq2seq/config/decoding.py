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
"""Setting -> label that DecodingConfig.name appends when the setting differs from its default."""
SAMPLING_NAMES = {"temperature": "temperature", "top_k": "top-k", "top_p": "top-p", "seed": "seed"}


@dataclass(kw_only=True)
class DecodingConfig(Settings):
    """Settings of the search for translations."""

    beam: Beam = 5
    """Number of hypotheses kept per sentence; 1 is greedy search."""
    n_best: Beam = 1
    """Number of hypotheses returned per sentence; at most ``beam``, fewer if fewer are finished."""
    length_penalty: Annotated[float, between(0)] = 1.0
    """Exponent in the score log-probability / length ** length_penalty (0: sum, 1: mean)."""
    batch_size: Count = 128
    """Number of sentences searched together; changes only the speed."""
    max_ratio: Annotated[float, between(0, 1000)] = 2.0
    """Factor in the maximum length of a hypothesis: max_ratio x source pieces + max_extra."""
    max_extra: Annotated[int, between(1, 1_000_000)] = 10
    """Pieces added to the maximum length; see max_ratio."""
    forbid_unknown: bool = False
    """Whether the search excludes ``<unk>``."""
    replace_unknown: bool = False
    """Whether to replace each ``<unk>`` by the source piece with the largest attention weight;
    needs attention and a vocabulary of words."""
    sample: bool = False
    """Whether to draw n_best random translations instead of searching; beam then has no effect."""
    temperature: Annotated[float, between(0.01)] = 1.0
    """Sampling: divisor of the logits; below 1, likely pieces become likelier."""
    top_k: Count | None = None
    """Sampling: number of likeliest pieces to draw from; null for all."""
    top_p: Annotated[float, between(0.001, 1)] = 1.0
    """Sampling: total probability; only the likeliest pieces needed to reach it are drawn."""
    seed: Natural = 1
    """Sampling: seed. Each sentence has its own random numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.beam and not self.sample:
            raise UserError(
                f"decoding.n_best={self.n_best} is larger than decoding.beam={self.beam}; set "
                f"decoding.beam={self.n_best} or more."
            )
        for key in () if self.sample else SAMPLING_NAMES:
            if getattr(self, key) != getattr(DecodingConfig, key):
                raise UserError(f"decoding.{key} needs decoding.sample=true; set both or neither.")

    @property
    def name(self) -> str:
        """Name of this search in folders and tables: ``greedy`` or ``beam5-no-unk``.

        Searches whose results may differ have different names.
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
