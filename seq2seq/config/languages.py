"""Languages in which BLEU needs another tokenizer, or words are not those between spaces."""

import re

BLEU_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
BLEU_TOKENIZERS |= dict.fromkeys(("bo", "km", "lo", "my", "th"), "char")
"""Language -> tokenizer of sacreBLEU; 13a for all others."""
TWO_LETTERS = {
    "bod": "bo", "chi": "zh", "cmn": "zh", "jpn": "ja", "khm": "km", "kor": "ko", "lao": "lo",
    "mya": "my", "tha": "th", "yue": "zh", "zho": "zh",
}  # fmt: skip


def base_language(code: str) -> str:
    """Language of a code, without region or script: zh for zh-TW, zh_Hant and zho."""
    base = re.split("[-_]", code.lower())[0]
    return TWO_LETTERS.get(base, base)


def is_unspaced(code: str) -> bool:
    """Whether the language of a code is written without spaces between words."""
    return base_language(code) in BLEU_TOKENIZERS and base_language(code) != "ko"


def language_of(name: str) -> str:
    """Language code at the end of a file's name, news.zh or news.pt-BR.gz; empty without one."""
    code = rf"(?:(?!gz|xz)[a-z]{{2}}|{'|'.join(TWO_LETTERS)})(?:[-_]\w+)?"
    found = re.search(rf"\.({code})(?:\.gz|\.xz)?$", name)
    return found[1] if found else ""
