"""The steps of a trained model: a slow loop over its weights, and the translator's own results."""

import re

import numpy as np
import pytest
import torch
from helpers.tiny_translator import SENTENCES, save_tiny, tiny_translator

from seq2seq.config import DecodingConfig, ExplainConfig
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.errors import UserError
from seq2seq.report.explain import explain, greedy_steps

SCORED = ("additive", "coverage", "scaled_dot", "location")
BLIND = ("fixed", "slots", "linear", "elu", "delta")  # their steps look at no word of the source
KINDS = (*SCORED, "local_p", "local_m", "uniform", *BLIND)


def steps_of(kind, text):
    translator = tiny_translator(kind)
    ids = [*translator.source.vocabulary.encode(translator.read(text)), EOS]
    return ids, greedy_steps(translator.model.eval(), ids)


def test_scores_weights_and_contexts_equal_the_slow_loop():
    ids, steps = steps_of("additive", SENTENCES[0])
    model = tiny_translator("additive").model
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    w, u, v = (weights[f"decoder.attention.{n}"] for n in ("query.weight", "key.weight", "vector"))
    with torch.no_grad():
        source = model.encode(torch.tensor([ids]), torch.tensor([len(ids)]))
        begin = model.init_state(source).hidden[-1, 0].numpy()
        word = model.target_embedding.weight[BOS].numpy()
    h, close = source.annotations[0].numpy(), {"rtol": 0, "atol": 1e-4}
    first = begin + weights["decoder.attention.word_query.weight"] @ word
    np.testing.assert_allclose(steps[0].query, first, **close)
    for step in steps:
        asked = [row @ step.query.numpy() for row in w]
        scores = [
            sum(v[i] * np.tanh(asked[i] + u[i] @ annotation) for i in range(len(v)))
            for annotation in h
        ]
        shares = [1 / sum(np.exp(other - score) for other in scores) for score in scores]
        context = sum(share * annotation for share, annotation in zip(shares, h, strict=True))
        np.testing.assert_allclose(step.scores, scores, **close)
        np.testing.assert_allclose(step.weights, shares, **close)
        np.testing.assert_allclose(step.context, context, **close)


@pytest.mark.parametrize("kind", KINDS)
def test_words_probabilities_and_weights_are_those_of_the_translator(kind):
    translator = tiny_translator(kind)
    _, steps = steps_of(kind, SENTENCES[0])
    found = translator.translate(SENTENCES[0], DecodingConfig(beam=1), attention=True)
    chosen = [step.chosen for step in steps if step.chosen != EOS]
    assert translator.target.pieces(chosen) == found.pieces
    gained = sum(step.probabilities[step.chosen].log().item() for step in steps)
    assert gained == pytest.approx(found.log_probability, abs=1e-3)
    if kind not in BLIND:
        weights = torch.stack([step.weights for step in steps])
        torch.testing.assert_close(weights[: len(found.pieces)], found.attention)
    for step in steps:
        assert (step.weights is None) == (kind in BLIND)
        assert (step.scores is not None) == (kind in SCORED)
        if step.scores is not None:
            torch.testing.assert_close(step.scores.softmax(dim=0), step.weights)


@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_the_text_has_the_numbers_of_every_step_and_the_map_is_drawn(tmp_path, kind):
    checkpoint, output = save_tiny(tmp_path / "model", kind), tmp_path / "output"
    sentence = " ".join(SENTENCES[:2])  # more columns than fit into a line
    text = explain(ExplainConfig(checkpoint=str(checkpoint), text=sentence, output=str(output)))
    assert max(map(len, text.split("\n")[:-1])) <= 100  # the last line names the folder
    _, steps = steps_of(kind, sentence)
    for name in ("score", "weight") if kind == "additive" else ():
        lines = re.findall(rf"^ +{name} (.*)", text, re.MULTILINE)
        shown = [float(number) for line in lines for number in line.split()]
        wanted = torch.cat([getattr(step, f"{name}s") for step in steps])
        np.testing.assert_allclose(shown, wanted, rtol=0, atol=0.00051)
    assert ("\n  weight" in text) == (output / "attention.png").exists() == (kind == "additive")
    assert text.count("\n  writes ") == len(steps)


@pytest.mark.parametrize(
    ("checkpoint", "text", "key"),
    [("model", "", "text"), ("model", " ", "text"), ("nowhere", "a", "nowhere")],
)
def test_bad_input_is_refused(tmp_path, monkeypatch, checkpoint, text, key):
    monkeypatch.chdir(tmp_path)
    save_tiny(tmp_path / "model")
    with pytest.raises(UserError, match=key):
        explain(ExplainConfig(checkpoint=checkpoint, text=text))
