"""Sampling against the exact probabilities of a table of scores."""

import math
from collections import Counter
from dataclasses import replace

import pytest
import torch
from helpers.table_model import PIECES, TableModel, cap_of, next_step, pad, random_sentences

from seq2seq.config import DecodingConfig
from seq2seq.data.vocabulary import BOS, EOS, PAD, UNK
from seq2seq.decoding.decoder_session import forced_decode
from seq2seq.decoding.sampling import sample

DRAWS = 6_000
CONFIG = DecodingConfig(sample=True, max_ratio=1.0, max_extra=2)


def distribution(model, sentence, prefix, config):
    """What the next piece should be drawn from, by the definition."""
    scores, _ = next_step(model, sentence, prefix)
    banned = {PAD, BOS, UNK} if config.forbid_unknown else {PAD, BOS}
    weights = {
        piece: math.exp(scores[piece] / config.temperature)
        for piece in range(PIECES)
        if piece not in banned
    }
    ranked = sorted(weights, key=weights.get, reverse=True)[: config.top_k]
    total, nucleus = sum(weights[piece] for piece in ranked), []
    while ranked and sum(weights[piece] for piece in nucleus) < config.top_p * total:
        nucleus.append(ranked.pop(0))
    mass = sum(weights[piece] for piece in nucleus)
    return {piece: weights[piece] / mass for piece in nucleus}


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 0.5}, {"temperature": 2.0, "top_k": 3}, {"top_p": 0.6},
     {"top_k": 4, "top_p": 0.8, "forbid_unknown": True}, {"top_p": 1e-3}],
    ids=str,
)  # fmt: skip
def test_pieces_come_as_often_as_they_should(options):
    config = replace(CONFIG, **options)
    model, sentence = TableModel(seed=2), [5, 4, EOS]
    found = sample(model, *pad([sentence] * DRAWS), config, range(DRAWS))
    pairs = Counter(tuple([*drawn.ids, EOS][:2]) for [drawn] in found)
    expected = {}
    for first, share in distribution(model, sentence, [], config).items():
        if first == EOS:
            expected[(EOS,)] = share
            continue
        for second, second_share in distribution(model, sentence, [first], config).items():
            expected[(first, second)] = share * second_share
    assert pairs.keys() <= expected.keys()
    for pair, share in expected.items():
        margin = 4 * math.sqrt(share * (1 - share) / DRAWS) + 1e-3
        assert pairs[pair] / DRAWS == pytest.approx(share, abs=margin)


def test_samples_go_on_from_a_forced_beginning():
    model, sentence, prefix = TableModel(seed=2), [5, 4, EOS], [6, UNK]
    config = replace(CONFIG, forbid_unknown=True)
    found = sample(model, *pad([sentence] * DRAWS), config, range(DRAWS), prefix)
    assert all(drawn.ids[:2] == prefix for [drawn] in found)
    after = Counter([*drawn.ids, EOS][2] for [drawn] in found)
    for piece, share in distribution(model, sentence, prefix, config).items():
        assert after[piece] / DRAWS == pytest.approx(share, abs=0.03)
    [drawn] = found[0]
    ids = [*drawn.ids] + [EOS] * (not drawn.capped)
    forced = forced_decode(model, *pad([sentence]), torch.tensor([ids])).log_probabilities.sum()
    assert drawn.log_probability == pytest.approx(forced.item(), abs=1e-4)


def test_company_order_and_number_of_samples_change_nothing():
    model, sentences = TableModel(seed=5), random_sentences(20, seed=5)
    config = replace(CONFIG, n_best=3)
    together = sample(model, *pad(sentences), config, range(20))
    assert sample(model, *pad(sentences[::-1]), config, range(19, -1, -1)) == together[::-1]
    for number, (sentence, found) in enumerate(zip(sentences, together, strict=True)):
        assert sample(model, *pad([sentence]), config, [number]) == [found]
        one = sample(model, *pad([sentence]), replace(config, n_best=1), [number])
        assert one == [found[:1]]


def test_chance_is_a_function_of_the_seed_and_the_number():
    model, sentences = TableModel(seed=6), [[4, 5, 6, EOS]] * 30

    def drawn(seed, first):
        found = sample(model, *pad(sentences), replace(CONFIG, seed=seed), range(first, first + 30))
        return [tuple(one.ids) for [one] in found]

    assert drawn(1, 0) == drawn(1, 0)
    assert drawn(1, 0) != drawn(2, 0)
    assert drawn(1, 0)[10:] == drawn(1, 10)[:20]
    assert len(set(drawn(1, 0))) > 3


def test_scores_are_the_models_own_and_the_cap_holds():
    model, sentences = TableModel(seed=7), random_sentences(40, seed=7)
    config = replace(CONFIG, temperature=3.0, n_best=2)
    results = sample(model, *pad(sentences), config, range(40))
    seen = set()
    for sentence, found in zip(sentences, results, strict=True):
        for drawn in found:
            ids = [*drawn.ids, *[EOS] * (not drawn.capped)]
            forced = forced_decode(model, *pad([sentence]), torch.tensor([ids]))
            total = forced.log_probabilities.sum().item()
            assert drawn.log_probability == pytest.approx(total, abs=1e-4)
            assert drawn.score == pytest.approx(total / len(ids), abs=1e-4)
            cap = cap_of(sentence, config)
            assert len(ids) == cap if drawn.capped else len(ids) <= cap
            seen.add(drawn.capped)
    assert seen == {True, False}
