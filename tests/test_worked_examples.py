"""docs/worked_examples.py: every array against a slow loop, or against the trainer's modules."""

import contextlib
import io
import math
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.attention_loops import mixed, softmax
from helpers.slow_loops import (
    against_the_largest,
    assert_steps,
    product,
    scaled_scores,
    self_attention,
    weighted,
)

from seq2seq.config import AttentionConfig
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.attention.dot_product import DotAttention, MultiHeadAttention, ScaledDotAttention
from seq2seq.model.attention.local import PredictiveLocalAttention
from seq2seq.model.encoder import Source

PAGE = Path(__file__).resolve().parents[1] / "docs" / "worked_examples.py"
CLOSE = {"rtol": 0, "atol": 1e-6}


@pytest.fixture(scope="module")
def page():
    """What the page prints, and its arrays by example and name."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        found = runpy.run_path(str(PAGE))["ARRAYS"]
    arrays = {}
    for label, array in found.items():
        example, name = label.split(": ")
        arrays.setdefault(example, {})[name] = array
    return printed.getvalue(), arrays


def lists(example, *names):
    return [example[name].tolist() for name in names]


def only(place, count):
    return [float(position == place) for position in range(count)]


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def test_every_array_is_printed_with_its_labels_and_numbers(page):
    printed, examples = page
    blocks = [block.split("\n") for block in printed.rstrip("\n").split("\n\n")]
    assert len(blocks) == sum(map(len, examples.values()))
    for head, _, *lines in blocks:
        example, name, height, width = re.fullmatch(r"(\w+): (.+), (\d+) x (\d+)", head).groups()
        array = examples[example][name]
        assert array.shape == (int(height), int(width)) == (len(lines), array.shape[1])
        rows = [line.split()[-array.shape[1] :] for line in lines]
        half_a_digit = 0.5001 * 10.0 ** -len(rows[0][0].partition(".")[2])
        np.testing.assert_allclose(np.array(rows, float), array, rtol=0, atol=half_a_digit)
        assert all(re.match(r"  \S", line) for line in lines)


def test_additive_equals_the_slow_loop(page):
    example = page[1]["additive"]
    h, s, layer_1, layer_2 = lists(example, "annotations", "state", "layer_1", "layer_2")
    hidden = [[math.tanh(n) for n in row] for row in product([one + s[0] for one in h], layer_1)]
    scores = [row[0] for row in product(hidden, layer_2)]
    weights = softmax(scores)
    expected = {
        "keys": product(h, layer_1[:2]),
        "query": product(s, layer_1[2:]),
        "hidden": hidden,
        "scores": scores,
        "exponentials": against_the_largest(weights),
        "weights": weights,
        "weighted annotations": weighted(weights, h),
        "context": mixed(weights, h),
    }
    assert_steps(example, expected)


def test_output_word_equals_the_slow_loop(page):
    example = page[1]["output_word"]
    s, c, w_t, w_o, bias = lists(example, "state", "context", "W_t", "W_o", "bias")
    readout = [math.tanh(number) for number in product([s[0] + c[0]], w_t)[0]]
    logits = [score + b for score, b in zip(product([readout], w_o)[0], bias[0], strict=True)]
    p = softmax(logits)
    expected = {"readout": readout, "logits": logits, "probabilities": p, "word": only(2, 5)}
    assert_steps(example, expected | {"exponentials": against_the_largest(p)})


def test_decoding_equals_the_slow_loop_and_its_rows_are_the_weights_of_the_steps(page):
    example = page[1]["decoding"]
    h, embeddings, w_o = lists(example, "annotations", "embeddings", "W_o")
    state, word, rows = [0.0] * 3, 0, []
    for number, expected in enumerate((1, 2, 3), 1):  # the, blue, house
        asked = zip(embeddings[word], state, strict=True)
        state = [math.tanh(y + 0.5 * s) for y, s in asked]
        scores = [sum(a * b for a, b in zip(state, row, strict=True)) for row in h]
        rows.append(softmax(scores))
        context = mixed(rows[-1], h)
        [logits] = product([context], w_o)
        word = logits.index(max(logits))
        assert word == expected
        steps = {"state": state, "scores": scores, "weights": rows[-1], "context": context}
        steps |= {"logits": logits, "word": only(word, 5)}
        assert_steps(example, {f"{name} {number}": numbers for name, numbers in steps.items()})
    assert_steps(example, {"alignment": rows})
    assert example["alignment"].argmax(axis=1).tolist() == [0, 2, 1]


def test_dot_equals_the_slow_loop_and_its_naive_softmax_overflows(page):
    example = page[1]["dot"]
    (s,), h = lists(example, "state", "annotations")
    words = columns(h)
    scores = [sum(a * b for a, b in zip(s, word, strict=True)) for word in words]
    weights = softmax(scores)
    expected = {
        "products": [a * b for a, b in zip(s, words[0], strict=True)],
        "first score": scores[0],
        "scores": scores,
        "shifted scores": [score - max(scores) for score in scores],
        "exponentials": against_the_largest(weights),
        "weights": weights,
        "weighted annotations": columns(weighted(weights, words)),
        "context": mixed(weights, words),
    }
    assert_steps(example, expected)
    assert np.isposinf(example["naive exponentials"][0, 1:]).all()
    assert np.isnan(example["naive weights"][0, 1:]).all()


def test_local_equals_the_slow_loop(page):
    example, scores = page[1]["local"], page[1]["additive"]["scores"][:, 0].tolist()
    names = "annotations", "state", "position layer_1", "position layer_2"
    h, s, layer_1, layer_2 = lists(example, *names)
    hidden = [[math.tanh(number) for number in row] for row in product(s, layer_1)]
    [[logit]] = product(hidden, layer_2)
    predicted = 3 / (1 + math.exp(-logit))
    inside = [j for j in (1, 2, 3) if predicted - 1 <= j <= predicted + 1]
    found = dict(zip(inside, softmax([scores[j - 1] for j in inside]), strict=True))
    aligned = [found.get(j, 0.0) for j in (1, 2, 3)]
    gaussian = [math.exp(-((j - predicted) ** 2) / 0.5) for j in (1, 2, 3)]
    weights = [share * near for share, near in zip(aligned, gaussian, strict=True)]
    expected = {
        "position hidden": hidden,
        "position logit": logit,
        "predicted position": predicted,
        "scores": scores,
        "global weights": softmax(scores),
        "distance": [j - predicted for j in (1, 2, 3)],
        "window": [float(j in inside) for j in (1, 2, 3)],
        "exponentials": against_the_largest(aligned),
        "window weights": aligned,
        "Gaussian": gaussian,
        "local weights": weights,
        "sum of local weights": sum(weights),
        "weighted annotations": weighted(weights, h),
        "context": mixed(weights, h),
    }
    assert_steps(example, expected)


def test_hard_and_soft_equal_the_slow_loop_and_the_soft_is_the_mean_of_the_hard(page):
    example = page[1]["hard_soft"]
    h, [alpha], [shares] = lists(example, "annotations", "weights", "shares")
    edges = [sum(alpha[: place + 1]) for place in range(3)]
    place = next(place for place in range(3) if edges[place] > 0.25)
    expected = {"soft context": mixed(alpha, h), "largest": only(2, 3), "likeliest context": h[2]}
    expected |= {"edges": edges, "drawn": only(place, 3), "hard context": h[place]}
    assert_steps(example, expected | {"mean of hard contexts": mixed(shares, h)})
    np.testing.assert_allclose(shares, alpha, rtol=0, atol=4 * 0.5 / 1000**0.5)


def test_scaled_dot_equals_the_slow_loop(page):
    example = page[1]["scaled_dot"]
    words, w_q, w_v = lists(example, "words", "W_q = W_k", "W_v")
    queries, values = product(words, w_q), product(words, w_v)
    found = self_attention(queries, queries, values)
    one = [a * b for a, b in zip(queries[0], queries[1], strict=True)]
    expected = {
        "queries": queries,
        "keys": queries,
        "values": values,
        "products": one,
        "one score": sum(one),
        "scores": product(queries, columns(queries)),
        "scaled scores": scaled_scores(queries, queries),
        "weighted values": [row for of in found["weights"] for row in weighted(of, values)],
    }
    assert_steps(example, expected | found)


def test_softmax_axis_equals_the_slow_loops(page):
    example = page[1]["softmax_axis"]
    words, *matrices = lists(example, "words", "W_q", "W_k", "W_v")
    queries, keys, values = (product(words, matrix) for matrix in matrices)
    scaled = scaled_scores(queries, keys)
    of_all = softmax([score for row in scaled for score in row])
    wrong = [of_all[start : start + 3] for start in range(0, 9, 3)]
    found = self_attention(queries, keys, values, "right ")
    expected = {
        "queries": queries,
        "keys": keys,
        "values": values,
        "scores": product(queries, columns(keys)),
        "scaled scores": scaled,
        "wrong exponentials": against_the_largest(of_all),
        "wrong weights": wrong,
        "wrong sums": [sum(row) for row in wrong],
        "wrong outputs": [mixed(row, values) for row in wrong],
        "right weighted values": [
            row for of in found["right weights"] for row in weighted(of, values)
        ],
        "right sums": np.ones(3),
    }
    assert_steps(example, expected | found)


def test_multi_head_equals_the_slow_loop(page):
    example = page[1]["multi_head"]
    words, w_q, w_v = lists(example, "words", "W_q = W_k", "W_v")
    queries, values = product(words, w_q), product(words, w_v)
    for head in (1, 2):
        query, value = ([row[head - 1 : head] for row in rows] for rows in (queries, values))
        found = self_attention(query, query, value, f"head {head} ")
        weights = found[f"head {head} weights"]
        expected = {
            f"head {head} queries": query,
            f"head {head} keys": query,
            f"head {head} values": value,
            f"head {head} scaled scores": scaled_scores(query, query),
            f"head {head} weighted values": [row for of in weights for row in weighted(of, value)],
        }
        assert_steps(example, expected | found)
    joined = np.hstack([example["head 1 outputs"], example["head 2 outputs"]])
    np.testing.assert_array_equal(example["outputs"], joined)


def look(attention, annotations, state):
    """Context and weights of the trainer's attention for one query."""
    annotations, mask = annotations[None], torch.ones(1, len(annotations), dtype=torch.bool)
    attention = attention.double()
    with torch.no_grad():
        source = Source(annotations, mask, annotations[:, 0], attention.keys(annotations))
        context, weights = attention(state, source, attention.init_state(source))
    return context.numpy(), weights.numpy()


def test_additive_and_dot_are_what_the_trainer_computes(page):
    example = {name: torch.tensor(array) for name, array in page[1]["additive"].items()}
    attention = AdditiveAttention(2, 2, AttentionConfig(size=2))
    upper, lower = example["layer_1"].chunk(2)
    vector = example["layer_2"][:, 0]
    attention.load_state_dict({"key.weight": upper.T, "query.weight": lower.T, "vector": vector})
    context, weights = look(attention, example["annotations"], example["state"])
    np.testing.assert_allclose(weights.T, example["weights"], **CLOSE)
    np.testing.assert_allclose(context, example["context"], **CLOSE)
    example = {name: torch.tensor(array) for name, array in page[1]["dot"].items()}
    attention = DotAttention(2, 2, AttentionConfig(kind="dot"))
    context, weights = look(attention, example["annotations"].T, example["state"])
    np.testing.assert_allclose(weights, example["weights"], **CLOSE)
    np.testing.assert_allclose(context, example["context"].T, **CLOSE)


def test_window_and_gaussian_are_what_the_trainer_computes(page):
    """Its scores are those of "general", and it predicts p from the first word to the last.

    So it is given weights by which scores and p are those of the example.
    """
    example = page[1]["local"]
    # A number more in each annotation, and then W with s W h_j = e_j can be found for the three j.
    h = torch.tensor(np.hstack([example["annotations"], [[1.0], [0.0], [0.0]]]))
    s = torch.tensor(np.hstack([example["state"], [[0.0]]]))
    attention = PredictiveLocalAttention(3, 3, AttentionConfig(window=1)).double()
    shadow = torch.linalg.solve(h, torch.tensor(example["scores"]))
    share = (example["predicted position"].item() - 1) / 2
    with torch.no_grad():
        attention.query.weight.copy_(shadow @ s / s.square().sum())
        asked = torch.tanh(s @ attention.inner.weight.T)
        wanted = math.log(share / (1 - share))
        attention.position.weight.copy_(wanted * asked / asked.square().sum())
    context, weights = look(attention, h, s)
    np.testing.assert_allclose(weights.T, example["local weights"], **CLOSE)
    np.testing.assert_allclose(context[:, :2], example["context"], **CLOSE)


def attend_to_itself(attention, words, **weights):
    """Contexts and weights of the trainer's attention, given these matrices, word by word."""
    memory = torch.tensor(words)[None]
    attention = attention.double()
    attention.load_state_dict({f"{n}.weight": torch.tensor(w.T) for n, w in weights.items()})
    mask = torch.ones(memory.shape[:2], dtype=torch.bool)
    with torch.no_grad():
        source = Source(memory, mask, torch.zeros_like(memory[:, 0]), attention.keys(memory))
        contexts, looked = attention(memory[0], source, memory[0, :, :0])
    return contexts.numpy(), looked.numpy()


@pytest.mark.parametrize(
    ("name", "w_q", "w_k", "right"),
    [("scaled_dot", "W_q = W_k", "W_q = W_k", ""), ("softmax_axis", "W_q", "W_k", "right ")],
)
def test_scaled_dot_is_what_the_trainer_computes(page, name, w_q, w_k, right):
    """Its values are the annotations themselves; W_v comes after the sum as well as before it."""
    example = page[1][name]
    attention = ScaledDotAttention(2, 2, AttentionConfig(size=2))
    matrices = {"query": example[w_q], "key": example[w_k]}
    contexts, looked = attend_to_itself(attention, example["words"], **matrices)
    np.testing.assert_allclose(looked, example[f"{right}weights"], **CLOSE)
    np.testing.assert_allclose(contexts @ example["W_v"], example[f"{right}outputs"], **CLOSE)


def test_multi_head_is_what_the_trainer_computes(page):
    example = page[1]["multi_head"]
    w_q, w_v = example["W_q = W_k"], example["W_v"]
    attention = MultiHeadAttention(2, 2, AttentionConfig(size=2, heads=2))
    matrices = {"query": w_q, "key": w_q, "value": w_v, "joined": np.eye(2)}
    contexts, looked = attend_to_itself(attention, example["words"], **matrices)
    mean = (example["head 1 weights"] + example["head 2 weights"]) / 2
    np.testing.assert_allclose(looked, mean, **CLOSE)
    np.testing.assert_allclose(contexts, example["outputs"], **CLOSE)
