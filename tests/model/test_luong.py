"""Luong's order against slow loops from the paper, its fast path against the plain loop."""

import pytest
import torch
from decoder_loops import slow_luong

from seq2seq.config import (
    AttentionConfig,
    DecoderConfig,
    DecodingConfig,
    EncoderConfig,
    ModelConfig,
    from_json,
    to_json,
)
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.data.vocabulary import EOS, PAD
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.decoder_session import forced_decode
from seq2seq.errors import UserError
from seq2seq.model.bahdanau import BahdanauDecoder
from seq2seq.model.encoder import length_mask
from seq2seq.model.ensemble import Ensemble
from seq2seq.model.luong import LuongDecoder
from seq2seq.model.score import AdditiveScore, DotScore, LocationScore, score_steps
from seq2seq.model.translation import TranslationModel

SOURCES = [[5, 6, 7, 3], [8, 3], [9, 4, 3]]
SOURCE = torch.tensor([[5, 6, 7, 3], [8, 3, PAD, PAD], [9, 4, 3, PAD]])
LENGTHS = torch.tensor([4, 2, 3])
TARGET = torch.tensor([[2, 5, 6, 9], [2, 7, PAD, PAD], [2, 8, 9, 4]])
FEEDING = pytest.mark.parametrize("feeding", [False, True], ids=["plain", "feeding"])
KINDS = pytest.mark.parametrize("kind", ATTENTION_KINDS)


def build(
    kind="additive",
    feeding=False,
    layers=1,
    recurrence="fast",
    dropout=0.0,
    dtype=torch.float64,
    widen=1,
):
    """A model whose weights are large enough for every part to matter."""
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6 * widen,
        dropout=dropout,
        encoder=EncoderConfig(hidden_size=4 * widen),
        # Neither the window nor the positions hold the longest source.
        attention=AttentionConfig(kind=kind, size=8 * widen, heads=2, window=2, positions=3),
        decoder=DecoderConfig(
            hidden_size=8 * widen,
            layers=layers,
            recurrence=recurrence,
            order="luong",
            input_feeding=feeding,
        ),
    )
    model = TranslationModel(config, 11, 13).to(dtype)
    if widen == 1:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter *= 1.5
            for linear in (model.decoder.readout_layer, model.output):
                torch.nn.init.normal_(linear.bias, std=0.5)
    return model


@FEEDING
@KINDS
@pytest.mark.parametrize("layers", [1, 2])
def test_a_batch_equals_slow_loops_over_its_sentences(kind, feeding, layers):
    """Of the paper's equations; so no sentence is touched by its company, or by padding."""
    model = build(kind, feeding, layers)
    encoded = model.encode(SOURCE, LENGTHS)
    outputs, weights = model.decoder.unroll(model.target_embedding(TARGET), encoded)
    logits = model.logits(outputs)
    for row, source in enumerate(SOURCES):
        expected, looked = slow_luong(model, kind, source, TARGET[row].tolist(), feeding)
        torch.testing.assert_close(logits[row], torch.tensor(expected, dtype=torch.float64))
        mine = weights[row, :, : len(source)]
        torch.testing.assert_close(mine, torch.tensor(looked, dtype=torch.float64))
        assert not weights[row, :, len(source) :].any()


@FEEDING
@KINDS
@pytest.mark.parametrize("learning", [True, False])
def test_steps_equal_forward(kind, feeding, learning):
    """Three hypotheses of each sentence at once, as search has them, the first the target."""
    model = build(kind, feeding).eval()
    outputs = model(SOURCE, LENGTHS, TARGET)
    with torch.set_grad_enabled(learning):
        encoded = model.encode(SOURCE, LENGTHS)
        keys, state = model.keys(encoded.memory), model.initial_state(encoded)
        state = state.select(torch.arange(3).repeat_interleave(3))
        for position in range(TARGET.shape[1]):
            others = torch.full_like(TARGET[:, 0], 10)
            token = torch.stack([TARGET[:, position], others, others], dim=1).flatten()
            step = model.step(token, state, encoded, keys)
            expected = model.logits(outputs[:, position])
            torch.testing.assert_close(step.logits[::3], expected)
            state = step.state


def outputs_and_gradients(autocast=False, **choices):
    model = build(**choices)
    torch.manual_seed(1)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        outputs = model(SOURCE, LENGTHS, TARGET)
    torch.manual_seed(2)
    (outputs * torch.randn(outputs.shape, dtype=outputs.dtype)).sum().backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return outputs.detach(), gradients


@KINDS
@pytest.mark.parametrize(("layers", "dropout"), [(1, 0.0), (1, 0.3), (2, 0.0)])
def test_the_fast_path_equals_the_plain_loop(kind, layers, dropout):
    choices = {"kind": kind, "layers": layers, "dropout": dropout}
    fast, fast_gradients = outputs_and_gradients(**choices)
    plain, plain_gradients = outputs_and_gradients(**choices, recurrence="reference")
    torch.testing.assert_close(fast, plain, atol=1e-12, rtol=0)
    assert fast_gradients.keys() == plain_gradients.keys()
    for name, gradient in plain_gradients.items():
        torch.testing.assert_close(fast_gradients[name], gradient, atol=1e-11, rtol=0)


@FEEDING
@KINDS
def test_bfloat16_gradients_stay_near_exact_ones(kind, feeding):
    shape = {"kind": kind, "feeding": feeding, "dtype": torch.float32, "widen": 8}
    _, exact = outputs_and_gradients(**shape, recurrence="reference")
    _, mixed = outputs_and_gradients(**shape, autocast=True)
    assert mixed.keys() == exact.keys()
    for name, gradient in exact.items():
        assert (mixed[name] - gradient).norm() <= 0.03 * gradient.norm() + 1e-7, name


def leaf(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(
    ("score", "shapes", "asked"),
    [
        (AdditiveScore, [(2, 3, 4), (4,)], 4),
        (DotScore, [(2, 3, 4)], 4),
        (LocationScore, [], 5),
        (LocationScore, [], 2),
    ],
)
def test_scores_of_all_steps_pass_gradcheck(score, shapes, asked):
    torch.manual_seed(0)
    mask = length_mask(torch.tensor([3, 2]), 3)

    def probabilities(queries, *tensors):
        scores = score_steps(score(*tensors), queries, mask)
        assert torch.equal(scores.isinf().any(dim=1), ~mask | (torch.arange(3) >= asked))
        return scores.softmax(dim=2)

    leaves = (leaf(2, 4, asked), *(leaf(*shape) for shape in shapes))
    assert torch.autograd.gradcheck(probabilities, leaves)


def test_the_query_is_the_state_after_the_step():
    """Luong's order: the first weights depend on the first word."""
    model = build()
    encoded = model.encode(SOURCE, LENGTHS)
    state, keys = model.initial_state(encoded), model.keys(encoded.memory)
    one, other = (model.step(torch.full((3,), word), state, encoded, keys) for word in (5, 6))
    assert (one.weights - other.weights).abs().max() > 1e-3
    expected, _ = model.decoder.attention(one.state.hidden[-1], keys, encoded, state.past)
    found = model.decoder.readout(one.state.hidden[-1], expected)
    torch.testing.assert_close(model.logits(found), one.logits)


@FEEDING
def test_the_context_reaches_the_next_state_by_input_feeding_alone(feeding):
    model = build("fixed", feeding)
    encoded = model.encode(SOURCE, LENGTHS)
    state, keys = model.initial_state(encoded), model.keys(encoded.memory)
    other = encoded._replace(summary=encoded.summary + 1)
    hidden = []
    for known in (encoded, other):
        after = model.step(torch.full((3,), 5), state, known, keys).state
        hidden.append(model.step(torch.full((3,), 6), after, known, keys).state.hidden)
    assert ((hidden[0] - hidden[1]).abs().max() > 1e-3) == feeding


def test_what_is_fed_is_selected_with_its_hypothesis():
    model = build(feeding=True)
    encoded = model.encode(SOURCE, LENGTHS)
    state = model.initial_state(encoded)
    assert state.fed.shape == (3, 6)
    assert not state.fed.any()
    after = model.step(torch.tensor([5, 6, 7]), state, encoded, model.keys(encoded.memory)).state
    rows = torch.tensor([2, 0, 0, 1])
    torch.testing.assert_close(after.select(rows).fed, after.fed[rows])


@FEEDING
@pytest.mark.parametrize("kind", ["additive", "coverage", "general", "local_m", "fixed"])
@pytest.mark.parametrize("beam", [1, 3])
def test_search_equals_a_slow_one_over_slow_loops(kind, feeding, beam):
    """One hypothesis at a time, each written anew from its beginning at every step."""
    model = build(kind, feeding, dtype=torch.float32).eval()
    decoding = DecodingConfig(
        beam=beam, n_best=beam, max_ratio=1.0, max_extra=1, length_normalization=0.0
    )
    results = beam_search(model, SOURCE, LENGTHS, decoding)
    for source, found in zip(SOURCES, results, strict=True):
        live, ended = [(0.0, [])], []
        for _ in range(len(source)):
            extended = []
            for total, ids in live:
                logits, _ = slow_luong(model, kind, source, [2, *ids], feeding)
                gained = torch.tensor(logits[-1]).log_softmax(0).tolist()
                pieces = [p for p in range(13) if p not in (PAD, 2)]
                extended += [(total + gained[p], [*ids, p]) for p in pieces]
            kept = sorted(extended, reverse=True)[: beam - len(ended)]
            ended += [item for item in kept if item[1][-1] == EOS]
            live = [item for item in kept if item[1][-1] != EOS]
        expected = sorted(ended or live, reverse=True)[:beam]
        assert [hypothesis.ids for hypothesis in found] == [
            [i for i in ids if i != EOS] for _, ids in expected
        ]
        for hypothesis, (total, ids) in zip(found, expected, strict=True):
            assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)
            assert hypothesis.capped == (ids[-1] != EOS)


def test_an_ensemble_may_have_models_of_both_orders():
    """Its probability is the mean of theirs."""
    models = [build(feeding=True), build(), TranslationModel(ModelConfig(), 11, 13).double()]
    target = torch.tensor([[5, 6, 9, 3], [7, 8, 4, 3], [8, 9, 4, 3]])
    each = [
        forced_decode(m.eval(), SOURCE, LENGTHS, target).log_probabilities.exp() for m in models
    ]
    together = forced_decode(Ensemble(models), SOURCE, LENGTHS, target).log_probabilities.exp()
    torch.testing.assert_close(together, torch.stack(each).mean(dim=0))


@FEEDING
def test_forced_scores_are_those_of_training(feeding):
    model = build(feeding=feeding).eval()
    target = torch.tensor([[5, 6, 9, 3], [7, 3, PAD, PAD], [8, 9, 4, 3]])
    logits = model.logits(model(SOURCE, LENGTHS, TARGET))
    expected = logits.log_softmax(2).gather(2, target[:, :, None])[:, :, 0] * (target != PAD)
    torch.testing.assert_close(
        forced_decode(model, SOURCE, LENGTHS, target).log_probabilities, expected
    )


def test_a_config_from_before_there_was_a_choice_keeps_bahdanaus_order():
    saved = to_json(ModelConfig())
    del saved["decoder"]["order"], saved["decoder"]["input_feeding"]
    config = from_json(ModelConfig, saved, "config.json")
    assert config == ModelConfig()
    assert isinstance(TranslationModel(config, 11, 13).decoder, BahdanauDecoder)
    assert isinstance(build().decoder, LuongDecoder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"order": "cho"}, r"model\.decoder\.order=cho .*bahdanau"),
        ({"input_feeding": True}, r"input_feeding=true .* set model\.decoder\.order=luong"),
        ({"order": "luong", "readout": "maxout"}, r"readout=maxout .* set model\.decoder\.readout"),
    ],
)
def test_choices_that_make_no_sense_together_are_refused(changes, said):
    with pytest.raises(UserError, match=said):
        DecoderConfig(**changes)
