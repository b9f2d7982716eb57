"""A few German and English sentences for comparisons with other toolkits."""

from pathlib import Path

from seq2seq.data.text import Corpus, ParallelText

SOURCE = ["Ein Hund läuft.", "Ein  Mann, ein Hund", "", "Zwei Männer laufen."] * 3
TARGET = ["A dog runs.", "A man, a dog", "Nothing.", "Two men run."] * 3


def write_corpus(folder: Path) -> Corpus:
    """Write train, valid and test text, all alike; one pair in four lacks its source."""

    def write(name: str) -> ParallelText:
        paths = folder / f"{name}.de", folder / f"{name}.en"
        for path, lines in zip(paths, (SOURCE, TARGET), strict=True):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return ParallelText(*paths)

    folder.mkdir(parents=True)
    return Corpus("files", "de", "en", write("train"), write("valid"), {"test": write("test")})
