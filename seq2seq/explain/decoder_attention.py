"""Worked examples of a decoder that attends to a source sentence: additive, dot, local attention.

Each function computes one example from above to below, in float64: three words of two numbers, or
the larger arrays of :data:`STREAM`. The names are those of the papers: h for the annotations of the
source, s for the decoder's state, e for scores.
"""

import numpy as np

from seq2seq.explain.example import LARGE, UNIT, Example, Step

FRENCH = ["la", "maison", "bleue"]
STREAM = "normal = np.random.RandomState(42).randn\n"
"""Always the same: annotations, state, two layers of scores, two of a position, in this order."""


def additive(large: bool = False) -> Example:
    """Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    layer_1 holds the transpose of the paper's U_a above that of its W_a; layer_2 is v_a.
    """
    example = Example.begin("additive" + LARGE * large)
    step, digits, words = example.step, 4 if large else 1, "h#" if large else FRENCH
    annotations = "np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]])"
    layer_1 = "np.array([[1.0, -0.5], [-0.5, 1.0], [0.5, 0.0], [0.0, 0.5]])"
    annotations = STREAM + "h = normal(5, 16)" if large else f"h = {annotations}"
    state = "s = normal(1, 16)" if large else "s = np.array([[0.2, 0.4]])"
    layer_1 = "layer_1 = normal(32, 10)" if large else f"layer_1 = {layer_1}"
    layer_2 = "layer_2 = normal(10, 1)" if large else "layer_2 = np.array([[3.0], [4.0]])"
    h = step("annotations", "h_j, one row a source position", annotations, words, "#", digits)
    step("state", "s, the decoder's before this word", state, "s", "#", digits)
    step("layer_1", "its first half (U_a) meets h_j, its second (W_a) s", layer_1, "#", "#", digits)
    step("layer_2", "from the hidden units to a score (v_a)", layer_2, "#", "v", digits)
    split, digits = "U_a, W_a = np.vsplit(layer_1, 2)\n", 4 if large else 2
    step("keys", "h_j U_a, once a sentence", f"{split}keys = h @ U_a", words, "#", digits)
    step("query", "s W_a, once a target word", "query = s @ W_a", "s", "#", digits)
    code = "hidden = np.tanh(keys + query)"
    step("hidden", "the query is added to each key", code, words, "#", 4 if large else None)
    step("scores", "e_j = hidden . v_a", "e = hidden @ layer_2", words, "e")
    step("exponentials", "the largest becomes 1", "exps = np.exp(e - e.max())", words, "exp")
    code = "alpha = exps / exps.sum()"
    step("weights", "alpha_j: together 1", code, words, "alpha", scale=UNIT)
    scale = float(h.min()), float(h.max())
    code = "weighted = alpha * h"
    step("weighted annotations", "alpha_j h_j", code, words, "#", scale=scale)
    code = "c = weighted.sum(axis=0, keepdims=True)"
    step("context", "c, the sum of these rows", code, "c", "#", scale=scale)
    return example


def dot(large: bool = False) -> Example:
    """Dot scoring (Luong et al. 2015, section 3.1), and a softmax that survives large scores."""
    example = Example.begin("dot" + LARGE * large)
    step, words = example.step, "h#" if large else FRENCH
    state = "s = np.array([[5.0, 1.0, 20.0]])" if large else "s = np.array([[30.0, 40.0]])"
    annotations = "h = np.array([[1.0, 2.0, 0.3], [1.5, 1.0, 2.3]])"
    if large:
        annotations = "h = np.array([[3, 59, 1, 4], [12, 2, 43, 3], [45, 5, 5, 45.3]])"
    step("state", "s", state, "s", "#", 0)
    h = step("annotations", "h_j, one column a position", annotations, "#", words, 1)
    scale = 0.0, float(h.max())
    first = words[:1] if isinstance(words, list) else ["h1"]
    code = "products = s.T * h[:, :1]"
    step("products", "s times the first word", code, "#", [f"s {first[0]}"], 0)
    code = "first = products.sum(axis=0, keepdims=True)"
    step("first score", "their sum, s . h1", code, "e", first, 0)
    step("scores", "e_j = s . h_j", "e = s @ h", "e", words, 0)
    with np.errstate(over="ignore", invalid="ignore"):  # to show the failure, not to suffer it
        code = "naive = np.exp(e.astype(np.float32))"
        step("naive exponentials", "too large for float32", code, "exp", words)
        code = "wrong = naive / naive.sum()"
        step("naive weights", "inf / inf is not a number", code, "alpha", words)
    step("shifted scores", "the largest becomes 0", "shifted = e - e.max()", "e", words, 0)
    step("exponentials", "at most 1", "exps = np.exp(shifted)", "exp", words)
    code = "alpha = exps / exps.sum()"
    step("weights", "alpha_j: together 1", code, "alpha", words, scale=UNIT)
    code = "weighted = alpha * h"
    step("weighted annotations", "alpha_j h_j", code, "#", words, scale=scale)
    code = "c = weighted.sum(axis=1, keepdims=True)"
    step("context", "c, the sum of these columns", code, "#", "c", scale=scale)
    return example


def local(large: bool = False) -> Example:
    """Local attention around a predicted position (Luong et al. 2015, section 3.2, local-p).

    Positions count from 1. The scores are those of :func:`additive`, which Luong et al. call
    "concat".
    """
    example = Example.begin("local" + LARGE * large)
    step, digits, words = example.step, 4 if large else 1, "h#" if large else FRENCH
    before = additive(large).steps
    stream = "layer_1, layer_2 = normal(32, 10), normal(10, 1)\nW_p = normal(16, 10)"
    W_p = stream if large else "W_p = np.array([[0.5, -0.5], [1.0, 0.5]])"
    v_p = "v_p = normal(10, 1)" if large else "v_p = np.array([[1.0], [1.0]])"
    score = "U_a, W_a = np.vsplit(layer_1, 2)\ne = np.tanh(h @ U_a + s @ W_a) @ layer_2"
    if not large:
        score = "\n".join([before["layer_1"].code, before["layer_2"].code, score])
    h = step(*_again(before["annotations"]), words, "#", digits)
    step(*_again(before["state"]), "s", "#", digits)
    step("position layer_1", "W_p, from s to the hidden units", W_p, "#", "#", digits)
    step("position layer_2", "v_p, from them to a number", v_p, "#", "v", digits)
    step("position hidden", "", "hidden = np.tanh(s @ W_p)", "s", "#", 4 if large else None)
    step("position logit", "", "z = hidden @ v_p", "s", "z")
    code = "p = len(h) / (1 + np.exp(-z))"
    step("predicted position", "between 0 and the source length", code, "s", "p")
    step("scores", "e_j, as in 'additive'", score, words, "e")
    code = "alpha = np.exp(e - e.max())\nalpha = alpha / alpha.sum()"
    remark = "before: softmax of the scores over all positions"
    step("global weights", remark, code, words, "alpha", scale=UNIT)
    code = "distance = np.arange(1, len(h) + 1)[:, None] - p"
    step("distance", "j - p", code, words, "j - p")
    code = f"D = {2 if large else 1}\nwindow = (abs(distance) <= D).astype(float)"
    step("window", "1 where |j - p| <= D", code, words, "in", 0, UNIT)
    code = "exps = window * np.exp(e - e[window == 1].max())"
    step("exponentials", "0 outside of the window", code, words, "exp")
    code, remark = "align = exps / exps.sum()", "softmax of the scores over the window"
    step("window weights", remark, code, words, "align", scale=UNIT)
    code = "gaussian = np.exp(-(distance**2) / (2 * (D / 2) ** 2))"
    step("Gaussian", "1 at p", code, words, "g", scale=UNIT)
    code, remark = "a = align * gaussian", "after: a_j = window weight times Gaussian"
    step("local weights", remark, code, words, "a", scale=UNIT)
    step("sum of local weights", "not 1", "total = a.sum(keepdims=True)", "sum", "a")
    scale = float(h.min()), float(h.max())
    step("weighted annotations", "a_j h_j", "weighted = a * h", words, "#", scale=scale)
    code = "c = weighted.sum(axis=0, keepdims=True)"
    step("context", "c, the sum of these rows", code, "c", "#", scale=scale)
    return example


def _again(step: Step) -> tuple[str, str, str]:
    """Its name, remark and code, to run once more."""
    return step.name, step.remark, step.code
