"""An English-German grammar that writes parallel text of any size, deterministic from a seed.

Tokens have spaces between them, and sentences begin without capitals: each word has one form. The
English side determines the German one, so a perfect translator into German would reach 100 BLEU.
Words are drawn almost uniformly from large classes, so that the content of a sentence grows with
its length while the state of a recurrent network does not.
"""

import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import accumulate, islice, repeat
from operator import mul
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from seq2seq.config import GrammarCorpus
from seq2seq.data.grammar.composer import Composer, Tokens
from seq2seq.data.text import LineWriter, TextFolder, word_count
from seq2seq.errors import UserError
from seq2seq.files import digest

SHORTEST = 3
"""Number of words of the shortest sentence, full stop included: "Anna sleeps ."."""
BAND = 10
"""Width of the length bands, in words; the test set has equally many pairs in each."""
DECAY = 0.96
"""Probability of a training sentence of n + 1 words, divided by that of one of n words."""


class SentencePair(NamedTuple):
    """A sentence, its translation, and sorted (source word, target word), counted from 0."""

    source: str
    target: str
    links: tuple[tuple[int, int], ...]

    def reversed(self) -> "SentencePair":
        return SentencePair(self.target, self.source, tuple(sorted((j, i) for i, j in self.links)))


def sentence(rng: random.Random, words: int, source: str = "en") -> SentencePair:
    """Draw a pair whose English side has exactly ``words`` words, at least 3."""
    english, german, *_ = Composer(rng).line(words)
    german = _merge_commas(german)
    positions: dict[int, list[int]] = defaultdict(list)
    for j, (_, link) in enumerate(german):
        if link:
            positions[link].append(j)
    pair = SentencePair(
        " ".join(word for word, _ in english),
        " ".join(word for word, _ in german),
        tuple((i, j) for i, (_, link) in enumerate(english) for j in positions.get(link, ())),
    )
    return pair if source == "en" else pair.reversed()


def training_pairs(config: GrammarCorpus, split: str) -> Iterator[SentencePair]:
    """Yield pairs without end, with the lengths of training; seed and split decide the text."""
    rng = random.Random(f"{config.seed} {split}")
    weights = accumulate(repeat(DECAY, config.max_words - SHORTEST), mul, initial=1.0)
    bounds = list(accumulate(weights))
    while True:
        words = SHORTEST + bisect_right(bounds, rng.random() * bounds[-1])
        pair = sentence(rng, words, config.source)
        if SHORTEST <= word_count(pair.source) <= config.max_words:
            yield pair


def banded_pairs(config: GrammarCorpus) -> list[SentencePair]:
    """Draw ``test_per_bucket`` distinct pairs per band of ten source words; shuffle them."""
    rng = random.Random(f"{config.seed} test")
    pairs: dict[str, SentencePair] = {}
    for low in range(1, config.max_words + 1, BAND):
        shortest, longest = max(low, SHORTEST), min(low + BAND - 1, config.max_words)
        wanted = len(pairs) + config.test_per_bucket
        while len(pairs) < wanted:
            words = shortest + int(rng.random() * (longest - shortest + 1))
            pair = sentence(rng, words, config.source)
            if shortest <= word_count(pair.source) <= longest:
                pairs.setdefault(pair.source, pair)
    return sorted(pairs.values(), key=lambda _: rng.random())


def write_corpus(config: GrammarCorpus, directory: Path) -> None:
    """Write train, valid and test text; a source of test or valid occurs once in all splits."""
    test = banded_pairs(config)
    seen = {pair.source for pair in test}
    fresh = (pair for pair in training_pairs(config, "valid") if pair.source not in seen)
    valid: dict[str, SentencePair] = {}
    while len(valid) < config.valid:
        pair = next(fresh)
        valid.setdefault(pair.source, pair)
    seen |= valid.keys()
    train = (pair for pair in training_pairs(config, "train") if pair.source not in seen)
    splits = {"test": test, "valid": valid.values(), "train": islice(train, config.train)}
    for split, pairs in splits.items():
        source, target = (directory / f"{split}.{name}" for name in (config.source, config.target))
        total = config.train if split == "train" else None  # the others have a length
        with LineWriter(source) as sources, LineWriter(target) as targets:
            for pair in tqdm(pairs, f"writing {split}", total, disable=None):
                sources.write(pair.source)
                targets.write(pair.target)


def _merge_commas(tokens: Tokens) -> Tokens:
    """Merge adjacent commas, and drop a comma before another mark or the end."""
    merged: Tokens = []
    for word, link in tokens:
        if merged and merged[-1][0] == "," and word in (",", ";", ".", "?", "!"):
            link = link or (merged[-1][1] if word == "," else 0)
            merged.pop()
        merged.append((word, link))
    return merged[:-1] if merged[-1][0] == "," else merged


def text_folder(config: GrammarCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the folder, next to ``home``, named by settings and code, and what writes the text."""
    if own is not None:
        raise UserError(
            "corpus.directory is set, but corpus=grammar writes its own text; remove it, or set "
            "corpus=files for your own text."
        )
    numbers = config.seed, config.train, config.valid, config.test_per_bucket, config.max_words
    code = map(Path.read_bytes, sorted(Path(__file__).parent.glob("*.*")))
    name = digest([repr((config.source, numbers)).encode(), *code])
    return home.with_name(f"grammar-{name[:12]}"), partial(write_corpus, config)
