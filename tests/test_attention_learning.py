"""That each kind of attention learns what its mechanism can do, and that the controls do not.

Tiny models learn to copy or to reverse words of up to 12 letters, all with the same budget, and are
asked new words of the longest lengths. One fixed vector cannot hold those.
"""

from typing import NamedTuple

import pytest
import torch
from jaxtyping import Int
from torch import Tensor

from seq2seq.config import (
    AttentionConfig,
    DecoderConfig,
    DecodingConfig,
    EncoderConfig,
    ModelConfig,
)
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.decoding.beam_search import beam_search
from seq2seq.model.translation import TranslationModel

LETTERS = 12
LONGEST = 12
ASKED = (10, 11, 12)
UPDATES = 250
BATCH = 64
LEARNING_RATE = 0.015
PIECES = len(SPECIALS) + LETTERS

LUONG = {"order": "luong"}
TASKS: dict[str, tuple[str, dict]] = {
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


class Learned(NamedTuple):
    accuracy: float
    """Share of letters that are likeliest where all letters before are given."""
    exact: float
    """Share of words that greedy search writes without a fault."""
    aligned: float
    """Share of letters for which the model looks most at that letter or at one beside it: these,
    too, know of it by the encoder."""


def new_model(kind: str, **decoder: object) -> TranslationModel:
    """Equal sizes for all; only dot needs states as wide as annotations."""
    # local_p finds its centre by the slope of a Gaussian, which a narrow window would cut off.
    window = 6 if kind == "local_p" else 2
    config = ModelConfig(
        embedding_dim=16,
        dropout=0.0,
        encoder=EncoderConfig(hidden_size=16),
        attention=AttentionConfig(
            kind=kind, size=32, heads=2, window=window, positions=LONGEST + 1, slots=32
        ),
        decoder=DecoderConfig(hidden_size=32, **decoder),
    )
    torch.manual_seed(0)
    return TranslationModel(config, PIECES, PIECES)


def draw(
    generator: torch.Generator, count: int, length: int, task: str
) -> tuple[Int[Tensor, "B S"], Int[Tensor, "B T"]]:
    """Words and what becomes of them, both with the end."""
    word = torch.randint(len(SPECIALS), PIECES, (count, length), generator=generator)
    end = torch.full((count, 1), EOS)
    target = word.flip(1) if task == "reverse" else word
    return torch.cat([word, end], dim=1), torch.cat([target, end], dim=1)


def given(target: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """What the decoder reads to write ``target``."""
    return torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)


def train(model: TranslationModel, task: str) -> None:
    """The same budget for all; the words of an update are of one length, the rate falls at last."""
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, fused=True)
    for update in range(UPDATES):
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * min(1, 2 * (1 - update / UPDATES))
        length = int(torch.randint(1, LONGEST + 1, (), generator=generator))
        source, target = draw(generator, BATCH, length, task)
        outputs, _ = model(source, torch.full((BATCH,), length + 1), given(target))
        logits = model.logits(outputs).flatten(0, 1)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, target.flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@torch.no_grad()
def ask(model: TranslationModel, task: str) -> Learned:
    """What it makes of new words of the longest lengths."""
    generator = torch.Generator().manual_seed(2)
    right, exact, aligned = [], [], []
    for length in ASKED:
        source, target = draw(generator, 32, length, task)
        lengths = torch.full((32,), length + 1)
        embedded = model.target_embedding(given(target))
        outputs, weights = model.decoder(embedded, model.encode(source, lengths))
        right.append((model.logits(outputs).argmax(dim=2) == target)[:, :-1].flatten())
        found = beam_search(model, source, lengths, DecodingConfig(beam=1))
        exact += [
            hypotheses[0].ids == row[:-1].tolist()
            for hypotheses, row in zip(found, target, strict=True)
        ]
        place = torch.arange(length)
        place = place.flip(0) if task == "reverse" else place
        away = weights[:, :-1].argmax(dim=2) - place
        aligned.append((away.abs() <= 1).flatten())
    return Learned(
        torch.cat(right).float().mean().item(),
        sum(exact) / len(exact),
        torch.cat(aligned).float().mean().item(),
    )


def learned(kind: str, task: str, **decoder: object) -> Learned:
    model = new_model(kind, **decoder)
    train(model.train(), task)
    return ask(model.eval(), task)


def test_every_kind_is_asked_to_learn_or_is_a_control():
    assert {*TASKS, *CONTROLS, *POOLED, "none"} == set(ATTENTION_KINDS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TASKS)
def test_each_kind_of_attention_learns_long_words(kind):
    task, decoder = TASKS[kind]
    found = learned(kind, task, **decoder)
    assert found.accuracy >= 0.93, found
    assert found.exact >= 0.4, found
    assert found.aligned >= 0.9, found


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "task"), CONTROLS.items())
def test_no_control_learns_long_words(kind, task):
    found = learned(kind, task)
    assert 1.5 / LETTERS <= found.accuracy <= 0.7, found  # more than chance: it did learn
    assert found.exact <= 0.02, found


@pytest.mark.slow
@pytest.mark.parametrize("kind", POOLED)
def test_more_vectors_hold_more_of_a_long_word(kind):
    """Than one, which is the control "fixed"."""
    found = learned(kind, "reverse")
    assert found.accuracy >= (0.72 if kind == "elu" else 0.8), found  # its features do not compete
