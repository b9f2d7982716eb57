"""Settings of search and scoring."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from seq2seq.config.checks import Count, Place, between, one_of, settings
from seq2seq.errors import UserError

Beam = Annotated[int, between(1, 10_000)]
TOKENIZERS = ("13a", "zh", "ja-mecab", "ko-mecab", "flores200", "spm", "intl", "char", "none")
BLEU_TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "cmn", "yue"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
    **dict.fromkeys(("bo", "km", "lo", "my", "th", "bod", "khm", "lao", "mya", "tha"), "char"),
}
"""Language -> tokenizer of sacreBLEU, where it is not 13a."""
UNSPACED = ("zh", "ja-mecab", "char")
"""Tokenizers of languages that are written without spaces between words."""
UNITS = {"words": 1, "characters": 2}
"""Unit of length -> number of these units that count as one word in the default limits."""


def bleu_tokenizer(code: str) -> str:
    """Tokenizer of sacreBLEU for a language code; zh-TW and zho_Hans are Chinese, too."""
    return BLEU_TOKENIZERS.get(code.lower().replace("_", "-").partition("-")[0], "13a")


def unspaced(language: str) -> bool:
    """Whether the language with this code is written without spaces between words."""
    return bleu_tokenizer(language) in UNSPACED


@settings
class DecodingConfig:
    """Settings of the search for translations."""

    beam: Beam = 5
    """Number of hypotheses kept per sentence; 1 is greedy search."""
    n_best: Beam = 1
    """Number of hypotheses returned per sentence, at most ``beam``; fewer if fewer are finished."""
    length_penalty: Annotated[float, between(0)] = 1.0
    """Exponent of the length in a hypothesis's score, log-probability / length ** length_penalty:
    0 for no penalty, 1 for the mean log-probability per piece."""
    batch_size: Count = 128
    """Number of sentences translated together. In float32 it changes only speed and memory; with
    bfloat16 also some translations, so compare systems with one value."""
    max_ratio: Annotated[float, between(0, 1000)] = 2.0
    """Factor in the maximum length of a hypothesis: max_ratio x source pieces + max_extra pieces.
    """
    max_extra: Annotated[int, between(1, 1_000_000)] = 10
    """Number of pieces added to the maximum length of a hypothesis; see max_ratio."""

    def __post_init__(self) -> None:
        if self.n_best > self.beam:
            raise UserError(
                f"decoding.n_best={self.n_best} is larger than decoding.beam={self.beam}."
            )

    @property
    def name(self) -> str:
        """Name of this search in folders and tables; another one where results may differ."""
        words = ["greedy" if self.beam == 1 else f"beam{self.beam}"]
        for key in ("length_penalty", "max_ratio", "max_extra"):
            value = getattr(self, key)
            if value != getattr(DecodingConfig, key):
                word = key.removeprefix("max_").replace("_", "-")
                words.append(word + repr(value).removesuffix(".0"))
        return "-".join(words)


@settings
class EvaluationConfig:
    """Settings of the scoring: length buckets, bootstrap, tokenization for BLEU."""

    seed = 12_345  # of the bootstrap; no setting
    confidence = 0.95  # level of the intervals; no setting
    length_unit: Annotated[str, one_of(*UNITS)] | None = None
    """Unit of source length: words (between spaces) | characters (spaces do not count). null:
    in ``compare``, the unit of the evaluations; elsewhere characters for the source languages bo,
    ja, km, lo, my, th and zh, and words for all others."""
    length_buckets: list[Count] | None = None
    """Upper limits of the length buckets, counted in length_unit; a last bucket holds all longer
    sentences. null for 10, 20, 30, 40, 50 and 60 words, or for 20, 40, ..., 120 characters."""
    buckets: Place | None = None
    """File with a label for each source, line by line, such as its domain: scores are then grouped
    by label, not by length."""
    bootstrap: Annotated[int, between(100, 1_000_000)] = 1_000
    """Number of bootstrap resamples for intervals and paired tests."""
    tokenize: Annotated[str, one_of(*TOKENIZERS)] | None = None
    """Tokenizer of sacreBLEU, also for dev BLEU: 13a (the usual one) | zh | ja-mecab | ko-mecab |
    flores200 | spm | intl | char | none (splits at spaces, for tokenized text). null: by target
    language (zh, ja-mecab, ko-mecab; char for bo, km, lo, my and th; 13a for all others); in
    ``compare``, the tokenizer of the evaluations."""

    @property
    def unit(self) -> str:
        return self.length_unit or "words"

    @property
    def grouping(self) -> str:
        """What the labels of the buckets are."""
        return f"source {self.unit}" if self.buckets is None else Path(self.buckets).name

    @property
    def caption(self) -> str:
        return "BLEU by source length" if self.buckets is None else f"BLEU by {self.grouping}"

    @property
    def edges(self) -> list[int]:
        usual = [10 * UNITS[self.unit] * n for n in range(1, 7)]
        return sorted({*(self.length_buckets or usual)})

    @property
    def ends(self) -> tuple[int, int]:
        """The largest length of a short source, and the length above which a source is long.

        Both depend on ``length_unit`` alone, so that nobody can fit them to results."""
        return 20 * UNITS[self.unit], 30 * UNITS[self.unit]

    def for_languages(self, source: str, target: str) -> "EvaluationConfig":
        """Copy with ``tokenize`` and ``length_unit`` of two languages, unless they are set."""
        unit = "characters" if unspaced(source) else "words"
        unit, tokenize = self.length_unit or unit, self.tokenize or bleu_tokenizer(target)
        return replace(self, tokenize=tokenize, length_unit=unit)
