"""Pages on memories of fixed size, on the grammar: several vectors, or one of several widths."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from groups import Groups, bits_beyond, corpus_bleu, few_seeds, sentence_bits, slope
from layout import BY_T, Line, by_t, draw, gained, page, provenance, scored
from packed import Packed

from seq2seq.drawing import styles
from seq2seq.evaluation.significance import Samples
from seq2seq.report.tables import markdown_table

MEMORIES = (
    ("fixed", "slots-1"),
    ("1x512", "slots-1"),
    ("slots-2", "1x512"),
    ("4x128", "1x512"),
    ("8x64", "1x512"),
    ("slots-8", "linear-8"),
    ("slots-32", "linear-32"),
    ("additive", "slots-32"),
)
"""Pairs of memories that are compared: the first minus the second."""

LONGER = (
    ("4x128", "1x512"),
    ("1x512", "fixed"),
    ("width-1024", "fixed"),
    ("slots-8", "4x128"),
    ("slots-8", "linear-8"),
    ("delta-8", "linear-8"),
    ("linear-8", "elu-8"),
)
"""Pairs of memories that ``longer_page`` compares: the first minus the second."""


def context_size(one: Packed, words: float) -> float:
    """Number of values that the decoder receives for a source of ``words`` words."""
    encoder, attention = one.config["model"]["encoder"], one.config["model"]["attention"]
    directions = 2 if encoder["directions"] == "both" else 1
    width = encoder["hidden_size"] * directions
    if attention["kind"] == "fixed":
        return float(width * (encoder["layers"] if encoder["summary"] == "all" else 1))
    if attention["kind"] in ("slots", "linear", "elu", "delta"):
        sums = attention["slots"] if attention["kind"] == "elu" else 0
        return float(width * attention["slots"] + sums)
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
            scored(groups.half_length(name, per_piece, "additive")),
            scored(groups.half_length(name, corpus_bleu, "additive")),
        ]
        for name, size in sizes.items()
    ]
    apart = []
    for pair in MEMORIES:
        if groups.keys() >= {*pair}:
            row = [*pair]
            for score in (per_sentence, corpus_bleu):
                arms = groups[pair[0]], groups[pair[1]]
                row.append(gained(np.subtract(*(score(pool, arm) for arm in arms))))
                row.append(by_t(few_seeds((pool,), arms, score)))
            apart.append(row)
    models = {name: group[0].config["model"] for name, group in groups.items()}
    divided = "512 numbers in 1 to 16 vectors"
    series: dict[str, list[str]] = {}
    for name, size in sizes.items():
        kind = models[name]["attention"]["kind"]
        if kind != "slots" or models[name]["encoder"] == models[blind]["encoder"]:
            series.setdefault("attention" if kind == "additive" else kind, []).append(name)
        if kind == "slots" and size == 512:
            series.setdefault(divided, []).append(name)
    drawn = styles([groups[names[0]][0].config for names in series.values()])
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
        "*Half*: source words at which known bits per reference piece, or BLEU, are half of those "
        "of `additive`; ∞: beyond the longest bucket.\n",
        markdown_table(
            ["system", "numbers", *groups.rows, "bits", "half, bits", "half, BLEU"], rows
        ),
        f"Differences, sources of {longest} words. {BY_T}\n",
        markdown_table(["system", "minus", "bits", "t", "BLEU", "t"], apart),
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


def longer_page(
    files: Sequence[Packed], before: Sequence[Packed], blind: str, title: str
) -> dict[str, bytes]:
    """Make the page of memories after a longer training, next to those of ``before``.

    All are tested on the same sentences, each against the system ``blind`` that was trained as
    long. Some systems have no shorter training. ``files`` may be of several versions of the code.
    """
    versions = defaultdict[str, list[Packed]](list)
    for one in files:
        versions[one.record["training"]["git_commit"]].append(one)
    parts = [Groups.of(of) for of in versions.values()]
    longer = Groups(item for part in parts for item in part.items())
    names, longest = [*by_size(longer, blind)], [*longer.buckets][-1]
    held = dict[int, dict[str, Samples]]()
    for groups in (Groups.of(before), longer):
        score, pool = sentence_bits(groups[blind]), groups.pools[longest]
        pairs = groups[blind][0].record["training"]["training_pairs"]
        held[pairs] = {name: score(pool, groups[name]) for name in names if name in groups}
    rows = [
        [
            name,
            *bleu_cells(longer, name),
            *(scored(of[name]) if name in of else "–" for of in held.values()),
        ]
        for name in names
    ]
    apart = []
    for pair in LONGER:
        if longer.keys() >= {*pair}:
            known = [[of[name] for name in pair if name in of] for of in held.values()]
            apart.append(
                [*pair, *(gained(np.subtract(*of)) if len(of) == 2 else "–" for of in known)]
            )
    drawn = styles([longer[name][0].config for name in names])
    lines = []
    for name, look in zip(names, drawn, strict=True):
        points = {pairs: of[name] for pairs, of in held.items() if name in of}
        lines.append(Line(name, look, [*points.values()], [*points]))
    columns = [f"bits, {pairs:,} pairs" for pairs in held]
    axis, text = f"known bits, {longest} words", f"{title}, {longest} words"
    markdown = page(
        f"Memory after a longer training: {title}",
        parts[0],
        "BLEU by source words, after the longer training. *Bits*: known of a reference, sources of "
        f"{longest} words, after each training; the shorter one has two seeds.\n",
        markdown_table(["system", *longer.rows, *columns], rows),
        f"Differences, sources of {longest} words:\n",
        markdown_table(["system", "minus", *columns], apart),
        *map(provenance, parts[1:]),
    )
    figure = draw(
        ("Known bits of a long sentence, by the amount of training", text),
        ("sentence pairs, each read once", axis),
        lines,
        "Known bits: loss of a target-only model after the same training, minus the system's.",
        log="x",
    )
    return {"md": markdown, "svg": figure}


def width_page(files: Sequence[Packed], blind: str, title: str) -> dict[str, bytes]:
    """Make the page of one vector by its width: BLEU half-length, bits, and log-log slopes."""
    groups = Groups.of(files)
    widths, longest = by_size(groups, blind), [*groups.buckets][-1]
    bits, pool = sentence_bits(groups[blind]), groups.pools[longest]
    words, carried = "words at half of the BLEU", f"bits, {longest} words"
    held = {
        words: [groups.half_length(name, corpus_bleu) for name in widths],
        carried: [bits(pool, groups[name]) for name in widths],
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
    (look,) = styles([groups.first.config])
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
        ("Known bits of a long sentence, by the width of the vector", title),
        ("numbers in the vector", f"known bits, {longest} words"),
        [Line(carried, look, held[carried], x)],
        "Both axes are logarithmic.",
        log="both",
    )
    return {"md": markdown, "svg": figure}
