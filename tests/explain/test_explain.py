"""The stage and its script: which examples, which files, the same bytes."""

from itertools import pairwise

from seq2seq.config import ExplainConfig
from seq2seq.explain.explain import explain


def headings(text):
    lines = text.split("\n")
    return [line.partition(":")[0] for line, below in pairwise(lines) if set(below) == {"="}]


def test_the_examples_named_are_explained_in_their_order(tmp_path):
    output = tmp_path / "deep" / "folder"
    text = explain(ExplainConfig(examples=["softmax_axis", "dot"], output=str(output)))
    expected = ["softmax_axis", "softmax_axis-large", "dot", "dot-large"]
    assert headings(text) == expected
    assert text.endswith(f"Pictures of these arrays are in {output}.")
    names = {path.name for path in output.iterdir()}
    assert names == {f"{name}.{form}" for name in expected for form in ("png", "svg")}
