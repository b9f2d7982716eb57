"""Jumps, places and the forbidden end, where the answer is known."""

import middle
import numpy as np
import pytest
import skipped
import torch
from helpers.small_checkpoint import SENTENCES, save_tiny
from middle import Trace, Traced, read_traced, write_traced

from seq2seq.config import DecodingConfig
from seq2seq.decoding.beam_search import length_caps
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.significance import Pool


def everything(size):
    return Pool(np.ones(size, dtype=bool), 1, 100, 1)


def test_the_first_jump_is_the_first_step_of_more_than_ten_words():
    straight, short = [*range(40)], [0, 10, 20, 19, 29]
    skipping = [*range(20), 45, 46, 12, 60]
    found = skipped.first_jumps(Trace.of([straight, skipping, short, [], [7]]))
    assert found.tolist() == [[-1] * 4, [20, 19, 45, 4], [-1] * 4, [-1] * 4, [-1] * 4]


def test_medians_and_shares_are_those_of_numpy():
    values = np.random.default_rng(1).integers(-1, 30, size=151)
    there = values[values >= 0]
    found = skipped.median(everything(151), values)
    assert found[0] == np.sort(there)[(len(there) - 1) // 2]
    assert found[1:].std() > 0
    right = (values > 5).astype(int)
    ratio = skipped.share(everything(151), right, right + 1)
    assert ratio[0, 0] == pytest.approx(right.sum() / (right + 1).sum())


def test_what_is_traced_is_read_again(tmp_path):
    generator = np.random.default_rng(1)
    lines = [generator.integers(0, 70, size=size).tolist() for size in (5, 0, 9)]
    traces = {"a/always": Trace.of(lines), "a/reference": Trace.of(lines[::-1])}
    found = {"a/always": generator.integers(0, 2, size=11).astype(bool)}
    size = np.arange(11)
    one = Traced(np.array([5, 6, 7]), Trace.of([[1], [255, 2], []]), size, size % 10, traces, found)
    write_traced(tmp_path / "places.npz.xz", one)
    back = read_traced(tmp_path / "places.npz.xz")
    for name in ("words", "line", "tenth"):
        np.testing.assert_array_equal(getattr(back, name), getattr(one, name))
    assert back.traces.keys() == traces.keys()
    for name, trace in {"gold": one.gold, **traces}.items():
        read = back.gold if name == "gold" else back.traces[name]
        assert [of.tolist() for of in read.sentences] == [of.tolist() for of in trace.sentences]
    assert (back.found["a/always"] == found["a/always"]).all()
    assert read_traced(tmp_path / "nothing") is None


def test_places_are_those_of_the_links_and_right_if_within_two_words():
    gold = Trace.of([[*range(30)], [255, 3]])
    off = Trace.of([[*range(15), *(n + 3 for n in range(15, 30))], [0, 1]])
    none = np.zeros(0, dtype=np.int64)
    traced = Traced(np.array([30, 4]), gold, none, none, {"a/reference": off}, {})
    found = skipped.right_places(traced, "a", everything(2))[0]
    assert found[:4] == pytest.approx([1, 0.5, 0, 0])
    assert found[0] == 1  # 11 of 11: the unlinked word does not count


@pytest.mark.parametrize("beam", [1, 3])
def test_no_translation_ends_early_if_the_end_is_forbidden(tmp_path, beam):
    translator = Translator(save_tiny(tmp_path), "cpu", "fp32")
    with torch.no_grad():
        translator.model.output.bias[3] += 200.0  # else it hardly ends
    forbidding = type(translator).of_parts(
        **{**vars(translator), "model": middle.NoEnd.of(translator)}
    )
    search = DecodingConfig(beam=beam)
    for source in SENTENCES:
        pieces = len(translator.source.encode(source))
        assert len(translator.translate(source, search).pieces) < pieces
        assert len(forbidding.translate(source, search).pieces) == pieces
        cap = length_caps(torch.tensor([pieces + 1]), search)
        assert pieces < int(cap)
    together = [one.text for one in forbidding.translate(SENTENCES, search)]
    assert together == [forbidding.translate(one, search).text for one in SENTENCES]
    forced = translator.score(SENTENCES, together)
    assert all(np.isfinite(forced))
