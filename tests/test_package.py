"""What ``import seq2seq`` gives, and what it costs."""

import subprocess
import sys

import pytest

import seq2seq
from seq2seq.config import DecodingConfig
from seq2seq.decoding.translator import Translator


def test_the_names_of_the_package():
    assert (seq2seq.Translator, seq2seq.DecodingConfig) == (Translator, DecodingConfig)
    with pytest.raises(AttributeError, match="no attribute 'Translater'"):
        _ = seq2seq.Translater


def test_the_import_is_cheap():
    code = "import sys, seq2seq; print({'torch', 'hydra', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
