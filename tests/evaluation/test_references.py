"""Losses of references, and attention, against the training's own pass over one sentence."""

import pytest
import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.evaluate import draw_maps, score_references
from seq2seq.evaluation.translations import Translations
from seq2seq.model.translation import TranslationModel

SOURCES = ["a b c", "", "h", "b b a c d e f", "g"]
REFERENCES = ["C B A", "A", "H H", "", "G"]


@torch.no_grad()
def unrolled(
    model: TranslationModel, translator: Translator, source: str, target: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each piece of ``target`` and its end, its probability, and where the model looks."""
    read = torch.tensor([[*translator.source.encode(source), EOS]])
    said = torch.tensor([BOS, *translator.target.encode(target), EOS])
    outputs, weights = model.eval()(read, torch.tensor([read.shape[1]]), said[None, :-1])
    probabilities = model.output(outputs[0]).softmax(dim=-1)
    return probabilities.gather(1, said[1:, None])[:, 0], weights[0]


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("batch_size", [2, 64])
def test_each_reference_has_the_log_probability_of_the_models_alone(runs, count, batch_size):
    """With the mean probability of several models; without dropout, which is left as it was."""
    translator = Translator(runs[:count], "cpu", "fp32")
    models = [load_checkpoint(path, torch.device("cpu")).model for path in runs[:count]]
    translator.model.train()
    found = score_references(translator, SOURCES, REFERENCES, batch_size)
    assert translator.model.training
    assert found.pieces == [4, 0, 3, 0, 2]
    for source, reference, value in zip(SOURCES, REFERENCES, found.log_probabilities, strict=True):
        if source and reference:
            each = [unrolled(model, translator, source, reference)[0] for model in models]
            mean = torch.stack(each).mean(dim=0).log().sum()
            assert value == pytest.approx(float(mean), abs=1e-4)
        else:
            assert value is None


def test_a_map_shows_where_the_model_looked_for_each_word_of_a_hypothesis(run, monkeypatch):
    translator, hypotheses = Translator(run, "cpu", "fp32"), ["C B", "A", "", "E", "G G"]
    texts = Translations(SOURCES, REFERENCES, hypotheses, [])
    found = draw_maps(translator, texts, [4, 2, 1, 0], 2)
    assert sorted(one.line for one in found) == [0, 4]
    for one in found:
        assert one.source == SOURCES[one.line].split()
        assert one.hypothesis == hypotheses[one.line].split()
        looks = unrolled(translator.model, translator, SOURCES[one.line], hypotheses[one.line])[1]
        weights = torch.tensor(one.weights)
        torch.testing.assert_close(weights, looks[:-1, :-1], atol=1e-4, rtol=0)
    monkeypatch.setattr(type(translator.model), "attends", False)
    assert draw_maps(translator, texts, [0], 1) == []


def test_a_source_is_cut_where_translating_cuts_it(run, caplog):
    translator, twice = Translator(run, "cpu", "fp32"), ["E D C B A"] * 2
    translator.max_pieces = 3
    texts = Translations(["a b c d", "a b c"], twice, twice, [])
    scores = score_references(translator, texts.sources, twice, 64).log_probabilities
    assert scores[0] == pytest.approx(scores[1])
    long, short = draw_maps(translator, texts, [0, 1], 1)
    assert (long.source, long.weights) == (short.source, short.weights)
    assert not caplog.records  # translating has warned
