"""Worked examples of words that look at one another: scaled dot product, its softmax, heads.

Rows of scores and weights are queries, columns are keys: row i says where word i looks. Each
function computes one example from above to below, in float64.
"""

import numpy as np

from seq2seq.explain.walkthrough import UNIT, Labels, Step, Walkthrough, numbered

NAMES = ["she", "likes", "coffee"]
PAIRS = [f"{query}: {key}" for query in NAMES for key in NAMES]
WORDS = np.array([[0.2, 0.9, 0.1, 0.5], [0.8, 0.3, 0.7, 0.2], [0.4, 0.6, 0.3, 0.9]])
W_Q = W_K = 0.8 * np.eye(4) + 0.1
W_V = np.array(
    [[0.8, 0.2, 0.1, 0.1], [0.2, 0.8, 0.2, 0.1], [0.1, 0.2, 0.8, 0.1], [0.1, 0.1, 0.1, 0.9]]
)
NEAR_A_THIRD = (0.25, 0.45)
"""A scale on which weights that differ by little look different."""


def scaled_dot() -> Walkthrough:
    r"""Scaled dot-product attention of three words (Vaswani et al. 2017, equation 1).

    .. math::
        Attention(Q, K, V) = softmax\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V, \quad
        Q = X W_q, \quad K = X W_k, \quad V = X W_v
    """
    queries, keys, values = WORDS @ W_Q, WORDS @ W_K, WORDS @ W_V
    scores = queries @ keys.T
    scaled = scores / np.sqrt(keys.shape[1])
    exponentials = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)
    weighted = weights[:, :, None] * values
    outputs = weighted.sum(axis=1)

    numbers = numbered("", 4)
    matrix, vectors = Labels(numbers, numbers), Labels(NAMES, numbers)
    looks, taken = Labels(NAMES, NAMES), Labels(PAIRS, numbers)
    return Walkthrough(
        name="scaled_dot",
        heading="Scaled dot-product self-attention",
        source="Vaswani et al. 2017, section 3.2.1 (arXiv 1706.03762)",
        story=(
            "Each word asks with its query, is found by its key and answers with its value; all "
            "three are the word times a matrix. The dot product of a query and a key is a score. "
            "It is divided by the square root of the keys' width, 4, so that the softmax does not "
            "grow sharper with the width alone. Numbers of up to 5 decimals are exact: check them "
            "on paper."
        ),
        steps=(
            Step("words", "X, one row a word", WORDS, vectors, 1, UNIT),
            Step("W_q = W_k", "0.8 on the diagonal, plus 0.1 everywhere", W_Q, matrix, 1),
            Step("W_v", "from a word to its value", W_V, matrix, 1),
            Step("queries", "Q = X W_q", queries, vectors, 2, UNIT),
            Step("keys", "K = X W_k", keys, vectors, 2, UNIT),
            Step("values", "V = X W_v", values, vectors, 2, UNIT),
            Step("scores", "Q K^T: row i, column j is query i . key j", scores, looks, 4),
            Step("scaled scores", "score / sqrt(4)", scaled, looks, 5),
            Step("exponentials", "exp(scaled score - largest of its row)", exponentials, looks),
            Step("weights", "exponential / sum of its row", weights, looks, 8, NEAR_A_THIRD),
            Step("weighted values", "'she: likes' is likes for she", weighted.reshape(9, 4), taken),
            Step("outputs", "a word's three weighted values, added up", outputs, vectors, 8, UNIT),
        ),
        lesson=(
            "W_q = W_k makes the scores symmetric: she scores coffee as coffee scores she. The "
            "weights are not, since each row is divided by a sum of its own. The scores differ by "
            "little, so that every output is near the mean of the values."
        ),
        caption="Rows of scores and weights are queries, columns are keys: who looks at whom.",
        picture=(
            ("words", "queries", "keys", "values"),
            ("scaled scores", "weights", "outputs"),
        ),
    )


def softmax_axis() -> Walkthrough:
    r"""The softmax of self-attention belongs to each query, not to the whole matrix of scores.

    .. math::
        \alpha_{ij} = \frac{\exp(e_{ij})}{\sum_k \exp(e_{ik})}
        \quad\text{and not}\quad \frac{\exp(e_{ij})}{\sum_{lk} \exp(e_{lk})}, \quad
        e = \frac{Q K^\top}{\sqrt{d_k}}

    Vaswani et al. 2017, section 3.2.1: the softmax gives the weights on the values of one query.
    """
    words = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    stream = np.random.RandomState(42)
    w_q, w_k, w_v = (stream.randint(3, size=(3, 3)).astype(np.float64) for _ in range(3))
    queries, keys, values = words @ w_q, words @ w_k, words @ w_v
    scores = queries @ keys.T
    scaled = scores / np.sqrt(keys.shape[1])

    of_all = np.exp(scaled - scaled.max())
    wrong_weights = of_all / of_all.sum()
    wrong_sums = wrong_weights.sum(axis=1, keepdims=True)
    wrong_outputs = wrong_weights @ values

    of_rows = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights = of_rows / of_rows.sum(axis=1, keepdims=True)
    sums = weights.sum(axis=1, keepdims=True)
    weighted = weights[:, :, None] * values
    outputs = weighted.sum(axis=1)

    names, numbers = numbered("w", 4), numbered("", 3)
    matrix, vectors = Labels(numbers, numbers), Labels(names, numbers)
    looks, of_sums = Labels(names, names), Labels(names, ["sum"])
    taken = Labels([f"{query}: {key}" for query in names for key in names], numbers)
    scale = (0.0, float(values.max()))
    return Walkthrough(
        name="softmax_axis",
        heading="One softmax for each query, and the mistake of one for all",
        source="Vaswani et al. 2017, section 3.2.1 (arXiv 1706.03762)",
        story=(
            "Four words of three numbers look at one another. np.random.RandomState(42) draws "
            "W_q, W_k and W_v, in this order, by randint(3, size=(3, 3)). The weights are computed "
            "twice. First as one softmax over all 16 scores, which is what scipy.special.softmax "
            "does when it is not told an axis: a mistake. Then as one softmax for each query, that "
            "is for each row (axis=1): as it should be."
        ),
        steps=(
            Step("words", "X, one row a word", words, vectors, 0),
            Step("W_q", "from a word to its query", w_q, matrix, 0),
            Step("W_k", "from a word to its key", w_k, matrix, 0),
            Step("W_v", "from a word to its value", w_v, matrix, 0),
            Step("queries", "Q = X W_q", queries, vectors, 0),
            Step("keys", "K = X W_k", keys, vectors, 0),
            Step("values", "V = X W_v", values, vectors, 0, scale),
            Step("scores", "Q K^T: row i, column j is query i . key j", scores, looks, 0),
            Step("scaled scores", "score / sqrt(3)", scaled, looks),
            Step("wrong exponentials", "exp(scaled score - largest of all)", of_all, looks),
            Step("wrong weights", "exponential / sum of all 16", wrong_weights, looks, 8, UNIT),
            Step("wrong sums", "of each row; together 1", wrong_sums, of_sums, 8, UNIT),
            Step("wrong outputs", "wrong weights V", wrong_outputs, vectors, 8, scale),
            Step("right exponentials", "exp(scaled score - largest of its row)", of_rows, looks),
            Step("right weights", "exponential / sum of its row", weights, looks, 8, UNIT),
            Step("right sums", "of each row; each 1", sums, of_sums, 8, UNIT),
            Step("weighted values", "'w1: w2' is w2 for w1", weighted.reshape(16, 3), taken),
            Step("right outputs", "weighted values, added up", outputs, vectors, 8, scale),
        ),
        lesson=(
            "Why the first is a mistake: an output has to be a mean of the values, weighted by "
            "what its own query asks. In one softmax for all, the queries take from one another: "
            "w1 has the largest scores and keeps 0.993 of the one unit, so that the outputs of the "
            "others are almost 0, whatever they ask; and a change of one query changes the outputs "
            "of all. Such code seems to work, as its first row is nearly right."
        ),
        caption="Middle: one softmax over all 16 scores, wrong. Below: one for each row, right.",
        picture=(
            ("words", "values", "scaled scores"),
            ("wrong weights", "wrong sums", "wrong outputs"),
            ("right weights", "right sums", "right outputs"),
        ),
    )


def multi_head() -> Walkthrough:
    r"""Two heads over the words of :func:`scaled_dot` (Vaswani et al. 2017, section 3.2.2).

    .. math::
        head_i = Attention(Q_i, K_i, V_i), \quad output = [head_1; head_2]

    Head 1 has columns 1 and 2 of Q, K and V, head 2 the others. The paper multiplies the joined
    heads by one more matrix, W_o; here it is the identity.
    """
    queries, keys, values = WORDS @ W_Q, WORDS @ W_K, WORDS @ W_V
    numbers = numbered("", 4)
    whole, matrix, looks = Labels(NAMES, numbers), Labels(numbers, numbers), Labels(NAMES, NAMES)
    steps = [
        Step("words", "X, one row a word", WORDS, whole, 1),
        Step("W_q = W_k", "columns 1-2 for head 1, 3-4 for head 2", W_Q, matrix, 1),
        Step("W_v", "likewise", W_V, matrix, 1),
    ]
    heads = []
    for head, part in (("head 1", slice(0, 2)), ("head 2", slice(2, 4))):
        query, key, value = queries[:, part], keys[:, part], values[:, part]
        scaled = query @ key.T / np.sqrt(2)
        exponentials = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        weights = exponentials / exponentials.sum(axis=1, keepdims=True)
        weighted = weights[:, :, None] * value
        output = weighted.sum(axis=1)
        heads.append(output)

        vectors, taken = Labels(NAMES, numbers[part]), Labels(PAIRS, numbers[part])
        steps += [
            Step(f"{head} queries", "its columns of X W_q", query, vectors, 2, UNIT),
            Step(f"{head} keys", "its columns of X W_k", key, vectors, 2, UNIT),
            Step(f"{head} values", "its columns of X W_v", value, vectors, 2, UNIT),
            Step(f"{head} scaled scores", "query . key / sqrt(2)", scaled, looks),
            Step(f"{head} exponentials", "exp(score - largest of its row)", exponentials, looks),
            Step(f"{head} weights", "exponential / sum of row", weights, looks, 8, NEAR_A_THIRD),
            Step(f"{head} weighted values", "for whom: whose", weighted.reshape(9, 2), taken),
            Step(f"{head} outputs", "a word's three weighted values, added up", output, vectors),
        ]
    joined = np.hstack(heads)
    return Walkthrough(
        name="multi_head",
        heading="Multi-head self-attention",
        source="Vaswani et al. 2017, section 3.2.2 (arXiv 1706.03762)",
        story=(
            "The words and matrices of the example 'scaled_dot', but two heads share the work: "
            "head 1 has the first two columns of the queries, keys and values, head 2 the last "
            "two. Each head has a softmax of its own, and scales by the square root of its own "
            "width, 2. Their outputs stand side by side (W_o of the paper is the identity here)."
        ),
        steps=(*steps, Step("outputs", "the heads side by side", joined, whole, 8, UNIT)),
        lesson=(
            "'coffee' looks most at 'she' in head 1 (0.338), and at itself in head 2 (0.403). One "
            "head of width 4 has to make do with one row of weights for all four columns."
        ),
        caption="Each head compares two columns of its own, and weighs the words by itself.",
        picture=(
            ("head 1 queries", "head 1 keys", "head 1 values", "head 1 weights"),
            ("head 2 queries", "head 2 keys", "head 2 values", "head 2 weights"),
            ("outputs",),
        ),
    )
