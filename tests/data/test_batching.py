"""Batches hold every pair once, stay within bounds, repeat by seed and epoch, and waste little."""

from functools import cache
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


def pairs_of(sources, targets):
    def side(sentences):
        flat = np.array(list(chain.from_iterable(sentences)), np.int32)
        return flat, np.cumsum([0, *map(len, sentences)], dtype=np.int64)

    return EncodedPairs(
        *side([[*source, EOS] for source in sources]),
        *side(targets),
        np.arange(1, len(sources) + 1),
    )


def pairs_of_lengths(source, target):
    return pairs_of([[5] * n for n in source.tolist()], [[6] * n for n in target.tolist()])


@cache
def random_pairs(count, related=True):
    random = np.random.default_rng(0)
    source = random.integers(1, 51, count)
    if not related:
        return pairs_of_lengths(source, random.integers(1, 51, count))
    target = np.maximum(1, np.round(source * random.normal(1.1, 0.2, count)).astype(int))
    return pairs_of_lengths(source, target)


def slow_collate(pairs, indices):
    def matrix(rows):
        width = max(map(len, rows))
        return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])

    sources, targets = zip(*(ids_of(pairs, i) for i in indices), strict=True)
    width = 1 + max(map(len, targets))
    cells = [row * width + column for row, t in enumerate(targets) for column in range(len(t) + 1)]
    return Batch(
        matrix(sources),
        torch.tensor([len(source) for source in sources]),
        matrix([[BOS, *target] for target in targets]),
        matrix([[*target, EOS] for target in targets]),
        torch.tensor(cells),
    )


SOURCES = st.lists(st.integers(1, 99), max_size=9)
TARGETS = st.lists(st.integers(1, 99), min_size=1, max_size=9)
SENTENCES = st.lists(st.tuples(SOURCES, TARGETS), min_size=1, max_size=8)


@given(SENTENCES, st.data())
def test_collate_equals_the_slow_reference(sentences, data):
    pairs = pairs_of([s for s, _ in sentences], [t for _, t in sentences])
    indices = data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=8))
    batch, expected = collate(pairs, np.array(indices)), slow_collate(pairs, indices)
    for name, actual, wanted in zip(Batch._fields, batch, expected, strict=True):
        assert actual.tolist() == wanted.tolist(), name
        assert actual.shape == wanted.shape, name
    assert {tensor.dtype for tensor in batch} == {torch.int64}


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_a_padded_batch_is_a_little_larger_and_says_nothing_more(rows, sources, targets):
    pairs = pairs_of([[5] * sources] * rows, [[6] * targets] * rows)
    batch = collate(pairs, range(rows))
    padded = batch.padded()
    for old, new in zip(batch[:-1], padded[:-1], strict=True):
        assert all(a <= b < 1.25 * a for a, b in zip(old.shape, new.shape, strict=True))
        inside = new[tuple(map(slice, old.shape))]
        assert inside.equal(old)
        added = int(new.sum() - old.sum())  # PAD is 0
        assert added == (len(new) - rows if old is batch.source_lengths else 0)
    assert padded.target_cells.tolist() == [*range(padded.target_output.numel())]


LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=200)


@given(LENGTHS, st.integers(1, 70), st.booleans(), st.integers(0, 3))
def test_every_pair_comes_once_within_the_bound(lengths, size, shuffle, epoch):
    pairs = pairs_of_lengths(*np.array(lengths).T)
    batches = BatchPlan(pairs, size, seed=7, shuffle=shuffle).epoch(epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs)))
    *full, last = sorted(map(len, batches), reverse=True)
    assert set(full) <= {size}
    assert 0 < last <= size


def test_the_order_is_a_function_of_seed_and_epoch():
    pairs = random_pairs(500)

    def order(seed, epoch):
        return [batch.tolist() for batch in BatchPlan(pairs, 16, seed).epoch(epoch)]

    plan = BatchPlan(pairs, 16, seed=1)
    plan.epoch(5)  # what was asked before does not matter
    assert [batch.tolist() for batch in plan.epoch(2)] == order(1, 2)
    assert order(1, 2) != order(1, 3)
    assert order(1, 2) != order(2, 2)
    assert order(1, 2) != order(2, 1)


def test_companions_and_lengths_are_mixed_from_epoch_to_epoch():
    pairs = random_pairs(4_000)
    plan = BatchPlan(pairs, 32, seed=1)
    for pair in range(5):
        companions: set[int] = set()
        for epoch in range(20):
            companions |= {int(i) for batch in plan.epoch(epoch) if pair in batch for i in batch}
        assert len(companions) > 3 * 32
    means = [float(pairs.source_lengths[batch].mean()) for batch in plan.epoch(0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3  # not in order of length


def test_evaluation_batches_are_the_same_in_every_epoch_and_sorted_by_length():
    pairs = random_pairs(3_000)
    plan = BatchPlan(pairs, 64, seed=1, shuffle=False)
    first, second = plan.epoch(0), plan.epoch(9)
    assert [batch.tolist() for batch in first] == [batch.tolist() for batch in second]
    means = [pairs.source_lengths[batch].mean() for batch in first]
    assert np.corrcoef(means, np.arange(len(means)))[0, 1] > 0.95


@pytest.mark.parametrize("related", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
def test_less_than_a_tenth_is_padding(related, shuffle):
    """Of the cells of both matrices of ``collate``, whose targets have an EOS, too."""
    pairs = random_pairs(15_000, related=related)
    sides = pairs.source_lengths, pairs.target_lengths + 1
    batches = BatchPlan(pairs, 64, seed=1, shuffle=shuffle).epoch(0)
    cells = sum(len(batch) * int(side[batch].max()) for batch in batches for side in sides)
    assert sum(int(side.sum()) for side in sides) > 0.90 * cells
