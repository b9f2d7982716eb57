"""Worked examples of words that attend to one another: scaled dot product, its softmax, heads.

Rows of scores and weights are queries, columns are keys: row i says where word i looks. Each
function computes one example from above to below, in float64, with three words of two numbers or
with larger arrays.
"""

from seq2seq.explain.decoder_attention import FRENCH
from seq2seq.explain.example import LARGE, Example

ENGLISH = ["she", "likes", "coffee"]
SMALL_INPUTS = (
    "X = np.array([[0.5, 0.0], [1.0, 0.5], [0.5, 1.0]])",
    "W_q = W_k = np.array([[1.0, 0.5], [0.5, 1.0]])",
    "W_v = np.array([[1.0, 0.0], [0.5, 2.0]])",
)
LARGE_INPUTS = (
    "X = np.array([[0.2, 0.9, 0.1, 0.5], [0.8, 0.3, 0.7, 0.2], [0.4, 0.6, 0.3, 0.9]])",
    "W_q = W_k = 0.8 * np.eye(4) + 0.1",
    "W_v = np.array([[8, 2, 1, 1], [2, 8, 2, 1], [1, 2, 8, 1], [1, 1, 1, 9]]) / 10",
)
SMALL_INTEGERS = (
    "X = np.array([[1.0, 0], [0, 1], [2, 1]])",
    "W_q = np.array([[1.0, 0], [0, 2]])",
    "W_k = np.array([[1.0, 1], [0, 1]])",
    "W_v = np.array([[1.0, 0], [0, 2]])",
)
DRAW = "stream.randint(3, size=(3, 3)).astype(float)"
LARGE_INTEGERS = (
    "X = np.array([[1.0, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])",
    f"stream = np.random.RandomState(42)\nW_q = {DRAW}",
    f"W_k = {DRAW}",
    f"W_v = {DRAW}",
)
NEAR_A_THIRD = (0.25, 0.45)
"""A scale on which weights that differ by little look different."""


def _attend(
    example: Example, words: list[str], prefix: str = "", columns: str | list[str] = "#"
) -> None:
    """From the scaled scores to the outputs: a softmax of each row, and the weighted values."""
    step, count = example.step, len(words)
    code = "exps = np.exp(scaled - scaled.max(axis=1, keepdims=True))"
    step(f"{prefix}exponentials", "the largest of a row becomes 1", code, words, words)
    code = "weights = exps / exps.sum(axis=1, keepdims=True)"
    scale = NEAR_A_THIRD if "coffee" in words else None
    step(f"{prefix}weights", "each row sums to 1", code, words, words, scale=scale)
    code = "weighted = (weights[:, :, None] * V).reshape(-1, V.shape[1])"
    pairs = [f"{query}: {key}" for query in words for key in words]
    step(f"{prefix}weighted values", "for whom: whose value", code, pairs, columns)
    code = f"{prefix.strip().replace(' ', '_') or 'outputs'} = weighted.reshape("
    code += f"{count}, {count}, -1).sum(axis=1)"
    scale = 0.0, float(example.variables["V"].max())
    step(f"{prefix}outputs", "the sum of its weighted values", code, words, columns, scale=scale)


def scaled_dot(large: bool = False) -> Example:
    """Scaled dot-product attention of three words (Vaswani et al. 2017, equation 1)."""
    example = Example.begin("scaled_dot" + LARGE * large)
    step, words = example.step, ENGLISH if large else FRENCH
    X, W_qk, W_v = LARGE_INPUTS if large else SMALL_INPUTS
    step("words", "one row per word", X, words, "#", 1)
    step("W_q = W_k", "from a word to its query, and to its key", W_qk, "#", "#", 1)
    step("W_v", "from a word to its value", W_v, "#", "#", 1)
    step("queries", "", "Q = X @ W_q", words, "#", 2)
    step("keys", "", "K = X @ W_k", words, "#", 2)
    step("values", "", "V = X @ W_v", words, "#", 2)
    one = f"{words[0]}, {words[1]}"
    remark = f"the query of {words[0]} times the key of {words[1]}, number by number"
    step("products", remark, "products = Q[:1] * K[1:2]", one, "#", 4)
    step("one score", "the sum of these", "one = products.sum(keepdims=True)", one, "score", 4)
    step("scores", "query i . key j", "scores = Q @ K.T", words, words, 4)
    code = "scaled = scores / np.sqrt(K.shape[1])"
    step("scaled scores", "by the root of the width", code, words, words, 5 if large else None)
    _attend(example, words)
    return example


def softmax_axis(large: bool = False) -> Example:
    """The softmax of self-attention belongs to each query, not to the whole matrix of scores.

    Vaswani et al. 2017, section 3.2.1: the softmax gives the weights on the values of one query.
    """
    example = Example.begin("softmax_axis" + LARGE * large)
    step, words = example.step, ["w1", "w2", "w3", "w4"] if large else FRENCH
    X, W_q, W_k, W_v = LARGE_INTEGERS if large else SMALL_INTEGERS
    step("words", "one row per word", X, words, "#", 0)
    step("W_q", "", W_q, "#", "#", 0)
    step("W_k", "", W_k, "#", "#", 0)
    step("W_v", "", W_v, "#", "#", 0)
    step("queries", "", "Q = X @ W_q", words, "#", 0)
    step("keys", "", "K = X @ W_k", words, "#", 0)
    scale = 0.0, float(step("values", "", "V = X @ W_v", words, "#", 0).max())
    step("scores", "query i . key j", "scores = Q @ K.T", words, words, 0)
    step("scaled scores", "", "scaled = scores / np.sqrt(K.shape[1])", words, words)
    code, sums = "exps = np.exp(scaled - scaled.max())", "sums = weights.sum(axis=1, keepdims=True)"
    step("wrong exponentials", "the largest of all becomes 1", code, words, words)
    step("wrong weights", "all of them sum to 1", "weights = exps / exps.sum()", words, words)
    step("wrong sums", "of each row; they sum to 1", sums, words, "sum")
    step("wrong outputs", "", "outputs = weights @ V", words, "#", scale=scale)
    _attend(example, words, "right ")
    step("right sums", "of each row; each 1", sums, words, "sum")
    return example


def multi_head(large: bool = False) -> Example:
    """Two heads over the words of :func:`scaled_dot` (Vaswani et al. 2017, section 3.2.2).

    The paper multiplies the joined heads by one more matrix, W_o; here it is the identity.
    """
    example = Example.begin("multi_head" + LARGE * large)
    step, words = example.step, ENGLISH if large else FRENCH
    X, W_qk, W_v = LARGE_INPUTS if large else SMALL_INPUTS
    step("words", "one row per word", X, words, "#", 1)
    step("W_q = W_k", "its first half of columns is for head 1", W_qk, "#", "#", 1)
    step("W_v", "its first half of columns is for head 1", W_v, "#", "#", 1)
    width = 2 if large else 1
    for head, first in (1, 0), (2, width):
        own = [str(column + 1) for column in range(first, first + width)]
        for name, letter in ("queries", "q"), ("keys", "k"), ("values", "v"):
            code = f"{letter.upper()} = X @ W_{letter}[:, {first}:{first + width}]"
            step(f"head {head} {name}", "", code, words, own, 2)
        code = "scaled = Q @ K.T / np.sqrt(K.shape[1])"
        step(f"head {head} scaled scores", "query . key / root of the width", code, words, words)
        _attend(example, words, f"head {head} ", own)
    code = "outputs = np.hstack([head_1, head_2])"
    step("outputs", "the heads side by side", code, words, "#")
    return example
