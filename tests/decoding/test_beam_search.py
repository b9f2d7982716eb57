"""Search against forced decoding of every string, with models of four pieces."""

import itertools
import math
from functools import cache

import pytest
import torch
from helpers.small_checkpoint import codec, experiment, small
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import EOS, PAD, UNK
from seq2seq.decoding.beam_search import beam_search, forced_decode
from seq2seq.decoding.ensemble import Ensemble

PIECES = [UNK, 4, 5, EOS]
SENTENCES = [[5, EOS], [EOS], [4, 5, 5, EOS], [5, 4, EOS], [4, EOS], [4, 4, 1, EOS], [1, 5, EOS]]
LONGEST = 5


def random_model(kind, seed, **decoder):
    config = experiment(kind, tie_embedding=False, **decoder)
    return small(config, [codec("en", ["a", "b"])] * 2, seed).model.eval()


@cache
def models():
    """The seeds are of models whose translations differ in length."""
    feeding = random_model("general", 9, order="luong", input_feeding=True)
    alone = [*(random_model(kind, 16) for kind in ("additive", "fixed", "location")), feeding]
    return [*alone, Ensemble([random_model("additive", 20), *alone[1:]])]


def pad(sentences):
    width = max(map(len, sentences))
    padded = torch.tensor([[*ids, *[PAD] * (width - len(ids))] for ids in sentences])
    return padded, torch.tensor([len(ids) for ids in sentences])


@cache
def every_string(which, place):
    """String -> its log-probability and weights, from forced decoding in several parts."""
    lengths = range(1, LONGEST + 1)
    strings = [ids for n in lengths for ids in itertools.product(PIECES, repeat=n)]
    strings = [ids for ids in strings if EOS not in ids[:-1]]
    sources = pad([SENTENCES[place]] * len(strings))
    gained, weights = forced_decode(models()[which], *sources, pad(strings)[0])
    totals = gained.sum(dim=1).tolist()
    return dict(zip(strings, totals, strict=True)), dict(zip(strings, weights, strict=True))


def slow_beam_search(totals, most, config, prefix):
    """The documented procedure, one sentence at a time, never stopping early."""
    live, ended = [prefix], []
    for _ in range(most - len(prefix)):
        longer = [(*ids, piece) for ids in live for piece in PIECES]
        kept = sorted(longer, key=totals.get, reverse=True)[: config.beam - len(ended)]
        ended += [ids for ids in kept if ids[-1] == EOS]
        live = [ids for ids in kept if ids[-1] != EOS]
    return ended or live


SEARCHES = {
    "beam": st.sampled_from([1, 2, 3, 5, 9, 1_000]),
    "length_penalty": st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    "max_ratio": st.sampled_from([0.0, 0.5, 1.0]),
    "max_extra": st.integers(1, 2),
}
PREFIXES = st.lists(st.sampled_from(PIECES[:-1]), max_size=3).map(tuple)


@pytest.mark.slow
@pytest.mark.unchecked
@settings(max_examples=50)
@given(st.integers(0, 4), st.fixed_dictionaries(SEARCHES), st.integers(1, 9), PREFIXES)
def test_search_is_the_slow_search_that_never_stops_early(which, search, most, prefix):
    """The widest beam drops no string. Each hypothesis has the attention weights of its steps."""
    config = DecodingConfig(**search, n_best=min(most, search["beam"]))
    results = beam_search(models()[which], *pad(SENTENCES), config, prefix, attention=True)
    assert results == beam_search(models()[which], *pad(SENTENCES), config, prefix)
    for place, (sentence, found) in enumerate(zip(SENTENCES, results, strict=True)):
        totals, weights = every_string(which, place)
        cap = max(math.floor(config.max_ratio * (len(sentence) - 1)), len(prefix))
        expected = slow_beam_search(totals, cap + config.max_extra, config, prefix)
        scores = [totals[ids] / len(ids) ** config.length_penalty for ids in expected]
        best = sorted(scores, reverse=True)[: config.n_best]
        assert [one.score for one in found] == pytest.approx(best, abs=1e-4)
        for one in found:
            ids = (*one.ids, *[EOS] * (not one.capped))
            assert ids in expected
            assert one.log_probability == pytest.approx(totals[ids], abs=1e-4)
            looked = one.weights[:, : len(sentence)], weights[ids][: len(ids)]
            torch.testing.assert_close(*looked, rtol=1e-4, atol=1e-4)


def test_search_does_no_needless_work(monkeypatch):
    """No source is repeated, what is finished is dropped, and it ends as soon as it can."""
    eager, shapes = random_model("additive", 16), []
    eager.output.bias.data[EOS] = 16
    step = eager.step

    def recorded(token, state, source):
        shapes.append((len(source.mask), len(token)))
        return step(token, state, source)

    monkeypatch.setattr(eager, "step", recorded)
    beam_search(eager, *pad(SENTENCES), DecodingConfig(beam=3, max_extra=100))
    assert len(shapes) < 30
    assert {rows // sentences for sentences, rows in shapes} == {1, 3}
    assert shapes[0][0] == len(SENTENCES) > shapes[-1][0]


def test_a_model_whose_scores_are_no_numbers_finds_nothing():
    model = random_model("additive", 0)
    torch.nn.init.constant_(model.output.bias, math.nan)
    [[found]] = beam_search(model, *pad([[4, EOS]]), DecodingConfig(n_best=2))
    assert (found.ids, found.score, found.capped) == ([], -math.inf, True)


def test_an_ensemble_has_the_mean_of_its_models_probabilities_and_weights():
    """The weights of local_p (Luong et al. 2015) do not sum to 1, nor do their means."""
    several = [random_model("local_p", seed) for seed in range(3)]
    texts = [*pad(SENTENCES), pad(SENTENCES[::-1])[0]]
    found, *each = [forced_decode(model, *texts) for model in (Ensemble(several), *several)]
    mean = torch.stack([gained.exp() for gained, _ in each]).mean(dim=0)
    torch.testing.assert_close(found[0].exp(), mean)
    weights = torch.stack([weights for _, weights in each]).mean(dim=0)
    torch.testing.assert_close(found[1], weights)
    assert (weights.sum(dim=2) - 1).abs().max() > 0.01
