"""The test sets of the corpus that a model was trained on: of that split, and not of another."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from seq2seq.config import EvaluateConfig, ExperimentConfig, FilesCorpus
from seq2seq.data.corpora import load_corpus
from seq2seq.data.parallel_text import Corpus, ParallelText
from seq2seq.errors import UserError

logger = logging.getLogger(__name__)


def find_own_texts(
    config: EvaluateConfig, trained: ExperimentConfig, trainings: Iterable[Mapping[str, str]]
) -> dict[str, ParallelText]:
    """Every test set of the corpus, found or made as for the training.

    Args:
        config: where the text lies now.
        trained: says which corpus.
        trainings: the hashes of the text that each model was trained on, as far as they are known.

    Raises:
        UserError: the corpus is not there, or this program would split it otherwise than it was
            for a training: then the test text may hold what the model has learnt by heart.
    """
    corpus = replace(trained.corpus, mirror=None)  # a checkpoint names no host to talk to
    if config.directory is not None:
        corpus = replace(corpus, directory=config.directory)
        if isinstance(corpus, FilesCorpus):
            corpus = FilesCorpus(
                source=corpus.source, target=corpus.target, directory=config.directory
            )
    text = load_corpus(corpus, Path(config.data))
    _require_same_split(text, Path(config.data), list(trainings))
    return text.tests


def _require_same_split(text: Corpus, data: Path, trainings: list[Mapping[str, str]]) -> None:
    """Text that others split may have changed since: that is said. A split of ours must not."""
    if not trainings:
        return
    now = text.hashes()
    for before in trainings:
        changed = [name for name, digest in now.items() if before.get(name, digest) != digest]
        if not changed:
            continue
        found = f"{text.kind}: {text.train.source.parent} holds another text"
        if text.train.source.resolve().is_relative_to((data / "corpora").resolve()):
            raise UserError(
                f"{found} than the model was trained on ({', '.join(changed)}), so its test text "
                "may be training text; give the data= folder of the training, or text that it has "
                "not read (source and reference, or test_texts with test_sets=[])."
            )
        logger.warning(
            "%s than the model was trained on (%s): make sure that the test text is no part of "
            "what it has read.",
            found,
            ", ".join(changed),
        )
        return  # once for all models
