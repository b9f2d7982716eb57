"""Self-attention: slow loops, the trainer's own.

The large arrays stand for the small ones, which the same lines of code make.
"""

import numpy as np
import pytest
import torch
from attention_loops import mixed, softmax
from slow_loops import against_the_largest, assert_steps, product, scaled_scores, self_attention

from seq2seq.config import AttentionConfig
from seq2seq.explain.self_attention import multi_head, scaled_dot, softmax_axis
from seq2seq.model.attention.dot_product import MultiHeadAttention, ScaledDotAttention
from seq2seq.model.encoder import Source

WORDS = [[0.2, 0.9, 0.1, 0.5], [0.8, 0.3, 0.7, 0.2], [0.4, 0.6, 0.3, 0.9]]
W_Q = [[0.9 if row == column else 0.1 for column in range(4)] for row in range(4)]
W_V = [[0.8, 0.2, 0.1, 0.1], [0.2, 0.8, 0.2, 0.1], [0.1, 0.2, 0.8, 0.1], [0.1, 0.1, 0.1, 0.9]]
FOUR_WORDS = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
CLOSE = {"rtol": 0, "atol": 1e-6}


def test_scaled_dot_equals_the_slow_loop():
    example = scaled_dot(large=True)
    queries, values = product(WORDS, W_Q), product(WORDS, W_V)
    found = self_attention(queries, queries, values)
    expected = {
        "words": WORDS,
        "W_q = W_k": W_Q,
        "W_v": W_V,
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


def test_softmax_axis_equals_the_slow_loops():
    example = softmax_axis(large=True)
    stream = np.random.RandomState(42)
    w_q, w_k, w_v = (stream.randint(3, size=(3, 3)).astype(float).tolist() for _ in range(3))
    queries, keys, values = (product(FOUR_WORDS, matrix) for matrix in (w_q, w_k, w_v))
    scaled = scaled_scores(queries, keys)
    of_all, count = softmax([score for row in scaled for score in row]), len(FOUR_WORDS)
    wrong = [of_all[start : start + count] for start in range(0, count**2, count)]
    expected = {
        "words": FOUR_WORDS,
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
        "wrong outputs": [mixed(row, values) for row in wrong],
        "right sums": np.ones(count),
    }
    assert_steps(example, expected | self_attention(queries, keys, values, "right "))
    taken = example["right weighted values"].reshape(count, count, -1).sum(axis=1)
    np.testing.assert_allclose(taken, example["right outputs"], rtol=1e-12)


def test_multi_head_equals_the_slow_loop():
    example = multi_head(large=True)
    queries, values = product(WORDS, W_Q), product(WORDS, W_V)
    for head, part in (("head 1", slice(0, 2)), ("head 2", slice(2, 4))):
        query, value = ([row[part] for row in rows] for rows in (queries, values))
        expected = {
            f"{head} queries": query,
            f"{head} keys": query,
            f"{head} values": value,
            f"{head} scaled scores": scaled_scores(query, query),
        }
        assert_steps(example, expected | self_attention(query, query, value, f"{head} "))
        taken = example[f"{head} weighted values"].reshape(3, 3, 2).sum(axis=1)
        np.testing.assert_allclose(taken, example[f"{head} outputs"], rtol=1e-12)
    joined = np.hstack([example["head 1 outputs"], example["head 2 outputs"]])
    np.testing.assert_array_equal(example["outputs"], joined)


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
