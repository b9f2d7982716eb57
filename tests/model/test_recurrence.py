"""The fast recurrence against the plain loop taped by autograd, and by finite differences."""

import pytest
import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.model.encoder import length_mask
from seq2seq.model.recurrence import AlignmentInput, attention_scan, plain_scan
from seq2seq.model.score import AdditiveScore, DotScore, LocationScore
from seq2seq.model.translation import TranslationModel

SOURCE = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0], [9, 4, 3, 0]])
LENGTHS = torch.tensor([4, 2, 3])
TARGET = torch.tensor([[2, 5, 6], [2, 7, 0], [2, 8, 9]])


def outputs_and_gradients(kind, recurrence, dtype, autocast=False, dropout=0.0, widen=1):
    """Of a whole model: what it returns, and the gradient of a random projection of that."""
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6 * widen,
        dropout=dropout,
        encoder=EncoderConfig(hidden_size=4 * widen),
        attention=AttentionConfig(kind=kind, size=8 * widen),
        decoder=DecoderConfig(hidden_size=8 * widen, recurrence=recurrence),
    )
    model = TranslationModel(config, 11, 13).to(dtype)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        outputs = model(SOURCE, LENGTHS, TARGET)
    torch.manual_seed(2)
    (outputs * torch.randn(outputs.shape, dtype=dtype)).sum().backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return outputs.detach(), gradients


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_one_source_position_and_one_step_are_enough(kind):
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6,
        encoder=EncoderConfig(hidden_size=4),
        attention=AttentionConfig(kind=kind, size=8),
        decoder=DecoderConfig(hidden_size=8),
    )
    model = TranslationModel(config, 11, 13).eval()
    arguments = torch.tensor([[3]]), torch.tensor([1]), torch.tensor([[2]])
    gradients = []
    for model.decoder.fast in (True, False):
        model.zero_grad()
        model(*arguments).square().sum().backward()
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)], ids=["f64", "f32"]
)
def test_equals_the_plain_loop(kind, dropout, dtype, tolerance):
    fast, fast_gradients = outputs_and_gradients(kind, "fast", dtype, dropout=dropout)
    plain, plain_gradients = outputs_and_gradients(kind, "reference", dtype, dropout=dropout)
    torch.testing.assert_close(fast, plain, atol=tolerance, rtol=0)
    assert fast_gradients.keys() == plain_gradients.keys()
    for name, gradient in plain_gradients.items():
        torch.testing.assert_close(fast_gradients[name], gradient, atol=tolerance, rtol=0)


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_bfloat16_gradients_stay_within_three_percent_of_exact_ones(kind):
    """Including W_a's at initialisation, which plain bfloat16 loses altogether."""
    _, exact = outputs_and_gradients(kind, "reference", torch.float32, widen=8)
    _, mixed = outputs_and_gradients(kind, "fast", torch.float32, autocast=True, widen=8)
    for name, gradient in exact.items():
        assert (mixed[name] - gradient).norm() <= 0.03 * gradient.norm() + 1e-7, name


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("word", [leaf(4, 2, 4), None], ids=["word", "no word"])
def test_attention_scan_passes_gradcheck(word):
    torch.manual_seed(0)
    mask = length_mask(torch.tensor([3, 2]), 3)
    inputs, hidden, cell, weight = leaf(4, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 5)
    keys, memory, query, score = leaf(2, 3, 4), leaf(2, 3, 3), leaf(4, 2), leaf(4)

    def scan(inputs, hidden, cell, weight, keys, memory, query, score, word):
        alignment = AlignmentInput(memory, mask, query, AdditiveScore(keys, score), word)
        return attention_scan(inputs, hidden, cell, weight, alignment)[:2]

    leaves = (inputs, hidden, cell, weight, keys, memory, query, score, word)
    assert torch.autograd.gradcheck(scan, leaves)


@pytest.mark.parametrize(("steps", "positions"), [(4, 3), (1, 1)])
def test_a_product_as_score_passes_gradcheck(steps, positions):
    torch.manual_seed(0)
    mask = length_mask(torch.tensor([positions, max(1, positions - 1)]), positions)
    inputs, hidden, cell, weight = leaf(steps, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 5)
    keys, memory, word = leaf(2, positions, 2), leaf(2, positions, 3), leaf(steps, 2, 2)

    def scan(inputs, hidden, cell, weight, keys, memory, word):
        alignment = AlignmentInput(memory, mask, None, DotScore(keys), word)
        return attention_scan(inputs, hidden, cell, weight, alignment)[:2]

    assert torch.autograd.gradcheck(scan, (inputs, hidden, cell, weight, keys, memory, word))


@pytest.mark.parametrize("positions", [5, 2])
def test_scores_of_positions_pass_gradcheck(positions):
    """More positions than the sentences have, and fewer."""
    torch.manual_seed(0)
    mask = length_mask(torch.tensor([3, 2]), 3)
    inputs, hidden, cell, weight = leaf(4, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 5)
    memory, query = leaf(2, 3, 3), leaf(positions, 2)

    def scan(inputs, hidden, cell, weight, memory, query):
        alignment = AlignmentInput(memory, mask, query, LocationScore())
        return attention_scan(inputs, hidden, cell, weight, alignment)[:2]

    assert torch.autograd.gradcheck(scan, (inputs, hidden, cell, weight, memory, query))


def test_a_second_derivative_is_refused_not_wrong():
    leaves = [leaf(3, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 2)]
    loss = plain_scan(*leaves).square().sum()
    (gradient,) = torch.autograd.grad(loss, leaves[3], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_plain_scan_passes_gradcheck():
    torch.manual_seed(0)
    leaves = (leaf(4, 2, 8), leaf(2, 2), leaf(2, 2), leaf(8, 2))
    assert torch.autograd.gradcheck(plain_scan, leaves)


def test_what_is_kept_for_the_way_back_does_not_grow_with_steps_times_keys():
    """No (T, B, S, A) array: that is what makes long sentences fit."""
    batch, positions, size, steps = 4, 30, 64, 20
    kept = []

    def note(tensor):
        kept.append(tensor.numel())
        return tensor

    alignment = AlignmentInput(
        leaf(batch, positions, 6),
        torch.ones(batch, positions, dtype=torch.bool),
        leaf(size, 5),
        AdditiveScore(leaf(batch, positions, size), leaf(size)),
    )
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        attention_scan(
            leaf(steps, batch, 20), leaf(batch, 5), leaf(batch, 5), leaf(20, 11), alignment
        )
    assert sum(kept) < steps * batch * positions * size / 4


def test_two_layers_fall_back_to_the_plain_loop():
    config = ModelConfig(
        embedding_dim=6,
        encoder=EncoderConfig(hidden_size=4),
        attention=AttentionConfig(size=5),
        decoder=DecoderConfig(hidden_size=7, layers=2, recurrence="fast"),
    )
    model = TranslationModel(config, 11, 13).eval()
    outputs = model(SOURCE, LENGTHS, TARGET)
    model.decoder.fast = False
    torch.testing.assert_close(model(SOURCE, LENGTHS, TARGET), outputs)
