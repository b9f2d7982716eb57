"""Both orders of the decoder, with every kind of attention, against slow loops from the papers."""

import pytest
import torch
from helpers.decoder_loops import slow_decoder
from helpers.small_model import LENGTHS, SOURCE, SOURCES, TARGET, build, enlarge
from torch.autograd.graph import saved_tensors_hooks

from seq2seq.config.settings import ATTENTION_KINDS

KINDS = pytest.mark.parametrize("kind", ATTENTION_KINDS)
LUONG = {"order": "luong"}
FEEDING = LUONG | {"input_feeding": True}


@pytest.fixture(autouse=True)
def few_positions(monkeypatch):
    """Fewer than the longest source has."""
    monkeypatch.setattr("seq2seq.model.attention.local.POSITIONS", 3)


def covering(*choices):
    """Two kinds with all choices, each other kind with one, in turn; the rest in the edition."""
    cases = []
    for number, kind in enumerate(ATTENTION_KINDS):
        for place, choice in enumerate(choices):
            chosen = kind in ("additive", "fixed") or place == number % len(choices)
            marks = () if chosen else pytest.mark.edition
            cases.append(pytest.param(kind, choice, marks=marks, id=f"{kind}-{choice}"))
    return pytest.mark.parametrize(("kind", "choices"), cases)


@covering(
    {},
    {"query": "state", "readout": "tanh"},
    {"layers": 2, "readout": "maxout"},
    LUONG | {"layers": 2, "readout": "tanh"},
    FEEDING | {"layers": 2},
)
def test_a_batch_equals_slow_loops_over_its_sentences(kind, choices):
    """So no sentence is touched by its company, or by padding."""
    models = [enlarge(build(kind, **choices, recurrence=each)) for each in ("fast", "reference")]
    pairs = zip(SOURCES, TARGET.tolist(), strict=True)
    slow = [slow_decoder(models[0], kind, choices, *pair) for pair in pairs]
    for model in models:
        readouts, weights = model(SOURCE, LENGTHS, TARGET)
        for row, (logits, looked) in enumerate(slow):
            read = looked.shape[1]
            torch.testing.assert_close(model.logits(readouts[row]), logits)
            torch.testing.assert_close(weights[row, :, :read], looked)
            assert not weights[row, :, read:].any()


@KINDS
def test_scores_of_thousands_give_finite_numbers(kind):
    model = build(kind, dtype=torch.float32)
    for parameter in model.decoder.attention.parameters():
        parameter.data[:] = 1e4 * parameter[:1]  # all features of a query have one sign
    readouts, weights = model(SOURCE, LENGTHS, TARGET)
    assert readouts.isfinite().all()
    assert weights.isfinite().all()


@pytest.mark.parametrize("autocast", [False, True])
@covering({}, {"layers": 2}, LUONG, FEEDING | {"layers": 2})
def test_steps_equal_forward(kind, choices, autocast):
    """Three hypotheses of each sentence, as search has them: one is the target, at all places."""
    model = enlarge(build(kind, dtype=torch.float32, **choices)).eval()
    turn = torch.tensor([1, 2, 0, 4, 5, 3, 7, 8, 6])
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        expected = model.logits(model(SOURCE, LENGTHS, TARGET)[0]).float()
        source = model.encode(SOURCE, LENGTHS)
        state = model.init_state(source).select(torch.arange(3).repeat_interleave(3))
        for position in range(TARGET.shape[1]):
            token = torch.full((3, 3), 10)
            token[:, -position % 3] = TARGET[:, position]
            step = model.step(token.flatten(), state, source)
            found = step.logits[-position % 3 :: 3].float()
            tolerance = 0.1 if autocast else 1e-5
            torch.testing.assert_close(found, expected[:, position], atol=tolerance, rtol=tolerance)
            state = step.state.select(turn)


@KINDS
def test_rounded_weights_give_what_equal_weights_in_float32_give(kind):
    """Mixed precision also rounds the other factor of a product, but in C++ not the result."""
    rounded, exact = (enlarge(build(kind, dtype=torch.float32)).eval() for _ in range(2))
    rounded.round_weights()
    exact.load_state_dict(rounded.state_dict())
    with torch.no_grad():
        source, rows = exact.encode(SOURCE, LENGTHS), torch.arange(6) // 2
        state = exact.init_state(source).select(rows)
        expected = exact.step(rows + 5, state, source)
        with torch.autocast("cpu", torch.bfloat16):
            found = rounded.step(rows + 5, state, source)
    tolerance = 0.1 if found.logits.dtype == torch.bfloat16 else 0.03
    for one, other in ((found.logits, expected.logits), (found.weights, expected.weights)):
        torch.testing.assert_close(one.float(), other, atol=tolerance, rtol=tolerance)


def outputs_and_gradients(autocast=False, widen=1, **choices):
    """Of a model: what it returns, and the gradient of a random projection of that."""
    model = build(widen=widen, **choices)
    model = model if widen > 1 else enlarge(model)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        outputs, _ = model(SOURCE, LENGTHS, TARGET)
        shortest, _ = model(torch.tensor([[3]]), torch.tensor([1]), torch.tensor([[2]]))
    torch.manual_seed(2)
    ((outputs * torch.randn(outputs.shape)).sum() + shortest.square().sum()).backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return outputs.detach(), gradients


@pytest.mark.unchecked
@covering(
    *({"layers": 2}, {}, {"query": "state"}, {"dtype": torch.float32}),
    *(LUONG | {"layers": 2}, LUONG | {"dtype": torch.float32}),
)
def test_the_fast_path_equals_the_plain_loop(kind, choices):
    fast = outputs_and_gradients(kind=kind, **choices, recurrence="fast")
    plain = outputs_and_gradients(kind=kind, **choices, recurrence="reference")
    tolerance = 1e-4 if "dtype" in choices else 1e-11
    torch.testing.assert_close(fast, plain, atol=tolerance, rtol=tolerance)


@covering({}, LUONG, FEEDING)
def test_bfloat16_gradients_stay_within_three_percent_of_exact_ones(kind, choices):
    """Including W_a's at initialization, which plain bfloat16 loses altogether."""
    choices = choices | {"kind": kind, "dtype": torch.float32, "widen": 8}
    _, exact = outputs_and_gradients(**choices, recurrence="reference")
    _, mixed = outputs_and_gradients(**choices, autocast=True)
    assert mixed.keys() == exact.keys()
    for name, gradient in exact.items():
        assert (mixed[name] - gradient).norm() <= 0.03 * gradient.norm() + 1e-7, name


def test_what_is_kept_for_the_backward_pass_does_not_grow_with_steps_times_positions():
    """No (T, B, S, A) array: that is what makes long sentences fit."""
    model, sizes = build(widen=8), []

    def note(tensor):
        sizes.append(tensor.numel())
        return tensor

    source = model.encode(torch.full((4, 200), 5), torch.full((4,), 200))
    with saved_tensors_hooks(note, lambda tensor: tensor):
        model.decoder(torch.randn(4, 20, 48, dtype=torch.float64), source)
    assert 0 < sum(sizes) < 20 * 4 * source.keys[0].numel() / 4
