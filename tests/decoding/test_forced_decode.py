"""Forced decoding against the model asked step by step, one target at a time."""

import pytest
import torch
from helpers.table_model import TableModel, next_step, pad, random_sentences

from seq2seq.decoding.decoder_session import forced_decode


@pytest.mark.parametrize("each", [1, 3])
def test_scores_and_weights_are_those_of_the_steps(each):
    model, sentences = TableModel(), random_sentences(5, seed=1)
    targets = random_sentences(5 * each, seed=2)
    targets[1] = targets[1][:-1] or [4]  # unfinished
    found = forced_decode(model, *pad(sentences), pad(targets)[0])
    for row, target in enumerate(targets):
        sentence = sentences[row // each]
        for step, piece in enumerate(target):
            scores, weights = next_step(model, sentence, target[:step])
            score = found.log_probabilities[row, step].item()
            assert score == pytest.approx(scores[piece], abs=1e-5)
            torch.testing.assert_close(found.weights[row, step, : len(sentence)], weights)
        assert (found.log_probabilities[row, len(target) :] == 0).all()
