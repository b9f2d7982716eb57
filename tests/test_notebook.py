"""The notebook, run with toy sizes, shows in each cell what the committed one shows."""

import re

import pytest
from helpers.commands import ROOT, TOY

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """Everything in its outputs: MIME type -> texts, one below the other."""
    texts = {}
    for output in cell.outputs:
        for kind, text in (output.get("data") or {"text/plain": output.text}).items():
            texts[kind] = f"{texts.get(kind, '')}\n{text}".strip()
    return texts


@pytest.mark.slow
def test_every_cell_shows_what_the_committed_one_shows(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "with-and-without-attention.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    committed = [shown(cell) for cell in code_cells(notebook)]
    sizes = [*TOY, "training.dev_bleu_sentences=0", "decoding.max_ratio=0.5"]
    code_cells(notebook)[0].source = f'name, sizes = "toy", {sizes}'
    (folder := tmp_path / "docs").mkdir()
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=None, resources=place).execute()
    executed = [shown(cell) for cell in code_cells(notebook)]
    assert [cell.keys() for cell in executed] == [cell.keys() for cell in committed]
    assert (tmp_path / "outputs" / "toy" / "no-attention" / "seed-1").is_dir()
    assert len(text) < 300_000
    assert not re.search(r"/(home|Users|root|tmp|work)/|iopub|\\u001b\[", text)
