"""Worked examples of what a decoder does with its weights: the word, the next word, a choice."""

from seq2seq.explain.decoder_attention import FRENCH
from seq2seq.explain.example import UNIT, Example

VOCABULARY = ["<s>", "the", "blue", "house", "</s>"]
ANNOTATIONS = "h = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]])"


def output_word() -> Example:
    """From the context to a word: readout, logits, softmax over the vocabulary."""
    example = Example.begin("output_word")
    step = example.step
    step("state", "s, the decoder's", "s = np.array([[0.4, 0.6]])", "s", "#", 1)
    step("context", "c, what attention gave", "c = np.array([[0.5, 0.8]])", "c", "#", 1)
    code = "W_t = np.array([[1.0, 0.0], [0.0, 0.5], [0.5, 1.0], [1.0, -0.5]])"
    step("W_t", "its first half meets s, its second c", code, "#", "#", 1)
    code = "t = np.tanh(np.hstack([s, c]) @ W_t)"
    step("readout", "t, what the last layer reads", code, "t", "#")
    code = "W_o = np.array([[-2.0, 1.0, 4.0, 1.0, -1.0], [0.0, 1.0, -1.0, 1.0, 0.5]])"
    step("W_o", "a column for each word of the vocabulary", code, "#", VOCABULARY, 1)
    code = "b = np.array([[-1.0, 0.5, 0.0, 0.0, 0.0]])"
    step("bias", "b, for each word", code, "b", VOCABULARY, 1)
    step("logits", "a score for each word", "logits = t @ W_o + b", "logit", VOCABULARY)
    code = "exps = np.exp(logits - logits.max())"
    step("exponentials", "the largest becomes 1", code, "exp", VOCABULARY)
    code = "p = exps / exps.sum()"
    step("probabilities", "together 1", code, "p", VOCABULARY, scale=UNIT)
    code = "word = (p == p.max()).astype(float)"
    step("word", "1 at the most probable", code, "word", VOCABULARY, 0, UNIT)
    return example


def decoding() -> Example:
    """Three steps of a decoder, each of which adds a row to the matrix of weights."""
    example = Example.begin("decoding")
    step = example.step
    code = "h = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 0.0], [1.0, 0.0, 4.0]])"
    step("annotations", "h_j, one row a source position", code, FRENCH, "#", 1)
    code = "E = np.array([[2.0, 0, 0], [0, 0, 2.0], [0, 2.0, 0], [0, 0, 0], [0, 0, 0]])"
    step("embeddings", "E, what each word asks for next", code, VOCABULARY, "#", 1)
    code = "W_o = np.array([[0.0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]])"
    step("W_o", "from a context to a logit of each word", code, "#", VOCABULARY, 1)
    before, state = "E[:1]", ""
    for number, word in enumerate(("the", "blue", "house"), 1):
        asked = f"s{number} = np.tanh({before}{state})"
        remark = "half of the state before, and the word before" if state else "from <s>"
        step(f"state {number}", remark, asked, f"s{number}", "#")
        code = f"e = s{number} @ h.T"
        step(f"scores {number}", "e_j = s . h_j", code, "e", FRENCH)
        code = f"exps = np.exp(e - e.max())\nalpha_{number} = exps / exps.sum()"
        step(f"weights {number}", "softmax of the scores", code, "alpha", FRENCH, scale=UNIT)
        step(f"context {number}", "the weighted sum", f"c = alpha_{number} @ h", "c", "#")
        step(f"logits {number}", "", "logits = c @ W_o", "logit", VOCABULARY)
        code = f"word_{number} = (logits == logits.max()).astype(float)"
        step(f"word {number}", f"the largest logit: {word}", code, "word", VOCABULARY, 0, UNIT)
        before, state = f"word_{number} @ E", f" + 0.5 * s{number}"
    code = "alignment = np.vstack([alpha_1, alpha_2, alpha_3])"
    rows = ["the", "blue", "house"]
    step("alignment", "a row of weights for each word written", code, rows, FRENCH, scale=UNIT)
    return example


def hard_soft() -> Example:
    """The same weights, read as shares of a sum and as chances of a choice."""
    example = Example.begin("hard_soft")
    step = example.step
    h = step("annotations", "h_j, one row a source position", ANNOTATIONS, FRENCH, "#", 1)
    scale = float(h.min()), float(h.max())
    code = "alpha = np.array([[0.1, 0.3, 0.6]])"
    step("weights", "alpha_j, of both", code, "alpha", FRENCH, 1, UNIT)
    step("soft context", "the weighted sum", "soft = alpha @ h", "c", "#", scale=scale)
    code = "largest = (alpha == alpha.max()).astype(float)"
    step("largest", "the position of the largest weight", code, "1 at", FRENCH, 0, UNIT)
    code = "likeliest = largest @ h"
    step("likeliest context", "its annotation alone", code, "c", "#", scale=scale)
    code = "edges = alpha.cumsum(axis=1)"
    step("edges", "alpha added up from the left", code, "edge", FRENCH, 1, UNIT)
    code = "u = np.array([[0.25]])"
    step("random number", "drawn evenly between 0 and 1; here 0.25", code, "u", "u", 2)
    code = "drawn = ((edges > u) & (edges - alpha <= u)).astype(float)"
    step("drawn", "the first position whose edge is above u", code, "1 at", FRENCH, 0, UNIT)
    step("hard context", "its annotation alone", "hard = drawn @ h", "c", "#", scale=scale)
    code = "draws = np.random.RandomState(1).choice(3, size=1000, p=alpha[0])"
    code += "\nshares = np.bincount(draws)[None] / len(draws)"
    step("shares", "of the positions in 1000 draws", code, "share", FRENCH, scale=UNIT)
    code = "mean = shares @ h"
    step("mean of hard contexts", "of the 1000 draws", code, "c", "#", scale=scale)
    return example
