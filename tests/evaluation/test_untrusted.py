"""Evaluating a stranger's run writes into its own evaluations folder, little, and nothing else."""

import contextlib
import json
import os
import shutil
from pathlib import Path

import pytest
from helpers.reversal import write_reversal_corpus
from helpers.small_checkpoint import reseal
from helpers.toy_evaluation import settings

from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate

pytestmark = pytest.mark.unchecked

CORPORA = {
    "grammar": {"seed": 1, "train": 9, "valid": 9, "test_per_bucket": 9, "max_words": 20},
    "multi30k": {},
    "europarl": {"max_words": 9, "max_ratio": 3.0, "valid_pairs": 9, "test_pairs": 9},
    "files": {"valid_pairs": 9, "test_pairs": 9},
}
PLACES = ["x/../../../evil", "../../evil", "/evil", ".."]


def corpus(kind: str, **changes: object) -> dict[str, object]:
    whole = {"kind": kind, "source": "en", "target": "de" if kind != "europarl" else "fr"}
    return {"corpus": {**whole, **CORPORA[kind], **changes}}


def config(changes: dict[str, object]):
    """What alters the config of a checkpoint; FOLDER stands for one with the text of a victim."""

    def alter(run: Path) -> None:
        path = run / "checkpoints" / "best" / "config.json"
        text = json.dumps({**json.loads(path.read_bytes()), **changes})
        path.write_text(text.replace("FOLDER", str(run.parent / "victim")))

    return alter


def link(name: str, target: str):
    """What puts a link into the run, to the victim's folder or to a file in it."""

    def alter(run: Path) -> None:
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).symlink_to(run.parent / target)

    return alter


def write(name: str, content: str):
    def alter(run: Path) -> None:
        (run / name).write_text(content)

    return alter


def swell(run: Path) -> None:
    """Make each piece of the target a million letters."""
    path = run / "checkpoints" / "best" / "vocabulary.target.tsv"
    *lines, end = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:4], *("A" * 10**6 + line for line in lines[4:]), end]))


FILES = ["hypotheses.txt", "sources.txt", "scores.json", "counts.npz", "sentences.json"]
CRAFTED = [
    *(config(corpus(kind, source=place)) for kind in CORPORA for place in PLACES),
    *(config(corpus("grammar", **{key: 10**15})) for key in ("train", "valid", "test_per_bucket")),
    config(corpus("grammar", max_words=120, test_per_bucket=10**7)),
    *(config(corpus("files", directory=f"FOLDER{end}")) for end in ("", "/corpus", "/pairs.tsv")),
    config(corpus("files", directory="FOLDER/corpus", valid_pairs=None, test_pairs=None)),
    *(config(corpus(kind, mirror="file://FOLDER/")) for kind in ("europarl", "multi30k")),
    config(corpus("europarl", directory="FOLDER")),
    config({"data": "FOLDER", "output": "FOLDER", "name": "../../evil"}),
    config({"system": "../evil", "systems": {"../evil": {}, "no-attention": {}}}),
    swell,
    link("evaluations", "victim"),
    link("evaluations/own-greedy", "victim"),
    *(link(f"evaluations/own-greedy/{name}", "victim/precious") for name in FILES),
    *(link(f"evaluations/own-greedy/{name}.part", "victim/precious") for name in FILES),
    write("run.json", '{"progress": 5, "hardware": ["x"]}'),
    write("run.json", '{"system": "\\u001b[2J"}'),
]


def contents(folder: Path, but: Path) -> dict[Path, object]:
    """What is in a folder, links as links, without what is in one below it that is no link."""
    inside = {}
    for place, folders, files in os.walk(folder):
        here = Path(place)
        folders[:] = [f for f in folders if here / f != but and not (here / f).is_symlink()]
        inside |= {here / name: (here / name).read_bytes() for name in files}
        inside |= {here / name: None for name in folders}
    return inside


@pytest.mark.slow
def test_a_crafted_run_chooses_neither_where_nor_how_much_is_written(run, tmp_path, monkeypatch):
    assert len(CRAFTED) >= 35
    refused = 0
    for number, alter in enumerate(CRAFTED):
        root = tmp_path / str(number)
        copy = root / "run"
        shutil.copytree(run / "checkpoints" / "best", copy / "checkpoints" / "best")
        write_reversal_corpus(root / "victim" / "corpus")
        (root / "victim" / "precious").write_text("mine")
        (root / "victim" / "pairs.tsv").write_text("".join(f"a {n}\tA {n}\n" for n in range(99)))
        (root / "here").mkdir()
        monkeypatch.chdir(root / "here")
        for name in ("own", "own.ref"):
            Path(name).write_text("a b\nc\n")
        alter(copy)
        reseal(copy / "checkpoints" / "best")
        before = contents(root, copy / "evaluations")
        for texts in ({}, {"source": "own", "reference": "own.ref"}):
            try:
                evaluate(settings(copy, data="data", **texts))
            except UserError:
                refused += 1
        assert contents(root, copy / "evaluations") == before, number
        written = [path for path in copy.rglob("evaluations/**/*") if path.is_file()]
        assert sum(path.lstat().st_size for path in written) < 10**6, number
    assert len(CRAFTED) <= refused < 2 * len(CRAFTED)  # some of them are evaluated


def test_the_test_sets_of_a_moved_text_are_found_where_directory_says(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    config(corpus("files", directory="gone"))(copy)
    reseal(copy / "checkpoints" / "best")
    with pytest.raises(UserError, match="directory="):
        evaluate(settings(copy))
    folder = write_reversal_corpus(tmp_path / "moved")
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(copy / "evaluations")
    assert evaluate(settings(copy, directory=str(folder)))[0].overall.sentences == 100
