"""A worked example of local attention: a window around a predicted position, and its Gaussian."""

import numpy as np

from seq2seq.explain.decoder_attention import draw
from seq2seq.explain.walkthrough import UNIT, Labels, Step, Walkthrough, numbered

REACH = 2
"""Positions on either side of the predicted one: D in the paper."""


def local() -> Walkthrough:
    r"""Local attention around a predicted position (Luong et al. 2015, section 3.2, local-p).

    .. math::
        p = S \cdot sigmoid(\tanh(s W_p) v_p), \quad
        a_j = softmax_{|j - p| \le D}(e_j) \exp\left(-\frac{(j - p)^2}{2 \sigma^2}\right), \quad
        \sigma = D / 2

    Positions count from 1. The scores are those of
    :func:`~seq2seq.explain.decoder_attention.additive`, which Luong et al. call "concat".
    """
    annotations, state, layer_1, layer_2, position_1, position_2 = draw()
    source_length = len(annotations)
    hidden = np.tanh(state @ position_1)
    logit = hidden @ position_2
    predicted = source_length / (1 + np.exp(-logit))

    pairs = np.hstack([annotations, np.repeat(state, source_length, axis=0)])
    scores = np.tanh(pairs @ layer_1) @ layer_2
    everywhere = np.exp(scores - scores.max())
    global_weights = everywhere / everywhere.sum()

    distance = np.arange(1.0, source_length + 1)[:, None] - predicted
    window = (np.abs(distance) <= REACH).astype(np.float64)
    exponentials = window * np.exp(scores - scores[window == 1].max())
    window_weights = exponentials / exponentials.sum()
    gaussian = np.exp(-(distance**2) / (2 * (REACH / 2) ** 2))
    local_weights = window_weights * gaussian
    total = local_weights.sum(keepdims=True)
    weighted = local_weights * annotations
    context = weighted.sum(axis=0, keepdims=True)

    positions, numbers, units = numbered("h", 5), numbered("", 16), numbered("", 10)
    vectors = Labels(positions, numbers)
    of_layer_1, of_layer_2 = Labels(numbers, units), Labels(units, ["v"])
    of_scores, of_exponentials = Labels(positions, ["e"]), Labels(positions, ["exp"])
    of_align, of_gaussian = Labels(positions, ["align"]), Labels(positions, ["g"])
    of_weights = Labels(positions, ["a"])
    scale = (float(annotations.min()), float(annotations.max()))
    return Walkthrough(
        name="local",
        heading="Local attention around a predicted position",
        source="Luong, Pham & Manning 2015, section 3.2, local-p (arXiv 1508.04025)",
        story=(
            "The decoder first predicts where to look: p, a real number between 0 and the source "
            "length. It then attends to the positions j (from 1) with |j - p| <= D alone, here "
            "D = 2, and a Gaussian of standard deviation D / 2 favours those near p. Annotations, "
            "state and scores are those of the example 'additive'; the same stream of numbers "
            "then gives W_p (16, 10) and v_p (10, 1). The trainer's local_p counts from 0, "
            "predicts p = (S - 1) sigmoid(z), from the first position to the last, and scores as "
            "'general' does."
        ),
        steps=(
            Step("annotations", "h_j, one row a source position", annotations, vectors, 4, scale),
            Step("state", "s, the decoder's before this word", state, Labels(["s"], numbers), 4),
            Step("position layer_1", "from s to the hidden units (W_p)", position_1, of_layer_1, 4),
            Step("position layer_2", "from them to a number (v_p)", position_2, of_layer_2, 4),
            Step("position hidden", "tanh(s W_p)", hidden, Labels(["s"], units), 4),
            Step("position logit", "z = tanh(s W_p) v_p", logit, Labels(["s"], ["z"])),
            Step("predicted position", "p = 5 / (1 + exp(-z))", predicted, Labels(["s"], ["p"])),
            Step("scores", "e_j, as in 'additive'", scores, of_scores),
            Step(
                "global weights",
                "before: softmax of the scores over all positions",
                global_weights,
                Labels(positions, ["alpha"]),
                scale=UNIT,
            ),
            Step("distance", "j - p", distance, Labels(positions, ["j - p"])),
            Step("window", "1 where |j - p| <= 2", window, Labels(positions, ["in"]), 0, UNIT),
            Step(
                "exponentials",
                "exp(e_j - largest e of the window), 0 outside",
                exponentials,
                of_exponentials,
            ),
            Step(
                "window weights",
                "softmax of the scores over the window",
                window_weights,
                of_align,
                scale=UNIT,
            ),
            Step("Gaussian", "exp(-(j - p)^2 / 2), as D / 2 = 1", gaussian, of_gaussian, 8, UNIT),
            Step(
                "local weights",
                "after: a_j = window weight times Gaussian",
                local_weights,
                of_weights,
                scale=UNIT,
            ),
            Step("sum of local weights", "not 1", total, Labels(["sum"], ["a"])),
            Step("weighted annotations", "a_j h_j", weighted, vectors, scale=scale),
            Step("context", "c, the sum of these rows", context, Labels(["c"], numbers), 8, scale),
        ),
        lesson=(
            "h1 is 2.17 away from p, out of the window. The window weights sum to 1, the local "
            "weights to 0.58: the Gaussian takes from each, and the paper does not divide by what "
            "is left. The Gaussian changes smoothly with p, which is how p is learnt."
        ),
        caption=(
            "Before: softmax over all positions. After: softmax over the window around p = 3.17, "
            "times the Gaussian; sum 0.58."
        ),
        picture=(
            ("scores", "global weights", "window", "window weights", "Gaussian", "local weights"),
            ("weighted annotations",),
            ("context",),
        ),
    )
