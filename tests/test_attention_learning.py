"""That each kind of attention learns what its mechanism can do, and that the controls do not.

Tiny models learn to copy or to reverse words of up to 12 letters, all with the same budget, and are
asked new words of the longest lengths. One fixed vector cannot hold those.
"""

from pathlib import Path

import pytest
import torch
from helpers.reversal import reversal_experiment, without_dropout, write_reversal_corpus
from helpers.small_training import train

from seq2seq.config import AttentionConfig, DecoderConfig, DecodingConfig
from seq2seq.config.settings import ATTENTION_KINDS
from seq2seq.data.text import read_lines
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.translator import Translator
from seq2seq.model.translation import TranslationModel

LETTERS, LONGEST, UPDATES, LEARNING_RATE = 12, 12, 250, 0.015
PIECES = len(SPECIALS) + LETTERS

LUONG = {"order": "luong"}
TASKS = {
    **dict.fromkeys(("additive", "coverage", "dot"), ("reverse", {})),
    **dict.fromkeys(("scaled_dot", "multi_head", "local_p"), ("reverse", {})),
    "general": ("reverse", LUONG),
    # What these see follows from the target position alone, not from the length of the source.
    "location": ("copy", LUONG),
    "local_m": ("copy", LUONG | {"input_feeding": True}),
}
"""What each kind is asked to learn, and in which decoder."""
CONTROLS = {"uniform": "copy", "fixed": "reverse", "init_only": "reverse"}
POOLED = ("slots", "linear", "elu", "delta")
RELATED = ("additive", "coverage", "dot", "general", "scaled_dot", "linear")
"""Kinds that are trained for an edition alone: another kind or the last test has their code."""


def each(kinds):
    return [pytest.param(k, marks=pytest.mark.edition if k in RELATED else ()) for k in kinds]


def draw(generator, count, length, task):
    """Words, their lengths, what the decoder reads and what becomes of the words, with the end."""
    word = torch.randint(len(SPECIALS), PIECES, (count, length), generator=generator)
    begin, end = torch.full((count, 1), BOS), torch.full((count, 1), EOS)
    target = word.flip(1) if task == "reverse" else word
    source = torch.cat([word, end], dim=1), torch.full((count,), length + 1)
    return *source, torch.cat([begin, target], dim=1), torch.cat([target, end], dim=1)


def trained(kind, task, **decoder):
    """Of one size and budget for all; the words of an update are of one length."""
    # local_p finds its centre by the slope of a Gaussian, which a narrow window would cut off.
    window = 6 if kind == "local_p" else 2
    config = without_dropout(reversal_experiment(Path())).model
    config.attention = AttentionConfig(kind=kind, size=32, heads=2, window=window, slots=32)
    config.decoder = DecoderConfig(hidden_size=32, **decoder)
    torch.manual_seed(0)
    model = TranslationModel(config, PIECES, PIECES)
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    for update in range(UPDATES):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * min(1, 2 * (1 - update / UPDATES))
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        *batch, target = draw(generator, 64, length, task)
        logits = model.logits(model(*batch)[0]).flatten(0, 1)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, target.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


@torch.no_grad()
def learned(model, task):
    """Of the longest words, new ones: the share of each of these.

    - accuracy: letters that are likeliest after the right letters before them
    - exact: words that greedy search writes without a fault
    - aligned: letters for which the model looks most at that letter or at one beside it: these,
      too, know of it by the encoder
    """
    generator = torch.Generator().manual_seed(2)
    found = {"accuracy": [], "exact": [], "aligned": []}
    for length in (10, 11, 12):
        source, lengths, given, target = draw(generator, 32, length, task)
        readouts, weights = model(source, lengths, given)
        right = model.logits(readouts).argmax(dim=2) == target
        found["accuracy"] += right[:, :-1].flatten().tolist()
        searched = beam_search(model, source, lengths, DecodingConfig(beam=1))
        pairs = zip(searched, target.tolist(), strict=True)
        found["exact"] += [hypotheses[0].ids == word[:-1] for hypotheses, word in pairs]
        place = torch.arange(length)
        away = weights[:, :-1].argmax(dim=2) - (place.flip(0) if task == "reverse" else place)
        found["aligned"] += (away.abs() <= 1).flatten().tolist()
    return {name: sum(each) / len(each) for name, each in found.items()}


def test_every_kind_is_asked_to_learn_or_is_a_control():
    assert {*TASKS, *CONTROLS, *POOLED, "none"} == {*ATTENTION_KINDS}


@pytest.mark.slow
@pytest.mark.parametrize("kind", each(TASKS))
def test_each_kind_of_attention_learns_long_words(kind):
    task, decoder = TASKS[kind]
    found = learned(trained(kind, task, **decoder), task)
    assert found["accuracy"] >= 0.93, found
    assert found["exact"] >= 0.4, found
    assert found["aligned"] >= 0.9, found


@pytest.mark.slow
@pytest.mark.edition
@pytest.mark.parametrize(("kind", "task"), CONTROLS.items())
def test_no_control_learns_long_words(kind, task):
    found = learned(trained(kind, task), task)
    assert 1.5 / LETTERS <= found["accuracy"] <= 0.7, found  # more than chance: it did learn
    assert found["exact"] <= 0.02, found


@pytest.mark.slow
@pytest.mark.parametrize("kind", each(POOLED))
def test_more_vectors_hold_more_of_a_long_word(kind):
    """Than one, which is the control "fixed"."""
    least = 0.72 if kind == "elu" else 0.8  # its features do not compete
    assert learned(trained(kind, "reverse"), "reverse")["accuracy"] >= least


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_the_trainer_teaches_both_short_sentences_and_attention_alone_long_ones(tmp_path, kind):
    corpus = write_reversal_corpus(tmp_path / "corpus", train=4_000, longest=LONGEST)
    settings = {"batch_size": 50, "max_epochs": 6, "dev_bleu_sentences": 0, "log_every": 100}
    run = train(without_dropout(reversal_experiment(tmp_path, kind, 0.01, **settings)))
    sources, references = ([*read_lines(corpus / f"test.{side}")] for side in ("source", "target"))
    found = Translator(run.path, "cpu", "fp32").translate(sources, DecodingConfig(beam=1))
    right = {"short": [], "long": []}
    for source, reference, hypothesis in zip(sources, references, found, strict=True):
        bucket = "short" if len(source.split()) <= LONGEST / 3 else "long"
        right[bucket].append(hypothesis.text == reference)
    short, long = (sum(exact) / len(exact) for exact in right.values())
    if kind == "additive":
        assert short >= 0.95
        assert long >= 0.9
    else:
        assert short >= 0.7
        assert long <= 0.5 * short
