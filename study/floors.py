"""``python study/floors.py EVALUATION``: scores of translations without any understanding.

Makes three "translations" of the test set of an evaluation folder and writes each as an evaluation
next to it, to be packed and compared:

- ``copying``: the source as it is;
- ``nearest``: the target of the model's training pair whose source shares the rarest words with the
  test source (cosine of inverse document frequencies);
- ``unrelated``: the reference of another test sentence, whose number of source words is equal or
  nearly equal.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from content import training_pairs

from seq2seq.checkpoint import read_config
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import word_count
from seq2seq.evaluation.folder import EXTERNAL, read_evaluation, write_evaluation
from seq2seq.evaluation.translations import Translations
from seq2seq.record import EvaluationRecord

MOST_SHARED = 0.02
"""Share of the training sentences above which a word is too common to find a sentence by."""


def nearest(sources: Sequence[str], train: Sequence[str]) -> list[int]:
    """Line of ``train`` that is nearest to each source; 0 if no line shares a rare word."""
    bags = [{*line.lower().split()} for line in train]
    frequency = Counter(word for bag in bags for word in bag)
    weight = {word: float(np.log(len(train) / count)) for word, count in frequency.items()}
    common = {w for w, count in frequency.items() if count > max(1, MOST_SHARED * len(train))}
    lines: defaultdict[str, list[int]] = defaultdict(list)
    norms = np.ones(len(train))
    for number, bag in enumerate(bags):
        for word in bag - common:
            lines[word].append(number)
        norms[number] = sum(weight[word] ** 2 for word in bag) ** 0.5 or 1.0
    found = []
    for source in sources:
        scores = np.zeros(len(train))
        for word in {*source.lower().split()} & lines.keys():
            scores[lines[word]] += weight[word] ** 2
        found.append(int((scores / norms).argmax()))
    return found


def unrelated(sources: Sequence[str]) -> list[int]:
    """Choose for each source the next source in the order of length; return the chosen lines.

    Sources of equal length are in random order. The longest source gets the one before it.
    """
    words = np.array([word_count(source) for source in sources])
    order = np.lexsort((np.random.default_rng(1).random(len(words)), words))
    following = np.empty(len(words), dtype=np.int64)
    following[order] = np.roll(order, -1)
    following[order[-1]] = order[-2] if len(order) > 1 else order[-1]
    return [int(line) for line in following]


def main(evaluation: str) -> None:
    """Write the three evaluations."""
    model = read_evaluation(Path(evaluation))
    sources, references = model.texts.sources, model.texts.references
    config = read_config(Path(str(model.record.checkpoint)))
    text, corpus = load_corpus(config.corpus, Path(config.data)).train, config.corpus
    train = training_pairs(text, corpus.train_pairs, corpus.train_max_words)
    read, written = zip(*train, strict=True)
    floors = {
        "copying": sources,
        "nearest": [written[line] for line in nearest(sources, read)],
        "unrelated": [references[line] for line in unrelated(sources)],
    }
    for name, hypotheses in floors.items():
        texts = Translations(sources, references, hypotheses, capped=[])
        record = EvaluationRecord(
            experiment=model.record.experiment,
            system=name,
            test_set=model.record.test_set,
            search=EXTERNAL,
            identity=model.record.identity,
        )
        folder = model.directory.parent / f"{model.directory.name}-{name}"
        print(write_evaluation(folder, texts, model.settings, record).directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
