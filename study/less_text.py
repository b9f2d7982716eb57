"""Page on the amount of text: with how much less of it does attention translate as well?"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from groups import Groups, contrast, corpus_bleu, length_ratio
from layout import Line, draw, gained, length_table, page, provenance, scored
from packed import Packed

from seq2seq.drawing import styles
from seq2seq.evaluation.significance import Pool, Samples
from seq2seq.report.tables import markdown_table


def pairs_needed(sizes: Sequence[int], scores: Sequence[Samples], wanted: Samples) -> Samples:
    """Number of training pairs with which a system would have the score ``wanted``.

    ``scores`` has the score after training on each of ``sizes``, which rise. A score that is lower
    than at a smaller size is raised to it. Between two sizes, the score is taken to rise in a
    straight line with the logarithm of the size. Outside the scores nothing was measured: the
    number is 0 below the first score, and infinite above the last.
    """
    rising = np.maximum.accumulate(np.stack(scores)).T
    logs = [
        np.interp(score, values, np.log(sizes), left=-np.inf, right=np.inf)
        for score, values in zip(wanted, rising, strict=True)
    ]
    return np.asarray(np.exp(logs))


def less_text_page(files: Sequence[Packed]) -> dict[str, bytes]:
    """Make the page of both arms after training on several amounts of text."""
    amounts = defaultdict[int, list[Packed]](list)
    for one in files:
        amounts[one.record["training"]["training_pairs"]].append(one)
    parts = {size: Groups.of(amounts[size]) for size in sorted(amounts)}
    systems = Groups(item for groups in parts.values() for item in groups.items())
    attention, baseline = (
        {size: name for size, of in parts.items() for name in of if name.startswith(arm)}
        for arm in ("attention", "no-attention")
    )
    ends, most = systems.short_and_long(), max(baseline)

    def score(pool: Pool, name: str) -> Samples:
        return corpus_bleu(pool, systems[name])

    def lead(pool: Pool, name: str) -> str:
        return gained(score(pool, name) - score(pool, baseline[most]))

    def times_less(pool: Pool, name: str) -> str:
        scores = [score(pool, attention[size]) for size in attention]
        with np.errstate(divide="ignore"):
            needed = pairs_needed([*attention], scores, score(pool, name))
            return scored(most / needed)

    names = [*attention.values(), *baseline.values()]
    against = [
        [name, *(scored(score(pool, name)) for pool in ends), *(lead(pool, name) for pool in ends)]
        for name in names
    ]
    against.append(
        ["times less text", *(times_less(pool, baseline[most]) for pool in ends), "", ""]
    )
    gaps = [
        [f"{size:,}", *map(gained, contrast(ends, (systems[name], systems[other]), corpus_bleu))]
        for size, name in attention.items()
        if (other := baseline.get(size))
    ]
    markdown = page(
        "Less text, grammar",
        parts[most],
        "Systems with and without attention after training on several amounts of text. BLEU by "
        "source length:\n",
        length_table(systems, names, lambda pool, name: scored(score(pool, name))),
        "Attention minus no attention, by the number of training pairs:\n",
        markdown_table(["pairs", "gap, short", "gap, long", "difference"], gaps),
        f"BLEU, and *lead*: minus that of `{baseline[most]}`. *Times less text*: with how much "
        "less attention has the BLEU of that system, if attention's BLEU rises with the logarithm "
        "of the pairs between two amounts. ∞: attention has more after the smallest amount, "
        f"{most / min(attention):.1f} times less.\n",
        markdown_table(["", "short", "long", "lead, short", "lead, long"], against),
        "Lead:\n",
        length_table(systems, [*attention.values()], lead),
        "Times less text:\n",
        length_table(systems, [baseline[most]], times_less),
        "Tokens of the translations for each token of the references:\n",
        length_table(
            systems, names, lambda pool, name: scored(length_ratio(pool, systems[name]), 2)
        ),
        *(provenance(groups) for size, groups in parts.items() if size != most),
    )
    arms, places = ((attention, "attention"), (baseline, "no attention")), ("short", "long")
    drawn = iter(styles([systems[of[most]][0].config for _ in ends for of, _ in arms]))
    lines = [
        Line(f"{arm}, {place}", next(drawn), [score(pool, of[size]) for size in of], [*of])
        for pool, place in zip(ends, places, strict=True)
        for of, arm in arms
    ]
    figure = draw(
        ("BLEU by the amount of text", "Grammar, test"),
        ("training pairs", "BLEU"),
        lines,
        "Short: up to 20 source words; long: above 30.",
        log="x",
    )
    return {"md": markdown, "svg": figure}
