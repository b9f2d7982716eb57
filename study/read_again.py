"""``python study/read_again.py TRAINING TEST...``: count content words in packed evaluations.

Each argument is the path of an English-French text without its language, for example
``europarl/train europarl/test newstest/newstest2014``. The references of each pool (a file below
results/) are looked up, by their SHA-256, among the tests and among what ``same_content`` makes of
them. A pool whose references are not found stays as it is.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from packed import RESULTS, read_all, with_content, write_all
from same_content import same_content

from seq2seq.data.text import ParallelText, find_texts, read_pairs
from seq2seq.files import digest


def find(stem: str) -> ParallelText:
    """Find a text by its path without the language."""
    texts = find_texts(Path(stem).parent, ("en", "fr"))
    if Path(stem).name not in texts:
        sys.exit(f"{stem}: its .en or .fr is missing; check the path.")
    return texts[Path(stem).name]


def all_references(tests: Sequence[ParallelText]) -> Iterator[list[str]]:
    """References of the test sets, and of those that ``same_content`` makes of them."""
    for text in tests:
        sources, references = zip(*read_pairs(text.source, text.target), strict=True)
        yield [*references]
        for _, lines in same_content(sources, references):
            yield [reference for _, reference in lines]


def main(train: str, *tests: str, results: Path = RESULTS) -> None:
    """Write again each pool whose references are found."""
    known = {
        digest(f"{line}\n".encode() for line in references): references
        for references in all_references([*map(find, tests)])
    }
    for path in sorted(results.rglob("*.npz.xz")):
        pool = path.with_name(path.name.removesuffix(".npz.xz"))
        systems = read_all(pool)
        if references := known.get(systems[0].record["reference"]):
            print(write_all(pool, with_content(systems, references, lambda: find(train))))


if __name__ == "__main__":
    main(*sys.argv[1:])
