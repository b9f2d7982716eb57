"""Search and forced decoding against slow references, on a random table of scores."""

import itertools
import math
from functools import cache

import pytest
import torch
from helpers.small_model import build, enlarge
from helpers.table_model import PIECES, TableModel, cap_of, next_step, pad, random_sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK
from seq2seq.decoding.beam_search import beam_search
from seq2seq.decoding.ensemble import forced_decode

WRITTEN = [piece for piece in range(PIECES) if piece not in (PAD, BOS)]


@cache
def table(seed):
    """A table whose steps (``next_step``) are computed once for all tests."""
    return TableModel(seed)


def best(model, sentences, config):
    """The best hypothesis of each sentence."""
    return [found[0] for found in beam_search(model, *pad(sentences), config)]


def slow_beam_search(model, sentence, config, prefix):
    """The documented procedure on lists, one sentence at a time, never stopping early.

    Returns (score, log-probability, pieces), best first.
    """
    begun = sum(next_step(model, sentence, prefix[:i])[0][p] for i, p in enumerate(prefix))
    live, ended = [(begun, [*prefix])], []
    most = math.floor(config.max_ratio * (len(sentence) - 1))
    for _ in range(max(most, len(prefix)) + config.max_extra - len(prefix)):
        extended = []
        for total, ids in live:
            gained, _ = next_step(model, sentence, ids)
            extended += [(total + gained[piece], [*ids, piece]) for piece in WRITTEN]
        kept = sorted(extended, reverse=True)[: config.beam - len(ended)]
        ended += [item for item in kept if item[1][-1] == EOS]
        live = [item for item in kept if item[1][-1] != EOS]
    ranked = [(p / len(ids) ** config.length_penalty, p, ids) for p, ids in ended or live]
    return sorted(ranked, reverse=True)[: config.n_best]


@st.composite
def searches(draw):
    beam = draw(st.sampled_from([1, 2, 3, 5, 9]))
    return DecodingConfig(
        beam=beam,
        n_best=draw(st.integers(1, beam)),
        length_penalty=draw(st.sampled_from([0.0, 0.6, 1.0, 2.0])),
        max_ratio=draw(st.sampled_from([0.0, 1.0, 1.5])),
        max_extra=draw(st.integers(1, 5)),
    )


@settings(max_examples=50)
@given(searches(), st.integers(0, 3), st.lists(st.sampled_from([UNK, 4, 5, 6]), max_size=10))
def test_search_is_the_slow_search_that_never_stops_early(config, seed, prefix):
    """And each hypothesis has the attention weights of its own steps."""
    model, sentences = table(seed), random_sentences(8, seed, longest=9)
    results = beam_search(model, *pad(sentences), config, prefix, attention=True)
    assert results == beam_search(model, *pad(sentences), config, prefix)
    for sentence, found in zip(sentences, results, strict=True):
        expected = slow_beam_search(model, sentence, config, prefix)
        for one, (score, total, ids) in zip(found, expected, strict=True):
            assert one.score == pytest.approx(score, abs=1e-4)
            steps = [*one.ids, *[EOS] * (not one.capped)]
            if steps != ids:  # of two with equal scores, as this model may have, either may win
                gained = [next_step(model, sentence, steps[:i])[0][p] for i, p in enumerate(steps)]
                assert len(steps) == len(ids)
                assert sum(gained) == pytest.approx(total, abs=1e-4)
            assert one.log_probability == pytest.approx(total, abs=1e-4)
            assert len(one.weights) == len(steps)
            for step, looked in enumerate(one.weights):
                _, weights = next_step(model, sentence, steps[:step])
                torch.testing.assert_close(looked[: len(sentence)], weights)


def test_a_search_records_no_gradient(monkeypatch):
    """Memory would grow, and fast operations would be left out."""
    step, seen = TableModel.step, []

    def recorded(model, *arguments):
        seen.append(torch.is_grad_enabled())
        return step(model, *arguments)

    monkeypatch.setattr(TableModel, "step", recorded)
    best(table(0), random_sentences(2, 0), DecodingConfig())
    assert {*seen} == {False}


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_huge_beam_finds_what_exhaustive_search_finds(alpha):
    config = DecodingConfig(beam=400, length_penalty=alpha, max_ratio=1.0, max_extra=2)
    model = TableModel(seed=3)
    sentences = [[EOS], [4, EOS], [6, 5, EOS]]
    for sentence, found in zip(sentences, best(model, sentences, config), strict=True):
        every = [
            [*ids, EOS]
            for length in range(cap_of(sentence, config))
            for ids in itertools.product([UNK, 4, 5, 6], repeat=length)
        ]
        forced = [forced_decode(model, *pad([sentence]), torch.tensor([ids])) for ids in every]
        totals = [of.log_probabilities.sum().item() for of in forced]
        scores = [total / len(ids) ** alpha for total, ids in zip(totals, every, strict=True)]
        winner = max(range(len(every)), key=scores.__getitem__)
        assert [*found.ids, EOS] == every[winner]
        assert found.score == pytest.approx(scores[winner], abs=1e-5)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_is_known_of_a_sentence_is_never_repeated(beam):
    model = TableModel()
    beam_search(model, *pad(random_sentences(9)), DecodingConfig(beam=beam, max_extra=3))
    assert max(sentences for sentences, _ in model.shapes) == 9
    assert {rows // sentences for sentences, rows in model.shapes} == {1, beam}


def test_a_model_whose_scores_are_no_numbers_finds_nothing():
    model = TableModel()
    model.by_keys[:] = math.nan
    [found] = best(model, [[4, EOS]], DecodingConfig(n_best=2))
    assert (found.ids, found.score, found.capped) == ([], -math.inf, True)


def test_stops_as_soon_as_nothing_better_can_come():
    eager = TableModel(ending=8.0)
    beam_search(eager, *pad(random_sentences(10)), DecodingConfig(beam=5, max_extra=100))
    assert eager.steps < 30


@pytest.mark.parametrize(("kind", "beam"), [("additive", 1), ("additive", 4), ("fixed", 4)])
def test_the_score_of_a_real_model_is_its_forced_score(kind, beam):
    model = enlarge(build(kind, dtype=torch.float32)).eval()
    decoding = DecodingConfig(beam=beam, max_ratio=1.0, max_extra=4)
    sentences = random_sentences(12, seed=6)
    results = best(model, sentences, decoding)
    targets, _ = pad([found.ids + [EOS] * (not found.capped) for found in results])
    forced = forced_decode(model, *pad(sentences), targets).log_probabilities.sum(dim=1)
    expected = torch.tensor([found.log_probability for found in results])
    torch.testing.assert_close(forced, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [5, 400])
def test_forced_scores_and_weights_are_those_of_the_steps(count):
    """400 targets are read in several parts."""
    model, sentences = TableModel(), random_sentences(count, seed=1)
    targets = random_sentences(count, seed=2)
    targets[1] = targets[1][:-1] or [4]  # unfinished
    found = forced_decode(model, *pad(sentences), pad(targets)[0])
    for row, target in enumerate(targets):
        sentence = sentences[row]
        for step, piece in enumerate(target):
            scores, weights = next_step(model, sentence, target[:step])
            score = found.log_probabilities[row, step].item()
            assert score == pytest.approx(scores[piece], abs=1e-5)
            torch.testing.assert_close(found.weights[row, step, : len(sentence)], weights)
        assert (found.log_probabilities[row, len(target) :] == 0).all()
