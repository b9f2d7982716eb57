"""A corpus is repeated to the size asked for, prepared, and gone through once."""

import json
from collections import Counter

import large_corpus
from harness import compose_config
from helpers.reversal import write_reversal_corpus
from large_corpus import benchmark_large_corpus
from measure import Watched


def test_each_size_is_prepared_and_read_and_leaves_only_figures(tmp_path, monkeypatch):
    padded: Counter[int] = Counter()
    collate = large_corpus.collate

    def counted(pairs, indices):
        padded.update(indices.tolist())
        return collate(pairs, indices)

    def here(work):  # fresh processes have tests of their own
        return Watched(work(), 0.5, {"peak MB": 2.0, "own MB": 1.0, "processes": 1})

    monkeypatch.setattr(large_corpus, "collate", counted)
    monkeypatch.setattr(large_corpus, "watch", here)
    write_reversal_corpus(tmp_path / "corpus", train=7)
    config = compose_config(
        "large_corpus",
        [
            *("corpus=files", "corpus.source=en", "corpus.target=de"),
            *(f"corpus.directory={tmp_path / 'corpus'}", "batch_size=3", "pairs=[5,20]"),
            *("tokenization.kind=whitespace", "tokenization.vocabulary_size=null"),
            *(f"data={tmp_path}", f"output={tmp_path / 'output'}"),
        ],
    )
    table = benchmark_large_corpus(config)
    assert padded == Counter(range(5)) + Counter(range(20))
    runs = json.loads(table.with_suffix(".json").read_text())["runs"]
    assert [(run["pairs"], run["pairs/s"]) for run in runs] == [(n, 2 * n) for n in (5, 5, 20, 20)]
    assert runs[2]["encoded MB"] > runs[0]["encoded MB"] > 0
    left = {path.name for path in (tmp_path / "output").iterdir()}
    assert left == {"large-corpus.json", "large-corpus.md"}
