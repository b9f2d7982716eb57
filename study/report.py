"""``python study/report.py [RESULTS] [OUTPUT]``: write every table and figure of docs/study.md.

Reads the packed evaluations below results/ and writes docs/results/study/. Systems that are not
trained yet are left out.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from groups import (
    MARGIN,
    Groups,
    Score,
    above_chance,
    bits_beyond,
    contrast,
    corpus_bleu,
    length_ratio,
    seed_by_seed,
    sentence_bits,
    slope,
    verdict,
)
from layout import FLOORS, Line, draw, gained, length_lines, length_table, page, scored
from packed import RESULTS, Packed, read_all
from same_content import MOST_JOINED

from seq2seq.config import EvaluationConfig
from seq2seq.evaluation.lengths import ALL
from seq2seq.evaluation.significance import Pool, Samples
from seq2seq.files import write_whole
from seq2seq.looks import looks
from seq2seq.report.tables import markdown_table

SHORT_WORDS, LONG_WORDS = EvaluationConfig().ends
OUTPUT = RESULTS.parent / "docs" / "results" / "study"
OPPONENTS = (
    ("attention-50", "strong-no-attention-50"),
    ("attention-50", "no-attention-50"),
    ("strong-no-attention-50", "no-attention-50"),
)
MEMORIES = (
    ("fixed", "slots-1"),
    ("1x512", "slots-1"),
    ("8x64", "1x512"),
    ("slots-8", "linear-8"),
    ("slots-32", "linear-32"),
    ("additive", "slots-32"),
)
"""Pairs of memories that are compared: the first minus the second."""
EUROPARL = {
    "europarl-test": (
        "test",
        "Figure 2, Europarl",
        (("attention-50", "no-attention-50"), ("attention-30", "no-attention-30")),
    ),
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
    measures: list[tuple[str, tuple[Pool, Pool], Score]] = [
        ("BLEU", ends, corpus_bleu),
        ("BLEU, long up to 50", groups.short_and_long(50), corpus_bleu),
    ]
    header = ["system", "short", "long", "change", ""]
    if "unrelated" in groups:
        measures.append(("chrF above chance", ends, above_chance(groups["unrelated"])))
        header += ["chrF above chance, short", "long"]
    gaps = []
    for pair in pairs:
        arms = groups[pair[0]], groups[pair[1]]
        for measure, pools, score in measures:
            each = ", ".join(f"{value:+.1f}" for value in seed_by_seed(pools, arms, score))
            gaps.append([*pair, measure, *map(gained, contrast(pools, arms, score)), each])
    changes = []
    for name in models:
        short, long = (corpus_bleu(pool, groups[name]) for pool in ends)
        row = [name, scored(short), scored(long), gained(long - short), verdict(long - short)]
        for _, _, score in measures[2:]:
            row += [scored(score(pool, groups[name])) for pool in ends]
        changes.append(row)

    def gap(pool: Pool, pair: str) -> str:
        return gained(np.subtract(*(corpus_bleu(pool, groups[n]) for n in pair.split(" minus "))))

    gap_header = ["system", "minus", "measure", "short", "long", "difference", "of each seed"]
    markdown = page(
        title,
        Groups({name: groups[name] for name in names}),
        f"BLEU by source length; *short* is up to {SHORT_WORDS} source words, *long* above "
        f"{LONG_WORDS}.\n",
        length_table(groups, names, lambda pool, name: scored(corpus_bleu(pool, groups[name]))),
        "Gaps in BLEU:\n",
        length_table(groups, [" minus ".join(pair) for pair in pairs], gap),
        "The gap, and the difference in differences, long minus short:\n",
        markdown_table(gap_header, gaps),
        "Tokens of the translations for each token of the references:\n",
        length_table(groups, models, lambda pool, n: scored(length_ratio(pool, groups[n]), 2)),
        f"From short to long. *Level*: the interval lies within {MARGIN:g} BLEU of zero.\n",
        markdown_table(header, changes),
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
    arms, blind = ("attention-50", "no-attention-50"), "target-only-50"
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
            known.append([passes, *each, difference, scored(groups.half_length(arms[1], bits))])
    names = ("gap, short", "gap, long", "difference in differences")
    lines = [
        Line(name, look, [gap[part] for gap in gaps.values()], list(gaps))
        for part, (name, look) in enumerate(zip(names, looks([None] * 3), strict=True))
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
        "Known bits per reference piece, against the target-only system after as many passes:\n",
        markdown_table([*header, "difference", "half-length without attention"], known),
    )
    figure = draw(
        ("Attention's lead by the amount of training", "Europarl, test"),
        ("passes over the training text", "BLEU"),
        lines,
        f"Short: up to {SHORT_WORDS} source words; long: above {LONG_WORDS}.",
        log="x",
    )
    return {"md": markdown, "svg": figure}


def bits_page(files: Sequence[Packed], blind: str, title: str) -> dict[str, bytes]:
    """Make the page of the known bits of each system, per sentence and per piece."""
    groups = Groups.of([one for one in files if one.config])
    names = [name for name in groups if name != blind]
    per_sentence, per_piece = sentence_bits(groups[blind]), bits_beyond(groups[blind])
    by_place = []
    for first in range(0, 60, 10):
        score = bits_beyond(groups[blind], range(first, first + 10))
        _, long = groups.short_and_long()
        cells = [scored(score(long, groups[name]), 2) for name in names]
        by_place.append([f"{first + 1}-{first + 10}", *cells])
    halves = [[name, scored(groups.half_length(name, per_piece))] for name in names]
    markdown = page(
        f"Known bits: {title}",
        groups,
        f"The loss of `{blind}` minus the system's, on the references. Bits per sentence:\n",
        length_table(groups, names, lambda pool, name: scored(per_sentence(pool, groups[name]))),
        "Bits per reference piece:\n",
        length_table(groups, names, lambda pool, name: scored(per_piece(pool, groups[name]), 2)),
        f"The same by place in the reference, sources above {LONG_WORDS} words:\n",
        markdown_table(["pieces", *names], by_place),
        "Half-length: source words at which bits per piece are half of those at 1-10 words; ∞: "
        "beyond the longest bucket.\n",
        markdown_table(["system", "half-length"], halves),
    )
    figure = draw(
        ("What a system knows of the source", title),
        ("", "bits per sentence"),
        length_lines(groups, names, per_sentence),
        "Loss of a target-only model minus the system's.",
        groups.buckets,
    )
    return {"md": markdown, "svg": figure}


def context_size(one: Packed, words: float) -> float:
    """Number of values that the decoder receives for a source of ``words`` words."""
    encoder, attention = one.config["model"]["encoder"], one.config["model"]["attention"]
    directions = 2 if encoder["directions"] == "both" else 1
    width = encoder["hidden_size"] * directions
    if attention["kind"] == "fixed":
        return float(width * (encoder["layers"] if encoder["summary"] == "all" else 1))
    if attention["kind"] in ("slots", "linear"):
        return float(width * attention["slots"])
    return width * words


def by_size(groups: Groups, blind: str) -> dict[str, float]:
    """Context size of each system on the longest bucket, rising."""
    words = groups.mean_words([*groups.buckets][-1])
    sizes = {name: context_size(group[0], words) for name, group in groups.items() if name != blind}
    return dict(sorted(sizes.items(), key=lambda item: (item[1], item[0])))


def bleu_cells(groups: Groups, name: str) -> list[str]:
    """BLEU by source length, without intervals."""
    return [f"{corpus_bleu(pool, groups[name])[0]:.1f}" for pool in groups.rows.values()]


def memory_page(files: Sequence[Packed], blind: str, title: str) -> dict[str, bytes]:
    """Make the page of memories of every size: BLEU by length, known bits and half-lengths."""
    groups = Groups.of(files)
    sizes, longest = by_size(groups, blind), [*groups.buckets][-1]
    words, pool = groups.mean_words(longest), groups.pools[longest]
    per_sentence, per_piece = sentence_bits(groups[blind]), bits_beyond(groups[blind])
    bits = {name: per_sentence(pool, groups[name]) for name in sizes}
    rows = [
        [
            name,
            f"{size:,.0f}",
            *bleu_cells(groups, name),
            scored(bits[name]),
            scored(groups.half_length(name, per_piece)),
            scored(groups.half_length(name, corpus_bleu)),
        ]
        for name, size in sizes.items()
    ]
    apart = []
    for pair in MEMORIES:
        if groups.keys() >= {*pair}:
            bleus = [corpus_bleu(pool, groups[name]) for name in pair]
            apart.append(
                [*pair, gained(bits[pair[0]] - bits[pair[1]]), gained(bleus[0] - bleus[1])]
            )
    models = {name: group[0].config["model"] for name, group in groups.items()}
    divided = "512 numbers in 1 to 16 vectors"
    series: dict[str, list[str]] = {}
    for name, size in sizes.items():
        kind = models[name]["attention"]["kind"]
        if kind != "slots" or models[name]["encoder"] == models[blind]["encoder"]:
            series.setdefault("attention" if kind == "additive" else kind, []).append(name)
        if kind == "slots" and size == 512:
            series.setdefault(divided, []).append(name)
    drawn = looks([groups[names[0]][0].config for names in series.values()])
    lines = []
    for (kind, names), look in zip(series.items(), drawn, strict=True):
        slots = [str(models[name]["attention"]["slots"]) for name in names if kind == divided]
        places = [sizes[name] for name in names]
        lines.append(Line(kind, look, [bits[name] for name in names], places, slots))
    markdown = page(
        f"Memory and length: {title}",
        groups,
        f"*Numbers*: handed to the decoder for a sentence (attention: of {words:.0f} words). "
        f"Then BLEU by source words. *Bits*: known of a reference, sources of {longest} words. "
        "*Half-length*: source words at which known bits per reference piece, or BLEU, are half of "
        "those at 1-10 words; ∞: beyond the longest bucket.\n",
        markdown_table(
            ["system", "numbers", *groups.rows, "bits", "half-length, bits", "BLEU"], rows
        ),
        f"Differences, sources of {longest} words:\n",
        markdown_table(["system", "minus", "bits", "BLEU"], apart),
    )
    figure = draw(
        ("Known bits of a long sentence, by size of the memory", f"{title}, {longest} words"),
        ("numbers handed to the decoder", "known bits per sentence"),
        lines,
        "Known bits: loss of a target-only model minus the system's. Next to the points of 512 "
        f"numbers: vectors. Attention: one vector for each of {words:.0f} words.",
        log="x",
    )
    return {"md": markdown, "svg": figure}


def width_page(files: Sequence[Packed], blind: str, title: str) -> dict[str, bytes]:
    """Make the page of one vector by its width: BLEU half-length, bits, and log-log slopes."""
    groups = Groups.of(files)
    widths, longest = by_size(groups, blind), [*groups.buckets][-1]
    bits, pool = sentence_bits(groups[blind]), groups.pools[longest]
    held = {
        "words at half of the BLEU": [groups.half_length(name, corpus_bleu) for name in widths],
        f"bits, {longest} words": [bits(pool, groups[name]) for name in widths],
    }
    rows = []
    for row, (name, width) in enumerate(widths.items()):
        cells = [scored(samples[row]) for samples in held.values()]
        rows.append([f"{width:,.0f}", *bleu_cells(groups, name), *cells])
    x, parts = [*widths.values()], (slice(None), slice(3), slice(-3, None))
    slopes = [
        [what, *(scored(slope(x[part], samples[part]), 2) for part in parts)]
        for what, samples in held.items()
    ]
    drawn = looks([groups.first.config] * len(held))
    markdown = page(
        f"Width of the vector: {title}",
        groups,
        "BLEU by source words of systems whose decoder gets one vector of so many numbers; the "
        "learning rate of each was chosen on dev. Then the source length at which BLEU is half of "
        f"that at 1-10 words, and the known bits of a reference of {longest} source words.\n",
        markdown_table(["width", *groups.rows, *held], rows),
        "Slope of its logarithm on that of the width:\n",
        markdown_table(["", "all widths", "the lowest three", "the highest three"], slopes),
    )
    figure = draw(
        ("What one vector holds, by its width", title),
        ("numbers in the vector", "words, or bits"),
        [Line(what, look, held[what], x) for what, look in zip(held, drawn, strict=True)],
        "Both axes are logarithmic.",
        log="both",
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
            cells += [scored(other), gained(one - other)]
            rows.append([*cells, f"{length_ratio(pool, whole[system])[0]:.2f}"])
        if len(systems) == 2:
            between.append([case, gained(np.subtract(*(changes[name][-1] for name in systems)))])
    groups = Groups.of(folders[joined[0]])
    drawn = looks([groups[system][0].config for system in systems])
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
        markdown_table([*header, "length of whole"], rows),
        f"Whole minus parts: {systems[0]} minus {systems[-1]}.\n",
        markdown_table(["source", "difference"], between),
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
        if test_set == "test" and len(files) > len(finished):
            made["amount"] = amount_page(files)
        if "target-only-50" in groups:
            known = {"target-only-50", *(name for pair in OPPONENTS for name in pair)}
            fifty = [one for one in finished if one.system in known]
            made[f"bits-{test_set}"] = bits_page(fifty, "target-only-50", f"Europarl, {test_set}")
    memories = read_all(results / "slots" / "test")
    if any(one.system == "none" for one in memories):
        shown = [one for one in memories if one.system in ("fixed", "additive", "none", "slots-8")]
        made["memory"] = memory_page(memories, "none", "grammar")
        made["bits-grammar"] = bits_page(shown, "none", "grammar")
        if any(one.system.startswith("width-") for one in memories):
            kinds = ("fixed", "none")
            one_vector = [m for m in memories if m.config["model"]["attention"]["kind"] in kinds]
            made["width"] = width_page(one_vector, "none", "grammar")
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
