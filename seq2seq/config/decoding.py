from dataclasses import dataclass
from typing import Annotated

from seq2seq.config.checks import Count, Settings, between
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_best > self.beam:
            raise UserError(
                f"decoding.n_best={self.n_best} is larger than decoding.beam={self.beam}; set "
                f"decoding.beam={self.n_best} or more."
            )

    @property
    def name(self) -> str:
        """Name of this search in folders and tables: ``greedy`` or ``beam5-no-unk``.

        Searches whose results may differ have different names.
        """
        words = ["greedy" if self.beam == 1 else f"beam{self.beam}"]
        for key, word in SEARCH_NAMES.items():
            value = getattr(self, key)
            if value != getattr(DecodingConfig, key):
                number = repr(value).removesuffix(".0")
                words.append(word if isinstance(value, bool | str) else word + number)
        return "-".join(words)
