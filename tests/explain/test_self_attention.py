"""Self-attention: known numbers, slow loops, PyTorch's own attention, the trainer's own."""

import math

import numpy as np
import pytest
import torch
from slow_loops import against_the_largest, attend, product, self_attention, softmax

from seq2seq.config import AttentionConfig
from seq2seq.explain.self_attention import multi_head, scaled_dot, softmax_axis
from seq2seq.explain.walkthrough import Walkthrough
from seq2seq.model.attention import Attention
from seq2seq.model.attention.dot_product import MultiHeadAttention, ScaledDotAttention
from seq2seq.model.encoder import Source

WORDS = [[0.2, 0.9, 0.1, 0.5], [0.8, 0.3, 0.7, 0.2], [0.4, 0.6, 0.3, 0.9]]
W_Q = [[0.9 if row == column else 0.1 for column in range(4)] for row in range(4)]
W_V = [[0.8, 0.2, 0.1, 0.1], [0.2, 0.8, 0.2, 0.1], [0.1, 0.2, 0.8, 0.1], [0.1, 0.1, 0.1, 0.9]]
FOUR_WORDS = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
CLOSE = {"rtol": 0, "atol": 1e-6}


def columns(rows, part):
    return [row[part] for row in rows]


def test_scaled_dot_equals_the_slow_loop():
    walkthrough = scaled_dot()
    queries, values = product(WORDS, W_Q), product(WORDS, W_V)
    weights, outputs = self_attention(queries, queries, values)
    scores = product(queries, [list(column) for column in zip(*queries, strict=True)])
    for name, expected in {
        "words": WORDS,
        "W_q = W_k": W_Q,
        "W_v": W_V,
        "queries": queries,
        "keys": queries,
        "values": values,
        "scores": scores,
        "scaled scores": [[score / 2 for score in row] for row in scores],
        "exponentials": [against_the_largest(row) for row in weights],
        "weights": weights,
        "outputs": outputs,
    }.items():
        np.testing.assert_allclose(walkthrough[name], expected, rtol=1e-12)
    # "she: likes" is the second of nine: what she takes of likes.
    likes = [weights[0][1] * number for number in values[1]]
    np.testing.assert_allclose(walkthrough["weighted values"][1], likes, rtol=1e-12)
    np.testing.assert_allclose(
        walkthrough["weighted values"].reshape(3, 3, 4).sum(axis=1), outputs, rtol=1e-12
    )


def test_numbers_of_up_to_five_decimals_are_exact():
    walkthrough = scaled_dot()
    for step in walkthrough.steps:
        if step.decimals <= 5:
            np.testing.assert_allclose(step.values, step.values.round(step.decimals), atol=1e-15)
    assert walkthrough["scores"][0].round(10).tolist() == [1.2884, 1.064, 1.452]


def test_scaled_dot_equals_torch():
    walkthrough = scaled_dot()
    words, w_q, w_v = (torch.tensor(rows, dtype=torch.float64) for rows in (WORDS, W_Q, W_V))
    query, value = words @ w_q, words @ w_v
    outputs = torch.nn.functional.scaled_dot_product_attention(query, query, value)
    np.testing.assert_allclose(walkthrough["outputs"], outputs.numpy(), **CLOSE)


def test_the_wrong_softmax_has_the_known_numbers_and_so_has_the_right_one():
    walkthrough = softmax_axis()
    wrong, right = walkthrough["wrong outputs"][0], walkthrough["right outputs"][0]
    assert wrong[0] == pytest.approx(0.992901880, abs=0.51e-9)
    assert wrong[1] == pytest.approx(1.62883281, abs=0.51e-8)
    assert wrong[2] == pytest.approx(0.635930933, abs=0.51e-9)
    np.testing.assert_allclose(right, [0.99996933, 1.64042681, 0.64045748], rtol=0, atol=0.51e-8)


def test_softmax_axis_equals_the_slow_loops():
    before = np.random.get_state()
    np.random.seed(42)
    w_q, w_k, w_v = (np.random.randint(3, size=(3, 3)).astype(float).tolist() for _ in range(3))
    np.random.set_state(before)
    walkthrough = softmax_axis()
    queries, keys, values = (product(FOUR_WORDS, matrix) for matrix in (w_q, w_k, w_v))
    for name, expected in {
        "words": FOUR_WORDS,
        "W_q": w_q,
        "W_k": w_k,
        "W_v": w_v,
        "queries": queries,
        "keys": keys,
        "values": values,
    }.items():
        assert walkthrough[name].tolist() == expected

    scaled = []
    for query in queries:
        for key in keys:
            scaled.append(sum(a * b for a, b in zip(query, key, strict=True)) / math.sqrt(3))
    np.testing.assert_allclose(walkthrough["scaled scores"].ravel(), scaled, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["scores"].ravel() / math.sqrt(3), scaled, rtol=1e-12)
    of_all = softmax(scaled)
    exponentials = walkthrough["wrong exponentials"].ravel()
    np.testing.assert_allclose(exponentials, against_the_largest(of_all), rtol=1e-12)
    np.testing.assert_allclose(walkthrough["wrong weights"].ravel(), of_all, rtol=1e-12)
    assert walkthrough["wrong weights"].sum() == pytest.approx(1)
    for word in range(4):
        own = of_all[4 * word : 4 * word + 4]
        assert walkthrough["wrong sums"][word, 0] == pytest.approx(sum(own))
        np.testing.assert_allclose(
            walkthrough["wrong outputs"][word], attend(own, values), rtol=1e-12
        )

    weights, outputs = self_attention(queries, keys, values)
    np.testing.assert_allclose(walkthrough["right weights"], weights, rtol=1e-12)
    of_rows = [against_the_largest(row) for row in weights]
    np.testing.assert_allclose(walkthrough["right exponentials"], of_rows, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["right outputs"], outputs, rtol=1e-12)
    np.testing.assert_allclose(walkthrough["right sums"], np.ones((4, 1)), rtol=1e-12)
    taken = walkthrough["weighted values"].reshape(4, 4, 3)
    np.testing.assert_allclose(taken.sum(axis=1), outputs, rtol=1e-12)


def test_softmax_axis_equals_torch():
    walkthrough = softmax_axis()
    query, key, value = (torch.tensor(walkthrough[name]) for name in ("queries", "keys", "values"))
    right = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(walkthrough["right outputs"], right.numpy(), **CLOSE)
    wrong = (query @ key.T / 3**0.5).flatten().softmax(dim=0).view(4, 4)
    np.testing.assert_allclose(walkthrough["wrong weights"], wrong.numpy(), **CLOSE)
    np.testing.assert_allclose(walkthrough["wrong outputs"], (wrong @ value).numpy(), **CLOSE)


def test_in_the_wrong_softmax_one_query_changes_the_outputs_of_all():
    """What the text gives as the reason, from the same arrays with another first query."""
    walkthrough = softmax_axis()
    query, key, value = (torch.tensor(walkthrough[name]) for name in ("queries", "keys", "values"))
    other = query.clone()
    other[0] = 0
    scores, changed = query @ key.T / 3**0.5, other @ key.T / 3**0.5
    right = (changed.softmax(dim=1) - scores.softmax(dim=1)) @ value
    wrong = changed.flatten().softmax(dim=0) - scores.flatten().softmax(dim=0)
    assert right[1:].abs().max() == 0
    assert ((wrong.view(4, 4) @ value)[1:].abs().max(dim=1).values > 1e-3).all()


def test_multi_head_equals_the_slow_loop():
    walkthrough = multi_head()
    queries, values = product(WORDS, W_Q), product(WORDS, W_V)
    joined = [[], [], []]
    for head, part in (("head 1", slice(0, 2)), ("head 2", slice(2, 4))):
        query, value = columns(queries, part), columns(values, part)
        weights, outputs = self_attention(query, query, value)
        np.testing.assert_allclose(walkthrough[f"{head} queries"], query, rtol=1e-12)
        np.testing.assert_allclose(walkthrough[f"{head} keys"], query, rtol=1e-12)
        np.testing.assert_allclose(walkthrough[f"{head} values"], value, rtol=1e-12)
        np.testing.assert_allclose(walkthrough[f"{head} weights"], weights, rtol=1e-12)
        exponentials = [against_the_largest(row) for row in weights]
        np.testing.assert_allclose(walkthrough[f"{head} exponentials"], exponentials, rtol=1e-12)
        scores = product(query, [list(column) for column in zip(*query, strict=True)])
        scaled = [[score / math.sqrt(2) for score in row] for row in scores]
        np.testing.assert_allclose(walkthrough[f"{head} scaled scores"], scaled, rtol=1e-12)
        np.testing.assert_allclose(walkthrough[f"{head} outputs"], outputs, rtol=1e-12)
        taken = walkthrough[f"{head} weighted values"].reshape(3, 3, 2)
        np.testing.assert_allclose(taken.sum(axis=1), outputs, rtol=1e-12)
        for row, output in zip(joined, outputs, strict=True):
            row += output
    np.testing.assert_allclose(walkthrough["outputs"], joined, rtol=1e-12)


def test_multi_head_equals_torch():
    words, w_q, w_v = (torch.tensor(rows, dtype=torch.float64) for rows in (WORDS, W_Q, W_V))
    query, value = ((words @ matrix).view(3, 2, 2).transpose(0, 1) for matrix in (w_q, w_v))
    heads = torch.nn.functional.scaled_dot_product_attention(query, query, value)
    joined = heads.transpose(0, 1).flatten(1)
    np.testing.assert_allclose(multi_head()["outputs"], joined.numpy(), **CLOSE)


def test_what_the_text_says_of_the_heads():
    walkthrough = multi_head()
    first, second = walkthrough["head 1 weights"][2], walkthrough["head 2 weights"][2]
    assert (first.argmax(), f"{first.max():.3f}") == (0, "0.338")
    assert (second.argmax(), f"{second.max():.3f}") == (2, "0.403")


def attend_to_itself(attention: Attention, words: np.ndarray, **weights: np.ndarray):
    """Contexts and weights of the trainer's attention, given these matrices, word by word."""
    memory = torch.tensor(words)[None]
    attention = attention.double()
    attention.load_state_dict({f"{n}.weight": torch.tensor(w.T) for n, w in weights.items()})
    mask = torch.ones(memory.shape[:2], dtype=torch.bool)
    with torch.no_grad():
        keys = attention.keys(memory)
        source = Source(memory, mask, torch.zeros_like(memory[:, 0]), keys)
        contexts, looked = attention.all_steps(memory, source)
    return contexts[0].numpy(), looked[0].numpy()


@pytest.mark.parametrize(
    ("walkthrough", "w_q", "w_k", "right"),
    [(scaled_dot(), "W_q = W_k", "W_q = W_k", ""), (softmax_axis(), "W_q", "W_k", "right ")],
    ids=["scaled_dot", "softmax_axis"],
)
def test_scaled_dot_is_what_the_trainer_computes(
    walkthrough: Walkthrough, w_q: str, w_k: str, right: str
):
    """Its values are the annotations themselves; W_v comes after the sum as well as before it."""
    words = walkthrough["words"]
    width = words.shape[1]
    contexts, looked = attend_to_itself(
        ScaledDotAttention(width, width, AttentionConfig(size=width)),
        words,
        query=walkthrough[w_q],
        key=walkthrough[w_k],
    )
    np.testing.assert_allclose(looked, walkthrough[f"{right}weights"], **CLOSE)
    outputs = contexts @ walkthrough["W_v"]
    np.testing.assert_allclose(outputs, walkthrough[f"{right}outputs"], **CLOSE)


def test_multi_head_is_what_the_trainer_computes():
    walkthrough = multi_head()
    contexts, looked = attend_to_itself(
        MultiHeadAttention(4, 4, AttentionConfig(size=4, heads=2)),
        walkthrough["words"],
        query=walkthrough["W_q = W_k"],
        key=walkthrough["W_q = W_k"],
        value=walkthrough["W_v"],
        joined=np.eye(4),
    )
    mean = (walkthrough["head 1 weights"] + walkthrough["head 2 weights"]) / 2
    np.testing.assert_allclose(looked, mean, **CLOSE)
    heads = [walkthrough["head 1 outputs"], walkthrough["head 2 outputs"]]
    np.testing.assert_allclose(contexts, np.hstack(heads), **CLOSE)
