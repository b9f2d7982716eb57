"""Pages of the systems on the grammar, and of the tests that were fixed in advance."""

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import layout
import numpy as np
import stats
from content import MIDDLE
from europarl_pages import ATTENTION, BASELINE, TENTHS
from layout import Files, Line, Panel, draw, gained, page, scored, table
from packed import Packed
from stats import Group, Groups, Score, corpus_bleu

from seq2seq.drawing import FAINT, LINES, Style, styles
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.evaluation.translations import ALL, ENDS, length_pools
from seq2seq.report.tables import markdown_table

FULL, NOT_FULL = 1.25, 2.0
"""Limits, fixed in advance, of crammed bits divided by the encoder's."""
MEMORIES = ("fixed", "1x512", "4x128", "width-1024", "delta-8", "linear-8", "slots-8", "elu-8")
"""Systems of ``longer_page``, by the numbers that they hand over."""
TESTS = 10
"""Number of tests that were fixed in advance."""


def each_alone(files: Sequence[Packed], names: Mapping[str, str] | None = None) -> Groups:
    """Groups of systems whose code or training differs; ``names``: those to take -> new name."""
    names = names or {one.system: one.system for one in files}
    found = {name: [one for one in files if one.system == name] for name in names}
    return Groups({names[name]: Groups.of(of)[name] for name, of in found.items()})


def less_text_page(
    less: Sequence[Packed],
    slots: Sequence[Packed],
    longer: Sequence[Packed],
    europarl: Sequence[Packed],
) -> Files:
    """Make the page of both arms after training on several amounts of text."""
    more = {"additive": "attention-320k", "fixed": "no-attention-320k"}
    last = "no-attention-1280k"
    found = each_alone(less) | each_alone(slots, more) | each_alone(longer, {"fixed": last})
    systems = Groups(found)

    def pairs(name: str) -> int:
        return int(systems[name][0].record["training"]["training_pairs"])

    attention, baseline = (
        {name: systems[name] for name in sorted(systems, key=pairs) if name.startswith(arm)}
        for arm in ("attention", "no-attention")
    )
    pools = systems.pools

    def lead(pool: Pool, group: Group) -> str:
        return gained(corpus_bleu(pool, group) - corpus_bleu(pool, systems[last]))

    def enough(pool: Pool, other: str) -> str:
        wanted = corpus_bleu(pool, systems[other])[0]
        found = [name for name, of in attention.items() if corpus_bleu(pool, of)[0] >= wanted]
        return f"{pairs(found[0]):,}: {pairs(other) / pairs(found[0]):.0f} times less"

    markdown = page(
        "Less text, grammar",
        systems,
        "BLEU by source length, by the number of training pairs; *short* is up to 20 source words, "
        "*long* above 30. Systems with attention:\n",
        layout.length_table(pools, attention, corpus_bleu),
        "Systems without attention:\n",
        layout.length_table(pools, baseline, corpus_bleu),
        f"Attention minus `{last}`:\n",
        table("source words", pools, attention, lead),
        "The least number of pairs, of those measured, after which attention has at least the BLEU "
        "of a system without attention:\n",
        table("source words", pools, {name: name for name in [*baseline][-3:]}, enough),
    )
    looks = styles([of[0].config for _ in "ab" for of in (systems["attention-2k"], systems[last])])
    arms = [(length, arm) for length in ("short", "long") for arm in (attention, baseline)]
    names = ("attention, short", "no attention, short", "attention, long", "no attention, long")
    lines = [
        Line(
            name, look, [corpus_bleu(pools[length], of) for of in arm.values()], [*map(pairs, arm)]
        )
        for name, look, (length, arm) in zip(names, looks, arms, strict=True)
    ]
    real = Groups.of(europarl)
    pair = {name: real[name] for name in (ATTENTION, BASELINE)}
    drawn = layout.lines_by_length(real, pair, corpus_bleu)
    figure = draw(
        "Attention needs less text, the more the longer the sentence",
        "Europarl and grammar, test",
        [
            Panel("Europarl, by source length", drawn, "", "BLEU", real.buckets),
            Panel("grammar, by amount of text", lines, "training pairs", "BLEU", log=True),
        ],
        "Short: up to 20 source words; long: above 30. -50: longest training sentence.",
    )
    return {"md": markdown, "svg": figure}


def longer_page(longer: Sequence[Packed], slots: Sequence[Packed]) -> Files:
    """Make the page of the known bits of memories of fixed size, after two amounts of training."""
    last, before = each_alone(longer), each_alone(slots)
    pool, held = last.pools[last.longest], {"320,000 pairs": before, "1,280,000 pairs": last}

    def known(name: str, groups: Groups) -> str:
        if name not in groups:
            return "–"
        return scored(stats.sentence_bits(groups["none"])(pool, groups[name]))

    markdown = page(
        "Memory after a longer training: grammar",
        last,
        f"Known bits of a reference, sources of {last.longest} words, by the number of "
        "training pairs; two seeds after 320,000, one after 1,280,000.\n",
        table("system", {name: name for name in MEMORIES}, held, known),
    )
    return {"md": markdown}


def cram_scores(cram: dict[str, Any]) -> tuple[dict[str, Pool], Callable[[Pool, str], Samples]]:
    """Pools of the crammed sentences, and the bits of a reference that a system leaves open."""
    pools = {
        label: pool
        for label, pool in length_pools(np.array(cram["words"]), stats.CONFIG).items()
        if pool.sentences and label not in ENDS
    }

    def left(pool: Pool, name: str) -> Samples:
        columns = np.stack([cram["bits"][name], cram["pieces"]], axis=1)
        per_piece = pool.estimate(columns[None], lambda sums: sums[..., 0] / sums[..., 1])
        return per_piece * float(np.mean(columns[pool.members, 1]))

    return pools, left


def crammed_page(cram: dict[str, Any]) -> Files:
    """Make the page of known bits by source length, and of bits of nonsense."""
    pools, left = cram_scores(cram)
    encoder, blind = "no-attention", "target-only"
    names = {name: name for name in (encoder, "bounded", "free", "attention")}
    buckets = {label: pool for label, pool in pools.items() if label != ALL}
    longest, last = [*buckets.items()][-1]

    def known(pool: Pool, name: str) -> Samples:
        return left(pool, blind) - (left(pool, name) if name != blind else 0)

    def mean(bits: Sequence[float]) -> Samples:
        columns = np.zeros((1, len(last.members), 1))
        columns[0, last.members, 0] = bits
        return last.estimate(columns, lambda sums: sums[..., 0] / last.sentences)

    null = cram["null"]["bits"]
    open_ = {name: mean(of["crammed"]) for name, of in null.items()}
    code = {name: mean(of["code"]) for name, of in null.items() if of["code"]}
    code["reference"] = left(last, blind)
    told = {name: code[name] - open_[name] for name in open_}
    times = {name: known(last, name) / known(last, encoder) for name in ("free", "bounded")}
    parts = [
        "# The crammed vector\n",
        f"Vectors fitted to the references of {last.sentences} test sentences of each length, with "
        f"the decoder of `{encoder}` as it is. They were made with the answer, so they are no "
        "translations of the source. *free*: any numbers; *bounded*: numbers from -1 to 1, beyond "
        "which no LSTM's hidden state is. Known bits of a reference; then all there are, the loss "
        f"of `{blind}`:\n",
        table(
            "source words",
            pools,
            {**names, "all there are": blind},
            lambda pool, name: scored(known(pool, name)),
        ),
        f"Primary tests, sources of {longest} words, known bits divided by those of `{encoder}`: "
        f"free {scored(times['free'], 2)}, bounded {scored(times['bounded'], 2)}. An interval "
        f"above {NOT_FULL:g} was to mean not full, one below {FULL:g} full. The second test was "
        "added when the first was known.\n",
        f"How much nonsense 256 free numbers tell, sources of {longest} words: the pieces of the "
        "references in another order, or drawn at random. *Left open*: the loss after cramming. "
        f"*Code*: bits without a vector, by `{blind}`, by the counts of the pieces in all "
        "references, or the same for each; the last two do not pay for the end. *Told*: the "
        "difference. The model is another training of the same system.\n",
        table(
            "fitted to",
            {name: name for name in open_},
            {"left open": open_, "code": code, "told": told},
            lambda name, of: scored(of[name]),
        ),
        "Brackets are 95% intervals from resamples of the sentences. One seed; code "
        f"`{cram['training'][encoder][:10]}`, of nonsense `{cram['null']['training'][:10]}`. "
        "Written by `python study/report.py` from results/.\n",
    ]
    looks = styles([{"model": {"attention": {"kind": k}}} for k in (*["fixed"] * 3, "additive")])
    looks.append(Style(FAINT, LINES[1], ""))
    labels = (
        "the encoder's vector",
        "crammed, bounded",
        "crammed, free",
        "attention",
        "all there are",
    )
    lines = [
        Line(label, look, [known(pool, name) for pool in buckets.values()])
        for label, look, name in zip(labels, looks, (*names, blind), strict=True)
    ]
    for name, marker in (("shuffled", "X"), ("random", "D")):
        look = Style(FAINT, "-", marker)
        lines.append(Line(f"crammed, {name} pieces", look, [told[name]], [len(buckets) - 1]))
    figure = draw(
        "What one vector can tell its decoder",
        "Grammar: vectors fitted to the reference; cross and diamond: to nonsense as long",
        [Panel("", lines, "", "known bits of a reference", buckets)],
        "Free: any numbers. Bounded: from -1 to 1.",
    )
    return {"md": "\n".join(parts).encode(), "svg": figure}


def middle_page(files: Sequence[Packed]) -> Files:
    """Make the page of recall by place, by training length and kind of attention."""
    groups = Groups.of(files)
    tenths, pool = stats.recall_of("place"), groups.pools[groups.longest]
    measures: dict[str, tuple[Score, int]] = {
        "BLEU": (corpus_bleu, 1),
        "middle": (lambda pool, group: tenths(pool, group) @ MIDDLE.clip(min=0), 2),
    }
    found = {name: tenths(pool, group) for name, group in groups.items()}

    def dip(pool: Pool, group: Group) -> str:
        return gained(tenths(pool, group) @ MIDDLE, 2)

    markdown = page(
        "Skipping the middle, grammar",
        groups,
        f"Sources of {groups.longest} words. *middle*: recall of content words in the fourth to "
        "seventh tenth of the reference.\n",
        table("system", groups, measures, lambda of, m: scored(m[0](pool, of), m[1])),
        "Middle minus ends (first and last tenth), by source length:\n",
        table("source words", groups.buckets, groups, dip),
        f"Recall by tenth of the reference, sources of {groups.longest} words:\n",
        table("tenth", TENTHS, found, lambda n, of: scored(of[:, n], 2)),
    )
    return {"md": markdown}


def tests_page(
    europarl: Sequence[Packed],
    less: Sequence[Packed],
    longer: Sequence[Packed],
    cram: dict[str, Any],
) -> Files:
    """Make the page of the tests that were fixed in advance, as far as results/ has their data."""
    rows: list[list[str]] = []

    def add(name: str, samples: Samples, *by_t: Interval) -> None:
        spread = NormalDist().inv_cdf(1 - 0.05 / TESTS / 2) * float(samples[1:].std())
        corrected = Interval(samples[0], samples[0] - spread, samples[0] + spread)
        cells = [layout.ends(of, 2) for of in (corrected, *by_t)]
        rows.append([name, gained(samples, 2), *cells])

    def test(name: str, groups: Groups, pools: Sequence[Pool], score: Score, *systems: str) -> None:
        arms = [groups[system] for system in systems]
        by_t = [stats.interval_by_t(pools, arms, score, 1 - 0.05 / n) for n in (1, TESTS)]
        add(name, stats.difference(pools, arms, score), *by_t)

    real, text, memory = Groups.of(europarl), each_alone(less), each_alone(longer)
    long, last = text.ends[1:], [memory.pools[memory.longest]]
    bits = stats.sentence_bits(memory["none"])
    test("gap, long minus short", real, real.ends, corpus_bleu, ATTENTION, BASELINE)
    test("attention, long minus short", real, real.ends, corpus_bleu, ATTENTION)
    test("less text, long", text, long, corpus_bleu, "attention-2k", "no-attention-128k")
    test("bits, 4x128 minus 1x512", memory, last, bits, "4x128", "1x512")
    test("bits, delta-8 minus linear-8", memory, last, bits, "delta-8", "linear-8")
    pools, left = cram_scores(cram)
    pool = [*pools.values()][-2]
    for name in ("free", "bounded"):
        known = [left(pool, "target-only") - left(pool, of) for of in (name, "no-attention")]
        add(f"{name} vector's bits / the encoder's", known[0] / known[1])
        rows[-1] += ["–"] * 2
    heading = (
        "# Tests fixed in advance\n\nSeven of ten; the data of three have left results/ (see "
        "`study/plans.md`). First the value with its 95% interval from resamples. *Corrected*: for "
        f"{TESTS} tests, from the spread of the resamples. Then both by Student's t, which knows "
        "only the sentences where there is one seed.\n\n"
    )
    header = ["test", "value", "corrected", "t", "t, corrected"]
    return {"md": (heading + markdown_table(header, rows)).encode()}
