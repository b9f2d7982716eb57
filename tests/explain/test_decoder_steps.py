"""From weights to words, three steps in a row, soft and hard attention: slow loops."""

import math

import numpy as np
from slow_loops import against_the_largest, assert_steps, attend, product, softmax

from seq2seq.explain.decoder_steps import decoding, hard_soft, output_word


def only(place, count):
    return [float(position == place) for position in range(count)]


def test_output_word_equals_the_slow_loop():
    s, c = [0.4, 0.6], [0.5, 0.8]
    w_t = [[1.0, 0.0], [0.0, 0.5], [0.5, 1.0], [1.0, -0.5]]
    w_o = [[-2.0, 1.0, 4.0, 1.0, -1.0], [0.0, 1.0, -1.0, 1.0, 0.5]]
    bias = [-1.0, 0.5, 0.0, 0.0, 0.0]
    [mixed] = product([s + c], w_t)
    readout = [math.tanh(number) for number in mixed]
    [scores] = product([readout], w_o)
    logits = [score + own for score, own in zip(scores, bias, strict=True)]
    p = softmax(logits)
    expected = {"state": s, "context": c, "W_t": w_t, "W_o": w_o, "bias": bias, "readout": readout}
    expected |= {"logits": logits, "exponentials": against_the_largest(p), "probabilities": p}
    assert_steps(output_word(), expected | {"word": only(2, 5)})
    assert (f"{p[2]:.2f}", f"{-math.log(p[2]):.2f}") == ("0.71", "0.34")  # what the text says


def test_decoding_equals_the_slow_loop_and_its_rows_are_the_weights_of_the_steps():
    h = [[3.0, 0.0, 1.0], [0.0, 4.0, 0.0], [1.0, 0.0, 4.0]]
    embeddings = [[2.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 2.0, 0.0], [0.0] * 3, [0.0] * 3]
    w_o = [[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]]
    expected, state, word, rows = {}, [0.0] * 3, 0, []
    for number in (1, 2, 3):
        asked = embeddings[word]
        state = [math.tanh(y + 0.5 * s) for y, s in zip(asked, state, strict=True)]
        scores = [sum(a * b for a, b in zip(state, row, strict=True)) for row in h]
        rows.append(softmax(scores))
        context = attend(rows[-1], h)
        [logits] = product([context], w_o)
        word = logits.index(max(logits))
        of_step = {"state": state, "scores": scores, "weights": rows[-1], "context": context}
        of_step |= {"logits": logits, "word": only(word, 5)}
        expected |= {f"{name} {number}": numbers for name, numbers in of_step.items()}
        assert word == (1, 2, 3)[number - 1]  # the, blue, house
    example = decoding()
    assert_steps(example, {"annotations": h, "embeddings": embeddings, "W_o": w_o} | expected)
    assert_steps(example, {"alignment": rows})
    assert example["alignment"].argmax(axis=1).tolist() == [0, 2, 1]


def test_hard_and_soft_equal_the_slow_loop_and_the_soft_is_the_mean_of_the_hard():
    h, alpha, u = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.6]], [0.1, 0.3, 0.6], 0.25
    edges = [sum(alpha[: place + 1]) for place in range(3)]
    place = next(place for place in range(3) if edges[place] > u)
    example = hard_soft()
    shares = example["shares"][0].tolist()
    expected = {"soft context": attend(alpha, h), "largest": only(2, 3), "likeliest context": h[2]}
    expected |= {"edges": edges, "drawn": only(place, 3), "hard context": h[place]}
    assert_steps(example, expected | {"mean of hard contexts": attend(shares, h)})
    np.testing.assert_allclose(shares, alpha, rtol=0, atol=4 * 0.5 / 1000**0.5)
