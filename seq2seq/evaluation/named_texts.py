"""Test sets beside the corpus's own: two files of one name, which end with the language codes."""

from collections.abc import Mapping
from pathlib import Path

from seq2seq.config import CorpusConfig
from seq2seq.data.parallel_text import ParallelText, find_file, find_pair
from seq2seq.errors import UserError


def find_test_texts(paths: Mapping[str, str], corpus: CorpusConfig) -> dict[str, ParallelText]:
    """The files of each test set, in the languages of ``corpus``; plain, .gz or .xz.

    Word links are found as a corpus's are, under the ending ``.align``.

    Args:
        paths: name -> path without the language, ``texts/news`` for texts/news.en, texts/news.fr.
        corpus: what the model is trained on.

    Raises:
        UserError: a file is missing, is there plain and packed with other text, or a name is none
            or might be one of the corpus's own.
    """
    found = {}
    for name, path in paths.items():
        if not name or name != Path(name).name:
            raise UserError(
                f"test_texts names {name}, which is no name; give a word or two without slashes."
            )
        if name.startswith("test"):
            raise UserError(
                f"test_texts names {name}, but names that begin with test are those of the "
                "corpus's own; give it another name."
            )
        folder, stem = Path(path).parent, Path(path).name
        pair = find_pair(folder, [(f"{stem}.{corpus.source}", f"{stem}.{corpus.target}")])
        source, target = pair.values()
        if source is None or target is None:
            missing = next(name for name, file in pair.items() if file is None)
            raise UserError(
                f"test_texts: there is no {folder / missing}, nor with .gz or .xz; give "
                f"{name}=PATH of two files without the language codes at their ends."
            )
        found[name] = ParallelText(source, target, find_file(folder, [f"{stem}.align"]))
    return found
