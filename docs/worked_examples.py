# %% [markdown]
# # Worked examples: attention by hand
#
# Each example goes from a few numbers to a context or a word, one array at a time. Every line of
# code that makes an array stands above its numbers. The numbers are rounded as they are printed,
# not as they are computed.
#
# The names are those of the papers: *h* for the annotations of the source, *s* for the decoder's
# state, *e* for scores, *alpha* for weights, *c* for the context. In most examples the source is
# "la maison bleue".
#
# This page is a script: `python docs/worked_examples.py` prints the same arrays.

# %%
"""Worked examples of attention in NumPy, as a script and as a page."""

import numpy as np

ARRAYS: dict[str, np.ndarray] = {}
"""Example and name of an array -> its numbers: ``additive: keys``."""
FRENCH = ["la", "maison", "bleue"]


def show(
    name: str, array: np.ndarray, rows: list[str], columns: list[str], digits: int = 3
) -> None:
    """Print an array, a line for each row, with the labels of rows and columns."""
    ARRAYS[name] = array
    rounded = (array.round(digits) + 0.0).tolist()  # + 0.0: no sign before a zero
    cells = [[f"{number:.{digits}f}" for number in row] for row in rounded]
    table = [[label, *row] for label, row in zip(["", *rows], [columns, *cells], strict=True)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    print(f"{name}, {len(rows)} x {len(columns)}")
    for label, *row in table:
        numbers = "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths[1:], strict=True))
        print(f"  {label:<{widths[0]}}{numbers}")
    print()


def numbered(count: int) -> list[str]:
    """The labels 1, 2, ..."""
    return [str(number) for number in range(1, count + 1)]


# %% [markdown]
# ## Additive attention
#
# *Bahdanau, Cho & Bengio 2014, sections 3.1 and A.1.2 (arXiv 1409.0473)*
#
# Before the decoder writes a word, a small network compares its state *s* with the annotation
# *h_j* of each source position and computes a score. The softmax turns the scores into weights, and
# the weighted annotations add up to the context *c*. Here "the" is already written,
# and the next word is "blue".

# %%
h = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]])  # one row per source position
s = np.array([[0.2, 0.4]])  # the decoder's state before this word
layer_1 = np.array([[1.0, -0.5], [-0.5, 1.0], [0.5, 0.0], [0.0, 0.5]])  # U_a above W_a
layer_2 = np.array([[3.0], [4.0]])  # v_a: from the hidden units to a score
show("additive: annotations", h, FRENCH, numbered(2), 1)
show("additive: state", s, ["s"], numbered(2), 1)
show("additive: layer_1", layer_1, numbered(4), numbered(2), 1)
show("additive: layer_2", layer_2, numbered(2), ["v"], 1)

# %%
U_a, W_a = np.vsplit(layer_1, 2)
keys = h @ U_a  # once per sentence
query = s @ W_a  # once per target word
hidden = np.tanh(keys + query)  # the query is added to each key
e = hidden @ layer_2
show("additive: keys", keys, FRENCH, numbered(2), 2)
show("additive: query", query, ["s"], numbered(2), 2)
show("additive: hidden", hidden, FRENCH, numbered(2))
show("additive: scores", e, FRENCH, ["e"])

# %%
exps = np.exp(e - e.max())  # the largest becomes 1
alpha = exps / exps.sum()  # the weights sum to 1
weighted = alpha * h
c = weighted.sum(axis=0, keepdims=True)
show("additive: exponentials", exps, FRENCH, ["exp"])
show("additive: weights", alpha, FRENCH, ["alpha"])
show("additive: weighted annotations", weighted, FRENCH, numbered(2))
show("additive: context", c, ["c"], numbered(2))

# %% [markdown]
# "bleue" has 0.545 of the weight and "maison" 0.328. The context is nearest to "bleue", but every
# position has a part in it.

# %% [markdown]
# ## From the context to a word
#
# *Bahdanau, Cho & Bengio 2014, section A.2.2 (arXiv 1409.0473)*
#
# The context is not a word yet. The readout mixes it with the decoder's state. The last layer
# assigns each word of the vocabulary a logit, and the softmax turns logits into probabilities.
# Greedy search writes the most probable word. This readout is the simplest one: the paper and this
# program also let it read the last word. Here the vocabulary has five words: `<s>` is the
# start of a sentence and `</s>` its end.

# %%
VOCABULARY = ["<s>", "the", "blue", "house", "</s>"]
s = np.array([[0.4, 0.6]])
c = np.array([[0.5, 0.8]])  # the result of attention
W_t = np.array([[1.0, 0.0], [0.0, 0.5], [0.5, 1.0], [1.0, -0.5]])  # the upper half meets s
t = np.tanh(np.hstack([s, c]) @ W_t)  # the readout
show("output_word: state", s, ["s"], numbered(2), 1)
show("output_word: context", c, ["c"], numbered(2), 1)
show("output_word: W_t", W_t, numbered(4), numbered(2), 1)
show("output_word: readout", t, ["t"], numbered(2))

# %%
W_o = np.array([[-2.0, 1.0, 4.0, 1.0, -1.0], [0.0, 1.0, -1.0, 1.0, 0.5]])  # a column per word
b = np.array([[-1.0, 0.5, 0.0, 0.0, 0.0]])
logits = t @ W_o + b
exps = np.exp(logits - logits.max())
p = exps / exps.sum()
word = (p == p.max()).astype(float)  # 1 at the most probable
show("output_word: W_o", W_o, numbered(2), VOCABULARY, 1)
show("output_word: bias", b, ["b"], VOCABULARY, 1)
show("output_word: logits", logits, ["logit"], VOCABULARY)
show("output_word: exponentials", exps, ["exp"], VOCABULARY)
show("output_word: probabilities", p, ["p"], VOCABULARY)
show("output_word: word", word, ["word"], VOCABULARY, 0)

# %% [markdown]
# "blue" has 0.71 of the probability and is written. A beam search would also keep "the" and "house"
# for a while. In training, the loss of this step is -log of the probability of the right word: -log
# 0.71 = 0.34 if that is "blue".

# %% [markdown]
# ## Three words, and the matrix of weights row by row
#
# *Bahdanau, Cho & Bengio 2014, Figure 3 (arXiv 1409.0473)*
#
# The decoder writes "the blue house", one word per step. Each step makes a new state from the state
# before and the word before, and compares it with the annotations. The context chooses the word.
# The weights of a step become a row of the alignment. The embeddings are chosen so that "the" asks
# for an adjective and "blue" for a noun; a trained model has to learn that. This decoder attends as
# Luong's does: by dot products with the state of the same step.

# %%
h = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 0.0], [1.0, 0.0, 4.0]])
E = np.array([[2.0, 0, 0], [0, 0, 2.0], [0, 2.0, 0], [0, 0, 0], [0, 0, 0]])  # embeddings
W_o = np.array([[0.0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]])  # from a context to logits
show("decoding: annotations", h, FRENCH, numbered(3), 1)
show("decoding: embeddings", E, VOCABULARY, numbered(3), 1)
show("decoding: W_o", W_o, numbered(3), VOCABULARY, 1)

# %%
s, word, alignment = np.zeros((1, 3)), np.array([[1.0, 0, 0, 0, 0]]), []  # begin with <s>
for n in (1, 2, 3):
    s = np.tanh(word @ E + 0.5 * s)
    e = s @ h.T
    exps = np.exp(e - e.max())
    alpha = exps / exps.sum()
    c = alpha @ h
    logits = c @ W_o
    word = (logits == logits.max()).astype(float)
    alignment.append(alpha)
    show(f"decoding: state {n}", s, [f"s{n}"], numbered(3))
    show(f"decoding: scores {n}", e, ["e"], FRENCH)
    show(f"decoding: weights {n}", alpha, ["alpha"], FRENCH)
    show(f"decoding: context {n}", c, ["c"], numbered(3))
    show(f"decoding: logits {n}", logits, ["logit"], VOCABULARY)
    show(f"decoding: word {n}", word, ["word"], VOCABULARY, 0)
show("decoding: alignment", np.vstack(alignment), ["the", "blue", "house"], FRENCH)

# %% [markdown]
# The rows are in the order of the target, the columns in the order of the source. "blue" looks at
# the third word and "house" at the second, so the large weights leave the diagonal: after the third
# column comes the second.

# %% [markdown]
# ## Dot product, and a softmax that does not overflow
#
# *Luong, Pham & Manning 2015, section 3.1 (arXiv 1508.04025)*
#
# The score is the dot product of the decoder's state and the annotation: there are no weights to
# learn. Here the annotations are columns. Scores in the hundreds are too large for the exponential:
# float32 ends at exp(88.7), float64 at exp(709.8). Subtracting the largest score changes no weight,
# since it divides all exponentials and their sum by the same number. Then no exponent is above 0.

# %%
s = np.array([[30.0, 40.0]])
h = np.array([[1.0, 2.0, 0.3], [1.5, 1.0, 2.3]])  # one column per source position
products = s.T * h[:, :1]  # s times the first word, number by number
first = products.sum(axis=0, keepdims=True)
e = s @ h
show("dot: state", s, ["s"], numbered(2), 0)
show("dot: annotations", h, numbered(2), FRENCH, 1)
show("dot: products", products, numbered(2), ["s la"], 0)
show("dot: first score", first, ["e"], ["la"], 0)
show("dot: scores", e, ["e"], FRENCH, 0)

# %%
with np.errstate(over="ignore", invalid="ignore"):  # to show the failure
    naive = np.exp(e.astype(np.float32))  # too large for float32
    wrong = naive / naive.sum()  # inf / inf is not a number
shifted = e - e.max()
exps = np.exp(shifted)
alpha = exps / exps.sum()
weighted = alpha * h
c = weighted.sum(axis=1, keepdims=True)
show("dot: naive exponentials", naive, ["exp"], FRENCH)
show("dot: naive weights", wrong, ["alpha"], FRENCH)
show("dot: shifted scores", shifted, ["e"], FRENCH, 0)
show("dot: exponentials", exps, ["exp"], FRENCH)
show("dot: weights", alpha, ["alpha"], FRENCH)
show("dot: weighted annotations", weighted, numbered(2), FRENCH)
show("dot: context", c, numbered(2), ["c"])

# %% [markdown]
# One point of score, 101 against 100, is a factor of e = 2.7 between the weights of "bleue" and
# "maison". The weight of "la" is not exactly 0: it is e^-11 times the weight of "bleue".

# %% [markdown]
# ## Local attention around a predicted position
#
# *Luong, Pham & Manning 2015, section 3.2, local-p (arXiv 1508.04025)*
#
# The decoder first predicts where to look: *p*, a number between 0 and the source length. It then
# attends only to the positions *j* (from 1) with |j - p| <= D, and a Gaussian of standard deviation
# D / 2 favours those near *p*. Here D = 1. Annotations, state and scores are those of the first
# example. The kind `local_p` of the trainer counts from 0, predicts p = (S - 1) sigmoid(z) for S
# source positions, from the first to the last, and scores as the kind `general` does.

# %%
h, s = ARRAYS["additive: annotations"], ARRAYS["additive: state"]
W_p = np.array([[0.5, -0.5], [1.0, 0.5]])  # from s to the hidden units
v_p = np.array([[1.0], [1.0]])  # from them to a number
hidden = np.tanh(s @ W_p)
z = hidden @ v_p
p = len(h) / (1 + np.exp(-z))  # between 0 and the source length
show("local: annotations", h, FRENCH, numbered(2), 1)
show("local: state", s, ["s"], numbered(2), 1)
show("local: position layer_1", W_p, numbered(2), numbered(2), 1)
show("local: position layer_2", v_p, numbered(2), ["v"], 1)
show("local: position hidden", hidden, ["s"], numbered(2))
show("local: position logit", z, ["s"], ["z"])
show("local: predicted position", p, ["s"], ["p"])

# %%
e = ARRAYS["additive: scores"]
alpha = np.exp(e - e.max())
alpha = alpha / alpha.sum()  # over all positions, for comparison
distance = np.arange(1, len(h) + 1)[:, None] - p
D = 1
window = (abs(distance) <= D).astype(float)
exps = window * np.exp(e - e[window == 1].max())  # 0 outside of the window
align = exps / exps.sum()
show("local: scores", e, FRENCH, ["e"])
show("local: global weights", alpha, FRENCH, ["alpha"])
show("local: distance", distance, FRENCH, ["j - p"])
show("local: window", window, FRENCH, ["in"], 0)
show("local: exponentials", exps, FRENCH, ["exp"])
show("local: window weights", align, FRENCH, ["align"])

# %%
gaussian = np.exp(-(distance**2) / (2 * (D / 2) ** 2))  # 1 at p
a = align * gaussian
total = a.sum(keepdims=True)
weighted = a * h
c = weighted.sum(axis=0, keepdims=True)
show("local: Gaussian", gaussian, FRENCH, ["g"])
show("local: local weights", a, FRENCH, ["a"])
show("local: sum of local weights", total, ["sum"], ["a"])
show("local: weighted annotations", weighted, FRENCH, numbered(2))
show("local: context", c, ["c"], numbered(2))

# %% [markdown]
# "bleue" has the largest score, but it is 1.09 away from p = 1.91 and so outside of the window:
# "maison" gets most of the weight. The window weights sum to 1, the local weights to 0.76. The
# Gaussian makes each weight smaller, and the paper does not divide the weights by their new sum.

# %% [markdown]
# ## Soft and hard attention: a mean or a choice
#
# *Xu et al. 2015, section 4 (arXiv 1502.03044)*
#
# The same weights can be used in two ways. Soft attention takes them as shares: the context is the
# weighted mean of all annotations. Hard attention takes them as chances: it chooses one position,
# the likeliest or one drawn at random, and the context is the annotation of that position.

# %%
h = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]])
alpha = np.array([[0.1, 0.3, 0.6]])
soft = alpha @ h
largest = (alpha == alpha.max()).astype(float)
likeliest = largest @ h
show("hard_soft: annotations", h, FRENCH, numbered(2), 1)
show("hard_soft: weights", alpha, ["alpha"], FRENCH, 1)
show("hard_soft: soft context", soft, ["c"], numbered(2))
show("hard_soft: largest", largest, ["chosen"], FRENCH, 0)
show("hard_soft: likeliest context", likeliest, ["c"], numbered(2))

# %%
edges = alpha.cumsum(axis=1)  # added up from the left
u = np.array([[0.25]])  # a random number between 0 and 1
drawn = ((edges > u) & (edges - alpha <= u)).astype(float)  # 1 at the first edge above u
hard = drawn @ h
draws = np.random.RandomState(1).choice(3, size=1000, p=alpha[0])
shares = np.bincount(draws)[None] / len(draws)  # of the positions in 1,000 draws
mean = shares @ h
show("hard_soft: edges", edges, ["edge"], FRENCH, 1)
show("hard_soft: random number", u, ["u"], ["u"], 2)
show("hard_soft: drawn", drawn, ["chosen"], FRENCH, 0)
show("hard_soft: hard context", hard, ["c"], numbered(2))
show("hard_soft: shares", shares, ["share"], FRENCH)
show("hard_soft: mean of hard contexts", mean, ["c"], numbered(2))

# %% [markdown]
# The mean of many hard contexts comes close to the soft context. The soft context changes smoothly
# with the weights, so gradients can train it. A choice does not, and needs other means, such as
# REINFORCE. All kinds of attention in this program are soft.

# %% [markdown]
# ## Scaled dot-product self-attention
#
# *Vaswani et al. 2017, section 3.2.1 (arXiv 1706.03762)*
#
# Each word asks with its query, is found by its key and answers with its value. All three are the
# word times a matrix. The dot product of a query and a key is a score: first one score by hand,
# then all of them as one product of matrices. A score is divided by the square root of the keys'
# width, so that the softmax does not grow sharper with the width alone. Rows of scores and weights
# are queries, columns are keys: row *i* says where word *i* looks.

# %%
X = np.array([[0.5, 0.0], [1.0, 0.5], [0.5, 1.0]])  # one row per word
W_q = W_k = np.array([[1.0, 0.5], [0.5, 1.0]])
W_v = np.array([[1.0, 0.0], [0.5, 2.0]])
Q, K, V = X @ W_q, X @ W_k, X @ W_v
show("scaled_dot: words", X, FRENCH, numbered(2), 1)
show("scaled_dot: W_q = W_k", W_q, numbered(2), numbered(2), 1)
show("scaled_dot: W_v", W_v, numbered(2), numbered(2), 1)
show("scaled_dot: queries", Q, FRENCH, numbered(2), 2)
show("scaled_dot: keys", K, FRENCH, numbered(2), 2)
show("scaled_dot: values", V, FRENCH, numbered(2), 2)

# %%
products = Q[:1] * K[1:2]  # the query of "la" times the key of "maison", number by number
one = products.sum(keepdims=True)
scores = Q @ K.T
scaled = scores / np.sqrt(K.shape[1])
show("scaled_dot: products", products, ["la, maison"], numbered(2), 4)
show("scaled_dot: one score", one, ["la, maison"], ["score"], 4)
show("scaled_dot: scores", scores, FRENCH, FRENCH, 4)
show("scaled_dot: scaled scores", scaled, FRENCH, FRENCH)

# %%
PAIRS = [f"{query}: {key}" for query in FRENCH for key in FRENCH]
exps = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # the largest of a row becomes 1
weights = exps / exps.sum(axis=1, keepdims=True)  # each row sums to 1
weighted = weights[:, :, None] * V  # [query, position]: weight x value
outputs = weighted.sum(axis=1)
show("scaled_dot: exponentials", exps, FRENCH, FRENCH)
show("scaled_dot: weights", weights, FRENCH, FRENCH)
show("scaled_dot: weighted values", weighted.reshape(9, 2), PAIRS, numbered(2))
show("scaled_dot: outputs", outputs, FRENCH, numbered(2))

# %% [markdown]
# W_q = W_k makes the scores symmetric: "la" scores "maison" as "maison" scores "la". The weights
# are not symmetric, since each row is divided by a sum of its own.

# %% [markdown]
# ## One softmax for each query, and the mistake of one for all
#
# *Vaswani et al. 2017, section 3.2.1 (arXiv 1706.03762)*
#
# Three words look at one another, and the weights are computed twice. The first time there is one
# softmax over all nine scores, which is what `scipy.special.softmax` computes if its argument
# `axis` is left out: a mistake. The second time there is one softmax for each query, that is for
# each row.

# %%
X = np.array([[1.0, 0], [0, 1], [2, 1]])
W_q = np.array([[1.0, 0], [0, 2]])
W_k = np.array([[1.0, 1], [0, 1]])
W_v = np.array([[1.0, 0], [0, 2]])
Q, K, V = X @ W_q, X @ W_k, X @ W_v
scores = Q @ K.T
scaled = scores / np.sqrt(K.shape[1])
show("softmax_axis: words", X, FRENCH, numbered(2), 0)
show("softmax_axis: W_q", W_q, numbered(2), numbered(2), 0)
show("softmax_axis: W_k", W_k, numbered(2), numbered(2), 0)
show("softmax_axis: W_v", W_v, numbered(2), numbered(2), 0)
show("softmax_axis: queries", Q, FRENCH, numbered(2), 0)
show("softmax_axis: keys", K, FRENCH, numbered(2), 0)
show("softmax_axis: values", V, FRENCH, numbered(2), 0)
show("softmax_axis: scores", scores, FRENCH, FRENCH, 0)
show("softmax_axis: scaled scores", scaled, FRENCH, FRENCH)

# %%
exps = np.exp(scaled - scaled.max())  # wrong: the largest of all becomes 1
weights = exps / exps.sum()  # wrong: all of them sum to 1
sums = weights.sum(axis=1, keepdims=True)
outputs = weights @ V
show("softmax_axis: wrong exponentials", exps, FRENCH, FRENCH)
show("softmax_axis: wrong weights", weights, FRENCH, FRENCH)
show("softmax_axis: wrong sums", sums, FRENCH, ["sum"])
show("softmax_axis: wrong outputs", outputs, FRENCH, numbered(2))

# %%
exps = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # right: one softmax for each row
weights = exps / exps.sum(axis=1, keepdims=True)
weighted = weights[:, :, None] * V
outputs = weighted.sum(axis=1)
sums = weights.sum(axis=1, keepdims=True)
show("softmax_axis: right exponentials", exps, FRENCH, FRENCH)
show("softmax_axis: right weights", weights, FRENCH, FRENCH)
show("softmax_axis: right weighted values", weighted.reshape(9, 2), PAIRS, numbered(2))
show("softmax_axis: right outputs", outputs, FRENCH, numbered(2))
show("softmax_axis: right sums", sums, FRENCH, ["sum"])

# %% [markdown]
# Why the first is a mistake: an output must be a mean of the values, weighted by what its own query
# asks. In one softmax for all, the queries take from one another. "bleue" has the largest scores:
# it gets 0.93 of the total weight of 1, so the output of "la" is almost 0.

# %% [markdown]
# ## Multi-head self-attention
#
# *Vaswani et al. 2017, section 3.2.2 (arXiv 1706.03762)*
#
# The words and matrices of the example of scaled dot products, but two heads share the work. Head 1
# has the first half of the columns of the queries, keys and values, head 2 the second half. Each
# head has a softmax of its own, and divides by the square root of its own width. Their outputs
# stand side by side. (The paper multiplies them by one more matrix, W_o; here it is the identity.)

# %%
X, W_q, W_v = (ARRAYS[f"scaled_dot: {name}"] for name in ("words", "W_q = W_k", "W_v"))
show("multi_head: words", X, FRENCH, numbered(2), 1)
show("multi_head: W_q = W_k", W_q, numbered(2), numbered(2), 1)
show("multi_head: W_v", W_v, numbered(2), numbered(2), 1)
heads = []
for head, own in (1, slice(0, 1)), (2, slice(1, 2)):
    Q, K, V = X @ W_q[:, own], X @ W_q[:, own], X @ W_v[:, own]
    scaled = Q @ K.T / np.sqrt(K.shape[1])
    exps = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    weights = exps / exps.sum(axis=1, keepdims=True)
    weighted = weights[:, :, None] * V
    outputs = weighted.sum(axis=1)
    heads.append(outputs)
    label = f"multi_head: head {head}"
    show(f"{label} queries", Q, FRENCH, [str(head)], 2)
    show(f"{label} keys", K, FRENCH, [str(head)], 2)
    show(f"{label} values", V, FRENCH, [str(head)], 2)
    show(f"{label} scaled scores", scaled, FRENCH, FRENCH)
    show(f"{label} exponentials", exps, FRENCH, FRENCH)
    show(f"{label} weights", weights, FRENCH, FRENCH)
    show(f"{label} weighted values", weighted.reshape(9, 1), PAIRS, [str(head)])
    show(f"{label} outputs", outputs, FRENCH, [str(head)])
show("multi_head: outputs", np.hstack(heads), FRENCH, numbered(2))

# %% [markdown]
# "bleue" looks most at "maison" in head 1 (0.44), and at itself in head 2 (0.50).
