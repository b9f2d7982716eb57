"""Worked examples of what a decoder does with its weights: the word, the next word, a choice."""

from seq2seq.explain.decoder_attention import FRENCH
from seq2seq.explain.example import Example

VOCABULARY = ["<s>", "the", "blue", "house", "</s>"]


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
    step("bias", "b", "b = np.array([[-1.0, 0.5, 0.0, 0.0, 0.0]])", "b", VOCABULARY, 1)
    step("logits", "a score for each word", "logits = t @ W_o + b", "logit", VOCABULARY)
    code = "exps = np.exp(logits - logits.max())"
    step("exponentials", "the largest becomes 1", code, "exp", VOCABULARY)
    step("probabilities", "they sum to 1", "p = exps / exps.sum()", "p", VOCABULARY)
    code = "word = (p == p.max()).astype(float)"
    step("word", "1 at the most probable", code, "word", VOCABULARY, 0)
    return example


def decoding() -> Example:
    """Three steps of a decoder, each of which adds a row to the matrix of weights."""
    example = Example.begin("decoding")
    step = example.step
    code = "h = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 0.0], [1.0, 0.0, 4.0]])"
    step("annotations", "h_j, one row per source position", code, FRENCH, "#", 1)
    code = "E = np.array([[2.0, 0, 0], [0, 0, 2.0], [0, 2.0, 0], [0, 0, 0], [0, 0, 0]])"
    step("embeddings", "E, what each word asks for next", code, VOCABULARY, "#", 1)
    code = "W_o = np.array([[0.0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]])"
    step("W_o", "from a context to a logit of each word", code, "#", VOCABULARY, 1)
    asked, remark = "E[:1]", "from <s>"
    for n, word in enumerate(("the", "blue", "house"), 1):
        step(f"state {n}", remark, f"s{n} = np.tanh({asked})", f"s{n}", "#")
        step(f"scores {n}", "e_j = s . h_j", f"e = s{n} @ h.T", "e", FRENCH)
        code = f"exps = np.exp(e - e.max())\nalpha_{n} = exps / exps.sum()"
        step(f"weights {n}", "softmax of the scores", code, "alpha", FRENCH)
        step(f"context {n}", "the weighted sum", f"c = alpha_{n} @ h", "c", "#")
        step(f"logits {n}", "", "logits = c @ W_o", "logit", VOCABULARY)
        code = f"word_{n} = (logits == logits.max()).astype(float)"
        step(f"word {n}", f"the largest logit: {word}", code, "word", VOCABULARY, 0)
        asked, remark = f"word_{n} @ E + 0.5 * s{n}", "from the word and the state before"
    code = "alignment = np.vstack([alpha_1, alpha_2, alpha_3])"
    step("alignment", "a row for each word written", code, ["the", "blue", "house"], FRENCH)
    return example


def hard_soft() -> Example:
    """The same weights, read as shares of a sum and as chances of a choice."""
    example = Example.begin("hard_soft")
    step = example.step
    code = "h = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]])"
    step("annotations", "h_j, one row per source position", code, FRENCH, "#", 1)
    step("weights", "alpha_j", "alpha = np.array([[0.1, 0.3, 0.6]])", "alpha", FRENCH, 1)
    step("soft context", "the weighted sum", "soft = alpha @ h", "c", "#")
    code = "largest = (alpha == alpha.max()).astype(float)"
    step("largest", "1 at the largest weight", code, "chosen", FRENCH, 0)
    step("likeliest context", "its annotation alone", "likeliest = largest @ h", "c", "#")
    step("edges", "added up from the left", "edges = alpha.cumsum(axis=1)", "edge", FRENCH, 1)
    step("random number", "between 0 and 1; here 0.25", "u = np.array([[0.25]])", "u", "u", 2)
    code = "drawn = ((edges > u) & (edges - alpha <= u)).astype(float)"
    step("drawn", "1 at the first edge above u", code, "chosen", FRENCH, 0)
    step("hard context", "its annotation alone", "hard = drawn @ h", "c", "#")
    code = "draws = np.random.RandomState(1).choice(3, size=1000, p=alpha[0])"
    code += "\nshares = np.bincount(draws)[None] / len(draws)"
    step("shares", "of the positions in 1000 draws", code, "share", FRENCH)
    step("mean of hard contexts", "of the 1000 draws", "mean = shares @ h", "c", "#")
    return example
