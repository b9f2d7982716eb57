"""The statistics behind the study's claims against slow ones, on its own published results."""

import math
import re
from dataclasses import replace
from pathlib import Path

import groups
import numpy as np
import pytest
import report
from appearing import Moment, read_states
from packed import RESULTS, read_all
from sacrebleu.metrics import BLEU
from student import t_quantile

from seq2seq.errors import UserError
from seq2seq.evaluation.translations import ALL, LONG, length_pools

DOCS = Path(__file__).resolve().parents[2] / "docs"
PUBLISHED = DOCS / "results" / "study"
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


@pytest.fixture(scope="module")
def europarl():
    files = read_all(RESULTS / "figure2-cpu" / "test")
    return groups.Groups.of([one for one in files if one.record["checkpoint"] == "best"])


@pytest.fixture(scope="module")
def arms(europarl):
    return tuple(europarl[name] for name in report.FIFTY)


def mean_bleu(group, lines, of):
    """Mean over seeds of what ``of`` reads in sacreBLEU's score, made from counts of sentences."""
    found = []
    for one in group:
        length, reference, *counts = one.bleu[lines].sum(axis=0).tolist()
        found.append(of(BLEU.compute_bleu(counts[:4], counts[4:], length, reference)))
    return np.mean(found)


@pytest.mark.parametrize(
    ("measure", "of"),
    [
        (groups.corpus_bleu, lambda score: score.score),
        (groups.without_penalty, lambda score: score.score / score.bp),
        (groups.length_ratio, lambda score: score.sys_len / score.ref_len),
    ],
)
def test_gaps_and_their_change_are_those_of_sacrebleu(europarl, arms, measure, of):
    def gaps(ours, theirs):
        words = europarl.first.words
        ends = words <= 20, words > 30
        short, long = (mean_bleu(ours, lines, of) - mean_bleu(theirs, lines, of) for lines in ends)
        return short, long, long - short

    pools = europarl.short_and_long()
    found = groups.contrast(pools, arms, measure)
    assert [samples[0] for samples in found] == pytest.approx(gaps(*arms))
    by_seed = [gaps([ours], [theirs])[2] for ours, theirs in zip(*arms, strict=True)]
    assert groups.seed_by_seed(pools, arms, measure) == pytest.approx(by_seed)


def test_few_seeds_have_the_interval_of_welch(europarl, arms):
    pools, bleu = europarl.short_and_long(), groups.corpus_bleu
    middle, sentences, of_seeds = 0.0, 0.0, []
    for sign, arm in zip((1, -1), arms, strict=True):
        changes = np.array([bleu(pools[1], (one,)) - bleu(pools[0], (one,)) for one in arm])
        middle += sign * changes[:, 0].mean()
        sentences += sign * changes[:, 1:].mean(axis=0)
        of_seeds.append((changes[0, 0] - changes[1, 0]) ** 2 / 4)
    variance = np.var(sentences) + sum(of_seeds)
    freedom = variance**2 / sum(one**2 for one in of_seeds)
    half = t_quantile(0.975, freedom) * math.sqrt(variance)
    found = groups.few_seeds(pools, arms, bleu)
    expected = (middle, middle - half, middle + half)
    assert (found.value, found.low, found.high) == pytest.approx(expected)
    assert groups.few_seeds(pools, (arms[0], arms[1][:1]), bleu) is None


@pytest.mark.parametrize(
    ("freedom", "table"), [(1, 12.706), (2, 4.303), (3, 3.182), (30, 2.042), (1e9, 1.960)]
)
def test_quantiles_of_t_are_those_of_the_table(freedom, table):
    assert t_quantile(0.975, freedom) == pytest.approx(table, abs=6e-4)


def lost_bits(group, lines):
    """Mean over seeds of the loss of a piece."""
    found = []
    for one in group:
        sentences = np.split(one.block_losses, np.cumsum(-(-one.pieces // 10))[:-1])
        nats = sum(sentences[line].sum() for line in lines)
        found.append(nats / math.log(2) / one.pieces[lines].sum())
    return np.mean(found)


def test_known_bits_and_half_length_are_those_of_a_slow_loop(europarl, arms):
    blind = europarl["target-only-50"]
    bits, of_sentence = groups.bits_beyond(blind), groups.sentence_bits(blind)
    lengths, shares = [], []
    for pool in europarl.buckets.values():
        lines = np.flatnonzero(pool.members)
        known = [lost_bits(blind, lines) - lost_bits(group, lines) for group in arms]
        assert [bits(pool, group)[0] for group in arms] == pytest.approx(known)
        pieces = arms[0][0].pieces[lines].mean()
        assert of_sentence(pool, arms[0])[0] == pytest.approx(known[0] * pieces)
        lengths.append(europarl.first.words[lines].mean())
        shares.append(known[1] / known[0])
    half = europarl.half_length("no-attention-50", bits, "attention-50")
    assert half[0] == pytest.approx(np.interp(0.5, shares[::-1], lengths[::-1]))
    bleu = [groups.corpus_bleu(pool, arms[1])[0] for pool in europarl.buckets.values()]
    half = europarl.half_length("no-attention-50", groups.corpus_bleu)  # of its own BLEU
    assert half[0] == pytest.approx(np.interp(bleu[0] / 2, bleu[::-1], lengths[::-1]))


@pytest.mark.parametrize(
    ("low", "high", "name"),
    [(-1.5, 1.5, "level"), (-2.5, -0.5, "falls"), (0.5, 2.5, "rises"), (-2.5, 1, "undecided")],
)
def test_a_change_is_level_only_within_the_margin(low, high, name):
    assert groups.verdict(np.linspace(low, high, 1001)) == name


@pytest.mark.parametrize(("named", "key"), [("code", "git_commit"), ("precision", "precision")])
def test_results_of_other_trainings_are_refused_in_one_table(arms, named, key):
    one, other = arms[0][0], arms[1][0]
    training = {**other.record["training"], key: "other"}
    with pytest.raises(UserError, match=named):
        groups.Groups.of([one, replace(other, record={**other.record, "training": training})])


def test_the_moment_is_that_of_a_slow_loop():
    states = read_states(RESULTS / "moment")
    moment, words = Moment(states), states["attention"][0].words
    pools = length_pools(words, groups.CONFIG)
    shares, errors, leads = [], [], []
    for ours, theirs in zip(states["attention"], states["no-attention"], strict=True):
        correct, found, gold = ours.links.sum(axis=1).T
        error = 1 - 2 * correct / (found + gold)
        before = max(state for state, wrong in enumerate(error) if wrong >= 0.5)
        lost = (theirs.losses - ours.losses)[:, words > 30, 0]
        lead = lost.mean(axis=1) / math.log(2)
        errors.append(error)
        leads.append(lead)
        shares.append((lead[before + 2] - lead[before]) / lead[-1])
    assert moment.gain(pools[ALL], pools[LONG])[0] == pytest.approx(np.mean(shares))
    for state in range(len(moment.updates)):
        assert moment.error(pools[ALL], state)[0] == pytest.approx(np.mean(errors, axis=0)[state])
        assert moment.lead(pools[LONG], state)[0] == pytest.approx(np.mean(leads, axis=0)[state])


def test_every_number_of_the_claims_is_in_a_table_or_was_predicted():
    claims = (DOCS / "study.md").read_text().partition("## Method")[0]
    log = "".join(path.read_text() for path in sorted(DOCS.glob("study-log*.md")))
    regions = re.findall(r"### Fixed in advance(.*?)### What came of them", log, re.DOTALL)
    tables = "".join(path.read_text() for path in sorted(PUBLISHED.glob("*.md")))
    known = {float(number) for number in NUMBER.findall(tables + "".join(regions))}
    found = NUMBER.findall(claims)
    assert len(found) > 200
    assert [number for number in found if float(number) not in known] == []
    sizes = re.findall(r"n = ([\d,]+)", claims)
    assert [size for size in sizes if f" {size} |" not in tables] == []


@pytest.mark.slow
def test_the_published_tables_are_those_of_the_results(monkeypatch):
    """Else: python study/report.py. Figures are left out: nothing is compared with them."""
    for module in ("layout", "recall", "skipped", "appearing"):
        monkeypatch.setattr(f"{module}.render", lambda lay_out, forms: dict.fromkeys(forms, b""))
    monkeypatch.setattr("appearing.animation", lambda states: b"")
    pages = report.pages(RESULTS)
    expected = {f"{name}.{form}": of for name, files in pages.items() for form, of in files.items()}
    assert {path.name for path in PUBLISHED.iterdir()} == expected.keys()
    for path in PUBLISHED.glob("*.md"):
        assert path.read_bytes() == expected[path.name], path
