"""What the scans keep; their numbers and gradients: test_decoder.py, against the plain loop."""

import torch

from seq2seq.model.encoder import Source
from seq2seq.model.fast.scan import attention_scan


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


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
        attention_scan(*leaves, source, leaf(size, 5), leaf(size), leaf(steps, batch, size))
    assert 0 < sum(kept) < steps * batch * positions * size / 4
