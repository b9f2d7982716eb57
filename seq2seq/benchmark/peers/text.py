"""The text that all toolkits train on: tokenised once, lower-cased, with one word list a side."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.parallel_text import Corpus, ParallelText
from seq2seq.data.text import read_lines
from seq2seq.data.tokenization import MosesWordTokenizer
from seq2seq.errors import UserError
from seq2seq.files import write_whole


@dataclass(frozen=True)
class PeerText:
    """A folder with ``<split>.<language>`` for train, valid and test, and ``words.<language>``."""

    folder: Path
    source: str
    """Language of the source side: the ending of its files."""
    target: str
    """Language of the target side."""
    pairs: int
    """Training pairs."""
    target_tokens: int
    """Target tokens of the training pairs, an end of sentence for each included."""
    words: tuple[int, int]
    """Entries of the source and of the target word list, specials not counted."""

    def path(self, name: str, language: str) -> Path:
        """The file ``<name>.<language>``, from the root of the file system."""
        return (self.folder / f"{name}.{language}").absolute()

    def stem(self, name: str) -> Path:
        """The same without the language, for programs that add it."""
        return (self.folder / name).absolute()

    def require_epoch(self, updates: int, batch_size: int) -> None:
        """Refuse a run that needs more than one pass: between two, some toolkits read text anew."""
        most = self.pairs // batch_size
        if updates > most:
            raise UserError(
                f"A run is {updates} updates, the warm-up included, but one pass over "
                f"{self.folder} is {most} updates of {batch_size} sentences; lower peer_updates, "
                "or take more text."
            )


def write_text(corpus: Corpus, folder: Path, min_frequency: int) -> PeerText:
    """Tokenise ``corpus`` by the Moses rules, lower-case it, and list its words below ``folder``.

    Pairs with an empty side are left out. Of several test sets the first is taken. A word list
    holds the words of at least ``min_frequency`` training occurrences, the most frequent first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    source, target = corpus.source_language, corpus.target_language
    splits = {
        "train": corpus.train,
        "valid": corpus.valid,
        "test": next(iter(corpus.tests.values())),
    }
    tokenizers = MosesWordTokenizer(source), MosesWordTokenizer(target)
    counts: dict[str, Counter[str]] = {}
    pairs = 0
    for name, text in splits.items():
        kept = _tokenize(text, tokenizers)
        for side, language in enumerate((source, target)):
            lines = [pair[side] for pair in kept]
            content = "".join(" ".join(words) + "\n" for words in lines)
            write_whole(folder / f"{name}.{language}", content.encode())
            if name == "train":
                pairs = len(kept)
                counts[language] = Counter(word for words in lines for word in words)
    sizes = []
    for language, counted in counts.items():
        frequent = [word for word, count in counted.most_common() if count >= min_frequency]
        sizes.append(len(frequent))
        content = "".join(word + "\n" for word in frequent)
        write_whole(folder / f"words.{language}", content.encode())
    target_tokens = counts[target].total() + pairs
    return PeerText(folder, source, target, pairs, target_tokens, (sizes[0], sizes[1]))


def _tokenize(
    text: ParallelText, tokenizers: tuple[MosesWordTokenizer, MosesWordTokenizer]
) -> list[tuple[list[str], list[str]]]:
    """The words of each pair of which neither side is empty."""
    lines = zip(read_lines(text.source), read_lines(text.target), strict=True)
    pairs = [
        (_words(tokenizers[0], source), _words(tokenizers[1], target)) for source, target in lines
    ]
    return [pair for pair in pairs if all(pair)]


def _words(tokenizer: MosesWordTokenizer, line: str) -> list[str]:
    """Words free of any white space, at which each toolkit would split by rules of its own."""
    return " ".join(tokenizer.tokenize(line.lower())).split()
