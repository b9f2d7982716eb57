"""Worked examples of a decoder that attends to a source sentence: additive, dot, local attention.

Each function computes one example from above to below, in float64. The names are those of the
papers: h for the annotations of the source, s for the decoder's state, e for scores.
"""

import numpy as np
from jaxtyping import Float

from seq2seq.explain.example import UNIT, Example

REACH = 2
"""Positions on either side of the predicted one: D of local attention."""


def draw() -> list[Float[np.ndarray, "rows columns"]]:
    """Annotations, state, two layers that give scores, two that predict a position; always these.

    Drawn from one stream of normal numbers in this order.
    """
    normal = np.random.RandomState(42).randn
    shapes = (5, 16), (1, 16), (32, 10), (10, 1), (16, 10), (10, 1)
    return [normal(*shape) for shape in shapes]


def additive() -> Example:
    """Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    layer_1 holds the transpose of the paper's U_a above that of its W_a; layer_2 is v_a.
    """
    example = Example.begin("additive")
    step = example.step
    h, s, layer_1, layer_2, _, _ = draw()
    step("annotations", "h_j, one row a source position", h, "h#", "#", 4)
    step("state", "s, the decoder's before this word", s, "s", "#", 4)
    step("layer_1", "rows 1-16 meet h_j (U_a), 17-32 meet s (W_a)", layer_1, "#", "#", 4)
    step("layer_2", "from the hidden units to a score (v_a)", layer_2, "#", "v", 4)
    keys = step("keys", "h_j layer_1[1-16], once a sentence", h @ layer_1[:16], "h#", "#", 4)
    query = step("query", "s layer_1[17-32], once a target word", s @ layer_1[16:], "s", "#", 4)
    hidden = np.tanh(keys + query)
    step("hidden", "tanh(key + query) = tanh([h_j; s] layer_1)", hidden, "h#", "#", 4)
    e = step("scores", "e_j = hidden layer_2", hidden @ layer_2, "h#", "e")
    exps = step("exponentials", "exp(e_j - largest e)", np.exp(e - e.max()), "h#", "exp")
    alpha = exps / exps.sum()
    step("weights", "alpha_j = exponential / sum of them all", alpha, "h#", "alpha", scale=UNIT)
    scale = float(h.min()), float(h.max())
    weighted = step("weighted annotations", "alpha_j h_j", alpha * h, "h#", "#", scale=scale)
    context = weighted.sum(axis=0, keepdims=True)
    step("context", "c, the sum of these rows", context, "c", "#", scale=scale)
    return example


def dot() -> Example:
    """Dot scoring (Luong et al. 2015, section 3.1), and a softmax that survives large scores."""
    example = Example.begin("dot")
    step = example.step
    s = np.array([[5.0, 1.0, 20.0]])
    h = np.array([[3.0, 59.0, 1.0, 4.0], [12.0, 2.0, 43.0, 3.0], [45.0, 5.0, 5.0, 45.3]])
    scale = 0.0, float(h.max())
    step("state", "s", s, "s", "#", 0, scale)
    step("annotations", "h_j, one column a position", h, "#", "h#", 1, scale)
    products = s.T * h[:, :1]
    step("products", "the numbers of s times those of h1", products, "#", "s h1", 0)
    step("first score", "their sum, s . h1", products.sum(axis=0, keepdims=True), "e", "h1", 0)
    e = step("scores", "e_j = s . h_j", s @ h, "e", "h#", 0)
    with np.errstate(over="ignore", invalid="ignore"):  # to show the failure, not to suffer it
        naive = np.exp(e.astype(np.float32))
        step("naive exponentials", "exp(e_j) in float32, too large", naive, "exp", "h#")
        step("naive weights", "inf / inf is not a number", naive / naive.sum(), "alpha", "h#")
    shifted = step("shifted scores", "e_j - largest e", e - e.max(), "e", "h#", 0)
    exps = step("exponentials", "exp(e_j - largest e)", np.exp(shifted), "exp", "h#")
    alpha = exps / exps.sum()
    step("weights", "alpha_j = exponential / sum of them all", alpha, "alpha", "h#", scale=UNIT)
    weighted = step("weighted annotations", "alpha_j h_j", alpha * h, "#", "h#", scale=scale)
    context = weighted.sum(axis=1, keepdims=True)
    step("context", "c, the sum of these columns", context, "#", "c", scale=scale)
    return example


def local() -> Example:
    """Local attention around a predicted position (Luong et al. 2015, section 3.2, local-p).

    Positions count from 1. The scores are those of :func:`additive`, which Luong et al. call
    "concat".
    """
    example = Example.begin("local")
    step = example.step
    h, s, _, _, layer_1, layer_2 = draw()
    step("annotations", "h_j, one row a source position", h, "h#", "#", 4)
    step("state", "s, the decoder's before this word", s, "s", "#", 4)
    step("position layer_1", "from s to the hidden units (W_p)", layer_1, "#", "#", 4)
    step("position layer_2", "from them to a number (v_p)", layer_2, "#", "v", 4)
    hidden = step("position hidden", "tanh(s W_p)", np.tanh(s @ layer_1), "s", "#", 4)
    z = step("position logit", "z = tanh(s W_p) v_p", hidden @ layer_2, "s", "z")
    p = step("predicted position", "p = 5 / (1 + exp(-z))", 5 / (1 + np.exp(-z)), "s", "p")
    before = additive()
    e = step("scores", "e_j, as in 'additive'", before["scores"], "h#", "e")
    formula = "before: softmax of the scores over all positions"
    step("global weights", formula, before["weights"], "h#", "alpha", scale=UNIT)
    distance = step("distance", "j - p", np.arange(1.0, 6)[:, None] - p, "h#", "j - p")
    window = (abs(distance) <= REACH).astype(np.float64)
    step("window", "1 where |j - p| <= 2", window, "h#", "in", 0, UNIT)
    exps = window * np.exp(e - e[window == 1].max())
    step("exponentials", "exp(e_j - largest e of the window), 0 outside", exps, "h#", "exp")
    align = exps / exps.sum()
    formula = "softmax of the scores over the window"
    step("window weights", formula, align, "h#", "align", scale=UNIT)
    gaussian = np.exp(-(distance**2) / (2 * (REACH / 2) ** 2))
    step("Gaussian", "exp(-(j - p)^2 / 2), as D / 2 = 1", gaussian, "h#", "g", scale=UNIT)
    formula = "after: a_j = window weight times Gaussian"
    a = step("local weights", formula, align * gaussian, "h#", "a", scale=UNIT)
    step("sum of local weights", "not 1", a.sum(keepdims=True), "sum", "a")
    scale = float(h.min()), float(h.max())
    weighted = step("weighted annotations", "a_j h_j", a * h, "h#", "#", scale=scale)
    context = weighted.sum(axis=0, keepdims=True)
    step("context", "c, the sum of these rows", context, "c", "#", scale=scale)
    return example
