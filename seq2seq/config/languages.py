"""Languages in which BLEU needs another tokenizer, or words are not those between spaces."""

BLEU_TOKENIZERS = {"ja": "ja-mecab", "jpn": "ja-mecab", "ko": "ko-mecab", "kor": "ko-mecab"}
BLEU_TOKENIZERS |= dict.fromkeys(("zh", "zho", "cmn", "yue"), "zh")
BLEU_TOKENIZERS |= dict.fromkeys(
    ("bo", "bod", "km", "khm", "lo", "lao", "my", "mya", "th", "tha"), "char"
)
"""Language -> tokenizer of sacreBLEU, where it is not 13a."""
UNSPACED = ("zh", "ja-mecab", "char")
"""Tokenizers of languages that are written without spaces between words."""


def bleu_tokenizer(code: str) -> str:
    """Tokenizer of sacreBLEU for a language code; zh-TW and zho_Hans count as Chinese."""
    return BLEU_TOKENIZERS.get(code.lower().replace("_", "-").partition("-")[0], "13a")


def is_unspaced(code: str) -> bool:
    """Whether the language of a code is written without spaces between words."""
    return bleu_tokenizer(code) in UNSPACED
