"""Statistics of the moment at which attention appears, against loops over sentences."""

import math

import numpy as np
import pytest
from appearing import ATTENTION, BASELINE, Moment
from moment import SYSTEMS, States

from seq2seq.evaluation.significance import Pool
from seq2seq.record import TrainingRecord

SENTENCES, UPDATES, SEEDS = 12, 5, 3
FALLS = (0.95, 0.9, 0.4, 0.2, 0.1)
"""Share of wrong links in each state."""


@pytest.fixture(scope="module")
def states() -> dict[str, list[States]]:
    random = np.random.default_rng(3)

    def one(attends: bool) -> States:
        losses = random.uniform(1, 50, (UPDATES, SENTENCES, 2))
        sizes = random.integers(20, 40, (1, SENTENCES)).repeat(UPDATES, axis=0)
        right = np.round(sizes * (1 - np.array(FALLS))[:, None]).astype(int)
        links = np.stack([right, sizes, sizes - 1], axis=-1) * attends
        entropies = random.uniform(0, 3, (UPDATES, SENTENCES)) * attends
        words, updates = np.arange(SENTENCES) + 25, np.arange(1, UPDATES + 1) * 50
        nothing = np.zeros((UPDATES, 0, 0))
        return States(words, updates, losses, links, entropies, nothing, ([], []), TrainingRecord())

    return {system: [one(system == ATTENTION) for _ in range(SEEDS)] for system in SYSTEMS}


def bits(states, system, seed, state, line) -> float:
    """Known bits of one sentence."""
    blind = sum(one.losses[state, line, 0] for one in states["target-only"]) / SEEDS
    return (blind - states[system][seed].losses[state, line, 0]) / math.log(2)


def test_scores_of_states_are_those_of_a_slow_loop(states):
    moment, members = Moment(states), np.arange(SENTENCES) >= 4
    pool = Pool(members, 1, 10, 1)
    lines = [line for line in range(SENTENCES) if line >= 4]
    for state in range(UPDATES):
        for system in (ATTENTION, BASELINE):
            each = [bits(states, system, s, state, n) for s in range(SEEDS) for n in lines]
            assert moment.bits(pool, system, state)[0] == pytest.approx(np.mean(each))
        errors = []
        for one in states[ATTENTION]:
            shared, ours, sure = (sum(one.links[state, n, c] for n in lines) for c in range(3))
            errors.append(1 - 2 * shared / (ours + sure))
        assert moment.error(pool, state)[0] == pytest.approx(np.mean(errors))
        assert moment.errors(pool)[:, state] == pytest.approx(errors)
        entropies = [one.entropies[state, n] for one in states[ATTENTION] for n in lines]
        assert moment.entropy(pool, state)[0] == pytest.approx(np.mean(entropies))


def test_the_gain_around_the_moment_is_a_share_of_the_last_lead(states):
    """Half of the links are right from the third state on; so the moment is after the second."""
    moment = Moment(states)
    everyone = Pool(np.ones(SENTENCES, dtype=bool), 0, 10, 1)
    assert moment.before(everyone).tolist() == [1] * SEEDS
    shares = []
    for seed in range(SEEDS):
        leads = [
            np.mean(
                [
                    bits(states, ATTENTION, seed, state, line)
                    - bits(states, BASELINE, seed, state, line)
                    for line in range(SENTENCES)
                ]
            )
            for state in range(UPDATES)
        ]
        assert moment.leads(everyone)[seed] == pytest.approx(leads)
        shares.append((leads[3] - leads[1]) / leads[4])
    assert moment.gain(everyone, everyone)[0] == pytest.approx(np.mean(shares))
