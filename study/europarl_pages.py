"""Pages of the systems on Europarl."""

from collections.abc import Sequence

import layout
import numpy as np
import stats
from content import LETTERS, MIDDLE, PLACES, SHARE
from layout import Files, Line, Panel, draw, gained, page, scored, table
from packed import Packed
from stats import Group, Groups, Score, corpus_bleu

from seq2seq.drawing import FAINT, LINES, MARKERS, Style
from seq2seq.evaluation.significance import Pool
from seq2seq.evaluation.translations import ALL, SHORT
from seq2seq.report.tables import markdown_table

ATTENTION, BASELINE, BLIND = ("attention-50", "no-attention-50", "target-only-50")
STRONG = "strong-no-attention-50"
MATCHED = ("attention-30-matched", "no-attention-30-matched")
PAIRS = ((ATTENTION, BASELINE), (ATTENTION, STRONG), MATCHED)
"""Pairs that are compared: a gap is the first minus the second."""
TENTHS = {f"{n + 1}": n for n in range(PLACES)}


def translation_page(files: Sequence[Packed]) -> Files:
    """Make the page of BLEU by length, and of the gaps by several measures."""
    groups = Groups.of(files)
    names = dict.fromkeys(name for pair in PAIRS for name in pair)
    systems, pools = Groups({name: groups[name] for name in names}), groups.ends
    hard = stats.equally_hard(pools, groups[BLIND])
    measures: dict[str, tuple[Score, int]] = {
        "BLEU": (corpus_bleu, 1),
        "BLEU without penalty": (stats.without_penalty, 1),
        "log BLEU": (stats.log_of(corpus_bleu), 2),
        "BLEU, equally hard": (hard, 1),
        "log BLEU, equally hard": (stats.log_of(hard), 2),
        "recall": (stats.recall_of("all"), 3),
    }
    gaps = []
    for pair in PAIRS:
        arms = groups[pair[0]], groups[pair[1]]
        for measure, (score, digits) in measures.items():
            each = [stats.difference(of, arms, score) for of in (pools[:1], pools[1:], pools)]
            found = [gained(samples, digits) for samples in each]
            t = layout.ends(stats.interval_by_t(pools, arms, score), digits)
            gaps.append([*pair, measure, *found, t if min(map(len, arms)) > 1 else "–"])
    header = ["system", "minus", "measure", "short", "long", "difference"]
    markdown = page(
        "BLEU by source length, Europarl",
        systems,
        "BLEU by source length; *short* is up to {} source words, *long* above {}.\n".format(
            *stats.CONFIG.ends
        ),
        layout.length_table(groups.pools, systems, corpus_bleu),
        "The gap, and the difference in differences, long minus short. *BLEU without penalty* "
        "leaves out the brevity penalty. A gap in *log BLEU* is the logarithm of a factor. "
        "*Equally hard*: with weights that give short and long sources equal shares of five "
        f"classes of difficulty, the loss of `{BLIND}` per piece. *Recall* is that of content "
        "words. *t*: interval of the difference by Student's t, from the variance of the sentences "
        "and, by Welch and Satterthwaite, that of the seeds; – where a system has one seed.\n",
        markdown_table([*header, "t"], gaps),
        "BLEU without its brevity penalty:\n",
        layout.length_table(groups.pools, systems, stats.without_penalty),
        "Tokens of the translations for each token of the references:\n",
        layout.length_table(groups.pools, systems, stats.length_ratio, 2),
    )
    lines = layout.lines_by_length(groups, systems, corpus_bleu)
    figure = draw(
        "BLEU by source length",
        "Europarl, test",
        [Panel("", lines, "", "BLEU", groups.buckets)],
        "-30, -50: longest training sentence, in words.",
    )
    return {"md": markdown, "svg": figure}


def bits_page(files: Sequence[Packed]) -> Files:
    """Make the page of the known bits of each system: per sentence, per piece, by place."""
    names = (ATTENTION, BASELINE, STRONG)
    groups = Groups.of([one for one in files if one.system in (*names, BLIND)])
    blind, systems = groups[BLIND], {name: groups[name] for name in names}
    tens = {f"{first + 1}-{first + 10}": range(first, first + 10) for first in range(0, 60, 10)}

    def at(pool: Pool, places: range) -> str:
        return scored(stats.bits_beyond(blind, places)(pool, groups[BASELINE]), 2)

    markdown = page(
        "Known bits: Europarl, test",
        groups,
        f"The loss of `{BLIND}` minus the system's, on the references. Bits per sentence:\n",
        layout.length_table(groups.pools, systems, stats.sentence_bits(blind)),
        "Bits per reference piece:\n",
        layout.length_table(groups.pools, systems, stats.bits_beyond(blind), 2),
        f"Bits per piece of `{BASELINE}`, by the place of the piece in the reference:\n",
        table("source words", groups.buckets, tens, at),
    )
    by_place = [
        Line(
            f"no attention, {label} words",
            Style(FAINT, LINES[number % len(LINES)], MARKERS[number]),
            [stats.bits_beyond(blind, of)(pool, groups[BASELINE]) for of in tens.values()],
            [of.start + 5 for of in tens.values()],
        )
        for number, (label, pool) in enumerate([*groups.buckets.items()][-4:])
    ]
    lines = layout.lines_by_length(groups, systems, stats.sentence_bits(blind))
    figure = draw(
        "What a system knows of the source",
        "Europarl, test",
        [
            Panel("by place", by_place, "piece of the reference", "known bits per piece"),
            Panel("by source length", lines, "", "known bits per sentence", groups.buckets),
        ],
        "Loss of a target-only model minus the system's.",
    )
    return {"md": markdown, "svg": figure}


def recall_page(files: Sequence[Packed], grammar: Sequence[Packed]) -> Files:
    """Make the page of recall by place in the reference; its figure also shows the grammar's."""
    groups = Groups.of(files)
    tenths, middle = stats.recall_of("place"), MIDDLE.clip(min=0)
    names = (MATCHED[0], ATTENTION, MATCHED[1], BASELINE)
    systems = Groups({name: groups[name] for name in names})
    last, short = groups.pools[groups.longest], groups.pools[SHORT]

    def dip(pool: Pool, group: Group) -> str:
        return gained(tenths(pool, group) @ MIDDLE, 2)

    def net(pool: Pool, group: Group) -> str:
        return gained((tenths(pool, group) - tenths(short, group)) @ MIDDLE, 2)

    def lead(pool: Pool, weights: np.ndarray) -> str:
        return gained(np.subtract(*(tenths(pool, groups[name]) for name in names[:2])) @ weights, 2)

    paired = {"middle minus ends": MIDDLE, "middle": middle, "ends": middle - MIDDLE}
    parts = []
    for label in (SHORT, *[*groups.buckets][-3:]):
        found = {name: tenths(groups.pools[label], group) for name, group in systems.items()}
        parts += [f"Recall by tenth of the reference, sources of this length: {label}.\n"]
        parts += [table("tenth", TENTHS, found, lambda n, of: scored(of[:, n], 2))]
    markdown = page(
        "Content words, Europarl",
        systems,
        f"A content word has more than {LETTERS} letters, is once in its reference, and is in at "
        f"most {SHARE:.0%} of all references. Its recall is the share that the translations of "
        "their own sentence contain; by chance it is 0.01.\n",
        "The middle of the reference (fourth to seventh tenth) minus its ends (first and last), by "
        "source length:\n",
        table("source words", groups.buckets, systems, dip),
        "The same, minus that of the system's own sources of up to 20 words:\n",
        table("source words", groups.buckets, systems, net),
        f"`{names[0]}` minus `{names[1]}`, on the same sentences:\n",
        table("source words", groups.buckets, paired, lead),
        *parts,
    )
    made, places = Groups.of(grammar), range(1, PLACES + 1)
    pair = {name: groups[name] for name in names[:2]}
    own = tenths(short, groups[ATTENTION]).T
    kinds = {name: made[name] for name in made if name.endswith("-30") or name == "additive-70"}
    lines = [
        *layout.lines_of(pair, lambda group: tenths(last, group).T, places),
        Line(f"{ATTENTION}, up to 20 words", Style(FAINT, "-", ""), own, places),
    ]
    longest = made.pools[made.longest]
    rules = layout.lines_of(kinds, lambda group: tenths(longest, group).T, places)
    axes = "tenth of the reference", "recall of content words"
    figure = draw(
        "Trained on short sentences, attention skips the middle of long ones",
        "Sources of 61 words and more",
        [Panel("Europarl", lines, *axes), Panel("grammar, by kind of attention", rules, *axes)],
        "-30, -50, -70: longest training sentence, in words.",
    )
    return {"md": markdown, "svg": figure}


def same_content_page(*pools: Sequence[Packed], cases: Sequence[str]) -> Files:
    """Make the page of BLEU of equal content, whole and in parts: two pools for each case."""
    rows, between, systems = [], [], (ATTENTION, BASELINE)
    for case, *files in zip(cases, pools[::2], pools[1::2], strict=True):
        whole, apart = map(Groups.of, files)
        pool, words = whole.pools[ALL], float(whole.first.words.mean())
        changes = {
            score: [score(pool, whole[name]) - score(pool, apart[name]) for name in systems]
            for score in (corpus_bleu, stats.without_penalty)
        }
        for number, name in enumerate(systems):
            cells = [case, f"{pool.sentences:,}", f"{words:.0f}", name]
            cells += [scored(corpus_bleu(pool, of[name])) for of in (whole, apart)]
            cells += [gained(change[number]) for change in changes.values()]
            rows.append([*cells, f"{stats.length_ratio(pool, whole[name])[0]:.2f}"])
        between.append([case, *(gained(np.subtract(*change)) for change in changes.values())])
    header = ["source", "n", "mean words", "system", "whole", "in parts", "whole minus parts"]
    markdown = page(
        "Same content, other length",
        whole,
        "*joined-n*: n short sentences as one source, against the same sentences one by one. Both "
        "ways are scored against one reference. *length*: tokens of the translations for each "
        "token of the references.\n",
        markdown_table([*header, "without penalty", "length of whole"], rows),
        f"Whole minus parts: {systems[0]} minus {systems[-1]}.\n",
        markdown_table(["source", "BLEU", "BLEU without penalty"], between),
    )
    return {"md": markdown}
