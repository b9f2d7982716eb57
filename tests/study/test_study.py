"""The study's statistics against slow ones, and its published pages against results/."""

import dataclasses
import json
import lzma
import math
import re
from collections import Counter
from pathlib import Path

import floors
import numpy as np
import pytest
import report
import sacrebleu
from groups import (
    CONFIG,
    Groups,
    bits_beyond,
    contrast,
    corpus_bleu,
    few_seeds,
    log_bleu,
    seed_by_seed,
    sentence_bits,
    slope,
    verdict,
    without_penalty,
)
from layout import provenance
from less_text import less_text_page, pairs_needed
from memories import longer_page
from moment import States
from packed import RESULTS, read_all, write_all
from packed import main as pack
from student import t_quantile
from synthetic_results import packed

from seq2seq.errors import UserError
from seq2seq.evaluation.comparison import compare_systems
from seq2seq.evaluation.scores import bleu_counts
from seq2seq.evaluation.significance import Interval

DOCS = Path(__file__).resolve().parents[2] / "docs"
PUBLISHED = DOCS / "results" / "study"
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def test_a_longer_training_stands_next_to_the_shorter_one_if_there_is_one(tmp_path):
    """Known bits of 45 pieces, of which each has a whole number of bits."""

    def trained(name, bits, pairs, commit):
        loss = bits * math.log(2)
        more = {"training_pairs": pairs, "git_commit": commit}
        return packed(tmp_path / commit, name, lambda _: 0.5, lambda _: loss, **more)[0]

    before = [trained("none", 3, 4, "aa"), trained("fixed", 2, 4, "aa")]
    after = [trained("none", 3, 16, "bb"), trained("fixed", 1, 16, "bb")]
    after.append(trained("width-1024", 0.5, 16, "cc"))
    markdown = longer_page(after, before, "none", "toy")["md"].decode()
    cells = {
        tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in markdown.splitlines()
    }
    rows = {row[0]: row[-2:] for row in cells if len(row) > 4 and "]" in row[-1]}
    assert rows["fixed"] == ("45.0 [45.0, 45.0]", "90.0 [90.0, 90.0]")
    assert rows["width-1024"] == ("–", "112.5 [112.5, 112.5]")
    assert ("width-1024", "fixed", "–", "+22.5 [+22.5, +22.5]") in cells
    assert "Code `bb`" in markdown
    assert "Code `cc`" in markdown


def test_the_pairs_needed_for_a_score_are_on_a_straight_line_in_their_logarithm():
    scores = [np.array([10.0, 10.0]), np.array([20.0, 30.0]), np.array([40.0, 20.0])]
    for wanted, first, second in [
        (10, 1, 1),
        (15, 10, 10**0.5),  # the middle of 1 and 100; a quarter of the way
        (25, 100 * 100**0.25, 10**1.5),
        (9, 0, 0),
        (41, math.inf, math.inf),
    ]:
        found = pairs_needed([1, 100, 10_000], scores, np.full(2, float(wanted)))
        assert found == pytest.approx([first, second])


def test_less_text_is_compared_with_the_most_text_of_the_baseline(tmp_path):
    made = [
        packed(tmp_path, name, lambda _, q=q: q, training_pairs=size, budget={"max_epochs": epochs})
        for name, q, size, epochs in [
            ("attention-1k", 0.5, 1_000, 12),
            ("no-attention-1k", 0.3, 1_000, 12),
            ("attention-4k", 0.9, 4_000, 6),
            ("no-attention-4k", 0.7, 4_000, 6),
        ]
    ]
    markdown = less_text_page([one for one, _ in made])["md"].decode()
    bleu = {e.record.system: sacrebleu_of(e) for _, e in made}
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in markdown.splitlines()]
    gap = bleu["attention-1k"] - bleu["no-attention-4k"]
    assert any(row[:1] == ["all"] and row[2].startswith(f"{gap:+.1f} [") for row in rows if row)
    (ends,) = [row for row in rows if row[:1] == ["times less text"]]
    assert [value[-1:] for value in ends[1:]] == ["]", "]", "", ""]
    steps = bleu["attention-4k"] - bleu["attention-1k"]
    times = 4 / 4 ** ((bleu["no-attention-4k"] - bleu["attention-1k"]) / steps)
    assert any(row[:1] == ["all"] and row[2].startswith(f"{times:.1f} [") for row in rows if row)


def sacrebleu_of(evaluation):
    return sacrebleu.corpus_bleu(evaluation.texts.hypotheses, [evaluation.texts.references]).score


def test_what_is_packed_is_read_again_and_has_no_text_of_the_corpus(tmp_path):
    made = [
        packed(tmp_path, name, lambda words, q=q: q, lambda words: words / 7)
        for name, q in {"b": 0.9, "a": 0.5, "floor": 0.1}.items()
    ]
    given = dataclasses.replace(
        made[2][0], pieces=0 * made[2][0].pieces, block_losses=np.array([]), hypotheses=[]
    )
    systems = [made[0][0], made[1][0], given]
    path = write_all(tmp_path / "results" / "test", systems)
    again = read_all(tmp_path / "results" / "test")
    assert [one.name for one in again] == ["a-seed-1", "b-seed-1", "floor-seed-1"]
    for one, back in zip(sorted(systems, key=lambda one: one.name), again, strict=True):
        assert back.record == one.record
        assert back.hypotheses == one.hypotheses
        for name in ("words", "bleu", "chrf", "pieces", "capped"):
            np.testing.assert_array_equal(getattr(back, name), getattr(one, name))
        np.testing.assert_allclose(back.block_losses, one.block_losses, atol=0.005 + 1e-9)
    evaluation = made[0][1]
    log_probabilities = evaluation.texts.reference_scores.log_probabilities
    rounding = 0.005 * again[1].pieces + 1e-9
    assert (np.abs(again[1].losses(range(1000))[:, 0] + log_probabilities) <= rounding).all()
    assert write_all(tmp_path / "again" / "test", again).read_bytes() == path.read_bytes()
    assert evaluation.texts.sources[0].encode() not in lzma.decompress(path.read_bytes())


def test_an_evaluation_that_is_packed_again_replaces_the_one_of_its_name(tmp_path):
    results = tmp_path / "results"
    for name, seed, quality in [("a", 1, 0.9), ("b", 1, 0.4), ("a", 1, 0.5)]:
        root = tmp_path / f"{name}-{quality}"
        _, evaluation = packed(root, name, lambda words, q=quality: q, seed=seed)
        pack([str(evaluation.directory)], results)
    a, b = read_all(results / "figure2-cpu" / "test")
    assert (a.name, b.name) == ("a-seed-1", "b-seed-1")
    assert a.hypotheses == evaluation.texts.hypotheses != b.hypotheses


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Two systems with two seeds each: their packed files and evaluations."""
    root = tmp_path_factory.mktemp("pair")
    return [
        packed(root, name, quality, seed=seed)
        for name, quality in {
            "attention-50": lambda words: 0.9,
            "no-attention-50": lambda words: 0.9 - words / 60,
        }.items()
        for seed in (1, 2)
    ]


def test_gaps_are_those_of_sacrebleu(pair):
    systems = Groups.of([one for one, _ in pair])
    arms = systems["attention-50"], systems["no-attention-50"]
    found = contrast(systems.short_and_long(), arms, corpus_bleu)

    def gap(chosen, seeds):
        scores = []
        for one, evaluation in pair:
            texts = evaluation.texts
            lines = [i for i, s in enumerate(texts.sources) if chosen(len(s.split()))]
            hypotheses, references = (
                [side[i] for i in lines] for side in (texts.hypotheses, texts.references)
            )
            if one.record["seed"] in seeds:
                score = sacrebleu.corpus_bleu(hypotheses, [references]).score
                scores.append(score if one.system == "attention-50" else -score)
        return sum(scores) / len(seeds)

    def ends(*seeds):
        return gap(lambda words: words <= 20, seeds), gap(lambda words: words > 30, seeds)

    short, long = ends(1, 2)
    assert [samples[0] for samples in found] == pytest.approx([short, long, long - short])
    each = seed_by_seed(systems.short_and_long(), arms, corpus_bleu)
    assert each == pytest.approx([np.subtract(*ends(seed)[::-1]) for seed in (1, 2)])


def test_scores_without_penalty_and_on_the_log_scale_are_those_of_sacrebleu(pair):
    systems = Groups.of([one for one, _ in pair])
    pool = systems.short_and_long()[1]
    found: dict[str, list] = {}
    for one, evaluation in pair:
        texts = evaluation.texts
        # Half of each translation: only the brevity penalty knows that the rest is missing.
        cut = [line[: len(line) // 2] for line in texts.hypotheses]
        counts = bleu_counts(cut, texts.references)
        lines = np.flatnonzero(pool.members)
        score = sacrebleu.corpus_bleu(
            [cut[i] for i in lines], [[texts.references[i] for i in lines]]
        )
        found.setdefault(one.system, []).append((dataclasses.replace(one, bleu=counts), score))
    for seeds in found.values():
        group = tuple(one for one, _ in seeds)
        precision = np.mean([np.exp(np.mean(np.log(score.precisions))) for _, score in seeds])
        assert seeds[0][1].bp < 0.5
        assert without_penalty(pool, group)[0] == pytest.approx(precision)
        mean = np.mean([score.score for _, score in seeds])
        assert log_bleu(pool, group)[0] == pytest.approx(math.log(mean))


def test_few_seeds_have_the_interval_of_welch(pair):
    systems = Groups.of([one for one, _ in pair])
    arms = systems["attention-50"], systems["no-attention-50"]
    pools = systems.short_and_long()
    values, sentences = [], 0
    for sign, arm in zip((1, -1), arms, strict=True):
        changes = [corpus_bleu(pools[1], (one,)) - corpus_bleu(pools[0], (one,)) for one in arm]
        values.append([change[0] for change in changes])
        sentences = sentences + sign * (changes[0] + changes[1])[1:] / 2
    seeds = [(a - b) ** 2 / 4 for a, b in values]
    variance = np.var(sentences) + sum(seeds)
    freedom = variance**2 / sum(one**2 for one in seeds)
    half = t_quantile(0.975, freedom) * math.sqrt(variance)
    middle = np.mean(values[0]) - np.mean(values[1])
    found = few_seeds(pools, arms, corpus_bleu)
    assert (found.value, found.low, found.high) == pytest.approx(
        (middle, middle - half, middle + half), rel=1e-3
    )
    assert few_seeds(pools, (arms[0], arms[1][:1]), corpus_bleu) is None
    one_pool = few_seeds(pools[:1], arms, corpus_bleu)
    assert one_pool.value == pytest.approx(contrast(pools, arms, corpus_bleu)[0][0])


@pytest.mark.parametrize(
    ("freedom", "table"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (30, 2.042), (120, 1.980), (1e9, 1.960)],
)
def test_quantiles_of_t_are_those_of_the_table(freedom, table):
    assert t_quantile(0.975, freedom) == pytest.approx(table, abs=6e-4)


def test_compare_and_the_study_have_the_same_intervals(pair):
    systems = Groups.of([one for one, _ in pair])
    compared = compare_systems([each for _, each in pair], "no-attention-50", CONFIG)
    for system in compared.systems:
        for row in system.rows:
            if row.sentences:
                found = corpus_bleu(systems.rows[row.words], systems[system.name])
                assert Interval.of(found) == Interval(row.bleu, row.bleu_low, row.bleu_high)
    arms = systems["attention-50"], systems["no-attention-50"]
    growth = compared.gaps[0].difference_in_differences
    found = contrast(systems.short_and_long(), arms, corpus_bleu)
    assert [*map(Interval.of, found)] == [growth.short, growth.long, growth.difference]


def test_bits_and_half_length_are_those_built_in(tmp_path):
    """One system knows 4 bits of each piece up to 15 words, 3, 2 and 1 of those beyond."""
    bit = math.log(2)
    known = {5: 4, 15: 4, 25: 3, 35: 1, 45: 1}
    systems = Groups.of(
        [
            packed(tmp_path, "none", lambda words: 0.5, lambda words: 6 * bit)[0],
            packed(tmp_path, "all", lambda words: 0.5, lambda words: bit)[0],
            packed(tmp_path, "some", lambda words: 0.5, lambda words: (6 - known[words]) * bit)[0],
        ]
    )
    bits, pools = bits_beyond(systems["none"]), systems.rows
    assert [bits(pool, systems["all"])[0] for pool in pools.values()] == pytest.approx([5] * 6)
    assert bits(pools["31-40"], systems["some"])[0] == pytest.approx(1)
    assert sentence_bits(systems["none"])(pools["31-40"], systems["some"])[0] == pytest.approx(35)
    half = systems.half_length("some", bits)
    assert half == pytest.approx(30, abs=1e-3)  # half way from 3 bits at 25 words to 1 at 35
    assert np.isinf(systems.half_length("all", bits)).all()
    # Of 5 bits: 3 are 0.6 at 25 words, and 1 is 0.2 at 35.
    assert systems.half_length("some", bits, "all") == pytest.approx(27.5, abs=1e-3)


def test_the_slope_is_the_exponent_of_a_power_law():
    widths, powers = [32.0, 64.0, 512.0], np.array([0.4, 0.2, 1.0])
    found = slope(widths, [3 * width**powers for width in widths])
    assert found == pytest.approx(powers)
    straight = np.polyfit(np.log(widths), np.log([2, 7, 9]), 1)[0]
    assert slope(widths, [np.array([y]) for y in (2, 7, 9)]) == pytest.approx(straight)


def test_bits_by_place_are_those_of_the_pieces_there(tmp_path):
    one, _ = packed(tmp_path, "none", lambda words: 0.5, lambda words: 2.0)
    # One nat at each of the first ten places, then two.
    losses = {5: [5], 15: [10, 10], 25: [10, 20, 10], 35: [10, 20, 20, 10]}
    losses[45] = [10, 20, 20, 20, 10]
    blocks = np.concatenate([losses[words] for words in one.words]).astype(float)
    assert one.block_losses.shape == blocks.shape
    early = dataclasses.replace(one, block_losses=blocks)
    pool = Groups.of([one]).pools["all"]
    assert bits_beyond((one,), range(10))(pool, (early,))[0] == pytest.approx(1 / math.log(2))
    assert bits_beyond((one,), range(10, 20))(pool, (early,))[0] == 0
    assert early.losses(range(10, 20))[one.words == 15].tolist() == [[10.0, 5.0]] * 30


@pytest.mark.parametrize(
    ("what", "changed"),
    [
        ("code", {"git_commit": "other"}),
        ("precision", {"precision": "fp32"}),
        ("code", {"earlier_commits": ["x"]}),
        ("status", {"status": "stopped"}),
        ("max_epochs", {"budget": {"max_epochs": 5}}),
    ],
)
def test_results_of_other_code_or_precision_are_refused(tmp_path, what, changed):
    one, _ = packed(tmp_path, "attention-50", lambda words: 0.9)
    other, _ = packed(tmp_path, "no-attention-50", lambda words: 0.9, **changed)
    with pytest.raises(UserError, match=what):
        Groups.of([one, other])


def test_learning_rates_may_differ_and_are_in_the_table(tmp_path):
    rates = {"a": 0.125, "b": 0.25}
    files = [
        packed(tmp_path, name, lambda words: 0.9, budget={"optimizer": {"learning_rate": rate}})[0]
        for name, rate in rates.items()
    ]
    table = provenance(Groups.of(files))
    assert all(f" {rate} |" in table for rate in rates.values())


def test_a_change_is_level_only_within_the_margin():
    def samples(low, high):
        return np.linspace(low, high, 1001)

    assert verdict(samples(-1.5, 1.5)) == "level"
    assert verdict(samples(-2.5, -0.5)) == "falls"
    assert verdict(samples(0.5, 2.5)) == "rises"
    assert verdict(samples(-2.5, 1.0)) == "undecided"


def test_the_nearest_sentence_is_that_of_a_slow_search():
    generator = np.random.default_rng(1)
    text = [" ".join(f"w{n}" for n in generator.zipf(1.6, size=8) % 50) for _ in range(120)]
    train, sources = text[:100], text[100:]
    count = Counter(word for line in train for word in {*line.split()})

    def cosine(one, other):
        common = {w for w, n in count.items() if n > 2}
        shared = ({*one.split()} & {*other.split()}) - common
        norm = sum(math.log(100 / count[word]) ** 2 for word in {*other.split()}) ** 0.5
        return sum(math.log(100 / count[word]) ** 2 for word in shared if word in count) / norm

    for source, line in zip(sources, floors.nearest(sources, train), strict=True):
        best = max(cosine(source, other) for other in train)
        assert cosine(source, train[line]) == pytest.approx(best)


def test_unrelated_references_are_of_other_sentences_as_long():
    sources = [" ".join("a" * n) for n in (3, 5, 3, 5, 3, 9)]
    lines = floors.unrelated(sources)
    assert all(line != number for number, line in enumerate(lines))
    lengths = [len(source.split()) for source in sources]
    assert sum(lengths[line] != lengths[i] for i, line in enumerate(lines)) <= 3


def test_every_number_of_the_claims_is_in_a_table_or_was_predicted():
    """The tables are checked below; the page may also quote what was fixed in advance."""
    claims = (DOCS / "study.md").read_text().partition("## Method")[0]
    log = "".join(path.read_text() for path in sorted(DOCS.glob("study-log*.md")))
    regions = re.findall(r"### Fixed in advance(.*?)### What came of them", log, re.DOTALL)
    predicted = "".join(regions)
    tables = "".join(path.read_text() for path in sorted(PUBLISHED.glob("*.md")))
    known = {float(number) for number in NUMBER.findall(tables + predicted)}
    found = NUMBER.findall(claims)
    assert len(found) > 200
    assert [number for number in found if float(number) not in known] == []
    sizes = re.findall(r"n = ([\d,]+)", claims)
    assert [size for size in sizes if f" {size} |" not in tables] == []


@pytest.mark.slow
def test_the_published_pages_are_those_of_the_results(monkeypatch):
    """Else: python study/report.py. Most figures are left out: nothing is compared with them."""
    monkeypatch.setattr("layout.render", lambda lay_out, forms: dict.fromkeys(forms, b""))
    monkeypatch.setattr("appearing.animation", lambda states: b"")
    if not (pages := report.pages(RESULTS)):
        pytest.skip("nothing is packed yet")
    expected = {f"{name}.{form}": of for name, files in pages.items() for form, of in files.items()}
    assert {path.name for path in PUBLISHED.iterdir()} == expected.keys()
    for name, content in expected.items():
        if name.endswith(".md"):
            assert (PUBLISHED / name).read_bytes() == content, name
    for path in RESULTS.rglob("*.npz.xz"):
        assert path.stat().st_size < 4e6
        name, records = path.name.removesuffix(".npz.xz"), []
        if path.parent.name == "moment":
            records = [dataclasses.asdict(States.load(path).record)]
        elif name != "places":  # these are numbers
            records = [one.record for one in read_all(path.with_name(name))]
        assert '"/' not in json.dumps(records)  # no place on one machine
    assert all(re.search(r"\d \[", of.decode()) for n, of in expected.items() if n.endswith("md"))
