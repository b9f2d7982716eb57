"""Page on the recall of content words: by place in the reference, and by rarity."""

from collections.abc import Mapping, Sequence

import numpy as np
from content import COUNTS, LETTERS, MIDDLE, PLACES, SHARE
from groups import CONFIG, Group, Groups, lost_bits, recall_of
from jaxtyping import Float
from layout import draw_samples, gained, page, scored
from matplotlib.figure import Figure

from seq2seq.drawing import name_lines, new_figure, render, styles
from seq2seq.evaluation.scores import bucket_labels
from seq2seq.evaluation.significance import Pool
from seq2seq.evaluation.translations import ALL, ENDS
from seq2seq.report.tables import markdown_table

SYSTEMS = ("attention-50", "attention-30-matched", "no-attention-50", "no-attention-30-matched")
SHOWN = ("51-60", "61+")
"""Source lengths of the two parts of the figure."""
WITHIN = "21-30"
"""Source lengths that all systems were trained on."""
CENTRE, FIRST, LAST = MIDDLE.clip(min=0), np.eye(PLACES)[0], np.eye(PLACES)[-1]
CONTRASTS = {
    "middle minus ends": MIDDLE,
    "first minus middle": FIRST - CENTRE,
    "last minus middle": LAST - CENTRE,
}
"""Weights of the tenths in each contrast; the middle is the fourth to the seventh."""


def weighted(pool: Pool, group: Group, weights: Float[np.ndarray, "10"]) -> str:
    """Format a contrast of the tenths of the references."""
    return gained(recall_of("place")(pool, group) @ weights, 2)


def by_tenth(pool: Pool, columns: Mapping[str, Group]) -> str:
    """Table with a row for each tenth of the references and for each contrast."""
    found = [recall_of("place")(pool, group) for group in columns.values()]
    rows = [[f"{n + 1}", *(scored(of[:, n], 2) for of in found)] for n in range(PLACES)]
    for name, weights in CONTRASTS.items():
        rows.append([name, *(weighted(pool, group, weights) for group in columns.values())])
    return markdown_table(["tenth", *columns], rows)


def by_count(groups: Groups, names: Sequence[str]) -> str:
    """Table of recall on short and long sources, with a row for each group of training counts."""
    ends, content, rows = [groups.pools[end] for end in ENDS], groups.first.content, []
    for number, count in enumerate(["0", *bucket_labels(COUNTS[1:])]):
        of_count = content.line[content.seen == number]
        words = [f"{pool.members[of_count].sum():,}" for pool in ends]
        found = [
            recall_of("seen")(pool, groups[name])[:, number] for name in names for pool in ends
        ]
        rows.append([count, *words, *(scored(samples, 2) for samples in found)])
    header = [f"{name}, {end}" for name in ("words", *names) for end in ENDS]
    return markdown_table(["count in training", *header], rows)


def by_piece(pool: Pool, columns: Mapping[str, Group]) -> str:
    """Table of the loss on each ten pieces of the references."""
    rows = []
    for first in range(0, 80, 10):
        score = lost_bits(range(first, first + 10))
        cells = [scored(score(pool, group), 2) for group in columns.values()]
        rows.append([f"{first + 1}-{first + 10}", *cells])
    return markdown_table(["pieces", *columns], rows)


def recall_figure(groups: Groups, names: Sequence[str]) -> Figure:
    """Draw recall by tenth of the reference, with a part for each length of ``SHOWN``."""
    figure = new_figure(
        4.8,
        "Beyond its training lengths, attention skips the middle",
        "Europarl, test: share of the references' content words that the translation contains",
        "-30, -50: longest training sentence, in words. Bands: 95% intervals.",
    )
    drawn = styles([groups[name][0].config for name in names])
    parts, places = figure.subplots(1, len(SHOWN), sharey=True), range(1, PLACES + 1)
    for axes, label in zip(parts, SHOWN, strict=True):
        pool = groups.pools[label]
        for name, look in zip(names, drawn, strict=True):
            samples = recall_of("place")(pool, groups[name])
            draw_samples(axes, look, name, samples.T, places)
        axes.set_title(f"sources of {label} words (n = {pool.sentences})", fontsize=11)
        axes.set_xlabel("tenth of the reference")
        axes.set_xticks(places)
        axes.set_ylim(bottom=0)
    parts[0].set_ylabel("recall")
    name_lines(figure, parts[-1])
    return figure


def recall_page(groups: Groups, joined: Mapping[str, Groups]) -> dict[str, bytes]:
    """Make the page; ``joined`` has joined sentences, whole and one by one."""
    names = [name for name in SYSTEMS if name in groups]
    columns = {name: groups[name] for name in names}
    labels = [*groups.buckets][1:]
    contrast = [
        [label, f"{groups.pools[label].sentences:,}"]
        + [weighted(groups.pools[label], group, MIDDLE) for group in columns.values()]
        for label in labels
    ]
    for label in SHOWN:
        dips = [
            [recall_of("place")(groups.pools[of], group) @ MIDDLE for of in (label, WITHIN)]
            for group in columns.values()
        ]
        cells = [gained(beyond - within, 2) for beyond, within in dips]
        contrast.append([f"{label} minus {WITHIN}", "", *cells])
    parts = [
        f"A content word has more than {LETTERS} letters, is once in its reference, and is in at "
        f"most {SHARE:.0%} of all references. Its recall is the share that the translations of "
        "their own sentence contain; by chance it is 0.01.\n",
        "The middle of the reference (fourth to seventh tenth) minus its ends (first and last), by "
        "source length:\n",
        markdown_table(["source words", "n", *names], contrast),
    ]
    for label in labels[-3:]:
        parts += [f"Sources of {label} words, by tenth of the reference:\n"]
        parts += [by_tenth(groups.pools[label], columns)]
    scored_by = {name: groups[name] for name in (*names, "target-only-50") if name in groups}
    parts += [
        f"Loss of the references of {labels[-1]} source words, in bits per piece, by place. Here a "
        "system reads the reference so far, not its own translation:\n",
        by_piece(groups.pools[labels[-1]], scored_by),
    ]
    if joined:
        of_case = {
            f"{name}, {case}": group for case, of in joined.items() for name, group in of.items()
        }
        parts += ["Five sentences joined, and the same one by one, by tenth of the reference:\n"]
        parts += [by_tenth(next(iter(joined.values())).pools[ALL], of_case)]
    short, long = CONFIG.ends
    pair = [name for name in names if name.endswith("-50")]
    parts += [
        f"By count in the training text of up to 50 words a sentence; *short* is up to {short} "
        f"source words, *long* above {long}:\n",
        by_count(groups, pair),
    ]
    markdown = page("Content words, Europarl", Groups(columns), *parts)
    return {
        "md": markdown,
        "svg": render(lambda: recall_figure(groups, names), forms=("svg",))["svg"],
    }
