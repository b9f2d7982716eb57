"""Text in, text out, with a model that echoes its source."""

import base64
import json
import logging
from dataclasses import asdict

import numpy as np
import pytest
import torch
from helpers.echo_model import CPU, GREEDY, WORDS, echo
from helpers.small_checkpoint import save_tiny, tiny_translator
from helpers.table_model import TableModel

from seq2seq.config import DecodingConfig
from seq2seq.data.tokenization import TextCodec, WhitespaceTokenizer
from seq2seq.data.vocabulary import EOS, Vocabulary
from seq2seq.decoding.ensemble import forced_decode
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.translator import Translator
from seq2seq.errors import UserError


def chance():
    """A translator with a table of random scores for its model, which has three words."""
    codec = TextCodec(WhitespaceTokenizer("de"), Vocabulary(["der", "hund", "heim"], [1, 1, 1]))
    sides = {"source": codec, "target": codec, "max_pieces": 10}
    machine = {"device": CPU, "precision": torch.float32}
    return Translator.of_parts(TableModel(ending=-1.0), **sides, **machine)


def test_a_path_is_enough(tmp_path):
    folder = save_tiny(tmp_path / "model")
    for load in (Translator, Translator.load):
        found = load(str(folder), precision="fp32").translate("a dog")
        assert found == tiny_translator().translate("a dog")


def test_any_iterable_of_strings_is_translated_in_its_order():
    sentences = ["hund", "der hund", "", "heim"]
    keys, array = dict.fromkeys(sentences), np.array(sentences)
    for text in (tuple(sentences), iter(sentences), keys, keys.keys(), array):
        assert [found.text for found in echo().translate(text)] == sentences


@pytest.mark.parametrize(
    "text", [b"der", ["der", b"hund"], [["der"]], "a dog\na cat", ["a", "b\r\nc"]]
)
def test_what_is_no_line_of_text_is_refused(text):
    translator = tiny_translator()
    for call in (
        translator.translate,
        lambda text: list(translator.stream(text)),
        lambda text: translator.score(text, text),
    ):
        with pytest.raises(UserError):
            call(text)


def test_lines_may_end_as_a_file_yields_them():
    assert len(tiny_translator().translate(["a dog\n", "a\u2028cat\r\n"])) == 2


def test_a_string_is_not_taken_for_a_stream_of_letters():
    with pytest.raises(UserError):
        list(echo().stream("der hund"))


def test_settings_of_the_search_are_keywords():
    translator, sentence = chance(), "der hund"
    config = DecodingConfig(beam=3, n_best=2, length_penalty=0.5)
    expected = translator.translate(sentence, config)
    assert translator.translate(sentence, beam=3, n_best=2, length_penalty=0.5) == expected
    assert [*translator.stream([sentence], beam=3, n_best=2, length_penalty=0.5)] == [expected]
    assert translator.translate(sentence, DecodingConfig(beam=3, n_best=2), length_penalty=0.5)
    for wrong, key in (
        ({"beem": 3}, "beem .* beam"),
        ({"atention": True}, "atention"),
        ({"beam": 0}, "beam"),
    ):
        with pytest.raises(UserError, match=key):
            translator.translate(sentence, **wrong)


def test_given_translations_are_scored_as_the_search_scores_its_own():
    translator, pairs, expected = chance(), [], []
    sources = ["der hund", "heim", "hund heim der", "xyz heim", "der der"]
    for source in sources:
        found = translator.translate(source, beam=4, n_best=4, length_penalty=0.0)
        for one in [found, *found.alternatives]:
            if one.text and not one.capped:
                pairs.append((source, one.text))
                expected.append(pytest.approx(one.log_probability, abs=1e-4))
    assert len({len(text.split()) for _, text in pairs}) > 1
    given, texts = zip(*pairs, strict=True)
    assert translator.score(iter(given), texts) == expected
    assert translator.score(*pairs[-1]) == expected[-1]
    blank = translator.score(["", "der", "der"], ["der", " ", "hund"])
    assert np.isnan(blank).tolist() == [True, True, False]


def test_blank_lines_never_reach_the_model_and_those_of_like_length_share_a_batch():
    translator = echo()
    sentences = ["", "der", "der hund läuft", "  \t ", "der hund", "\u00a0", "heim läuft hund"]
    found = translator.translate(sentences, beam=1, batch_size=2)
    assert [hypothesis.text for hypothesis in found] == [each.strip() for each in sentences]
    assert found[0] == Hypothesis("", 0.0, 0.0, [], False)
    assert translator.model.batches == [[4, 4], [3, 2]]
    assert translator.translate([], GREEDY) == []


def test_a_longer_line_is_cut_with_one_warning_that_names_it(caplog):
    sentences = ["der hund", "der hund läuft heim " * 1_000, "heim"]
    with caplog.at_level(logging.WARNING):
        found = echo(max_pieces=3).translate(sentences, GREEDY)
    assert [hypothesis.text for hypothesis in found] == ["der hund", "der hund läuft", "heim"]
    [message] = caplog.messages
    assert message.startswith("Line 2 has 4000 pieces")


def test_a_hypothesis_is_one_line_whatever_its_pieces_hold():
    translator, names = echo(), [f"w{i}" for i in range(len(WORDS))]
    translator.source = TextCodec(WhitespaceTokenizer("de"), Vocabulary(names, [1] * 9))
    [found] = translator.translate([" ".join(names)], GREEDY)
    assert found.text.splitlines() == [found.text]
    assert found.text == "der hund läuft heim 🐕 a b c d e  f g"


def test_the_map_shows_the_words_of_source_and_translation():
    found = echo().translate("der hund läuft <b>", GREEDY, attention=True)
    [axes] = found.plot().axes
    for axis, words in ((axes.xaxis, "der hund läuft <b>"), (axes.yaxis, "der hund läuft <unk>")):
        assert [label.get_text() for label in axis.get_ticklabels()] == words.split()
    np.testing.assert_array_equal(axes.images[0].get_array(), np.eye(4))  # where the echo looks
    page, _, encoded = found._repr_html_().partition("svg+xml;base64,")
    assert "der hund läuft &lt;b&gt;" in page
    assert b"<svg" in base64.b64decode(encoded.partition('"')[0])


def test_without_weights_there_is_no_map():
    translator, blind = echo(), tiny_translator("fixed")
    for found in (translator.translate("der"), blind.translate("a dog", attention=True)):
        assert "<img" not in found._repr_html_()
        with pytest.raises(UserError, match="attention=True"):
            found.plot()
    json.dumps(asdict(echo().translate(["der", ""])[0]))  # plain data


def test_each_alternative_tells_where_it_looked_itself():
    translator, sentences = chance(), ["der hund", "heim", "der"]
    search = DecodingConfig(beam=4, n_best=3)
    together = translator.translate(sentences, search, attention=True)
    for sentence, found in zip(sentences, together, strict=True):
        source = torch.tensor([[*translator.source.encode(sentence), EOS]])
        lengths = torch.tensor([source.shape[1]])
        assert found.pieces != found.alternatives[0].pieces
        for one in (found, *found.alternatives):
            assert one.source_pieces == [*sentence.split(), "</s>"]
            ids = torch.tensor([[*translator.target.vocabulary.encode(one.pieces), EOS]])
            looked = forced_decode(translator.model, source, lengths, ids).weights[0, :-1]
            torch.testing.assert_close(one.attention, looked)


def test_the_unknown_words_of_a_source_are_listed():
    sentences = ["der Hund der xyz Hund", "der hund", "", "hund heim . </s>"]
    found = echo(max_pieces=4).translate(sentences, GREEDY)
    assert [one.unknown for one in found] == [["xyz"], [], [], [".", "</s>"]]
    subwords = tiny_translator()
    assert subwords.translate("a dog and 🎉 dogs").unknown == ["🎉"]
    assert subwords.translate("catdogs bark").unknown == []


def test_half_a_surrogate_pair_is_no_text():
    assert echo().translate("der \ud83d", GREEDY).text == "der <unk>"
    for prefix in ("\ud83d", ["\ud83d"]):
        assert echo().translate("der hund", GREEDY, prefix=prefix).text == "? hund"


def test_the_model_is_in_evaluation_mode_only_meanwhile():
    for precision, training in ((torch.bfloat16, True), (torch.float32, False)):
        translator = echo(precision=precision)
        translator.model.train(training)
        translator.translate(["hund"], GREEDY)
        assert translator.model.saw == {(False, precision == torch.bfloat16)}
        assert translator.model.training == training


@pytest.mark.parametrize("chunk", [1, 2, 5, 6, 100])
def test_a_stream_gives_what_a_list_gives_and_reads_no_further_than_it_must(chunk, caplog):
    sentences = ["hund", "", "der hund läuft heim", "heim heim", "läuft", "der der"]
    read = []

    def lines():
        for sentence in sentences:
            read.append(sentence)
            yield sentence

    translator = echo(max_pieces=3)
    whole = translator.translate(sentences, GREEDY)
    with caplog.at_level(logging.WARNING):
        found = []
        for hypothesis in translator.stream(lines(), GREEDY, chunk=chunk):
            found.append(hypothesis)
            assert len(read) <= -(-len(found) // chunk) * chunk
    assert found == whole
    assert {record.getMessage().partition(" has")[0] for record in caplog.records} == {"Line 3"}


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"n_best": 2}], ids=str)
def test_a_translation_goes_on_from_a_forced_beginning(options):
    translator = chance()
    for prefix in ("hund", ["hund", "heim"], "Hund heim", "xyz heim", ["</s>", "xyz"]):
        pieces = prefix.lower().split() if isinstance(prefix, str) else prefix
        found = translator.translate(["der hund", "heim", ""], prefix=prefix, **options)
        assert found == list(translator.stream(["der hund", "heim", ""], prefix=prefix, **options))
        assert found[2].text == ""
        for best in found[:2]:
            for one in [best, *best.alternatives]:
                assert one.pieces[: len(pieces)] == pieces
                if not one.capped and "<unk>" not in one.pieces:
                    score = translator.score(best.source, one.text)
                    assert one.log_probability == pytest.approx(score, abs=1e-4)


def test_typed_words_are_met_except_where_text_is_taken_as_it_is():
    translator = echo()
    typed, written = "Der Hund läuft, heim", "der hund läuft , heim"
    assert translator.cut(typed) == written.split()
    assert translator.translate(typed).unknown == [","]
    assert translator.score(typed, "der") == translator.score(written, "der")
    translator.as_written = True
    assert translator.cut(typed) == typed.split()
    assert translator.translate(typed).unknown == ["Der", "Hund", "läuft,"]
