"""Evaluating a stranger's run writes into its own evaluations folder, little, and nothing else."""

import json
import re
import shutil
from pathlib import Path

import pytest
from helpers.reversal import evaluation_of, write_reversal_corpus
from helpers.small_checkpoint import reseal

from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate

CONFIG, PIECES = "checkpoints/best/config.json", "checkpoints/best/vocabulary.target.tsv"
OWN = "evaluations/own-greedy"
FILES = ["hypotheses.txt", "sources.txt", "scores.json", "counts.npz", "sentences.json"]


def corpus(kind: str, **changes: object) -> tuple[str, dict[str, object]]:
    languages = {"source": "en", "target": "fr" if kind == "europarl" else "de"}
    return CONFIG, {"corpus": {"kind": kind, **languages, **changes}}


CRAFTED = [  # a file of the run, and its changes or where it leads as a link
    *(
        corpus(kind, source=place)
        for kind in ("grammar", "multi30k", "europarl", "files")
        for place in ("x/../../../evil", "../../evil", "/evil", "..")
    ),
    *(corpus("grammar", **{key: 10**15}) for key in ("train", "valid", "test_per_bucket")),
    corpus("grammar", max_words=120, test_per_bucket=10**7),
    *(corpus("files", directory=f"VICTIM{end}", test_pairs=9) for end in ("", "/corpus", "/mine")),
    corpus("files", directory="VICTIM/corpus"),
    *(corpus(kind, mirror="file://VICTIM/") for kind in ("europarl", "multi30k")),
    corpus("europarl", directory="VICTIM"),
    (CONFIG, {"data": "VICTIM", "output": "VICTIM", "name": "../../evil"}),
    (CONFIG, {"system": "../evil", "systems": {"../evil": {}, "no-attention": {}}}),
    (PIECES, {}),
    *((name, "victim") for name in ("evaluations", OWN)),
    *((f"{OWN}/{name}", "victim/mine") for name in FILES),
    *((f"{OWN}/{name}.part", "victim/mine") for name in FILES),
    ("run.json", {"progress": 5, "hardware": ["x"]}),
    ("run.json", {"system": "\u001b[2J"}),
]


def alter(run: Path, name: str, what: str | dict[str, object]) -> None:
    path = run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(what, str):
        path.symlink_to(run.parent / what)
    elif name == PIECES:  # of a million letters each
        path.write_text(re.sub("(?m)^(?=[A-H]\t)", "A" * 10**6, path.read_text()))
    else:
        content = what if name != CONFIG else json.loads(path.read_bytes()) | what
        path.write_text(json.dumps(content).replace("VICTIM", str(run.parent / "victim")))
    reseal(run / "checkpoints" / "best")


def contents(folder: Path, but: Path) -> dict[Path, bytes | None]:
    found = (path for path in folder.rglob("*") if but not in (path, *path.parents))
    return {path: path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.slow
@pytest.mark.unchecked
def test_a_crafted_run_chooses_neither_where_nor_how_much_is_written(run, tmp_path, monkeypatch):
    refused = 0
    for number, (name, what) in enumerate(CRAFTED):
        root = tmp_path / str(number)
        copy, here = root / "run", root / "here"
        shutil.copytree(run / "checkpoints" / "best", copy / "checkpoints" / "best")
        write_reversal_corpus(root / "victim" / "corpus")
        (root / "victim" / "mine").write_text("precious")
        here.mkdir()
        monkeypatch.chdir(here)
        for file in ("own", "own.ref"):
            Path(file).write_text("a b\nc\n")
        alter(copy, name, what)
        before = contents(root, copy / "evaluations")
        for texts in ({}, {"source": "own", "reference": "own.ref"}):
            try:
                evaluate(evaluation_of(copy, data="data", **texts))
            except (UserError, OSError):  # the script says both in one line
                refused += 1
        assert contents(root, copy / "evaluations") == before, (name, what)
        written = [path for path in copy.rglob("evaluations/**/*") if path.is_file()]
        assert sum(path.lstat().st_size for path in written) < 10**6, (name, what)
    assert len(CRAFTED) <= refused < 2 * len(CRAFTED)  # some of them are evaluated
