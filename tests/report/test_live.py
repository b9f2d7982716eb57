"""What the live page holds, and what it leaves out."""

import json
import logging
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.page_material import SETTINGS
from helpers.synthetic_translations import evaluated, translated
from helpers.word_models import save_words, word_checkpoint

from seq2seq.checkpoint import load_checkpoint
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.report.live import LARGEST, live_page, obstacle, render_live, rounded

HOSTILE = "</script><script>alert(1)</script> <!-- \ud83d {{ content }}"


def content(page: bytes) -> dict:
    return json.loads(re.search('id="content">(.*?)</script>', page.decode(), re.DOTALL)[1])


def test_weights_are_rounded_to_a_byte_of_their_row():
    scales = 10.0 ** np.arange(-20, 20, dtype=np.float32)
    weights = np.random.default_rng(1).normal(size=(40, 30)).astype(np.float32) * scales[:, None]
    weights[3] = 0
    levels, step = rounded(weights)
    assert levels.dtype == np.int8
    assert (abs(levels * step[:, None] - weights) <= step[:, None] / 2 * 1.001).all()
    assert (abs(levels).max(axis=1) == 127).sum() == 39  # the whole range is used


@pytest.mark.parametrize(
    ("kind", "decoder", "reason"),
    [
        ("additive", {}, "None"),
        ("general", {}, "kind=general"),
        ("additive", {"layers": 2}, "layers"),
        ("additive", {"order": "luong"}, "order=luong"),
        ("additive", {"readout": "tanh"}, "readout=tanh"),
    ],
)
def test_models_that_the_page_cannot_compute_are_named(kind, decoder, reason):
    config = word_checkpoint(kind, **decoder).config
    assert reason in str(obstacle(config, LARGEST))
    assert obstacle(config, LARGEST + 1)


def test_systems_without_their_checkpoint_are_left_out_and_said_to_be(tmp_path, caplog):
    evaluations, checkpoints = [], {}
    for seed, name in enumerate(("kept", "changed", "deleted", "given")):
        checkpoints[name] = save_words(tmp_path / name / "checkpoints" / "best", "additive", seed)
        digest = load_checkpoint(checkpoints[name], torch.device("cpu")).sha256
        identity = {"system": [{"path": "../checkpoints/best", "sha256": digest}]}
        texts, folder = translated({5: 3}, lambda n: 0.5), tmp_path / name / "evaluations" / "test"
        search = "given" if name == "given" else "beam5"
        evaluations.append(evaluated(folder, texts, name, identity=identity, search=search))
    save_words(checkpoints["changed"], "additive", 9)
    shutil.rmtree(checkpoints["deleted"])
    comparison = compare_systems(evaluations, "kept", SETTINGS)
    caplog.set_level(logging.INFO)
    page = live_page(comparison)
    assert not re.search(rb"https?://|src=|@import|url\(", page)  # it takes all from itself
    found = content(page)
    (system,) = found["systems"]
    assert system["name"] == "kept"
    assert "/" not in str(system["model"]["weights"])  # so that no chance text looks like a path
    assert (found["source"], found["target"]) == ("en", "de")
    assert all(f"{name}:" in caplog.messages[0] for name in ("changed", "deleted", "given"))
    assert live_page(replace(comparison, systems=comparison.systems[1:])) is None


def test_no_text_breaks_out_of_the_page():
    ready = [{"length": "1 word", "pairs": [{"source": HOSTILE, "reference": HOSTILE}]}]
    page = render_live({"systems": [{"name": HOSTILE}], "ready": ready})
    assert page.count(b"<script") == 2
    assert content(page)["systems"] == [{"name": HOSTILE.replace("\ud83d", "?")}]
