"""The steps of a trained model: a slow loop over its weights, and the translator's own results."""

import re

import numpy as np
import pytest
import torch
from tiny_translator import SENTENCES, save_tiny, tiny_translator

from seq2seq.config import DecodingConfig, ExplainConfig
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.errors import UserError
from seq2seq.explain.explain import explain
from seq2seq.explain.trained_model import greedy_steps

SCORED = ("additive", "coverage", "scaled_dot", "location")
KINDS = (*SCORED, "local_p", "local_m", "uniform", "fixed")


def steps_of(kind, text):
    translator = tiny_translator(kind)
    ids = [*translator.source.vocabulary.encode(translator.read(text)), EOS]
    return ids, greedy_steps(translator.model.eval(), ids)


def test_scores_weights_and_contexts_equal_the_slow_loop():
    ids, steps = steps_of("additive", SENTENCES[0])
    model = tiny_translator("additive").model
    weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
    w, u, v = (weights[f"decoder.attention.{n}"] for n in ("query.weight", "key.weight", "vector"))
    with torch.no_grad():
        source = model.encode(torch.tensor([ids]), torch.tensor([len(ids)]))
        begin = model.init_state(source).hidden[-1, 0].double().numpy()
        word = model.target_embedding(torch.tensor(BOS)).double().numpy()
    h = source.annotations[0].double().numpy()
    first = begin + weights["decoder.attention.word_query.weight"] @ word
    np.testing.assert_allclose(steps[0].query, first, rtol=0, atol=1e-5)
    for step in steps:
        query, scores = step.query.double().numpy(), []
        for annotation in h:
            hidden = [np.tanh(a @ query + b @ annotation) for a, b in zip(w, u, strict=True)]
            scores.append(sum(part * own for part, own in zip(v, hidden, strict=True)))
        shares = [1 / sum(np.exp(other - score) for other in scores) for score in scores]
        context = sum(share * annotation for share, annotation in zip(shares, h, strict=True))
        np.testing.assert_allclose(step.scores, scores, rtol=0, atol=1e-4)
        np.testing.assert_allclose(step.weights, shares, rtol=0, atol=1e-5)
        np.testing.assert_allclose(step.context, context, rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_words_probabilities_and_weights_are_those_of_the_translator(kind):
    translator = tiny_translator(kind)
    for text in SENTENCES:
        _, steps = steps_of(kind, text)
        found = translator.translate(text, DecodingConfig(beam=1), attention=True)
        chosen = [step.chosen for step in steps]
        assert translator.target.pieces([piece for piece in chosen if piece != EOS]) == found.pieces
        gained = sum(step.probabilities[step.chosen].log().item() for step in steps)
        assert gained == pytest.approx(found.log_probability, abs=1e-3)
        weights = torch.stack([step.weights for step in steps])
        assert (found.attention is None) == (kind == "fixed")
        if found.attention is not None:
            torch.testing.assert_close(weights[: len(found.attention)], found.attention)
        for step in steps:
            assert (step.scores is not None) == (kind in SCORED)
            if step.scores is not None:
                torch.testing.assert_close(step.scores.softmax(dim=0), step.weights)


@pytest.mark.parametrize("kind", ["additive", "uniform", "fixed"])
def test_the_text_has_the_numbers_of_every_step_and_the_map_is_drawn(tmp_path, kind):
    checkpoint, output = save_tiny(tmp_path / "model", kind), tmp_path / "output"
    text = " ".join(SENTENCES[:2])  # more columns than fit into a line
    said = explain(ExplainConfig(checkpoint=str(checkpoint), text=text, output=str(output)))
    assert max(map(len, said.split("\n")[:-1])) <= 100  # the last line names the folder
    _, steps = steps_of(kind, text)
    for name, values in (("score", "scores"), ("weight", "weights")):
        shown = [
            float(n) for line in re.findall(rf"^ +{name} (.*)", said, re.M) for n in line.split()
        ]
        known = [getattr(step, values) for step in steps if kind != "fixed"]
        wanted = [number for row in known if row is not None for number in row.tolist()]
        np.testing.assert_allclose(shown, wanted, rtol=0, atol=0.00051)
    assert len(re.findall(r"^  writes ", said, re.M)) == len(steps)
    drawn = {path.name for path in output.iterdir()}
    assert drawn == (set() if kind == "fixed" else {"attention.png", "attention.svg"})


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"text": "a dog"}, "checkpoint"),
        ({"checkpoint": "model"}, "text"),
        ({"checkpoint": "model", "text": " "}, "text"),
        ({"checkpoint": "nowhere", "text": "a dog"}, "nowhere"),
        ({"checkpoint": "model", "text": "a dog", "examples": ["dot"]}, "examples"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, monkeypatch, given, named):
    monkeypatch.chdir(tmp_path)
    save_tiny(tmp_path / "model")
    with pytest.raises(UserError, match=named):
        explain(ExplainConfig(**given))
