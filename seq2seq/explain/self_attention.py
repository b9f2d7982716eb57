"""Worked examples of words that attend to one another: scaled dot product, its softmax, heads.

Rows of scores and weights are queries, columns are keys: row i says where word i looks. Each
function computes one example from above to below, in float64.
"""

import numpy as np
from jaxtyping import Float

from seq2seq.explain.example import UNIT, Example

NAMES = ["she", "likes", "coffee"]
PAIRS = [f"{query}: {key}" for query in NAMES for key in NAMES]
WORDS = np.array([[0.2, 0.9, 0.1, 0.5], [0.8, 0.3, 0.7, 0.2], [0.4, 0.6, 0.3, 0.9]])
W_Q = W_K = 0.8 * np.eye(4) + 0.1
W_V = np.array(
    [[0.8, 0.2, 0.1, 0.1], [0.2, 0.8, 0.2, 0.1], [0.1, 0.2, 0.8, 0.1], [0.1, 0.1, 0.1, 0.9]]
)
NEAR_A_THIRD = (0.25, 0.45)
"""A scale on which weights that differ by little look different."""


def row_exponentials(scores: Float[np.ndarray, "I J"]) -> Float[np.ndarray, "I J"]:
    """The exponentials of a softmax for each row; the largest of a row is 1."""
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def scaled_dot() -> Example:
    """Scaled dot-product attention of three words (Vaswani et al. 2017, equation 1)."""
    example = Example.begin("scaled_dot")
    step = example.step
    step("words", "X, one row a word", WORDS, NAMES, "#", 1, UNIT)
    step("W_q = W_k", "0.8 on the diagonal, plus 0.1 everywhere", W_Q, "#", "#", 1)
    step("W_v", "from a word to its value", W_V, "#", "#", 1)
    queries = step("queries", "Q = X W_q", WORDS @ W_Q, NAMES, "#", 2, UNIT)
    keys = step("keys", "K = X W_k", WORDS @ W_K, NAMES, "#", 2, UNIT)
    values = step("values", "V = X W_v", WORDS @ W_V, NAMES, "#", 2, UNIT)
    scores = queries @ keys.T
    step("scores", "Q K^T: row i, column j is query i . key j", scores, NAMES, NAMES, 4)
    scaled = step("scaled scores", "score / sqrt(4)", scores / np.sqrt(4), NAMES, NAMES, 5)
    exps = row_exponentials(scaled)
    step("exponentials", "exp(scaled score - largest of its row)", exps, NAMES, NAMES)
    weights = exps / exps.sum(axis=1, keepdims=True)
    step("weights", "exponential / sum of its row", weights, NAMES, NAMES, scale=NEAR_A_THIRD)
    weighted = weights[:, :, None] * values
    step("weighted values", "'she: likes' is likes for she", weighted.reshape(9, 4), PAIRS, "#")
    formula = "a word's three weighted values, added up"
    step("outputs", formula, weighted.sum(axis=1), NAMES, "#", scale=UNIT)
    return example


def softmax_axis() -> Example:
    """The softmax of self-attention belongs to each query, not to the whole matrix of scores.

    Vaswani et al. 2017, section 3.2.1: the softmax gives the weights on the values of one query.
    """
    example = Example.begin("softmax_axis")
    step = example.step
    words = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    stream = np.random.RandomState(42)
    w_q, w_k, w_v = (stream.randint(3, size=(3, 3)).astype(np.float64) for _ in range(3))
    step("words", "X, one row a word", words, "w#", "#", 0)
    step("W_q", "from a word to its query", w_q, "#", "#", 0)
    step("W_k", "from a word to its key", w_k, "#", "#", 0)
    step("W_v", "from a word to its value", w_v, "#", "#", 0)
    queries = step("queries", "Q = X W_q", words @ w_q, "w#", "#", 0)
    keys = step("keys", "K = X W_k", words @ w_k, "w#", "#", 0)
    scale = 0.0, float((words @ w_v).max())
    values = step("values", "V = X W_v", words @ w_v, "w#", "#", 0, scale)
    scores = queries @ keys.T
    step("scores", "Q K^T: row i, column j is query i . key j", scores, "w#", "w#", 0)
    scaled = step("scaled scores", "score / sqrt(3)", scores / np.sqrt(3), "w#", "w#")

    exps = np.exp(scaled - scaled.max())
    step("wrong exponentials", "exp(scaled score - largest of all)", exps, "w#", "w#")
    weights = exps / exps.sum()
    step("wrong weights", "exponential / sum of all 16", weights, "w#", "w#", scale=UNIT)
    sums = weights.sum(axis=1, keepdims=True)
    step("wrong sums", "of each row; together 1", sums, "w#", "sum", scale=UNIT)
    step("wrong outputs", "wrong weights V", weights @ values, "w#", "#", scale=scale)

    exps = row_exponentials(scaled)
    step("right exponentials", "exp(scaled score - largest of its row)", exps, "w#", "w#")
    weights = exps / exps.sum(axis=1, keepdims=True)
    step("right weights", "exponential / sum of its row", weights, "w#", "w#", scale=UNIT)
    sums = weights.sum(axis=1, keepdims=True)
    step("right sums", "of each row; each 1", sums, "w#", "sum", scale=UNIT)
    weighted = weights[:, :, None] * values
    pairs = [f"w{query}: w{key}" for query in range(1, 5) for key in range(1, 5)]
    step("weighted values", "'w1: w2' is w2 for w1", weighted.reshape(16, 3), pairs, "#")
    outputs = weighted.sum(axis=1)
    step("right outputs", "weighted values, added up", outputs, "w#", "#", scale=scale)
    return example


def multi_head() -> Example:
    """Two heads over the words of :func:`scaled_dot` (Vaswani et al. 2017, section 3.2.2).

    The paper multiplies the joined heads by one more matrix, W_o; here it is the identity.
    """
    example = Example.begin("multi_head")
    step = example.step
    step("words", "X, one row a word", WORDS, NAMES, "#", 1)
    step("W_q = W_k", "columns 1-2 for head 1, 3-4 for head 2", W_Q, "#", "#", 1)
    step("W_v", "columns 1-2 for head 1, 3-4 for head 2", W_V, "#", "#", 1)
    heads = []
    for head, part, own in ("head 1", slice(0, 2), ["1", "2"]), ("head 2", slice(2, 4), ["3", "4"]):
        queries, keys, values = ((WORDS @ matrix)[:, part] for matrix in (W_Q, W_K, W_V))
        step(f"{head} queries", "its columns of X W_q", queries, NAMES, own, 2, UNIT)
        step(f"{head} keys", "its columns of X W_k", keys, NAMES, own, 2, UNIT)
        step(f"{head} values", "its columns of X W_v", values, NAMES, own, 2, UNIT)
        scaled = queries @ keys.T / np.sqrt(2)
        step(f"{head} scaled scores", "query . key / sqrt(2)", scaled, NAMES, NAMES)
        exps = row_exponentials(scaled)
        step(f"{head} exponentials", "exp(score - largest of its row)", exps, NAMES, NAMES)
        weights = exps / exps.sum(axis=1, keepdims=True)
        formula = "exponential / sum of row"
        step(f"{head} weights", formula, weights, NAMES, NAMES, scale=NEAR_A_THIRD)
        weighted = weights[:, :, None] * values
        step(f"{head} weighted values", "for whom: whose", weighted.reshape(9, 2), PAIRS, own)
        formula = "a word's three weighted values, added up"
        heads.append(step(f"{head} outputs", formula, weighted.sum(axis=1), NAMES, own))
    step("outputs", "the heads side by side", np.hstack(heads), NAMES, "#", scale=UNIT)
    return example
