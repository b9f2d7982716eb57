"""Self-attention: slow loops, the trainer's own."""

import numpy as np
import pytest
import torch
from slow_loops import (
    against_the_largest,
    assert_steps,
    attend,
    product,
    scaled_scores,
    self_attention,
    softmax,
)

from seq2seq.config import AttentionConfig
from seq2seq.explain.self_attention import multi_head, scaled_dot, softmax_axis
from seq2seq.model.attention.dot_product import MultiHeadAttention, ScaledDotAttention
from seq2seq.model.encoder import Source

WORDS = [[0.2, 0.9, 0.1, 0.5], [0.8, 0.3, 0.7, 0.2], [0.4, 0.6, 0.3, 0.9]]
W_Q = [[0.9 if row == column else 0.1 for column in range(4)] for row in range(4)]
W_V = [[0.8, 0.2, 0.1, 0.1], [0.2, 0.8, 0.2, 0.1], [0.1, 0.2, 0.8, 0.1], [0.1, 0.1, 0.1, 0.9]]
FOUR_WORDS = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
BOTH = pytest.mark.parametrize("large", [False, True])
CLOSE = {"rtol": 0, "atol": 1e-6}


def inputs(example, large):
    small = [example[name].tolist() for name in ("words", "W_q = W_k", "W_v")]
    return (WORDS, W_Q, W_V) if large else small


@BOTH
def test_scaled_dot_equals_the_slow_loop(large):
    example = scaled_dot(large)
    words, w_q, w_v = inputs(example, large)
    queries, values = product(words, w_q), product(words, w_v)
    found = self_attention(queries, queries, values)
    expected = {
        "words": words,
        "W_q = W_k": w_q,
        "W_v": w_v,
        "queries": queries,
        "keys": queries,
        "values": values,
        "products": [a * b for a, b in zip(queries[0], queries[1], strict=True)],
        "one score": sum(a * b for a, b in zip(queries[0], queries[1], strict=True)),
        "scores": product(queries, [list(column) for column in zip(*queries, strict=True)]),
        "scaled scores": scaled_scores(queries, queries),
    }
    assert_steps(example, expected | found)
    # "she: likes" is the second of nine: what she takes of likes.
    likes = [found["weights"][0][1] * number for number in values[1]]
    np.testing.assert_allclose(example["weighted values"][1], likes, rtol=1e-12)
    taken = example["weighted values"].reshape(3, 3, -1).sum(axis=1)
    np.testing.assert_allclose(taken, example["outputs"], rtol=1e-12)


@BOTH
def test_softmax_axis_equals_the_slow_loops(large):
    example = softmax_axis(large)
    words, w_q, w_k, w_v = (example[name].tolist() for name in ("words", "W_q", "W_k", "W_v"))
    if large:
        stream, words = np.random.RandomState(42), FOUR_WORDS
        w_q, w_k, w_v = (stream.randint(3, size=(3, 3)).astype(float).tolist() for _ in range(3))
    queries, keys, values = (product(words, matrix) for matrix in (w_q, w_k, w_v))
    scaled = scaled_scores(queries, keys)
    of_all, count = softmax([score for row in scaled for score in row]), len(words)
    wrong = [of_all[start : start + count] for start in range(0, count**2, count)]
    expected = {
        "words": words,
        "W_q": w_q,
        "W_k": w_k,
        "W_v": w_v,
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": product(queries, [list(column) for column in zip(*keys, strict=True)]),
        "scaled scores": scaled,
        "wrong exponentials": against_the_largest(of_all),
        "wrong weights": wrong,
        "wrong sums": [sum(row) for row in wrong],
        "wrong outputs": [attend(row, values) for row in wrong],
        "right sums": np.ones(count),
    }
    assert_steps(example, expected | self_attention(queries, keys, values, "right "))
    taken = example["right weighted values"].reshape(count, count, -1).sum(axis=1)
    np.testing.assert_allclose(taken, example["right outputs"], rtol=1e-12)


def test_in_the_wrong_softmax_one_query_changes_the_outputs_of_all():
    """What the text gives as the reason, from the same arrays with another first query."""
    example = softmax_axis(large=True)
    query, key, value = (torch.tensor(example[name]) for name in ("queries", "keys", "values"))
    other = query.clone()
    other[0] = 0
    scores, changed = query @ key.T / 3**0.5, other @ key.T / 3**0.5
    right = (changed.softmax(dim=1) - scores.softmax(dim=1)) @ value
    wrong = changed.flatten().softmax(dim=0) - scores.flatten().softmax(dim=0)
    assert right[1:].abs().max() == 0
    assert ((wrong.view(4, 4) @ value)[1:].abs().max(dim=1).values > 1e-3).all()


@BOTH
def test_multi_head_equals_the_slow_loop(large):
    example = multi_head(large)
    words, w_q, w_v = inputs(example, large)
    queries, values, width = product(words, w_q), product(words, w_v), len(w_q) // 2
    for head, part in (("head 1", slice(0, width)), ("head 2", slice(width, 2 * width))):
        query, value = ([row[part] for row in rows] for rows in (queries, values))
        expected = {
            f"{head} queries": query,
            f"{head} keys": query,
            f"{head} values": value,
            f"{head} scaled scores": scaled_scores(query, query),
        }
        assert_steps(example, expected | self_attention(query, query, value, f"{head} "))
        taken = example[f"{head} weighted values"].reshape(3, 3, width).sum(axis=1)
        np.testing.assert_allclose(taken, example[f"{head} outputs"], rtol=1e-12)
    joined = np.hstack([example["head 1 outputs"], example["head 2 outputs"]])
    np.testing.assert_array_equal(example["outputs"], joined)


@pytest.mark.parametrize(
    ("large", "one", "other"),
    [(True, (0, "0.338"), (2, "0.403")), (False, (1, "0.44"), (2, "0.50"))],
)
def test_what_the_text_says_of_the_heads(large, one, other):
    example = multi_head(large)
    for head, (place, weight) in ((1, one), (2, other)):
        weights = example[f"head {head} weights"][2]
        assert weights.argmax() == place
        assert f"{weights.max():.{len(weight) - 2}f}" == weight


def test_what_the_text_says_of_the_wrong_softmax():
    sums = softmax_axis()["wrong sums"][:, 0]
    assert f"{sums[2]:.2f}" == "0.93"
    assert sums[0] < 0.01


def attend_to_itself(attention, words, **weights):
    """Contexts and weights of the trainer's attention, given these matrices, word by word."""
    memory = torch.tensor(words)[None]
    attention = attention.double()
    attention.load_state_dict({f"{n}.weight": torch.tensor(w.T) for n, w in weights.items()})
    mask = torch.ones(memory.shape[:2], dtype=torch.bool)
    with torch.no_grad():
        source = Source(memory, mask, torch.zeros_like(memory[:, 0]), attention.keys(memory))
        contexts, looked = attention.all_steps(memory, source)
    return contexts[0].numpy(), looked[0].numpy()


@pytest.mark.parametrize(
    ("compute", "w_q", "w_k", "right"),
    [(scaled_dot, "W_q = W_k", "W_q = W_k", ""), (softmax_axis, "W_q", "W_k", "right ")],
)
def test_scaled_dot_is_what_the_trainer_computes(compute, w_q, w_k, right):
    """Its values are the annotations themselves; W_v comes after the sum as well as before it."""
    example = compute(large=True)
    words = example["words"]
    width = words.shape[1]
    attention = ScaledDotAttention(width, width, AttentionConfig(size=width))
    contexts, looked = attend_to_itself(attention, words, query=example[w_q], key=example[w_k])
    np.testing.assert_allclose(looked, example[f"{right}weights"], **CLOSE)
    np.testing.assert_allclose(contexts @ example["W_v"], example[f"{right}outputs"], **CLOSE)


def test_multi_head_is_what_the_trainer_computes():
    example = multi_head(large=True)
    w_q, w_v = example["W_q = W_k"], example["W_v"]
    attention = MultiHeadAttention(4, 4, AttentionConfig(size=4, heads=2))
    matrices = {"query": w_q, "key": w_q, "value": w_v, "joined": np.eye(4)}
    contexts, looked = attend_to_itself(attention, example["words"], **matrices)
    mean = (example["head 1 weights"] + example["head 2 weights"]) / 2
    np.testing.assert_allclose(looked, mean, **CLOSE)
    np.testing.assert_allclose(contexts, example["outputs"], **CLOSE)
