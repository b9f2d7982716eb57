"""The statistics behind the study's claims against slow ones, on its own published results."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import report
import stats
from content import MIDDLE
from europarl_pages import ATTENTION, BASELINE, BLIND
from helpers.pages import ROOT
from packed import RESULTS, read_all
from sacrebleu.metrics import BLEU

from seq2seq.errors import UserError

PUBLISHED = ROOT / "docs" / "results" / "study"
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.?\d*(?![\w.])")


@pytest.fixture(scope="module")
def europarl():
    return stats.Groups.of(read_all(RESULTS / report.EUROPARL))


@pytest.fixture(scope="module")
def arms(europarl):
    return europarl[ATTENTION], europarl[BASELINE]


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
        (stats.corpus_bleu, lambda score: score.score),
        (stats.without_penalty, lambda score: score.score / score.bp),
        (stats.length_ratio, lambda score: score.sys_len / score.ref_len),
    ],
)
def test_gaps_and_their_change_are_those_of_sacrebleu(europarl, arms, measure, of):
    def gaps(ours, theirs):
        words = europarl.first.words
        ends = words <= 20, words > 30
        short, long = (mean_bleu(ours, lines, of) - mean_bleu(theirs, lines, of) for lines in ends)
        return short, long, long - short

    short, long = europarl.ends
    found = [stats.difference(of, arms, measure)[0] for of in ([short], [long], [short, long])]
    assert found == pytest.approx(gaps(*arms))


def test_few_seeds_have_the_interval_of_welch(europarl, arms):
    pools, bleu = europarl.ends, stats.corpus_bleu
    middle, sentences, of_seeds = 0.0, 0.0, []
    for sign, arm in zip((1, -1), arms, strict=True):
        changes = np.array([bleu(pools[1], (one,)) - bleu(pools[0], (one,)) for one in arm])
        middle += sign * changes[:, 0].mean()
        sentences += sign * changes[:, 1:].mean(axis=0)
        of_seeds.append((changes[0, 0] - changes[1, 0]) ** 2 / 4)
    variance = np.var(sentences) + sum(of_seeds)
    freedom = variance**2 / sum(one**2 for one in of_seeds)
    half = stats.t_quantile(0.975, freedom) * math.sqrt(variance)
    found = stats.interval_by_t(pools, arms, bleu)
    expected = (middle, middle - half, middle + half)
    assert (found.value, found.low, found.high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("freedom", "table"), [(1, 12.706), (2, 4.303), (3, 3.182), (30, 2.042), (1e9, 1.960)]
)
def test_quantiles_of_t_are_those_of_the_table(freedom, table):
    assert stats.t_quantile(0.975, freedom) == pytest.approx(table, abs=6e-4)


def lost_bits(group, lines):
    """Mean over seeds of the loss of a piece."""
    found = []
    for one in group:
        sentences = np.split(one.block_losses, np.cumsum(-(-one.pieces // 10))[:-1])
        nats = sum(sentences[line].sum() for line in lines)
        found.append(nats / math.log(2) / one.pieces[lines].sum())
    return np.mean(found)


def test_known_bits_are_those_of_a_slow_loop(europarl, arms):
    blind = europarl[BLIND]
    bits, of_sentence = stats.bits_beyond(blind), stats.sentence_bits(blind)
    for pool in europarl.buckets.values():
        lines = np.flatnonzero(pool.members)
        known = [lost_bits(blind, lines) - lost_bits(group, lines) for group in arms]
        assert [bits(pool, group)[0] for group in arms] == pytest.approx(known)
        pieces = arms[0][0].pieces[lines].mean()
        assert of_sentence(pool, arms[0])[0] == pytest.approx(known[0] * pieces)


def test_recall_is_that_of_a_slow_loop(europarl, arms):
    pool, content = europarl.pools["61+"], arms[0][0].content
    words = [[] for _ in range(10)]
    for number, (line, place) in enumerate(zip(content.line, content.place, strict=True)):
        if pool.members[line]:
            words[place].append(np.mean([one.found[number] for one in arms[0]]))
    found = stats.recall_of("place")(pool, arms[0])
    assert found[0] == pytest.approx([np.mean(of) for of in words])
    middle, ends = np.mean(found[0][3:7]), np.mean(found[0][[0, 9]])
    assert (found @ MIDDLE)[0] == pytest.approx(middle - ends)
    assert stats.recall_of("all")(pool, arms[0])[0] == pytest.approx(np.mean(np.concatenate(words)))


def test_equally_hard_sentences_have_equal_shares_of_difficulty(europarl, arms):
    score, pools = stats.equally_hard(europarl.ends, europarl[BLIND]), europarl.ends
    losses = europarl[BLIND][0].losses(range(10_000))
    hard = losses[:, 0] / losses[:, 1]
    limits = np.quantile(hard[pools[0].members | pools[1].members], [0.2, 0.4, 0.6, 0.8])
    shares = [np.bincount(np.searchsorted(limits, hard[of.members])) / of.sentences for of in pools]
    for pool, share in zip(pools, shares, strict=True):
        sums = np.zeros(10)
        for line in np.flatnonzero(pool.members):
            fifth = np.searchsorted(limits, hard[line])
            least = min(shares[0][fifth], shares[1][fifth])
            sums += arms[0][0].bleu[line] * least / share[fifth]
        precision = np.exp(np.mean(np.log(sums[2:6] / sums[6:])))
        expected = 100 * precision * min(1, math.exp(1 - sums[1] / sums[0]))
        assert score(pool, arms[0][:1])[0] == pytest.approx(expected)


@pytest.mark.parametrize(("named", "key"), [("code", "git_commit"), ("precision", "precision")])
def test_results_of_other_trainings_are_refused_in_one_table(arms, named, key):
    one, other = arms[0][0], arms[1][0]
    training = {**other.record["training"], key: "other"}
    with pytest.raises(UserError, match=named):
        stats.Groups.of([one, replace(other, record={**other.record, "training": training})])


def test_every_number_of_the_page_is_in_a_table_or_a_plan():
    page = (ROOT / "docs" / "study.md").read_text().partition("## References")[0]
    page = re.sub(r"\]\([^)]*\)|`[^`]*`|\(20\d\d\)| 20\d\d", "", page)
    tables = "".join(path.read_text() for path in sorted(PUBLISHED.glob("*.md")))
    known = {*NUMBER.findall(tables + (ROOT / "study" / "plans.md").read_text())}
    found = [number.rstrip(",.") for number in NUMBER.findall(page)]
    assert len(found) > 100
    assert [number for number in found if "." in number and number not in known] == []


@pytest.mark.slow
def test_the_published_tables_are_those_of_the_results(monkeypatch):
    """Else: python study/report.py. Figures are left out: nothing is compared with them."""
    monkeypatch.setattr("layout.render", lambda lay_out: {"svg": b""})
    pages = report.pages(RESULTS)
    expected = {f"{name}.{form}": of for name, files in pages.items() for form, of in files.items()}
    assert {path.name for path in PUBLISHED.iterdir()} == expected.keys()
    for path in PUBLISHED.glob("*.md"):
        assert path.read_bytes() == expected[path.name], path
