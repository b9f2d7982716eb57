"""From weights to words, three steps in a row, soft and hard attention: slow loops."""

import math

import numpy as np
from attention_loops import mixed, softmax
from slow_loops import against_the_largest, assert_steps, product

from seq2seq.explain.decoder_steps import decoding, hard_soft, output_word


def only(place, count):
    return [float(position == place) for position in range(count)]


def test_output_word_equals_the_slow_loop():
    example = output_word()
    s, c, w_t, w_o, bias = (
        example[name].tolist() for name in ("state", "context", "W_t", "W_o", "bias")
    )
    readout = [math.tanh(number) for number in product([s[0] + c[0]], w_t)[0]]
    logits = [score + b for score, b in zip(product([readout], w_o)[0], bias[0], strict=True)]
    p = softmax(logits)
    expected = {"readout": readout, "logits": logits, "probabilities": p, "word": only(2, 5)}
    assert_steps(example, expected | {"exponentials": against_the_largest(p)})


def test_decoding_equals_the_slow_loop_and_its_rows_are_the_weights_of_the_steps():
    example = decoding()
    h, embeddings, w_o = (example[name].tolist() for name in ("annotations", "embeddings", "W_o"))
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


def test_hard_and_soft_equal_the_slow_loop_and_the_soft_is_the_mean_of_the_hard():
    example = hard_soft()
    h, [alpha], [shares] = (example[name].tolist() for name in ("annotations", "weights", "shares"))
    edges = [sum(alpha[: place + 1]) for place in range(3)]
    place = next(place for place in range(3) if edges[place] > 0.25)
    expected = {"soft context": mixed(alpha, h), "largest": only(2, 3), "likeliest context": h[2]}
    expected |= {"edges": edges, "drawn": only(place, 3), "hard context": h[place]}
    assert_steps(example, expected | {"mean of hard contexts": mixed(shares, h)})
    np.testing.assert_allclose(shares, alpha, rtol=0, atol=4 * 0.5 / 1000**0.5)
