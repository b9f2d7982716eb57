"""Hypotheses that came to their longest length are counted for whoever translates a text."""

import logging

import pytest
from test_translator import echo

from seq2seq.config import DecodingConfig, TranslateConfig
from seq2seq.decoding.text_stream import translate_text


@pytest.mark.parametrize("chunk", [1, 2, 10])
def test_the_log_counts_the_hypotheses_of_a_text_that_were_cut(tmp_path, caplog, chunk):
    (tmp_path / "in").write_text("der hund\nder\nder hund heim\nhund\nheim der\n\nheim\n")
    config = TranslateConfig(
        checkpoint="unused",
        decoding=DecodingConfig(beam=1, max_ratio=0, max_extra=2),
        input=str(tmp_path / "in"),
        hypotheses=str(tmp_path / "out"),
        chunk=chunk,
    )
    with caplog.at_level(logging.INFO):
        translate_text(echo(), config)
    assert "Translated 7 lines; 3 hypotheses were cut at the length cap" in caplog.messages
