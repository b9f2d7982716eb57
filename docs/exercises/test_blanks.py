"""Checks of the exercises in blanks.py, by the modules that seq2seq trains and by sacreBLEU."""

from typing import Any

import pytest
import torch
from sacrebleu.metrics import BLEU
from torch import Tensor

from seq2seq.config import AttentionConfig, EncoderConfig
from seq2seq.model.attention.additive import AdditiveAttention
from seq2seq.model.encoder import Encoder, Source


@pytest.fixture
def work() -> Any:
    """Your file."""
    import blanks

    return blanks


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def close(found: Tensor, expected: Tensor, what: str) -> None:
    if found.shape != expected.shape:
        pytest.fail(f"{what}: the shape is {[*found.shape]}, not {[*expected.shape]}")
    if not torch.allclose(found, expected, atol=1e-5):
        pytest.fail(f"{what}: {found}\nexpected: {expected}")


def test_1_mask(work: Any) -> None:
    scores, lengths = random(3, 5), torch.tensor([5, 2, 1])
    weights = work.masked_softmax(scores, lengths)
    assert weights.shape == scores.shape
    for row, length in enumerate(lengths.tolist()):
        close(weights[row, :length], scores[row, :length].softmax(dim=0), "the real positions")
        assert (weights[row, length:] == 0).all(), "padding has weight"


def test_2_additive_score(work: Any) -> None:
    attention = AdditiveAttention(3, 4, AttentionConfig(size=6))
    attention.vector.data = random(6)
    query, annotations = random(1, 3), random(1, 5, 4)
    source = Source(annotations, torch.ones(1, 5, dtype=torch.bool), query, annotations)
    _, weights = attention(query, attention.read(source), query)
    W_a, U_a = map(attention.get_parameter, ("query.weight", "key.weight"))
    scores = work.additive_scores(query[0], annotations[0], W_a, U_a, attention.vector)
    close(scores.softmax(dim=0), weights[0], "the weights that follow from the scores")
    flat = work.additive_scores(query[0], annotations[0], 0 * W_a, 0 * U_a, attention.vector)
    close(flat, torch.zeros(5), "the scores if both matrices are 0")


def test_3_axis_of_the_softmax(work: Any) -> None:
    same = work.contexts(random(2, 4), torch.ones(4, 3))
    close(same, torch.ones(2, 3), "the contexts of annotations that are all 1")
    scores, annotations = random(2, 4), random(4, 3)
    (first,) = work.contexts(scores[:1], annotations)
    close(work.contexts(scores, annotations)[0], first, "one word's context next to another word")


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
def test_4_time_of_the_query(work: Any, order: str) -> None:
    def attend(query: Tensor) -> Tensor:
        return 10 * query

    def lstm(state: Tensor, word: Tensor, context: Tensor | None) -> Tensor:
        return state + word + (0 if context is None else context)

    state, context = work.decoder_step(order, torch.ones(2), torch.full((2,), 3.0), attend, lstm)
    after, looked_up = (14.0, 10.0) if order == "bahdanau" else (4.0, 40.0)
    close(state, torch.full((2,), after), "the new state")
    close(context, torch.full((2,), looked_up), "the context")


def test_5_fixed_vector(work: Any) -> None:
    encoder = Encoder(3, EncoderConfig(hidden_size=4), dropout=0.0)
    lengths = torch.tensor([2, 5, 1])
    source = encoder(random(3, 5, 3), lengths)
    forward, backward = source.annotations.split(4, dim=2)
    found = work.fixed_vector(forward, backward, lengths)
    assert found.shape == (3, 8)
    for part, name in (slice(4), "forward"), (slice(4, 8), "backward"):
        close(found[:, part], source.summary[:, part], f"the {name} half of the fixed vector")


@pytest.mark.parametrize(
    "hypothesis",
    [
        "the old man sees the dog .",
        "the old man sees the small dog .",
        "the old man sees the dog the dog .",
        "the man sees the dog .",
        "a cat sleeps in the garden today",
    ],
)
def test_6_bleu(work: Any, hypothesis: str) -> None:
    reference = "the old man sees the dog ."
    sacrebleu = BLEU(smooth_method="none", tokenize="none", effective_order=False)
    expected = sacrebleu.sentence_score(hypothesis, [reference]).score
    assert work.bleu(hypothesis.split(), reference.split()) == pytest.approx(expected)
