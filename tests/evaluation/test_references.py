"""The loss of references against training's own, one sentence at a time."""

import logging

import pytest
import torch

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.vocabulary import BOS, EOS
from seq2seq.decoding.translator import Translator
from seq2seq.evaluation.evaluate import draw_maps, score_references
from seq2seq.evaluation.translations import AttentionMap, Translations
from seq2seq.model.translation import TranslationModel

CPU = torch.device("cpu")
SOURCES = ["a b c", "", "h", "b b a c d e f", "g"]
REFERENCES = ["C B A", "A", "H H", "", "G"]


@pytest.fixture
def translator(trained) -> Translator:
    return Translator(trained[2][0], "cpu", "fp32")


def slow_log_probability(
    models: list[TranslationModel], translator: Translator, source: str, reference: str
) -> float:
    """The sum over pieces of the log of the models' mean probability, by the training's forward."""
    read = torch.tensor([[*translator.source.encode(source), EOS]])
    said = [*translator.target.encode(reference), EOS]
    probabilities = []
    for model in models:
        model.eval()
        outputs, _ = model(read, torch.tensor([read.shape[1]]), torch.tensor([[BOS, *said[:-1]]]))
        probabilities.append(model.output(outputs[0]).softmax(dim=-1))
    mean = torch.stack(probabilities).mean(dim=0)
    return float(sum(mean[step, piece].log() for step, piece in enumerate(said)))


@torch.no_grad()
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("batch_size", [2, 64])
def test_each_reference_has_the_log_probability_of_the_models_alone(trained, count, batch_size):
    translator = Translator(trained[2][:count], "cpu", "fp32")
    models = [load_checkpoint(path, CPU).model for path in trained[2][:count]]
    found = score_references(translator, SOURCES, REFERENCES, batch_size)
    assert found.pieces == [4, 0, 3, 0, 2]
    for source, reference, value in zip(SOURCES, REFERENCES, found.log_probabilities, strict=True):
        if source and reference:
            expected = slow_log_probability(models, translator, source, reference)
            assert value == pytest.approx(expected, abs=1e-4)
        else:
            assert value is None


def map_of(translator: Translator, source: str, hypothesis: str) -> list[AttentionMap]:
    return draw_maps(translator, Translations([source], [""], [hypothesis], []), [0], 1)


def test_a_source_is_cut_where_translating_cuts_it(translator, caplog):
    translator.max_pieces = 3
    reference, long, short = "E D C B A", "a b c d e", "a b c"
    with caplog.at_level(logging.WARNING):
        for ask in (
            lambda source: score_references(translator, [source], [reference], 64),
            lambda source: map_of(translator, source, reference),
        ):
            assert ask(long) == ask(short)
    assert not caplog.records  # translating has warned


def test_the_model_is_asked_without_dropout_and_left_as_it_was(translator):
    translator.model.train()
    found = score_references(translator, SOURCES, REFERENCES, 2)
    assert translator.model.training
    translator.model.eval()
    assert score_references(translator, SOURCES, REFERENCES, 2) == found


def looks(translator: Translator, source: str, target: str) -> torch.Tensor:
    """Where the model looks for each piece of ``target``, its end included, by the unroll."""
    model = translator.model.eval()
    read = torch.tensor([[*translator.source.encode(source), EOS]])
    said = translator.target.encode(target)
    with torch.no_grad():
        encoded = model.encode(read, torch.tensor([read.shape[1]]))
        embedded = model.target_embedding(torch.tensor([[BOS, *said]]))
        return model.decoder(embedded, encoded)[1][0]


def test_a_map_shows_where_the_model_looked_for_each_word_of_a_hypothesis(translator):
    hypotheses = ["C B", "A", "", "E", "G G"]
    maps = draw_maps(translator, Translations(SOURCES, REFERENCES, hypotheses, []), {4, 2, 1, 0}, 2)
    assert sorted(one.line for one in maps) == [0, 4]
    for one in maps:
        assert one.source == SOURCES[one.line].split()
        assert one.hypothesis == hypotheses[one.line].split()
        expected = looks(translator, SOURCES[one.line], hypotheses[one.line])[:-1, :-1]
        torch.testing.assert_close(torch.tensor(one.weights), expected, atol=1e-4, rtol=0)


def test_a_model_that_does_not_attend_has_no_maps(translator, monkeypatch):
    monkeypatch.setattr(type(translator.model), "attends", False)
    assert map_of(translator, "a", "A") == []
