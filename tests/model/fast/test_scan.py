"""The scans' gradients by finite differences; that they are the plain loop: ../test_decoder.py."""

import pytest
import torch

from seq2seq.model.encoder import Source, length_mask
from seq2seq.model.fast.scan import Score, attention_scan, lstm_scan


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def scan(gates, hidden, cell, weight, annotations, keys, vector, query_weight, queries):
    """Of a ragged batch: the results that carry a gradient."""
    positions = keys.shape[1]
    lengths = torch.tensor([positions, max(1, positions - 1)])
    source = Source(annotations, length_mask(lengths, positions), annotations[:, 0], keys)
    score = Score(query_weight, keys, vector)
    return attention_scan(gates, hidden, cell, weight, source, score, queries)[:2]


@pytest.mark.parametrize(
    ("vector", "query_weight", "queries"),
    [(True, True, True), (True, True, False), (False, True, False), (False, False, True)],
    ids=["additive with words", "additive", "general", "dot with words"],
)
@pytest.mark.parametrize(("steps", "positions"), [(3, 3), (1, 1)])
def test_an_attention_scan_passes_gradcheck(steps, positions, vector, query_weight, queries):
    torch.manual_seed(0)
    size = 4 if query_weight else 2  # of the query; that of the state is 2
    leaves = [leaf(steps, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 5), leaf(2, positions, 3)]
    leaves += [
        leaf(2, positions, size),
        leaf(size) if vector else None,
        leaf(size, 2) if query_weight else None,
        leaf(steps, 2, size) if queries else None,
    ]
    assert torch.autograd.gradcheck(scan, leaves)


def test_an_lstm_scan_passes_gradcheck():
    torch.manual_seed(0)
    assert torch.autograd.gradcheck(lstm_scan, (leaf(4, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 2)))


def test_what_is_kept_for_the_backward_pass_does_not_grow_with_steps_times_keys():
    """No (T, B, S, A) array: that is what makes long sentences fit."""
    batch, positions, size, steps = 4, 30, 64, 20
    kept = []

    def note(tensor):
        kept.append(tensor.numel())
        return tensor

    leaves = [leaf(steps, batch, 20), leaf(batch, 5), leaf(batch, 5), leaf(20, 11)]
    mask = torch.ones(batch, positions, dtype=torch.bool)
    annotations, keys = leaf(batch, positions, 6), leaf(batch, positions, size)
    source = Source(annotations, mask, annotations[:, 0], keys)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        attention_scan(*leaves, source, Score(leaf(size, 5), keys, leaf(size)), None)
    assert 0 < sum(kept) < steps * batch * positions * size / 4
