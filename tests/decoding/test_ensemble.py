"""Several models as one: the mean of probabilities, the mean of weights, and what is refused."""

import dataclasses

import pytest
import torch
from helpers.small_checkpoint import ENGLISH, GERMAN, codec, experiment, training_state
from helpers.table_model import PIECES, TableModel, pad, random_sentences

from seq2seq.checkpoint import Checkpoint, save_checkpoint
from seq2seq.config import AttentionConfig, DecodingConfig
from seq2seq.data.vocabulary import EOS
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.ensemble import Ensemble, forced_decode
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel

CONFIG = DecodingConfig(beam=3, n_best=2, max_ratio=1.5, max_extra=2)


def save(folder, seed, target=GERMAN, **model):
    config = experiment()
    config.model = dataclasses.replace(config.model, **model)
    torch.manual_seed(seed)
    network = TranslationModel(config.model, len(ENGLISH.vocabulary), len(target.vocabulary))
    checkpoint = Checkpoint(config, network, ENGLISH, target, training_state())
    save_checkpoint(folder / str(seed), checkpoint)
    return folder / str(seed)


def test_a_step_is_the_mean_of_the_models_probabilities_and_weights():
    """The weights of local_p (Luong et al. 2015) do not sum to 1, nor do their means."""
    config = dataclasses.replace(experiment().model, attention=AttentionConfig(kind="local_p"))
    models = [TranslationModel(config, PIECES, PIECES).eval() for _ in range(3)]
    token, all_of_them = torch.randint(4, PIECES, (7,)), [Ensemble(models), *models]
    read = [model.encode(*pad(random_sentences(7))) for model in all_of_them]
    states = [model.init_state(of) for model, of in zip(all_of_them, read, strict=True)]
    for _ in range(2):
        with torch.no_grad():
            steps = [m.step(token, *of) for m, *of in zip(all_of_them, states, read, strict=True)]
        (logits, _, weights), *each = steps
        mean = torch.stack([step.logits.softmax(dim=1) for step in each]).mean(dim=0)
        torch.testing.assert_close(logits.exp(), mean)
        looked = torch.stack([step.weights for step in each]).mean(dim=0)
        torch.testing.assert_close(weights, looked)
        assert (looked.sum(dim=1) - 1).abs().max() > 0.01
        states = [step[1] for step in steps]


def test_the_search_of_an_ensemble_maximises_what_forcing_it_scores():
    ensemble = Ensemble([TableModel(seed) for seed in range(3)])
    sentences = random_sentences(10)
    results = beam_search(ensemble, *pad(sentences), CONFIG)
    for sentence, found in zip(sentences, results, strict=True):
        assert beam_search(ensemble, *pad([sentence]), CONFIG) == [found]
        for hypothesis in found:
            ids = torch.tensor([[*hypothesis.ids, *[EOS] * (not hypothesis.capped)]])
            forced = forced_decode(ensemble, *pad([sentence]), ids).log_probabilities.sum().item()
            assert hypothesis.log_probability == pytest.approx(forced, abs=1e-4)


@pytest.mark.parametrize("kind", ["fixed", "slots"])
def test_a_model_that_attends_to_no_word_does_not_thin_the_weights(kind, tmp_path):
    paths = [save(tmp_path, 4), save(tmp_path, 2, attention=AttentionConfig(kind=kind))]
    translator = Translator(paths, "cpu", "fp32")
    found = translator.translate("a dog barks", attention=True)
    assert found.pieces
    torch.testing.assert_close(found.attention.sum(dim=1), torch.ones(len(found.pieces)))
    alone = Translator(paths[1], "cpu", "fp32").translate("a dog", attention=True)
    assert alone.attention is None


def test_checkpoints_of_other_vocabularies_are_refused_but_not_of_other_sizes(tmp_path):
    one, wider = save(tmp_path, 1), save(tmp_path, 2, embedding_dim=12)
    others = codec("de", "eine katze miaut"), codec("nl", "ein hund bellt")
    for seed, target in enumerate(others, start=3):
        with pytest.raises(UserError, match="vocabulary"):
            Translator([one, save(tmp_path, seed, target=target)], "cpu")
    ensemble = Translator([one, wider], "cpu", "fp32")
    assert ensemble.model.parameter_counts()["total"] == sum(
        Translator(path, "cpu").model.parameter_counts()["total"] for path in (one, wider)
    )
    assert len(ensemble.translate(["a dog", ""])) == 2
