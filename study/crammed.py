"""Page of the vectors that were fitted to the references, against those that the encoder writes."""

from collections.abc import Sequence

import numpy as np
from groups import Group, Groups, corpus_bleu, lost_bits, sentence_bits
from layout import Line, draw, gained, length_table, page, scored
from packed import Packed

from seq2seq.drawing import FAINT, LINES, Style, styles
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.report.tables import markdown_table

ENCODER, ATTENTION, BLIND = "no-attention", "attention", "target-only"
CRAMMED, BOUNDED = "free-encoder", "bounded-encoder"
SHOWN = (ENCODER, "within-encoder", BOUNDED, CRAMMED, ATTENTION)
FULL, NOT_FULL = 1.25, 2.0
"""Limits, fixed in advance, of crammed bits divided by the encoder's."""


def all_bits(pool: Pool, group: Group) -> Samples:
    """Loss of a reference, in bits; that of the target-only system is all that can be known."""
    return lost_bits(range(10_000))(pool, group) * float(np.mean(group[0].pieces[pool.members]))


def exact(pool: Pool, group: Group) -> Samples:
    """Share of translations that are as long as the reference and have all its n-grams."""
    counts = np.stack([one.bleu for one in group])
    right = (counts[..., 0] == counts[..., 1]) & (counts[..., 2:6] == counts[..., 6:]).all(axis=-1)
    columns = np.stack([right, np.ones_like(right)], axis=-1).astype(np.int64)
    return pool.estimate(columns, lambda sums: sums[..., 0] / sums[..., 1])


def verdict(ratio: Samples) -> str:
    """Say whether the encoder's vector is full: ``ratio`` is crammed bits / the encoder's bits."""
    interval = Interval.of(ratio)
    if interval.low > NOT_FULL:
        return "not full"
    return "full" if interval.high < FULL else "undecided"


def crammed_page(files: Sequence[Packed]) -> dict[str, bytes]:
    """Make the page: bits by source length, translations, and other starts and roundings."""
    groups = Groups.of(files)
    known, longest = sentence_bits(groups[BLIND]), [*groups.buckets][-1]
    pool = groups.pools[longest]
    others = [name for name in groups if name not in (ATTENTION, BLIND)]
    rows = []
    for name in others:
        group = groups[name]
        bits, own = known(pool, group), known(pool, groups[ENCODER])
        cells = [scored(bits), gained(bits - own), scored(bits / own, 2)]
        rows.append([name, *cells, scored(corpus_bleu(pool, group)), scored(exact(pool, group), 2)])
    own = known(pool, groups[ENCODER])
    free, bounded = (known(pool, groups[name]) / own for name in (CRAMMED, BOUNDED))

    def share(pool: Pool, name: str) -> str:
        return scored(known(pool, groups[name]) / all_bits(pool, groups[BLIND]), 2)

    def bits_of(pool: Pool, name: str) -> str:
        score = all_bits if name == BLIND else known
        return scored(score(pool, groups[name]))

    how = [
        [name, str(given["rate"]), given["largest"], f"{float(given['radius']):.1f}"]
        for name in others
        if (given := groups[name][0].config.get("crammed")) and not name.endswith("rounded")
    ]
    markdown = page(
        "The crammed vector",
        Groups({name: groups[name] for name in (ENCODER, ATTENTION, BLIND)}),
        f"Vectors fitted to the references of {pool.sentences} test sentences of each length, with "
        f"the decoder of `{ENCODER}` as it is. They were made with the answer, so they are no "
        "translations of the source. *free-*: any numbers; *bounded-*: numbers from -1 to 1, "
        "beyond which no LSTM's hidden state is; *within-*: no further from the mean of the "
        "encoder's vectors than 99% of these, in Mahalanobis length. Then where the vectors began "
        "(the encoder's, zero, another sentence's). *-rounded*: 8 bits a number.\n",
        f"Known bits of a reference; last, all there are: the loss of `{BLIND}`.\n",
        length_table(groups, [*SHOWN, BLIND], bits_of),
        "As a share of all there are:\n",
        length_table(groups, SHOWN, share),
        "BLEU of greedy search:\n",
        length_table(groups, SHOWN, lambda pool, n: scored(corpus_bleu(pool, groups[n]))),
        "Share of translations that are the reference, by length and n-grams:\n",
        length_table(groups, SHOWN, lambda pool, n: scored(exact(pool, groups[n]), 2)),
        f"Sources of {longest} words. Known bits, also minus the encoder's and divided by them:\n",
        markdown_table(["vector", "bits", "more", "times", "BLEU", "exact"], rows),
        f"Primary tests, bits divided by the encoder's: {CRAMMED} {scored(free, 2)}, {BOUNDED} "
        f"{scored(bounded, 2)}. An interval above {NOT_FULL:g} was to mean not full, one below "
        f"{FULL:g} full: **{verdict(free)}**, **{verdict(bounded)}**. The second test was added "
        "when the first was known.\n",
        "Rate of each, chosen on validation sentences, and the limits of its numbers and length:\n",
        markdown_table(["vector", "rate", "numbers", "length"], how),
    )
    drawn = styles([groups[name][0].config for name in SHOWN])
    kinds = ("crammed, within", "crammed, bounded", "crammed, free")
    labels = ("the encoder's vector", *kinds, "attention")
    lines = [
        Line(label, look, [known(of, groups[name]) for of in groups.buckets.values()])
        for name, label, look in zip(SHOWN, labels, drawn, strict=True)
    ]
    there = [all_bits(of, groups[BLIND]) for of in groups.buckets.values()]
    figure = draw(
        ("What one vector can tell its decoder", "Grammar: vectors fitted to the reference"),
        ("", "known bits of a reference"),
        [Line("all there are", Style(FAINT, LINES[1], ""), there), *lines],
        "Within: as near to the mean as 99% of the encoder's vectors. Bounded: from -1 to 1.",
        groups.buckets,
    )
    return {"md": markdown, "svg": figure}
