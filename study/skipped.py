"""Page of the part of long sentences that attention skips, on the grammar with its exact links."""

from collections.abc import Mapping, Sequence

import numpy as np
from content import MIDDLE, PLACES, recall_samples
from groups import CONFIG, Groups, corpus_bleu, length_ratio, without_penalty
from jaxtyping import Float, Int
from layout import draw_samples, gained, page, scored
from matplotlib.figure import Figure
from middle import TEXTS, UNLINKED, Trace, Traced
from packed import Packed

from seq2seq.drawing import name_lines, new_figure, render, styles
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.evaluation.translations import ENDS, length_pools
from seq2seq.report.tables import markdown_table

JUMP, NEAR = 10, 2
"""A jump moves the place forward by more than ``JUMP`` words. A place is right if it is at most
``NEAR`` words from its link."""
BIN, BINS = 10, 7
"""Width in words, and number, of the parts of a reference by which places are scored."""
PAIR = ("additive-20", "additive-40")
"""Systems of the primary test."""
MIDDLE_TENTHS = MIDDLE.clip(min=0)


def first_jumps(trace: Trace) -> Int[np.ndarray, "N 4"]:
    """First jump of each sentence: words written before it, place before, place after, words left.

    All are -1 in a sentence without a jump.
    """
    rows = np.full((len(trace.sizes), 4), -1)
    for row, place in zip(rows, trace.sentences, strict=True):
        forward = np.flatnonzero(np.diff(place) > JUMP)
        if len(forward):
            step = forward[0] + 1
            row[:] = step, place[step - 1], place[step], len(place) - step
    return rows


def median(pool: Pool, values: Int[np.ndarray, "N"]) -> Samples:
    """Median of the values that are not negative, with its resamples; 0 if there are none."""
    size = int(values.max(initial=0)) + 1
    columns = (values[:, None] == np.arange(size)).astype(np.int64)

    def of(sums: Float[np.ndarray, "R K C"]) -> Float[np.ndarray, "R K"]:
        reached = sums.cumsum(axis=-1) >= sums.sum(axis=-1, keepdims=True) / 2
        return np.asarray(reached.argmax(axis=-1).astype(np.float64))

    return pool.estimate(columns[None], of)


def share(pool: Pool, right: Int[np.ndarray, "N *G"], total: Int[np.ndarray, "N *G"]) -> Samples:
    """Sum of ``right`` divided by the sum of ``total``, both counts of each sentence."""
    columns = np.stack([right, total], axis=-1).reshape(1, len(right), -1)

    def of(sums: Float[np.ndarray, "R K C"]) -> Float[np.ndarray, "R K G"]:
        pairs = sums.reshape(*sums.shape[:2], -1, 2)
        return np.asarray(pairs[..., 0] / np.maximum(pairs[..., 1], 1))

    return pool.estimate(columns, of)


def right_places(traced: Traced, name: str, pool: Pool) -> Samples:
    """Share of linked reference words whose place is near their link, by place in the reference."""
    trace, size = traced.traces[f"{name}/reference"], len(traced.words)
    linked = traced.gold.places != UNLINKED
    near = linked & (np.abs(trace.places - traced.gold.places) <= NEAR)
    line = np.repeat(np.arange(size), trace.sizes)
    position = np.concatenate([np.arange(count) for count in trace.sizes])
    cell = line * BINS + np.minimum(position // BIN, BINS - 1)
    counts = [
        np.bincount(cell[of], minlength=size * BINS).reshape(size, BINS) for of in (near, linked)
    ]
    return share(pool, *counts)


def recalled(traced: Traced, name: str, pool: Pool) -> Samples:
    """Recall of content words in each tenth of the references."""
    found = traced.found[name][None]
    return recall_samples(traced.tenth, PLACES, traced.line, found, pool)


def jump_cells(trace: Trace, words: Int[np.ndarray, "N"], pool: Pool) -> list[str]:
    """Cells of the first jump: the share of sentences with one, and medians of its numbers."""
    jumps = first_jumps(trace)
    there = (jumps[:, 0] >= 0).astype(np.int64)
    lands = np.where(there, 100 * jumps[:, 2] // words, -1)
    medians = [median(pool, values) for values in (jumps[:, 0], jumps[:, 1], lands, jumps[:, 3])]
    return [
        scored(share(pool, there, np.ones_like(there))[..., 0], 2),
        *(scored(m, 0) for m in medians),
    ]


def skipped_figure(always: Groups, traced: Traced) -> Figure:
    """Draw the share of right places by training length, and recall by kind of attention."""
    figure = new_figure(
        4.8,
        "Where attention leaves a long sentence, by training length and kind",
        f"Grammar, sources of {[*always.buckets][-1]} words; -20 to -70: training length",
        f"Left: place within {NEAR} words of the link, given the reference. Bands: 95% intervals.",
    )
    pool = always.pools[[*always.buckets][-1]]
    kinds = [name for name in always if name.endswith("-30")]
    limits = [name for name in always if name.startswith("additive-")]
    parts = figure.subplots(1, 2)
    measured = (
        (limits, [right_places(traced, name, pool) for name in limits]),
        (kinds, [recalled(traced, f"{name}/{TEXTS[0]}", pool) for name in kinds]),
    )
    shown = [*dict.fromkeys([*kinds, *limits])]
    drawn = dict(
        zip(
            shown,
            styles([{"model": always[name][0].config["model"]} for name in shown]),
            strict=True,
        )
    )
    for axes, (names, found) in zip(parts, measured, strict=True):
        for name, samples in zip(names, found, strict=True):
            draw_samples(axes, drawn[name], name, samples.T, range(1, samples.shape[1] + 1))
        axes.set_ylim(0, 1.02)
    name_lines(figure, parts[1], [one for one in parts[0].lines if one.get_label() not in kinds])
    parts[0].set_title("place is right, given the reference", fontsize=11)
    parts[0].set_xlabel("words of the reference")
    parts[0].set_xticks(range(1, BINS + 1), [f"{BIN * n + 1}-" for n in range(BINS)])
    parts[1].set_title("recall of its own translation", fontsize=11)
    parts[1].set_xlabel("tenth of the reference")
    parts[1].set_xticks(range(1, PLACES + 1))
    return figure


def skipped_page(tests: Mapping[str, Sequence[Packed]], traced: Traced) -> dict[str, bytes]:
    """Make the page; ``tests`` has the translations as always, and with the end forbidden."""
    groups = {text: Groups.of(files) for text, files in tests.items()}
    always, names = groups[TEXTS[0]], [*groups[TEXTS[0]]]
    pools = {
        label: pool
        for label, pool in length_pools(traced.words, CONFIG).items()
        if pool.sentences and label not in ENDS
    }
    longest = [*always.buckets][-1]
    pool = pools[longest]
    scores: list[list[str]] = []
    jumps: list[list[str]] = []
    for name in names:
        for text, of in groups.items():
            group = of[name]
            tenths = recalled(traced, f"{name}/{text}", pool)
            before = recalled(traced, f"{name}/{TEXTS[0]}", pool)
            cells = [scored(score(pool, group)) for score in (corpus_bleu, without_penalty)]
            cells += [scored(length_ratio(pool, group), 2), scored(tenths @ MIDDLE_TENTHS, 2)]
            cells += [gained(tenths @ MIDDLE, 2), gained((tenths - before) @ MIDDLE_TENTHS, 2)]
            scores.append([name, text, *cells])
            jumps.append(
                [name, text, *jump_cells(traced.traces[f"{name}/{text}"], traced.words, pool)]
            )
    linked = [place[place != UNLINKED].tolist() for place in traced.gold.sentences]
    jumps.append(["the links", "reference", *jump_cells(Trace.of(linked), traced.words, pool)])
    by_length = [
        [label, f"{of.sentences}"]
        + [gained(recalled(traced, f"{name}/{TEXTS[0]}", of) @ MIDDLE, 2) for name in names]
        for label, of in pools.items()
    ]
    right = {name: right_places(traced, name, pool) for name in names}
    by_place = [
        [f"{BIN * n + 1}-{BIN * (n + 1)}", *(scored(right[name][:, n], 2) for name in names)]
        for n in range(BINS)
    ]
    parts = [
        f"Sources of {longest} words. *no-end*: the search may not end a translation before it is "
        "as long as the source. *length*: tokens of the translation per token of the reference. "
        "*middle*: recall of content words in the fourth to seventh tenth of the reference. *minus "
        "ends*: minus the recall in the first and last tenth. *more*: than with *always*.\n",
        markdown_table(
            [
                "system",
                "search",
                "BLEU",
                "without penalty",
                "length",
                "middle",
                "minus ends",
                "more",
            ],
            scores,
        ),
        f"The first jump: from one word to the next, the source word of the largest weight moves "
        f"forward by more than {JUMP} words. Share of the sentences with one; then the medians of "
        "words written before it, of the source words where it starts and lands (the second in "
        "percent of the source), and of words written after it.\n",
        markdown_table(["system", "search", "jump", "before", "from", "to, %", "after"], jumps),
        "Middle minus ends, by source length:\n",
        markdown_table(["source words", "n", *names], by_length),
        f"Share of the reference words whose place is within {NEAR} words of their link, by place "
        f"in the reference, sources of {longest} words. Here a system reads the reference.\n",
        markdown_table(["reference words", *names], by_place),
    ]
    if {*PAIR} <= {*names}:
        befores = [median(pool, first_jumps(traced.traces[f"{n}/{TEXTS[0]}"])[:, 0]) for n in PAIR]
        growth = befores[1] - befores[0]
        shown = "shown" if Interval.of(growth).low > JUMP else "not shown"
        parts.append(
            f"Primary test: words written before the first jump, {PAIR[1]} minus {PAIR[0]}: "
            f"{gained(growth, 0)}. That it is above {JUMP} is **{shown}**.\n"
        )
    return {
        "md": page("Skipping the middle, grammar", always, *parts),
        "svg": render(lambda: skipped_figure(always, traced), forms=("svg",))["svg"],
    }
