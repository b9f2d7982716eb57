"""Worked examples of a decoder that looks at a source sentence: additive alignment, dot scoring.

S source positions with an annotation of M numbers each, a decoder state of H numbers, A hidden
units. Each function computes one example from above to below, in float64.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from seq2seq.explain.walkthrough import UNIT, Labels, Step, Walkthrough, numbered


class Drawn(NamedTuple):
    """A sentence and two networks, drawn from one stream of normal numbers in this order."""

    annotations: Float[np.ndarray, "S M"]
    state: Float[np.ndarray, "1 H"]
    layer_1: Float[np.ndarray, "M+H A"]
    """Of the alignment network, from [h_j; s] to its hidden units."""
    layer_2: Float[np.ndarray, "A 1"]
    """From them to a score."""
    position_1: Float[np.ndarray, "H A"]
    """Of the network that predicts a position, from s to its hidden units."""
    position_2: Float[np.ndarray, "A 1"]
    """From them to a number."""


def draw() -> Drawn:
    """Five annotations and a state of 16 numbers, ten hidden units; always the same."""
    normal = np.random.RandomState(42).randn
    return Drawn(
        annotations=normal(5, 16),
        state=normal(1, 16),
        layer_1=normal(32, 10),
        layer_2=normal(10, 1),
        position_1=normal(16, 10),
        position_2=normal(10, 1),
    )


def additive() -> Walkthrough:
    r"""Soft alignment by a one-layer network (Bahdanau et al. 2014, section 3.1 and A.1.2).

    .. math::
        e_j = \tanh([h_j; s] W_1) W_2, \quad \alpha_j = softmax_j(e_j), \quad
        c = \sum_j \alpha_j h_j

    W_1 holds the transpose of the paper's U_a above that of its W_a; W_2 is v_a.
    """
    annotations, state, layer_1, layer_2, _, _ = draw()
    width = annotations.shape[1]
    keys = annotations @ layer_1[:width]
    query = state @ layer_1[width:]
    hidden = np.tanh(keys + query)
    scores = hidden @ layer_2
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()
    weighted = weights * annotations
    context = weighted.sum(axis=0, keepdims=True)

    positions, numbers, units = numbered("h", 5), numbered("", 16), numbered("", 10)
    vectors, of_state = Labels(positions, numbers), Labels(["s"], numbers)
    of_layer_1, of_layer_2 = Labels(numbered("", 32), units), Labels(units, ["v"])
    in_units, query_in_units = Labels(positions, units), Labels(["s"], units)
    scale = (float(annotations.min()), float(annotations.max()))
    return Walkthrough(
        name="additive",
        heading="Additive alignment",
        source="Bahdanau, Cho & Bengio 2014, section 3.1 and A.1.2 (arXiv 1409.0473)",
        story=(
            "Before the decoder writes a word, a small network compares its state s with the "
            "annotation h_j of each source position and gives a score. The softmax makes weights "
            "of the scores, and the weighted annotations add up to the context c. The inputs are "
            "drawn by np.random.RandomState(42).randn: annotations (5, 16), state (1, 16), "
            "layer_1 (32, 10), layer_2 (10, 1), in this order. They are rounded here, not in the "
            "computation."
        ),
        steps=(
            Step("annotations", "h_j, one row a source position", annotations, vectors, 4, scale),
            Step("state", "s, the decoder's before this word", state, of_state, 4),
            Step("layer_1", "rows 1-16 meet h_j (U_a), 17-32 meet s (W_a)", layer_1, of_layer_1, 4),
            Step("layer_2", "from the hidden units to a score (v_a)", layer_2, of_layer_2, 4),
            Step("keys", "h_j layer_1[1-16], once a sentence", keys, in_units, 4),
            Step("query", "s layer_1[17-32], once a target word", query, query_in_units, 4),
            Step("hidden", "tanh(key + query) = tanh([h_j; s] layer_1)", hidden, in_units, 4),
            Step("scores", "e_j = hidden layer_2", scores, Labels(positions, ["e"])),
            Step("exponentials", "exp(e_j - largest e)", exponentials, Labels(positions, ["exp"])),
            Step(
                "weights",
                "alpha_j = exponential / sum of them all",
                weights,
                Labels(positions, ["alpha"]),
                scale=UNIT,
            ),
            Step("weighted annotations", "alpha_j h_j", weighted, vectors, scale=scale),
            Step("context", "c, the sum of these rows", context, Labels(["c"], numbers), 8, scale),
        ),
        lesson=(
            "The context is nearest to h2, which has 0.71 of the weight, but every position has a "
            "part in it."
        ),
        caption="Each annotation is multiplied by its weight; the products add up to the context.",
        picture=(
            ("annotations", "scores", "weights"),
            ("weighted annotations",),
            ("context",),
        ),
    )


def dot() -> Walkthrough:
    r"""Dot scoring (Luong et al. 2015, section 3.1), and a softmax that survives large scores.

    .. math::
        e_j = s^\top h_j, \quad
        \alpha_j = \frac{\exp(e_j)}{\sum_k \exp(e_k)}
        = \frac{\exp(e_j - \max e)}{\sum_k \exp(e_k - \max e)}, \quad
        c = \sum_j \alpha_j h_j
    """
    state = np.array([[5.0, 1.0, 20.0]])
    sentence = [[3.0, 12.0, 45.0], [59.0, 2.0, 5.0], [1.0, 43.0, 5.0], [4.0, 3.0, 45.3]]
    annotations = np.array(sentence).T
    products = state.T * annotations[:, :1]
    first_score = products.sum(axis=0, keepdims=True)
    scores = state @ annotations
    with np.errstate(over="ignore", invalid="ignore"):  # to show the failure, not to suffer it
        naive_exponentials = np.exp(scores.astype(np.float32))
        naive_weights = naive_exponentials / naive_exponentials.sum()
    shifted = scores - scores.max()
    exponentials = np.exp(shifted)
    weights = exponentials / exponentials.sum()
    weighted = weights * annotations
    context = weighted.sum(axis=1, keepdims=True)

    positions, numbers = numbered("h", 4), numbered("", 3)
    vectors, in_first = Labels(numbers, positions), Labels(numbers, ["s h1"])
    of_scores, of_weights = Labels(["e"], positions), Labels(["alpha"], positions)
    of_exponentials = Labels(["exp"], positions)
    of_context, scale = Labels(numbers, ["c"]), (0.0, float(annotations.max()))
    return Walkthrough(
        name="dot",
        heading="Dot scoring, and a softmax that does not overflow",
        source="Luong, Pham & Manning 2015, section 3.1 (arXiv 1508.04025)",
        story=(
            "The score is the dot product of the decoder's state s and the annotation h_j, with "
            "no weights to learn. Here the annotations are columns. Scores in the hundreds are "
            "too large for exp: float32 ends at exp(88.7), float64 at exp(709.8). To subtract the "
            "largest score first changes no weight, since it divides all exponentials and their "
            "sum by the same number, and then no exponent is above 0."
        ),
        steps=(
            Step("state", "s", state, Labels(["s"], numbers), 0, scale),
            Step("annotations", "h_j, one column a position", annotations, vectors, 1, scale),
            Step("products", "the numbers of s times those of h1", products, in_first, 0),
            Step("first score", "their sum, s . h1", first_score, Labels(["e"], ["h1"]), 0),
            Step("scores", "e_j = s . h_j", scores, of_scores, 0),
            Step(
                "naive exponentials",
                "exp(e_j) in float32, too large",
                naive_exponentials,
                of_exponentials,
            ),
            Step("naive weights", "inf / inf is not a number", naive_weights, of_weights),
            Step("shifted scores", "e_j - largest e", shifted, of_scores, 0),
            Step("exponentials", "exp(e_j - largest e)", exponentials, of_exponentials),
            Step(
                "weights",
                "alpha_j = exponential / sum of them all",
                weights,
                of_weights,
                scale=UNIT,
            ),
            Step("weighted annotations", "alpha_j h_j", weighted, vectors, scale=scale),
            Step("context", "c, the sum of these columns", context, of_context, 8, scale),
        ),
        lesson=(
            "Two points of score, 929 against 927, are a factor of e^2 = 7.4 between the weights "
            "of h4 and h1. The other two weights are not exactly 0: that of h2 is 8e-232."
        ),
        caption="Each column is a source position; the weighted columns add up to the context.",
        picture=(
            ("annotations", "state"),
            ("scores",),
            ("weights",),
            ("weighted annotations", "context"),
        ),
    )
