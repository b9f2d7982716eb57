"""Batches hold every pair once, stay within bounds, repeat by seed and epoch, and waste little."""

from itertools import chain

import numpy as np
import pytest
import torch
from helpers.samples import ids_of
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data.batching import Batch, BatchPlan, collate
from seq2seq.data.encoding import EncodedPairs
from seq2seq.data.vocabulary import BOS, EOS, PAD


def pairs_of(sentences):
    sides = []
    for side in ([[*source, EOS] for source, _ in sentences], [target for _, target in sentences]):
        sides.append(np.array([*chain.from_iterable(side)], np.int32))
        sides.append(np.cumsum([0, *map(len, side)], dtype=np.int64))
    return EncodedPairs(*sides, np.arange(len(sentences)))


def random_pairs(count, related=True):
    random = np.random.default_rng(0)
    source = random.integers(1, 51, count)
    target = np.maximum(1, np.round(source * random.normal(1.1, 0.2, count)).astype(int))
    if not related:
        random.shuffle(target)
    lengths = zip(source.tolist(), target.tolist(), strict=True)
    return pairs_of([([5] * source, [6] * target) for source, target in lengths])


def slow_collate(pairs, indices):
    def matrix(rows):
        width = max(map(len, rows))
        return [row + [PAD] * (width - len(row)) for row in rows]

    sources, targets = zip(*(ids_of(pairs, i) for i in indices), strict=True)
    outputs = [[*target, EOS] for target in targets]
    width = max(map(len, outputs))
    cells = [row * width + column for row, ids in enumerate(outputs) for column in range(len(ids))]
    inputs = [[BOS, *target] for target in targets]
    return [matrix(sources), [*map(len, sources)], matrix(inputs), matrix(outputs), cells]


IDS = st.lists(st.integers(1, 99), max_size=9)


@given(st.lists(st.tuples(IDS, IDS.filter(len)), min_size=1, max_size=8), st.data())
def test_collate_equals_the_slow_reference(sentences, data):
    pairs = pairs_of(sentences)
    indices = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=8))
    batch = collate(pairs, np.array(indices))
    assert [tensor.tolist() for tensor in batch] == slow_collate(pairs, indices)
    assert {tensor.dtype for tensor in batch} == {torch.int64}


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_a_padded_batch_is_a_little_larger_and_says_nothing_more(rows, source, target):
    batch = collate(pairs_of([([5] * source, [6] * target)] * rows), range(rows))
    padded = batch.padded()
    for name, old, new in zip(Batch._fields[:4], batch[:4], padded[:4], strict=True):
        assert all(a <= b < 1.25 * a for a, b in zip(old.shape, new.shape, strict=True))
        assert new[tuple(map(slice, old.shape))].equal(old)
        added = len(new) - rows if name == "source_lengths" else 0
        assert new.sum() - old.sum() == added  # PAD is 0
    assert padded.target_cells.tolist() == [*range(padded.target_output.numel())]


SIDE = st.integers(0, 30).map(lambda length: [5] * length)
SENTENCES = st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=200)


@given(SENTENCES, st.integers(1, 70), st.booleans(), st.integers(0, 3))
def test_every_pair_comes_once_within_the_bound(sentences, size, shuffle, epoch):
    batches = BatchPlan(pairs_of(sentences), size, seed=7, shuffle=shuffle).epoch(epoch)
    assert sorted(np.concatenate(batches).tolist()) == [*range(len(sentences))]
    *full, last = sorted(map(len, batches), reverse=True)
    assert {*full} <= {size}
    assert 0 < last <= size


def test_seed_and_epoch_decide_the_batches_of_training_and_mix_them():
    pairs = random_pairs(4_000)

    def order(seed, epoch):
        return [batch.tolist() for batch in BatchPlan(pairs, 32, seed).epoch(epoch)]

    plan = BatchPlan(pairs, 32, seed=1)
    epochs = [plan.epoch(epoch) for epoch in range(20)]
    assert [batch.tolist() for batch in epochs[2]] == order(1, 2)
    assert order(1, 2) not in (order(1, 3), order(2, 2), order(2, 1))
    for pair in range(5):
        companions = [batch for epoch in epochs for batch in epoch if pair in batch]
        assert len(np.unique(companions)) > 3 * 32
    means = [pairs.source_lengths[batch].mean() for batch in epochs[0]]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.3


@pytest.mark.parametrize("related", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_less_than_a_tenth_is_padding(related, shuffle):
    """Of the cells of both matrices of ``collate``, whose targets have an EOS, too."""
    pairs = random_pairs(15_000, related)
    sides = pairs.source_lengths, pairs.target_lengths + 1
    batches = BatchPlan(pairs, 64, seed=1, shuffle=shuffle).epoch(0)
    cells = sum(len(batch) * side[batch].max() for batch in batches for side in sides)
    assert sum(side.sum() for side in sides) > 0.90 * cells
