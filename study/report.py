"""``python study/report.py [RESULTS] [OUTPUT]``: write every table and figure of docs/study.md.

Reads the packed evaluations below results/ and writes docs/results/study/. Systems that are not
trained yet are left out.
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from appearing import moment_page, read_states
from crammed import crammed_page
from groups import (
    MARGIN,
    Groups,
    Score,
    above_chance,
    bits_beyond,
    contrast,
    corpus_bleu,
    few_seeds,
    length_ratio,
    log_bleu,
    seed_by_seed,
    sentence_bits,
    verdict,
    without_penalty,
)
from layout import BY_T, FLOORS, Line, by_t, draw, gained, length_lines, length_table, page, scored
from less_text import less_text_page
from memories import longer_page, memory_page, width_page
from middle import read_traced
from packed import RESULTS, Packed, read_all
from paper import LINES, PAIR, paper_page
from recall import recall_page
from same_content import MOST_JOINED
from skipped import skipped_page

from seq2seq.config import EvaluationConfig
from seq2seq.drawing import styles
from seq2seq.evaluation.significance import Pool, Samples
from seq2seq.evaluation.translations import ALL
from seq2seq.files import write_whole
from seq2seq.report.tables import markdown_table

SHORT_WORDS, LONG_WORDS = EvaluationConfig().ends
OUTPUT = RESULTS.parent / "docs" / "results" / "study"
FIFTY = ("attention-50", "no-attention-50")
OPPONENTS = (
    ("attention-50", "strong-no-attention-50"),
    FIFTY,
    ("strong-no-attention-50", "no-attention-50"),
)
EUROPARL = {
    "europarl-test": ("test", "Figure 2, Europarl", (FIFTY, ("attention-30", "no-attention-30"))),
    "europarl-newstest2014": ("newstest2014", "News: newstest2014", OPPONENTS),
    "opponent": ("test", "With a larger network without attention, Europarl", OPPONENTS),
    "matched": (
        "test",
        "Up to 30 words, and as many pairs of these, Europarl",
        (
            ("attention-30-matched", "no-attention-30-matched"),
            ("attention-30-matched", "attention-30"),
            ("no-attention-30-matched", "no-attention-30"),
            ("attention-50", "attention-30-matched"),
        ),
    ),
}
"""Page -> test set, title, and the pairs that it compares: a gap is the first minus the second."""


def translation_page(
    groups: Groups, title: str, pairs: Sequence[tuple[str, str]]
) -> dict[str, bytes]:
    """Make the page of BLEU by length, for the systems of ``pairs`` and the floors."""
    models = sorted({name for pair in pairs for name in pair}, key=lambda n: ("no-" in n, n))
    names = [*models, *(name for name in FLOORS if name in groups)]
    ends = groups.short_and_long()
    measures: dict[str, tuple[tuple[Pool, Pool], Score, int]] = {
        "BLEU": (ends, corpus_bleu, 1),
        "BLEU, long up to 50": (groups.short_and_long(50), corpus_bleu, 1),
        "BLEU without penalty": (ends, without_penalty, 1),
        "log BLEU": (ends, log_bleu, 2),
    }
    if "unrelated" in groups:
        measures["chrF above chance"] = ends, above_chance(groups["unrelated"]), 1
    gaps, changes = [], []
    for pair in pairs:
        arms = groups[pair[0]], groups[pair[1]]
        for measure, (pools, score, digits) in measures.items():
            short, long, difference = contrast(pools, arms, score)
            found = [gained(samples, digits) for samples in (short, long, difference)]
            each = seed_by_seed(pools, arms, score)
            found += [by_t(few_seeds(pools, arms, score), digits)]
            found += [", ".join(f"{value:+.{digits}f}" for value in each)]
            factor = f"factor {np.exp(difference[0]):.2f}"
            share = f"{short[0] / long[0]:.2f}" if long[0] else "–"
            found += [factor if score is log_bleu else share]
            gaps.append([*pair, measure, *found])
    for name, measure in product(models, ("BLEU", "BLEU without penalty", "chrF above chance")):
        if measure in measures:
            pools, score, _ = measures[measure]
            short, long = (score(pool, groups[name]) for pool in pools)
            row = [name, measure, scored(short), scored(long), gained(long - short)]
            row += [by_t(few_seeds(pools, [groups[name]], score)), verdict(long - short)]
            changes.append(row)

    def gap(pool: Pool, pair: str) -> str:
        return gained(np.subtract(*(corpus_bleu(pool, groups[n]) for n in pair.split(" minus "))))

    gap_header = ["system", "minus", "measure", "short", "long", "difference", "t", "of each seed"]
    change_header = ["system", "measure", "short", "long", "change", "t", ""]
    markdown = page(
        title,
        Groups({name: groups[name] for name in names}),
        f"BLEU by source length; *short* is up to {SHORT_WORDS} source words, *long* above "
        f"{LONG_WORDS}.\n",
        length_table(groups, names, lambda pool, name: scored(corpus_bleu(pool, groups[name]))),
        "Gaps in BLEU:\n",
        length_table(groups, [" minus ".join(pair) for pair in pairs], gap),
        "The gap, and the difference in differences, long minus short. *BLEU without penalty* "
        "leaves out the brevity penalty. A gap in *log BLEU* is the logarithm of a factor; "
        "last is the factor by which it grows from short to long. "
        f"{BY_T}\n",
        markdown_table([*gap_header, "short / long"], gaps),
        "BLEU without its brevity penalty:\n",
        length_table(groups, models, lambda pool, n: scored(without_penalty(pool, groups[n]))),
        "Tokens of the translations for each token of the references:\n",
        length_table(groups, models, lambda pool, n: scored(length_ratio(pool, groups[n]), 2)),
        f"From short to long. *Level*: the interval lies within {MARGIN:g} points of zero.\n",
        markdown_table(change_header, changes),
    )
    figure = draw(
        ("BLEU by source length", title),
        ("", "BLEU"),
        length_lines(groups, names, corpus_bleu),
        "-30, -50: longest training sentence, in words. Grey, no translators: the source copied, "
        "the nearest training sentence's target, an unrelated reference as long.",
        groups.buckets,
    )
    return {"md": markdown, "svg": figure}


def amount_page(files: Sequence[Packed]) -> dict[str, bytes]:
    """Make the page of the gaps of the two -50 systems after each kept epoch, in BLEU and bits."""
    arms, blind = FIFTY, "target-only-50"
    states: dict[int, list[Packed]] = {}
    for one in files:
        if one.system in (*arms, blind):
            state, last = str(one.record["checkpoint"]), one.config["training"]["max_epochs"]
            epoch = int(state.removeprefix("epoch-")) if "epoch-" in state else last
            states.setdefault(epoch, []).append(one)
    gaps: dict[int, tuple[Samples, Samples, Samples]] = {}
    rows, factors, known = [], [], []
    for epoch, kept in sorted(states.items()):
        groups = Groups.of(kept)
        if not groups.keys() >= {*arms}:
            continue
        passes, ends, pair = str(epoch), groups.short_and_long(), (groups[arms[0]], groups[arms[1]])
        attention, baseline = ([corpus_bleu(pool, group) for pool in ends] for group in pair)
        before = [gap[2] for gap in gaps.values()][-1:]
        gaps[epoch] = contrast(ends, pair, corpus_bleu)
        more = [gained(gaps[epoch][2] - difference) for difference in before] or [""]
        rows.append([passes, *map(scored, baseline + attention), *map(gained, gaps[epoch]), *more])
        with np.errstate(invalid="ignore", divide="ignore"):
            short, long = np.divide(attention, baseline)
            factors.append([passes, *(scored(factor, 2) for factor in (short, long, long / short))])
        if blind in groups:
            bits = bits_beyond(groups[blind])
            each = [scored(bits(pool, group), 2) for group in pair[::-1] for pool in ends]
            difference = gained(contrast(ends, pair, bits)[2], 2)
            half = scored(groups.half_length(arms[1], bits, arms[0]))
            known.append([passes, *each, difference, half])
    names = ("gap, short", "gap, long", "difference in differences")
    lines = [
        Line(name, look, [gap[part] for gap in gaps.values()], list(gaps))
        for part, (name, look) in enumerate(zip(names, styles([None] * 3), strict=True))
    ]
    header = ["passes", "no-attention short", "long", "attention short", "long"]
    markdown = page(
        "When does it show?",
        Groups.of(states[max(gaps)]),
        "BLEU of the two -50 systems after so many passes over 110,389 pairs. The last is the best "
        "checkpoint of the finished training; the others are states on the way, while the learning "
        "rate was still high.\n",
        markdown_table([*header, "gap short", "gap long", "difference", "more than above"], rows),
        "BLEU with attention divided by BLEU without it:\n",
        markdown_table(["passes", "short", "long", "long / short"], factors),
        "Known bits per reference piece, against the target-only system after as many passes. The "
        "last column has the source words at which the baseline's are half of attention's:\n",
        markdown_table([*header, "difference", "words"], known),
    )
    figure = draw(
        ("Attention's lead by the amount of training", "Europarl, test"),
        ("passes over the training text", "BLEU"),
        lines,
        f"Short: up to {SHORT_WORDS} source words; long: above {LONG_WORDS}.",
        log="x",
    )
    return {"md": markdown, "svg": figure}


def bits_page(files: Sequence[Packed], blind: str, whole: str, title: str) -> dict[str, bytes]:
    """Make the page of the known bits of each system, per sentence and per piece.

    ``whole`` is the system with attention; the others' bits are also shown as shares of its bits.
    """
    groups = Groups.of([one for one in files if one.config])
    names = [name for name in groups if name != blind]
    per_sentence, per_piece = sentence_bits(groups[blind]), bits_beyond(groups[blind])
    by_place = []
    for first in range(0, 60, 10):
        score = bits_beyond(groups[blind], range(first, first + 10))
        _, long = groups.short_and_long()
        cells = [scored(score(long, groups[name]), 2) for name in names]
        by_place.append([f"{first + 1}-{first + 10}", *cells])
    others = [name for name in names if name != whole]
    halves = [[name, scored(groups.half_length(name, per_piece, whole))] for name in others]

    def share(pool: Pool, name: str) -> str:
        with np.errstate(invalid="ignore", divide="ignore"):  # models may know nothing yet
            return scored(per_piece(pool, groups[name]) / per_piece(pool, groups[whole]), 2)

    markdown = page(
        f"Known bits: {title}",
        groups,
        f"The loss of `{blind}` minus the system's, on the references. Bits per sentence:\n",
        length_table(groups, names, lambda pool, name: scored(per_sentence(pool, groups[name]))),
        "Bits per reference piece:\n",
        length_table(groups, names, lambda pool, name: scored(per_piece(pool, groups[name]), 2)),
        f"The same by place in the reference, sources above {LONG_WORDS} words:\n",
        markdown_table(["pieces", *names], by_place),
        f"Bits as a share of those of `{whole}`:\n",
        length_table(groups, others, share),
        "Source words at which this share is one half; ∞: beyond the longest bucket.\n",
        markdown_table(["system", "words"], halves),
    )
    figure = draw(
        ("What a system knows of the source", title),
        ("", "bits per sentence"),
        length_lines(groups, names, per_sentence),
        "Loss of a target-only model minus the system's.",
        groups.buckets,
    )
    return {"md": markdown, "svg": figure}


def same_content_page(folders: Mapping[str, Sequence[Packed]]) -> dict[str, bytes]:
    """Make the page of BLEU of equal content, whole and in parts."""
    systems = sorted({one.system for files in folders.values() for one in files})
    cases = [case for case in folders if not case.endswith("-apart")]
    joined = [case for case in cases if case != "cut"]
    rows, between, words = [], [], {}
    changes: dict[str, list[Samples]] = {system: [] for system in systems}
    for case in cases:
        whole, apart = Groups.of(folders[case]), Groups.of(folders[f"{case}-apart"])
        pool, words[case] = whole.pools[ALL], whole.mean_words(ALL)
        for system in systems:
            one, other = (corpus_bleu(pool, groups[system]) for groups in (whole, apart))
            changes[system].append(one - other)
            cells = [case, f"{pool.sentences:,}", f"{words[case]:.0f}", system, scored(one)]
            free, other_free = (without_penalty(pool, groups[system]) for groups in (whole, apart))
            cells += [scored(other), gained(one - other), gained(free - other_free)]
            rows.append([*cells, f"{length_ratio(pool, whole[system])[0]:.2f}"])
        if len(systems) == 2:
            row = [case]
            for score, digits in ((corpus_bleu, 1), (without_penalty, 1), (log_bleu, 2)):
                ours, theirs = (score(pool, whole[n]) - score(pool, apart[n]) for n in systems)
                row.append(gained(ours - theirs, digits))
            between.append(row)
    groups = Groups.of(folders[joined[0]])
    drawn = styles([groups[system][0].config for system in systems])
    places = [words[case] for case in joined]
    lines = [
        Line(system, look, changes[system][: len(joined)], places)
        for system, look in zip(systems, drawn, strict=True)
    ]
    header = ["source", "n", "mean words", "system", "whole", "in parts", "whole minus parts"]
    markdown = page(
        "Same content, other length",
        groups,
        "*joined-n*: n short sentences as one source, against the same sentences one by one. "
        "*cut*: sources of more than 40 words whole, against their parts, cut at punctuation. Both "
        "ways are scored against one reference. *length*: tokens of the translations for each "
        "token of the references.\n",
        markdown_table([*header, "without penalty", "length of whole"], rows),
        f"Whole minus parts: {systems[0]} minus {systems[-1]}.\n",
        markdown_table(["source", "BLEU", "BLEU without penalty", "log BLEU"], between),
    )
    figure = draw(
        ("What joining sentences costs", "Europarl, test"),
        ("mean source words of the joined sentences", "BLEU, joined minus one by one"),
        lines,
        "The same sentences, one to five at a time.",
    )
    return {"md": markdown, "svg": figure}


def pages(results: Path) -> dict[str, dict[str, bytes]]:
    """Make all pages whose trainings are packed: name -> form -> content."""
    europarl, made = results / "figure2-cpu", dict[str, dict[str, bytes]]()
    for test_set in ("test", "newstest2014"):
        files = read_all(europarl / test_set)
        finished = [one for one in files if one.record["checkpoint"] == "best"]
        groups = Groups.of(finished)
        for name, (tested, title, pairs) in EUROPARL.items():
            found = [pair for pair in pairs if groups.keys() >= {*pair}]
            if tested == test_set and found:
                made[name] = translation_page(groups, title, found)
        if {*PAIR} <= groups.keys() and len(groups.first.words) == LINES:
            made["paper"] = paper_page(groups)
        if test_set == "test" and groups and groups.first.content.line.size:
            five = f"test-joined-{MOST_JOINED}"
            ways = {
                "joined": read_all(europarl / five),
                "apart": read_all(europarl / f"{five}-apart"),
            }
            made["recall"] = recall_page(groups, {w: Groups.of(of) for w, of in ways.items() if of})
        if test_set == "test" and len(files) > len(finished):
            made["amount"] = amount_page(files)
        if "target-only-50" in groups:
            known = {"target-only-50", *(name for pair in OPPONENTS for name in pair)}
            fifty = [one for one in finished if one.system in known]
            made[f"bits-{test_set}"] = bits_page(
                fifty, "target-only-50", "attention-50", f"Europarl, {test_set}"
            )
    rate = Groups.of(read_all(results / "figure2-rate" / "test"))
    if rate.keys() >= {*FIFTY}:
        made["rate"] = translation_page(
            rate, "Figure 2 at a higher learning rate, Europarl", [FIFTY]
        )
    less_text = read_all(results / "less_text" / "test")
    if len({one.record["training"]["training_pairs"] for one in less_text}) > 1:
        made["less-text"] = less_text_page(less_text)
    memories = read_all(results / "slots" / "test")
    if any(one.system == "none" for one in memories):
        shown = [one for one in memories if one.system in ("fixed", "additive", "none", "slots-8")]
        made["memory"] = memory_page(memories, "none", "grammar")
        made["bits-grammar"] = bits_page(shown, "none", "additive", "grammar")
        if any(one.system.startswith("width-") for one in memories):
            kinds = ("fixed", "none")
            one_vector = [m for m in memories if m.config["model"]["attention"]["kind"] in kinds]
            made["width"] = width_page(one_vector, "none", "grammar")
        if longer := read_all(results / "longer" / "test"):
            made["longer"] = longer_page(longer, memories, "none", "grammar")
    if crammed := read_all(results / "quickstart" / "test-cram"):
        made["cram"] = crammed_page(crammed)
    texts = {"always": "test", "no-end": "test-no-end"}
    middle = {text: read_all(results / "middle" / name) for text, name in texts.items()}
    if all(middle.values()) and (traced := read_traced(results / "middle" / "places.npz.xz")):
        made["middle"] = skipped_page(middle, traced)
    if states := read_states(results / "moment"):
        made["moment"] = moment_page(states)
    cases = [*(f"joined-{n}" for n in range(1, MOST_JOINED + 1)), "cut"]
    names = [name for case in cases for name in (case, f"{case}-apart")]
    folders = {name: files for name in names if (files := read_all(europarl / f"test-{name}"))}
    if folders:
        made["same-content"] = same_content_page(folders)
    return made


def main(results: str | Path = RESULTS, output: str | Path = OUTPUT) -> None:
    """Write all pages."""
    Path(output).mkdir(parents=True, exist_ok=True)
    for name, files in pages(Path(results)).items():
        for form, content in files.items():
            write_whole(Path(output) / f"{name}.{form}", content)


if __name__ == "__main__":
    main(*sys.argv[1:])
