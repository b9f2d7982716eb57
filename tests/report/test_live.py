"""What the live page holds, and what it leaves out."""

import base64
import json
import logging
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.synthetic_translations import evaluated, translated
from helpers.word_models import ENGLISH, rounded_translator, save_words, word_checkpoint

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.report.live import LARGEST, live_page, obstacle, packed, ready_sentences, render_live

CPU = torch.device("cpu")


def content(page: bytes) -> dict:
    text = page.decode()
    begin = text.index('id="content">') + len('id="content">')
    return json.loads(text[begin : text.index("</script>", begin)])


@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_weights_are_rounded_to_a_byte_and_unpacked_alike(kind, tmp_path):
    checkpoint = word_checkpoint(kind)
    exact = {name: p.detach().clone() for name, p in checkpoint.model.named_parameters()}
    written = packed(save_words(tmp_path / "model", kind))
    assert written["source"][4:] == ENGLISH
    rounded_translator(checkpoint)  # changes the checkpoint's model
    total = 0
    for name, parameter in checkpoint.model.named_parameters():
        weights = written["weights"]
        rows, columns, text = weights.get(name) or weights["output.weight"]  # they are tied
        assert "/" not in text  # so that no chance text looks like a path
        content = base64.urlsafe_b64decode(text)
        numbers = np.frombuffer(content, "<f4", rows)
        if columns:
            steps = np.frombuffer(content, np.int8, offset=4 * rows).reshape(rows, columns)
            error = np.abs(steps * numbers[:, None] - exact[name].numpy())
            assert (error <= numbers[:, None] / 2 * 1.001).all()
            numbers = steps * numbers[:, None]
        np.testing.assert_array_equal(numbers, parameter.detach().numpy())
        total += numbers.size
    assert total == checkpoint.model.parameter_counts()["total"]


def test_models_that_the_page_cannot_compute_are_named():
    assert obstacle(word_checkpoint("additive").config, 1) is None
    for kind, options, reason in (
        ("general", {}, "kind=general"),
        ("additive", {"layers": 2}, "layers"),
        ("additive", {"order": "luong"}, "order=luong"),
        ("additive", {"readout": "tanh"}, "readout=tanh"),
    ):
        assert reason in obstacle(word_checkpoint(kind, **options).config, 1)
    assert "parameters" in obstacle(word_checkpoint("additive").config, LARGEST + 1)


@pytest.fixture
def comparison(tmp_path):
    """Four systems: a checkpoint that is still there, a changed one, a deleted one, and none."""
    evaluations = []
    for number, name in enumerate(("kept", "changed", "deleted", "given")):
        run = tmp_path / name
        folder = save_words(run / "checkpoints" / "best", "additive", number, system=name)
        digest = load_checkpoint(folder, CPU).sha256
        identity = {"system": [{"path": "../checkpoints/best", "sha256": digest}]}
        record = {"search": "given"} if name == "given" else {}
        texts = translated({5: 3, 12: 2}, lambda n: 0.5, number)
        folder = run / "evaluations" / "test-beam5"
        evaluations.append(evaluated(folder, texts, name, identity=identity, **record))
    save_words(tmp_path / "changed" / "checkpoints" / "best", "additive", 9)
    shutil.rmtree(tmp_path / "deleted" / "checkpoints")
    return compare_systems(evaluations, "kept", EvaluationConfig(bootstrap=100))


def test_systems_without_their_checkpoint_are_left_out_and_said_to_be(comparison, caplog):
    caplog.set_level(logging.INFO)
    whole = live_page(comparison)
    asks = (b"http://", b"https://", b"src=", b"@import", b"url(")
    assert not any(mark in whole for mark in asks)  # it takes all from itself
    page = content(whole)
    assert [system["name"] for system in page["systems"]] == ["kept"]
    assert (page["source"], page["target"]) == ("en", "de")
    (line,) = caplog.messages
    for name in ("changed:", "deleted:", "given:"):
        assert name in line
    alone = replace(comparison, systems=comparison.systems[1:])
    assert live_page(alone) is None


def test_ready_sentences_are_the_first_of_their_lengths():
    texts = translated({7: 5, 10: 2, 11: 4, 14: 1, 31: 1, 57: 2, 63: 1}, lambda n: 1.0)
    found = ready_sentences(texts.sources, texts.references, EvaluationConfig())
    assert [group["length"] for group in found] == ["10 words", "14 words", "31 words", "57 words"]
    sources = [[pair["source"] for pair in group["pairs"]] for group in found]
    of = {n: [s for s in texts.sources if len(s.split()) == n] for n in (10, 11, 14, 31, 57, 63)}
    assert sources == [[*of[10], of[11][0]], of[14], of[31], [*of[57], *of[63]]]
    for group in found:
        for pair in group["pairs"]:
            line = texts.sources.index(pair["source"])
            assert pair["reference"] == texts.references[line]
    assert ready_sentences([""], [""], EvaluationConfig()) == []
    (group,) = ready_sentences(["汉" * 41], ["x"], EvaluationConfig(length_unit="characters"))
    assert group["length"] == "41 characters"


def test_no_text_breaks_out_of_the_page():
    hostile = "</script><script>alert(1)</script> <!-- \ud83d {{ content }}"
    ready = [{"length": "1 word", "pairs": [{"source": hostile, "reference": hostile}]}]
    page = render_live([{"name": hostile}], ("en", "de"), ready)
    usual = render_live([{"name": "usual"}], ("en", "de"), [])
    assert page.count(b"<script") == usual.count(b"<script")
    shown = content(page)["ready"][0]["pairs"][0]["source"]
    assert shown == hostile.replace("\ud83d", "?")
