"""Dropout: the share, the scale, the gradient, and where a model has it."""

from collections import Counter

import pytest
import torch
from helpers.small_model import LENGTHS, SOURCE, TARGET, build

from seq2seq.model.layers import Dropout


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.9])
def test_each_place_is_dropped_as_often_by_itself_and_the_mean_is_kept(share):
    """Four elements share one draw: they must not share their fate."""
    torch.manual_seed(1)
    x = torch.ones(50_000, 8, requires_grad=True)
    y = Dropout(share)(x)
    kept = (y != 0).double()
    spread = (share * (1 - share) / len(x)) ** 0.5
    assert (kept.mean(0) - (1 - share)).abs().max() < 5 * spread
    correlation = torch.corrcoef(kept.T) - torch.eye(8)
    assert correlation.abs().max() < 5 / len(x) ** 0.5
    torch.testing.assert_close(y.double(), kept / (1 - share), rtol=1e-4, atol=0)
    y.sum().backward()  # passes where the number passed
    torch.testing.assert_close(x.grad, y.detach())
    assert Dropout(share).eval()(x) is x


@pytest.mark.parametrize(
    ("order", "feeding", "recurrence"),
    [
        ("bahdanau", False, "fast"),
        ("bahdanau", False, "reference"),
        ("luong", False, "fast"),
        ("luong", False, "reference"),
        ("luong", True, "fast"),
    ],
)
@pytest.mark.parametrize("layers", [1, 3])
def test_a_model_drops_of_everything_that_its_config_names(
    monkeypatch, layers, order, feeding, recurrence
):
    """Embeddings by their share; states between layers and readout by theirs: each number once.

    The annotations are whole: one mask would fall on the fixed vector of the baseline, where
    attention has neighbours that tell nearly the same.
    """
    rows = Counter()  # by width and share

    def count(self, x):
        rows[x.shape[-1], self.share] += x.numel() // x.shape[-1]
        return x

    monkeypatch.setattr(Dropout, "forward", count)
    choices = {"order": order, "input_feeding": feeding, "recurrence": recurrence}
    shares = {"dropout": 0.37, "embedding_dropout": 0.21}
    build(layers=layers, dtype=torch.float32, settings=shares, **choices)(SOURCE, LENGTHS, TARGET)
    read, written = SOURCE.numel(), TARGET.numel()
    between = (read + written) * (layers - 1)  # states of encoder and decoder are equally wide
    expected = {(6, 0.21): read + written, (6, 0.37): written, (8, 0.37): between}
    assert rows == Counter(expected)
