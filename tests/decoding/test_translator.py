"""Text in, text out, by random models of words and subwords."""

import base64
import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from helpers.small_checkpoint import (
    SIDES,
    codec,
    experiment,
    small,
    tiny_translator,
    word_translator,
)

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError


def test_any_iterable_of_lines_is_translated_in_its_order():
    translator, lines = word_translator(), ["dog\n", "dog barks a\r\n", "", "barks barks"]
    alone = [translator.translate(line).text for line in lines]
    assert len({*alone}) == 4
    for text in (tuple(lines), iter(lines), dict.fromkeys(lines), np.array(lines)):
        assert [found.text for found in translator.translate(text)] == alone


@pytest.mark.parametrize("text", [b"a", ["a", b"dog"], [["a"]], "a dog\na cat", ["a", "b\r\nc"]])
def test_what_is_no_line_of_text_is_refused(text):
    translator = word_translator()
    for call in (
        translator.translate,
        lambda text: list(translator.stream(text)),
        lambda text: translator.score(text, text),
    ):
        with pytest.raises(UserError):
            call(text)


def test_settings_of_the_search_are_keywords():
    translator, settings = word_translator(), {"beam": 3, "n_best": 2, "length_penalty": 0.5}
    expected = translator.translate("a dog", DecodingConfig(**settings))
    assert translator.translate("a dog", **settings) == expected
    mixed = translator.translate("a dog", DecodingConfig(beam=3, n_best=2), length_penalty=0.5)
    assert mixed == expected
    for wrong, key in (({"beem": 3}, "beem .* beam"), ({"beam": 0}, "beam")):
        with pytest.raises(UserError, match=key):
            translator.translate("a dog", **wrong)


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "n_best": 4}], ids=str)
@pytest.mark.parametrize(
    ("prefix", "begun"),
    [("", []), ("Hund xyz", ["hund", "xyz"]), (["hund", "</s>"], ["hund", "</s>"])],
)
def test_each_hypothesis_has_the_score_and_weights_of_forcing_it(prefix, begun, options):
    translator, scored = word_translator(), 0
    sources = ["a dog", "barks", "dog barks a", "xyz barks", ""]
    *found, blank = translator.translate(sources, prefix=prefix, attention=True, **options)
    assert blank.text == ""
    for one in (one for best in found for one in [best, *best.alternatives]):
        assert one.pieces[: len(begun)] == begun
        assert one.source_pieces == [*one.source.split(), "</s>"]
        if one.text and not one.capped:
            [forced] = translator.force([one.source], [one.text], 1)
            total = forced.log_probabilities.sum()
            assert not total.requires_grad
            assert one.log_probability == pytest.approx(total.item(), abs=1e-4)
            assert translator.score(one.source, one.text) == pytest.approx(total.item(), abs=1e-4)
            torch.testing.assert_close(one.attention, forced.weights[:-1], rtol=1e-4, atol=1e-4)
            scored += 1
    assert scored


def test_a_hypothesis_is_one_line_of_text_whatever_its_pieces_hold():
    found = word_translator().translate("a dog", prefix=["a\u2028b", "c\x0b", "\ud83d"])
    assert found.text.startswith("a b c  ? ")


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_what_reaches_the_model_and_in_which_mode(precision, training, monkeypatch):
    """No blank lines; lines of like length share a batch."""
    translator, batches, modes = Translator(small(), "cpu", precision), [], set()
    model, encode = translator.model.train(training), translator.model.encode

    def recorded(source, lengths):
        batches.append(lengths.tolist())
        modes.add((model.training, torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")))
        return encode(source, lengths)

    monkeypatch.setattr(model, "encode", recorded)
    lines = ["", "a", "a dog barks", "  \t ", "a dog", "\u00a0", "barks dog barks"]
    found = translator.translate(lines, beam=1, batch_size=2)
    assert found[0] == Hypothesis("", 0.0, 0.0, [], False)
    assert [bool(one.pieces) for one in found] == [bool(line.strip()) for line in lines]
    assert sorted(batches, reverse=True) == [[4, 4], [3, 2]]
    assert modes == {(False, False, precision == "bf16")}
    assert model.training == training
    scores = translator.score(iter(["", "a", "a"]), ["ein", " ", "hund"])
    assert np.isnan(scores).tolist() == [True, True, False]


def test_the_map_shows_the_words_of_source_and_translation():
    found = word_translator().translate("a dog barks <b>", attention=True)
    [axes] = found.plot().axes
    for axis, words in ((axes.xaxis, found.source_pieces[:-1]), (axes.yaxis, found.pieces)):
        assert [label.get_text() for label in axis.get_ticklabels()] == words
    np.testing.assert_allclose(axes.images[0].get_array(), found.attention[:, :-1])
    page, _, encoded = found._repr_html_().partition("svg+xml;base64,")
    assert "a dog barks &lt;b&gt;" in page
    assert b"<svg" in base64.b64decode(encoded.partition('"')[0])


def test_without_weights_there_is_no_map_and_no_tensor():
    plain, blind = word_translator().translate("a"), tiny_translator("fixed")
    for found in (plain, blind.translate("a dog", attention=True)):
        assert "<img" not in found._repr_html_()
        with pytest.raises(UserError, match="attention=True"):
            found.plot()
    json.dumps(asdict(plain))


@pytest.mark.parametrize(
    ("typed", "written", "unknown"),
    [
        ("A Dog a xyz Dog", "a dog a xyz dog", ["xyz"]),
        ("Dog barks, a </s>", "dog barks , a </s>", [",", "</s>"]),
        ("a \ud83d", "a ?", ["?"]),  # half a surrogate pair is no text
    ],
)
def test_words_are_met_in_a_known_form_or_listed_as_unknown(typed, written, unknown):
    translator = word_translator()
    assert translator.translate(typed).pieces == translator.translate(written).pieces
    assert translator.translate(typed).unknown == unknown
    assert translator.score(typed, "ein") == translator.score(written, "ein")
    translator.as_written = True
    assert translator.cut(typed) == typed.replace("\ud83d", "?").split()


def test_pieces_are_listed_as_unknown_without_the_sign_of_a_space():
    assert tiny_translator().translate("a dog and 🎉 dogs").unknown == ["🎉"]


@pytest.mark.parametrize("chunk", [1, 2, 100])
def test_a_stream_gives_what_a_list_gives_and_reads_no_further_than_it_must(chunk, caplog):
    translator, read, found = word_translator(), [], []
    translator.max_pieces = 3
    sentences = ["dog", "", "a dog barks a", "barks barks", "barks", "a a"]

    def lines():
        for sentence in sentences:
            read.append(sentence)
            yield sentence

    for hypothesis in translator.stream(lines(), chunk=chunk):
        found.append(hypothesis)
        assert len(read) <= -(-len(found) // chunk) * chunk
    [warning] = caplog.messages
    assert warning.startswith("Line 3 has 4 pieces")
    whole = translator.translate(sentences)
    assert [one.text for one in found] == [one.text for one in whole]
    assert found[2].pieces == translator.translate("a dog barks").pieces


@pytest.mark.parametrize("kind", ["fixed", "slots"])
def test_a_model_that_attends_to_no_word_does_not_thin_the_weights_of_an_ensemble(kind):
    blind = small(experiment(kind), seed=2)
    found = Translator([small(seed=4), blind], "cpu", "fp32").translate("a dog", attention=True)
    assert found.pieces
    torch.testing.assert_close(found.attention.sum(dim=1), torch.ones(len(found.pieces)))
    assert Translator(blind, "cpu", "fp32").translate("a dog", attention=True).attention is None


def test_models_of_other_vocabularies_are_no_ensemble_but_those_of_other_sizes_are():
    german = ["ein", "hund", "bellt"]
    for other in (codec("de", german[::-1]), codec("nl", german)):
        with pytest.raises(UserError, match="vocabulary"):
            Translator([small(), small(sides=[SIDES[0], other])], "cpu")
    models = small(), small(experiment(widen=2))
    counts = Translator(models, "cpu").model.parameter_counts()
    assert counts["total"] == sum(one.model.parameter_counts()["total"] for one in models)
