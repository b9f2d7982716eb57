"""Worked examples of a decoder that attends to a source sentence: additive, dot, local attention.

Each function computes one example from above to below, in float64: three words of two numbers, or
larger arrays. The names are those of the papers: h for the annotations of the source, s for the
decoder's state, e for scores.
"""

import numpy as np

from seq2seq.explain.example import LARGE, Example

FRENCH = ["la", "maison", "bleue"]
SMALL_INPUTS = (
    "h = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]])",
    "s = np.array([[0.2, 0.4]])",
    "layer_1 = np.array([[1.0, -0.5], [-0.5, 1.0], [0.5, 0.0], [0.0, 0.5]])",
    "layer_2 = np.array([[3.0], [4.0]])",
    "W_p = np.array([[0.5, -0.5], [1.0, 0.5]])",
    "v_p = np.array([[1.0], [1.0]])",
)
LARGE_INPUTS = (
    "normal = np.random.RandomState(42).randn\nh = normal(5, 16)",
    "s = normal(1, 16)",
    "layer_1 = normal(32, 10)",
    "layer_2 = normal(10, 1)",
    "W_p = normal(16, 10)",
    "v_p = normal(10, 1)",
)
"""Drawn from one stream of normal numbers, in this order."""


def additive(large: bool = False) -> Example:
    """Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    layer_1 holds the transpose of the paper's U_a above that of its W_a; layer_2 is v_a.
    """
    example = Example.begin("additive" + LARGE * large)
    step, words, digits = example.step, "h#" if large else FRENCH, 4 if large else 1
    annotations, state, layer_1, layer_2, _, _ = LARGE_INPUTS if large else SMALL_INPUTS
    h = step("annotations", "h_j, one row per source position", annotations, words, "#", digits)
    step("state", "s, the decoder's before this word", state, "s", "#", digits)
    step("layer_1", "its first half (U_a) meets h_j, its second (W_a) s", layer_1, "#", "#", digits)
    step("layer_2", "from the hidden units to a score (v_a)", layer_2, "#", "v", digits)
    split, digits = "U_a, W_a = np.vsplit(layer_1, 2)\n", 4 if large else 2
    step("keys", "h_j U_a, once per sentence", f"{split}keys = h @ U_a", words, "#", digits)
    step("query", "s W_a, once per target word", "query = s @ W_a", "s", "#", digits)
    code, digits = "hidden = np.tanh(keys + query)", 4 if large else 3
    step("hidden", "the query is added to each key", code, words, "#", digits)
    step("scores", "e_j = hidden . v_a", "e = hidden @ layer_2", words, "e")
    step("exponentials", "the largest becomes 1", "exps = np.exp(e - e.max())", words, "exp")
    step("weights", "alpha_j, which sum to 1", "alpha = exps / exps.sum()", words, "alpha")
    scale = float(h.min()), float(h.max())
    step("weighted annotations", "alpha_j h_j", "weighted = alpha * h", words, "#", scale=scale)
    code = "c = weighted.sum(axis=0, keepdims=True)"
    step("context", "c, the sum of these rows", code, "c", "#", scale=scale)
    return example


def dot(large: bool = False) -> Example:
    """Dot scoring (Luong et al. 2015, section 3.1), and a softmax that survives large scores."""
    example = Example.begin("dot" + LARGE * large)
    step, words = example.step, ["h1", "h2", "h3", "h4"] if large else FRENCH
    s, h = "s = np.array([[30.0, 40.0]])", "h = np.array([[1.0, 2.0, 0.3], [1.5, 1.0, 2.3]])"
    if large:
        s = "s = np.array([[5.0, 1.0, 20.0]])"
        h = "h = np.array([[3, 59, 1, 4], [12, 2, 43, 3], [45, 5, 5, 45.3]])"
    step("state", "the decoder's", s, "s", "#", 0)
    scale = 0.0, float(step("annotations", "h_j, one column a position", h, "#", words, 1).max())
    code = "products = s.T * h[:, :1]"
    step("products", "s times the first word, number by number", code, "#", f"s {words[0]}", 0)
    code = "first = products.sum(axis=0, keepdims=True)"
    step("first score", "the sum of these, s . h1", code, "e", words[:1], 0)
    step("scores", "e_j = s . h_j", "e = s @ h", "e", words, 0)
    with np.errstate(over="ignore", invalid="ignore"):  # to show the failure, not to suffer it
        code = "naive = np.exp(e.astype(np.float32))"
        step("naive exponentials", "too large for float32", code, "exp", words)
        code = "wrong = naive / naive.sum()"
        step("naive weights", "inf / inf is not a number", code, "alpha", words)
    step("shifted scores", "the largest becomes 0", "shifted = e - e.max()", "e", words, 0)
    step("exponentials", "at most 1", "exps = np.exp(shifted)", "exp", words)
    step("weights", "alpha_j, which sum to 1", "alpha = exps / exps.sum()", "alpha", words)
    step("weighted annotations", "alpha_j h_j", "weighted = alpha * h", "#", words, scale=scale)
    code = "c = weighted.sum(axis=1, keepdims=True)"
    step("context", "c, the sum of these columns", code, "#", "c", scale=scale)
    return example


def local(large: bool = False) -> Example:
    """Local attention around a predicted position (Luong et al. 2015, section 3.2, local-p).

    Positions count from 1. The scores are those of :func:`additive`, which Luong et al. call
    "concat".
    """
    example = Example.begin("local" + LARGE * large)
    step, words, digits = example.step, "h#" if large else FRENCH, 4 if large else 1
    annotations, state, layer_1, layer_2, W_p, v_p = LARGE_INPUTS if large else SMALL_INPUTS
    h = step("annotations", "h_j, one row per source position", annotations, words, "#", digits)
    step("state", "s, the decoder's before this word", state, "s", "#", digits)
    layers = f"{layer_1}\n{layer_2}\n"  # drawn before W_p in the large example
    W_p = layers * large + W_p
    step("position layer_1", "W_p, from s to the hidden units", W_p, "#", "#", digits)
    step("position layer_2", "v_p, from them to a number", v_p, "#", "v", digits)
    code, digits = "hidden = np.tanh(s @ W_p)", 4 if large else 3
    step("position hidden", "", code, "s", "#", digits)
    step("position logit", "", "z = hidden @ v_p", "s", "z")
    code = "p = len(h) / (1 + np.exp(-z))"
    step("predicted position", "between 0 and the source length", code, "s", "p")
    code = "U_a, W_a = np.vsplit(layer_1, 2)\ne = np.tanh(h @ U_a + s @ W_a) @ layer_2"
    code = layers * (not large) + code
    step("scores", "e_j, as in 'additive'", code, words, "e")
    code = "alpha = np.exp(e - e.max())\nalpha = alpha / alpha.sum()"
    step("global weights", "before: softmax over all positions", code, words, "alpha")
    step("distance", "", "distance = np.arange(1, len(h) + 1)[:, None] - p", words, "j - p")
    code = f"D = {2 if large else 1}\nwindow = (abs(distance) <= D).astype(float)"
    step("window", "1 where |j - p| <= D", code, words, "in", 0)
    code = "exps = window * np.exp(e - e[window == 1].max())"
    step("exponentials", "0 outside of the window", code, words, "exp")
    step("window weights", "softmax over the window", "align = exps / exps.sum()", words, "align")
    code = "gaussian = np.exp(-(distance**2) / (2 * (D / 2) ** 2))"
    step("Gaussian", "1 at p", code, words, "g")
    step("local weights", "after: these times the Gaussian", "a = align * gaussian", words, "a")
    step("sum of local weights", "not 1", "total = a.sum(keepdims=True)", "sum", "a")
    scale = float(h.min()), float(h.max())
    step("weighted annotations", "a_j h_j", "weighted = a * h", words, "#", scale=scale)
    code = "c = weighted.sum(axis=0, keepdims=True)"
    step("context", "c, the sum of these rows", code, "c", "#", scale=scale)
    return example
