from dataclasses import dataclass, replace
from typing import Annotated

from seq2seq.config.checks import Count, Natural, Settings, between, one_of, rising

TOKENIZERS = ("13a", "zh", "ja-mecab", "ko-mecab", "flores200", "spm", "intl", "char", "none")
BLEU_TOKENIZERS = {"zh": "zh", "zho": "zh", "cmn": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
BLEU_TOKENIZERS |= dict.fromkeys(("bo", "km", "lo", "my", "th"), "char")
"""Language -> tokenizer of sacreBLEU, where it is not 13a."""
UNSPACED = ("zh", "ja-mecab", "char")
"""Tokenizers of languages that are written without spaces between words."""
UNITS = {"words": 1, "characters": 2}
"""Unit of length -> the number that stands for one word where lengths are not set."""


def bleu_tokenizer(code: str) -> str:
    """Tokenizer of sacreBLEU for a language code; zh-TW and zho_Hans are Chinese, too."""
    return BLEU_TOKENIZERS.get(code.lower().replace("_", "-").partition("-")[0], "13a")


def unspaced(language: str) -> bool:
    """Whether a language, by its code, is written without spaces between words."""
    return bleu_tokenizer(language) in UNSPACED


@dataclass(kw_only=True)
class EvaluationConfig(Settings):
    """Settings of the scoring: length buckets, bootstrap, tokenization for BLEU."""

    length_unit: Annotated[str, one_of(*UNITS)] | None = None
    """Unit of source length: words (between spaces) | characters (without spaces); null for the
    source language: characters for bo, ja, km, lo, my, th and zh, else words. In ``compare``, null
    is the unit of the evaluations."""
    length_buckets: Annotated[list[Count], rising] | None = None
    """Upper limits of the length buckets, in this unit; one more bucket holds longer sentences.
    null for 10, 20, 30, 40, 50 and 60 words, or twice as many characters."""
    bootstrap: Annotated[int, between(100, 1_000_000)] = 1_000
    """Number of bootstrap resamples for intervals and paired tests."""
    seed: Natural = 12_345
    """Seed of the bootstrap."""
    confidence: Annotated[float, between(0.5, 0.999)] = 0.95
    """Confidence level of the intervals."""
    tokenize: Annotated[str, one_of(*TOKENIZERS)] | None = None
    """sacreBLEU tokenizer, also of dev BLEU: 13a (the usual one) | zh | ja-mecab | ko-mecab |
    flores200 | spm | intl | char | none (split at spaces, for tokenized text); null for the target
    language: zh, ja-mecab, ko-mecab, char (bo, km, lo, my, th), else 13a. In ``compare``, null is
    what the evaluations were scored with."""

    @property
    def unit(self) -> str:
        return self.length_unit or "words"

    @property
    def edges(self) -> list[int]:
        return self.length_buckets or [10 * UNITS[self.unit] * n for n in range(1, 7)]

    @property
    def ends(self) -> tuple[int, int]:
        """Longest short source, and the limit above which one is long, both fixed in advance."""
        return 20 * UNITS[self.unit], 30 * UNITS[self.unit]

    def for_languages(self, source: str, target: str) -> "EvaluationConfig":
        """Fill in what depends on the languages, codes such as zh or pt-BR."""
        unit = "characters" if unspaced(source) else "words"
        unit, tokenize = self.length_unit or unit, self.tokenize or bleu_tokenizer(target)
        return replace(self, tokenize=tokenize, length_unit=unit)
