"""The notebook, run with toy sizes, and as it is committed."""

import ast
import re
from pathlib import Path

import pytest
from helpers.commands import TOY

pytestmark = pytest.mark.slow

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "with-and-without-attention.ipynb"


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """Everything in its outputs: MIME type -> texts, one below the other."""
    texts = {}
    for output in cell.outputs:
        for kind, text in (output.get("data") or {"text/plain": output.text}).items():
            texts[kind] = f"{texts.get(kind, '')}\n{text}".strip()
    return texts


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The code cells, after they ran with other sizes."""
    folder = tmp_path_factory.mktemp("repository") / "docs"
    folder.mkdir()
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    sizes = [*TOY, "training.dev_bleu_sentences=0", "decoding.max_ratio=0.5"]
    code_cells(notebook)[0].source = f'name, sizes = "toy", {sizes}'
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder / "ipython"))
        place = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(notebook, timeout=None, resources=place).execute()
    assert (folder.parent / "outputs" / "toy" / "no-attention" / "seed-1").is_dir()
    return code_cells(notebook)


def test_every_cell_shows_what_it_is_for(executed):
    _, training, lengths, best, alternatives, unknown, scores, both = map(shown, executed)
    assert training == {}  # its progress is gone
    assert "</svg>" in lengths["image/svg+xml"]
    assert re.search(r"\| +no-attention \| +attention \|", lengths["text/markdown"])
    assert "data:image/svg+xml;base64," in best["text/html"]
    ranked = [float(line.split()[0]) for line in alternatives["text/plain"].splitlines()]
    assert ranked == sorted(ranked, reverse=True)
    assert len(ranked) == 3
    assert "zebra" in ast.literal_eval(unknown["text/plain"])
    assert len(re.findall(r" -\d+\.\d\d\b", scores["text/plain"])) == 4
    assert re.fullmatch(r"\*\*attention\*\*: .+\n\*\*no attention\*\*: .+", both["text/markdown"])


def test_the_committed_notebook_has_its_outputs_and_nothing_of_a_machine(executed):
    text = NOTEBOOK.read_text(encoding="utf-8")
    committed = code_cells(nbformat.reads(text, as_version=4))
    assert [shown(cell).keys() for cell in committed] == [shown(cell).keys() for cell in executed]
    assert len(text) < 300_000
    assert not re.search(r"/(home|Users|root|tmp|work)/|iopub|\\u001b\[", text)
