"""Crammed vectors where the answer is known: never worse than their start, alone or together."""

import cram
import pytest
import torch
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_checkpoint import SENTENCES, tiny_translator
from helpers.small_training import train

from seq2seq.decoding.translator import Translator

SOURCES = [SENTENCES[1], SENTENCES[2], SENTENCES[0]]


@pytest.fixture(scope="module")
def fixed():
    """Translator, the vectors of its encoder, and the loss of the references given them."""
    translator = tiny_translator("fixed")
    losses = -torch.tensor(translator.score(SOURCES, SENTENCES))
    return translator, cram.encoded(translator, SOURCES), losses


def losses_of(translator, vectors):
    """What forced decoding says of the references."""
    texts = cram.Translations(SOURCES, SENTENCES, [""] * 3, [False] * 3)
    scored = cram.translate(translator, texts, vectors).reference_scores
    return -torch.tensor(scored.log_probabilities)


def test_the_vectors_of_the_encoder_give_what_the_model_gives(fixed):
    translator, vectors, losses = fixed
    torch.testing.assert_close(losses_of(translator, vectors), losses, rtol=1e-4, atol=1e-4)
    texts = cram.Translations(SOURCES, SENTENCES, [""] * 3, [False] * 3)
    said = [one.text for one in translator.translate(SOURCES, beam=1)]
    assert cram.translate(translator, texts, vectors).hypotheses == said


def test_losses_of_pieces_add_up_to_the_losses_of_references(fixed):
    translator, vectors, losses = fixed
    for given, lines in ((translator, SOURCES), cram.reading(translator, SOURCES, vectors)):
        found = cram.piece_losses(given, lines, SENTENCES)
        assert [len(of) for of in found] == [len(given.target.encode(s)) + 1 for s in SENTENCES]
        sums = torch.tensor([sum(of) for of in found])
        torch.testing.assert_close(sums, losses, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("which", ["free", "bounded", "within"])
def test_cramming_lowers_each_loss_and_does_not_depend_on_the_other_sentences(
    fixed, which, monkeypatch
):
    monkeypatch.setattr(cram, "STEPS", 20)
    translator, vectors, _ = fixed
    several = torch.cat(
        [cram.encoded(translator, [s[i:]]) for s in SENTENCES for i in (0, 4, 9, 13)]
    )
    frame = cram.Frame.within(several)
    if which != "within":
        frame = cram.Frame.free(8, 0.5 if which == "bounded" else float("inf"))
    weights = {name: tensor.clone() for name, tensor in translator.model.state_dict().items()}
    together, found = cram.cram(translator, vectors, SENTENCES, frame, 0.1)
    torch.testing.assert_close(losses_of(translator, together), found, rtol=1e-4, atol=1e-4)
    before = losses_of(translator, frame.vectors(frame.coordinates(vectors)))
    assert (found < before - 0.1).all()
    assert (frame.coordinates(together).norm(dim=1) <= frame.radius * (1 + 1e-5)).all()
    assert (together.abs().amax() == 0.5) == (which == "bounded")
    alone, _ = cram.cram(translator, vectors[1:2], SENTENCES[1:2], frame, 0.1)
    torch.testing.assert_close(alone[0], together[1], rtol=1e-3, atol=1e-4)
    for name, tensor in translator.model.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


def test_coordinates_within_the_covariance_are_mahalanobis_lengths():
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(500, 4, generator=generator) @ torch.randn(4, 4, generator=generator) + 3
    frame = cram.Frame.within(vectors)
    offset = vectors - vectors.mean(dim=0)
    inverse = torch.linalg.inv(offset.T @ offset / 499)
    lengths = torch.einsum("nf,fg,ng->n", offset, inverse, offset).sqrt()
    inside = lengths <= frame.radius
    assert inside.float().mean() == pytest.approx(cram.QUANTILE, abs=0.002)
    found = frame.coordinates(vectors)
    torch.testing.assert_close(
        found.norm(dim=1), lengths.clamp(max=frame.radius), rtol=1e-3, atol=1e-3
    )
    torch.testing.assert_close(frame.vectors(found)[inside], vectors[inside], rtol=1e-3, atol=1e-3)


def test_a_rounded_number_is_at_most_half_a_level_away():
    vectors = torch.randn(9, 50, generator=torch.Generator().manual_seed(1))
    levels = vectors.abs().amax(dim=1, keepdim=True) / 127
    found = cram.rounded(vectors)
    assert ((found - vectors).abs() <= levels / 2 + 1e-6).all()
    assert all(len(row.unique()) <= 255 for row in found)
    torch.testing.assert_close(cram.rounded(torch.zeros(1, 3)), torch.zeros(1, 3))


def test_a_decoder_that_can_copy_reads_any_short_text_out_of_a_crammed_zero(tmp_path, monkeypatch):
    monkeypatch.setattr(cram, "STEPS", 100)
    write_reversal_corpus(tmp_path / "corpus", train=2000, longest=2)
    config = reversal_experiment(tmp_path, "fixed", 0.02, max_epochs=3, validate_every=1000)
    translator = Translator(train(config).path, "cpu", "fp32")
    texts = ["A B", "H C", "D", "F F", "B A"]
    width = cram.encoded(translator, ["a"]).shape[1]
    zeros = torch.zeros(len(texts), width)
    found, losses = cram.cram(translator, zeros, texts, cram.Frame.free(width), 0.1)
    assert losses.max() < 0.05
    written = cram.translate(
        translator, cram.Translations(texts, texts, texts, [False] * len(texts)), found
    )
    assert written.hypotheses == texts
