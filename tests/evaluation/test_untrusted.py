"""Evaluating a stranger's run writes into its own evaluations folder, little, and nothing else."""

import json
import shutil
from pathlib import Path

import pytest
from helpers.reversal import write_reversal_corpus
from helpers.small_checkpoint import reseal
from helpers.toy_evaluation import settings

from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate

OWN = "evaluations/own-greedy"
FILES = ["hypotheses.txt", "sources.txt", "scores.json", "counts.npz", "sentences.json"]


def corpus(kind: str, **changes: object) -> tuple[str, dict[str, object]]:
    languages = {"source": "en", "target": "fr" if kind == "europarl" else "de"}
    return "config", {"corpus": {"kind": kind, **languages, **changes}}


CRAFTED = [  # what is altered, and the changes; VICTIM stands for a folder outside the run
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
    ("config", {"data": "VICTIM", "output": "VICTIM", "name": "../../evil"}),
    ("config", {"system": "../evil", "systems": {"../evil": {}, "no-attention": {}}}),
    ("pieces", {}),
    *(("link", {name: "victim"}) for name in ("evaluations", OWN)),
    *(("link", {f"{OWN}/{name}": "victim/mine"}) for name in FILES),
    *(("link", {f"{OWN}/{name}.part": "victim/mine"}) for name in FILES),
    ("record", {"progress": 5, "hardware": ["x"]}),
    ("record", {"system": "\u001b[2J"}),
]


def alter(run: Path, how: str, what: dict[str, object]) -> None:
    best = run / "checkpoints" / "best"
    if how == "config":
        text = json.dumps(json.loads((best / "config.json").read_bytes()) | what)
        (best / "config.json").write_text(text.replace("VICTIM", str(run.parent / "victim")))
    elif how == "record":
        (run / "run.json").write_text(json.dumps(what))
    elif how == "link":
        for name, target in what.items():
            (run / name).parent.mkdir(parents=True, exist_ok=True)
            (run / name).symlink_to(run.parent / target)
    else:  # each piece of the target has a million letters
        path = best / "vocabulary.target.tsv"
        *lines, end = path.read_text().split("\n")
        path.write_text("\n".join([*lines[:4], *("A" * 10**6 + line for line in lines[4:]), end]))
    reseal(best)


def contents(folder: Path, but: Path) -> dict[Path, bytes | None]:
    found = (path for path in folder.rglob("*") if but not in (path, *path.parents))
    return {path: path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.slow
@pytest.mark.unchecked
def test_a_crafted_run_chooses_neither_where_nor_how_much_is_written(run, tmp_path, monkeypatch):
    refused = 0
    for number, (how, what) in enumerate(CRAFTED):
        root = tmp_path / str(number)
        copy, here = root / "run", root / "here"
        shutil.copytree(run / "checkpoints" / "best", copy / "checkpoints" / "best")
        write_reversal_corpus(root / "victim" / "corpus")
        (root / "victim" / "mine").write_text("precious")
        here.mkdir()
        monkeypatch.chdir(here)
        for name in ("own", "own.ref"):
            Path(name).write_text("a b\nc\n")
        alter(copy, how, what)
        before = contents(root, copy / "evaluations")
        for texts in ({}, {"source": "own", "reference": "own.ref"}):
            try:
                evaluate(settings(copy, data="data", **texts))
            except (UserError, OSError):  # the script says both in one line
                refused += 1
        assert contents(root, copy / "evaluations") == before, (how, what)
        written = [path for path in copy.rglob("evaluations/**/*") if path.is_file()]
        assert sum(path.lstat().st_size for path in written) < 10**6, (how, what)
    assert len(CRAFTED) <= refused < 2 * len(CRAFTED)  # some of them are evaluated
