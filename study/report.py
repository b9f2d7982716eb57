"""``python study/report.py [RESULTS] [OUTPUT]``: every table and figure of docs/study.md.

Reads the packed evaluations below results/ and writes docs/results/study/. What is not trained yet
is left out.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from packed import RESULTS, Packed, read_all

from seq2seq.config import flatten
from seq2seq.drawing import FAINT, GRID, LINES, Look, looks, name_lines, new_figure, render
from seq2seq.errors import UserError
from seq2seq.evaluation.same_content import MOST_JOINED
from seq2seq.evaluation.scores import bleu, brevity_ratio, bucket_members, chrf
from seq2seq.evaluation.significance import LONG_WORDS, SHORT_WORDS
from seq2seq.files import write_whole
from seq2seq.report.tables import markdown_table

OUTPUT = RESULTS.parent / "docs" / "results" / "study"
EDGES = (10, 20, 30, 40, 50, 60)
EVERYWHERE = range(10_000)
RESAMPLES = 1000
MARGIN = 2.0
"""BLEU. A change from short to long whose interval lies within it is level; fixed in advance."""
FLOORS = ("copying", "nearest", "unrelated")
BUDGET = ("batch_size", "max_epochs", "max_updates", "label_smoothing", "optimizer")
"""Of the training: equal in one table, but for the learning rate, which is in the table."""
Members = Bool[np.ndarray, "N"]
Samples = Float[np.ndarray, "R"]
"""A statistic: its value, then that of each resample."""
Groups = dict[str, list[Packed]]
"""System -> its seeds."""
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
"""Memories that are compared: the first minus the second."""
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


def by_system(files: Sequence[Packed]) -> Groups:
    """Group the seeds of each system.

    Raises:
        UserError: they cannot be compared: other code, precision, training budget or test text.
    """
    groups: Groups = {}
    for one in sorted(files, key=lambda one: (one.system, one.record["seed"] or 0)):
        groups.setdefault(one.system, []).append(one)
    for key in ("source", "reference"):
        _require_one(key, {one.record[key]: one.system for one in files})
    trained = [one for one in files if one.record["training"]]
    facts: dict[str, Callable[[Packed], Any]] = {
        "code": lambda one: one.record["training"]["git_commit"],
        "earlier code": lambda one: one.record["training"].get("earlier_commits"),
        "modified code": lambda one: one.record["training"]["git_modified"],
        "precision": lambda one: one.record["training"]["precision"],
        "status": lambda one: (
            one.record["training"]["status"] if one.record["checkpoint"] == "best" else "kept"
        ),
    }
    for name, fact in facts.items():
        _require_one(name, {str(fact(one)): one.system for one in trained})
    settings = [(one.system, flatten(one.config["training"])) for one in trained]
    for key in sorted({key for _, of in settings for key in of}):
        if key.partition(".")[0] in BUDGET and key != "optimizer.learning_rate":
            values = {str(of.get(key)): system for system, of in settings}
            _require_one(f"training.{key}", values)
    return groups


def _require_one(what: str, found: Mapping[str, str]) -> None:
    if len(found) > 1:
        (one, first), (other, second), *_ = found.items()
        raise UserError(
            f"The {what} must be the same in one table: it is {one} for {first} and {other} for "
            f"{second}; train one of them again, or take it out of results/."
        )


# -- statistics ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Resampled:
    """A statistic of every system on one pool of sentences, with resamples of the pool and seeds.

    All systems see the same sentences in a resample: differences are paired.
    """

    groups: Groups
    members: Members
    number: int
    """Of the pool; pools of other numbers move apart."""

    def sums(
        self, name: str, columns: Callable[[Packed], Float[np.ndarray, "N C"]]
    ) -> Float[np.ndarray, "K R C"]:
        """Of each seed: the sums of ``columns`` over the pool, then over each resample of it."""
        weights = _drawn(int(self.members.sum()), self.number)
        return np.stack([weights @ columns(one)[self.members] for one in self.groups[name]])

    def over_seeds(self, values: Float[np.ndarray, "K R"]) -> Samples:
        """The mean over seeds; each resample draws seeds, too: the same ones for every pool."""
        generator = np.random.default_rng(2)
        picked = generator.integers(len(values), size=values.shape)
        picked[:, 0] = range(len(values))
        return np.asarray(np.take_along_axis(values, picked, axis=0).mean(axis=0))

    def bleu(self, name: str) -> Samples:
        """Corpus BLEU."""
        return self.over_seeds(bleu(self.sums(name, lambda one: one.bleu.astype(float))))

    def length(self, name: str) -> Samples:
        """Tokens of the hypotheses for each token of the references."""
        return self.over_seeds(brevity_ratio(self.sums(name, lambda one: one.bleu.astype(float))))

    def chrf(self, name: str) -> Samples:
        """Corpus chrF."""
        sums = self.sums(name, lambda one: one.chrf.astype(float))
        return self.over_seeds(np.array([[chrf(row) for row in of_seed] for of_seed in sums]))

    def bits(self, name: str, without: str, places: range = EVERYWHERE) -> Samples:
        """What ``name`` knows of the source beyond ``without``, in bits per reference piece.

        Only pieces at these ``places`` of their reference count, from 0; without any it is 0.
        """
        base = np.mean([one.losses(places)[:, 0] for one in self.groups[without]], axis=0)

        def columns(one: Packed) -> Float[np.ndarray, "N 2"]:
            loss, pieces = one.losses(places).T
            return np.stack([(base - loss) / np.log(2), pieces], axis=1)

        sums = self.sums(name, columns)
        return self.over_seeds(sums[..., 0] / np.maximum(sums[..., 1], 1))

    def sentence_bits(self, name: str, without: str) -> Samples:
        """The same in bits per sentence."""
        pieces = float(np.mean(self.groups[name][0].pieces[self.members]))
        return self.bits(name, without) * pieces


@lru_cache(maxsize=16)
def _drawn(size: int, number: int) -> Float[np.ndarray, "R N"]:
    """How often each of ``size`` sentences is drawn: once each, then in each resample."""
    generator = np.random.default_rng([1, number])
    drawn = generator.multinomial(size, np.full(size, 1 / size), size=RESAMPLES)
    return np.concatenate([np.ones((1, size)), drawn])


Score = Callable[[Resampled, str], Samples]
"""Of a system on a pool."""


def buckets(groups: Groups) -> dict[str, Resampled]:
    """The buckets of source length that hold sentences, then ``all``."""
    words = next(iter(groups.values()))[0].words
    members = {**bucket_members(words, EDGES), "all": np.ones(len(words), dtype=bool)}
    return {
        label: Resampled(groups, of, number)
        for number, (label, of) in enumerate(members.items())
        if of.any()
    }


def ends(groups: Groups, longest: int = sys.maxsize) -> tuple[Resampled, Resampled]:
    """Short sources, and long ones of up to ``longest`` words."""
    words = next(iter(groups.values()))[0].words
    short, long = words <= SHORT_WORDS, (words > LONG_WORDS) & (words <= longest)
    return Resampled(groups, short, 100), Resampled(groups, long, 101)


def half_length(groups: Groups, name: str, score: Score) -> Samples:
    """The source length, in words, at which ``score`` is half of that at 1-10 words.

    Between the mean lengths of two buckets it is on the straight line; beyond the last bucket it is
    infinite. It is 0 where the score at 1-10 words is.
    """
    pools = list(buckets(groups).values())[:-1]
    words = groups[name][0].words
    lengths = [float(words[pool.members].mean()) for pool in pools]
    shares = np.stack([score(pool, name) for pool in pools])
    found = np.full(shares.shape[1], np.inf)
    for sample, share in enumerate(shares.T):
        below = np.flatnonzero(share < share[0] / 2)
        if share[0] <= 0:
            found[sample] = 0
        elif len(below):
            last = below[0]
            found[sample] = np.interp(
                share[0] / 2, [share[last], share[last - 1]], [lengths[last], lengths[last - 1]]
            )
    return found


def bits_of(without: str) -> Score:
    """Known bits per reference piece, against the loss of ``without``."""
    return lambda pool, name: pool.bits(name, without)


def slope(x: Sequence[float], y: Sequence[Samples]) -> Samples:
    """Of log(y) on log(x), by least squares."""
    centred = np.log(x) - np.log(x).mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(centred @ np.log(np.stack(y)) / (centred @ centred))


def limits(samples: Samples) -> tuple[float, float]:
    """The 95% interval."""
    low, high = np.quantile(samples[1:], [0.025, 0.975], method="nearest")
    return float(low), float(high)


def text(samples: Samples, digits: int = 1, signed: bool = False) -> str:
    """``27.1 [26.2, 28.0]``; infinity is a length beyond all that were tested."""
    plus = "+" if signed else ""
    numbers = [
        "∞" if np.isinf(value) else f"{value:{plus}.{digits}f}"
        for value in (float(samples[0]), *limits(samples))
    ]
    return f"{numbers[0]} [{numbers[1]}, {numbers[2]}]"


def verdict(change: Samples) -> str:
    """Level, a fall, a rise, or undecided."""
    low, high = limits(change)
    if low > -MARGIN and high < MARGIN:
        return "level"
    return "falls" if high < 0 else "rises" if low > 0 else "undecided"


# -- pages -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A line of a figure."""

    name: str
    look: Look
    x: Sequence[float]
    samples: Sequence[Samples]
    notes: Sequence[str] = ()
    """Next to the points."""


def draw(
    title: str,
    subtitle: str,
    axes_names: tuple[str, str],
    lines: Sequence[Line],
    note: str,
    ticks: Sequence[str] | None = None,
    log: Literal["", "x", "both"] = "",
) -> bytes:
    """Lines with the bands of their intervals, as SVG."""

    def lay_out() -> Any:
        figure = new_figure(4.8, title, subtitle, note)
        axes = figure.add_subplot()
        for line in lines:
            values = [float(of[0]) for of in line.samples]
            low, high = zip(*(limits(of) for of in line.samples), strict=True)
            colour, dash, marker = line.look
            axes.fill_between(line.x, low, high, color=colour, alpha=0.16, linewidth=0)
            axes.plot(
                line.x, values, color=colour, linestyle=dash, marker=marker, label=line.name, lw=2
            )
            for number, (name, x, y) in enumerate(zip(line.notes, line.x, values, strict=False)):
                place: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline"}
                side, align = ((8, 0), "left") if number % 2 else ((-8, 0), "right")
                axes.annotate(name, (x, y), side, color=colour, fontsize=8, ha=align, **place)
        if ticks is not None:
            axes.set_xticks(range(len(ticks)), [tick.replace("-", "–") for tick in ticks])
        if log:
            axes.set_xscale("log", base=2)
            places = sorted({x for line in lines for x in line.x})
            names = (f"{x:,.0f}" if x < 10_000 else f"{x / 1000:.0f}k" for x in places)
            axes.set_xticks(places, [*names])
        if log == "both":
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter("{x:,.0f}")
        else:
            axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        axes.minorticks_off()
        axes.set_xlabel(axes_names[0])
        axes.set_ylabel(axes_names[1])
        axes.grid(axis="y", color=GRID, linewidth=0.8)
        name_lines(figure, axes)
        return figure

    return render(lay_out, forms=("svg",))["svg"]


def provenance(groups: Groups) -> str:
    """Which code made the results, on what, and how large each system is."""
    rows = []
    for name, seeds in groups.items():
        first = seeds[0].record
        if not (training := first["training"]):
            continue
        progress = training["progress"]
        minutes = [one.record["training"]["progress"]["seconds"] / 60 for one in seeds]
        rows.append(
            [
                name,
                ", ".join(str(one.record["seed"]) for one in seeds),
                f"{training['parameters']['total']:,}",
                f"{training['training_pairs']:,}",
                f"{progress['update']:,}",
                f"{progress['best_update']:,}",
                f"{seeds[0].config['training']['optimizer']['learning_rate']:g}",
                f"{min(minutes):.0f}",
            ]
        )
    record = next(one.record for seeds in groups.values() for one in seeds if one.config)
    training = record["training"]
    header = ["system", "seeds", "parameters", "pairs", "updates", "best at", "rate", "minutes"]
    return (
        f"{markdown_table(header, rows)}\n"
        f"Brackets are 95% intervals from {RESAMPLES:,} resamples of the sentences"
        + (", and of the seeds" if any(len(of) > 1 for of in groups.values()) else "")
        + f". Code `{training['git_commit'][:10]}`, {training['precision']}, "
        f"{training['hardware']['processor']}, PyTorch {training['versions']['torch']}. "
        "Minutes are of the fastest seed on one thread, often next to another training. "
        "Written by `python study/report.py` from results/.\n"
    )


def length_lines(groups: Groups, names: Sequence[str], of: Score) -> tuple[list[str], list[Line]]:
    """A line by source length for each of ``names``; floors are grey."""
    pools = buckets(groups)
    labels = list(pools)[:-1]
    floors = [name for name in names if name in FLOORS]
    models = [name for name in names if name not in FLOORS]
    drawn = dict(zip(models, looks([groups[name][0].config for name in models]), strict=True))
    drawn |= {name: (FAINT, LINES[1 + i], "") for i, name in enumerate(floors)}
    places = range(len(labels))
    return labels, [
        Line(name, drawn[name], places, [of(pools[label], name) for label in labels])
        for name in names
    ]


def bucket_table(groups: Groups, names: Sequence[str], of: Callable[..., str]) -> str:
    """A row for each bucket, a column for each system."""
    rows = [
        [label, f"{int(pool.members.sum()):,}", *(of(pool, name) for name in names)]
        for label, pool in buckets(groups).items()
    ]
    return markdown_table(["source words", "n", *names], rows)


def contrast(
    pools: tuple[Resampled, Resampled], system: str, baseline: str, score: Score = Resampled.bleu
) -> tuple[Samples, Samples, Samples]:
    """The gap on short sources, on long ones, and their difference."""
    gaps = [score(pool, system) - score(pool, baseline) for pool in pools]
    return gaps[0], gaps[1], gaps[1] - gaps[0]


def seed_by_seed(
    groups: Groups, system: str, baseline: str, longest: int, score: Score
) -> list[float]:
    """The difference in differences of each seed that both have."""
    seeds = ({one.record["seed"] for one in groups[name]} for name in (system, baseline))
    found = []
    for seed in sorted(set.intersection(*seeds)):
        alone = {
            name: own
            for name, of in groups.items()
            if (own := [one for one in of if one.record["seed"] in (seed, None)])
        }
        found.append(float(contrast(ends(alone, longest), system, baseline, score)[2][0]))
    return found


def above_chance(pool: Resampled, name: str) -> Samples:
    """chrF above that of an unrelated reference, as a share of what is above it, in percent."""
    chance = pool.chrf("unrelated")
    return np.asarray(100 * (pool.chrf(name) - chance) / (100 - chance))


def translation_page(
    groups: Groups, title: str, pairs: Sequence[tuple[str, str]]
) -> dict[str, bytes]:
    """BLEU by length of the systems of these pairs and of the floors, the gaps and the changes."""
    floors = [name for name in FLOORS if name in groups]
    models = sorted({name for pair in pairs for name in pair}, key=lambda n: ("no-" in n, n))
    names = [*models, *floors]
    groups = {name: groups[name] for name in names}
    labels, lines = length_lines(groups, names, Resampled.bleu)
    measures: dict[str, tuple[int, Score]] = {
        "BLEU": (sys.maxsize, Resampled.bleu),
        "BLEU, long up to 50": (50, Resampled.bleu),
    }
    if "unrelated" in groups:
        measures["chrF above chance"] = sys.maxsize, above_chance
    gaps = []
    for system, baseline in pairs:
        for measure, (longest, score) in measures.items():
            found = contrast(ends(groups, longest), system, baseline, score)
            each = ", ".join(
                f"{of:+.1f}" for of in seed_by_seed(groups, system, baseline, longest, score)
            )
            gaps.append([system, baseline, measure, *(text(of, signed=True) for of in found), each])
    short, long = ends(groups)
    changes = []
    for name in models:
        change = long.bleu(name) - short.bleu(name)
        row = [name, text(short.bleu(name)), text(long.bleu(name)), text(change, signed=True)]
        row.append(verdict(change))
        if "unrelated" in groups:
            row += [text(above_chance(pool, name)) for pool in (short, long)]
        changes.append(row)
    header = ["system", "short", "long", "change", ""]
    if "unrelated" in groups:
        header += ["chrF above chance, short", "long"]
    page = [
        f"# {title}\n",
        "BLEU by source length; *short* is up to 20 source words, *long* above 30.\n",
        bucket_table(groups, names, lambda pool, name: text(pool.bleu(name))),
        "Gaps in BLEU:\n",
        bucket_table(
            groups,
            [" minus ".join(pair) for pair in pairs],
            lambda pool, names: text(
                np.subtract(*map(pool.bleu, names.split(" minus "))), signed=True
            ),
        ),
        "The gap, and the difference in differences, long minus short:\n",
        markdown_table(
            ["system", "minus", "measure", "short", "long", "difference", "of each seed"], gaps
        ),
        "Tokens of the translations for each token of the references:\n",
        bucket_table(groups, models, lambda pool, name: text(pool.length(name), 2)),
        f"From short to long. *Level*: the interval lies within {MARGIN:g} BLEU of zero.\n",
        markdown_table(header, changes),
        provenance(groups),
    ]
    figure = draw(
        "BLEU by source length",
        title,
        ("source words", "BLEU"),
        lines,
        "-30, -50: longest training sentence, in words. Grey, no translators: the source copied, "
        "the nearest training sentence's target, an unrelated reference as long. Bands: 95% "
        "intervals.",
        labels,
    )
    return {"md": "\n".join(page).encode(), "svg": figure}


def amount_page(files: Sequence[Packed]) -> dict[str, bytes]:
    """The gaps of the two -50 systems after each epoch that was kept, in BLEU and in bits."""
    arms, without = ("no-attention-50", "attention-50"), "target-only-50"
    states: dict[int, list[Packed]] = {}
    for one in files:
        state = str(one.record["checkpoint"])
        last = one.config["training"]["max_epochs"] if one.config else 0
        if one.system in (*arms, without):
            epoch = int(state.removeprefix("epoch-")) if "epoch-" in state else last
            states.setdefault(epoch, []).append(one)
    gaps: dict[int, tuple[Samples, Samples, Samples]] = {}
    rows, factors, known = [], [], []
    for epoch, of in sorted(states.items()):
        groups = by_system(of)
        if not groups.keys() >= {*arms}:
            continue
        pools, passes = ends(groups), str(epoch)
        bleu = {name: [pool.bleu(name) for pool in pools] for name in arms}
        with np.errstate(invalid="ignore", divide="ignore"):
            times = [of / base for base, of in zip(*bleu.values(), strict=True)]
            times.append(times[1] / times[0])
        before = [of[2] for of in gaps.values()][-1:]
        gaps[epoch] = contrast(pools, arms[1], arms[0])
        more = [text(gaps[epoch][2] - of, signed=True) for of in before] or [""]
        scores = [text(of) for pair in bleu.values() for of in pair]
        rows.append([passes, *scores, *(text(gap, signed=True) for gap in gaps[epoch]), *more])
        factors.append([passes, *(text(of, 2) for of in times)])
        if without in groups:
            known_bits = bits_of(without)
            bits = [text(known_bits(pool, name), 2) for name in arms for pool in pools]
            more_bits = contrast(pools, arms[1], arms[0], known_bits)[2]
            half = half_length(groups, arms[0], known_bits)
            known.append([passes, *bits, text(more_bits, 2, signed=True), text(half)])
    names = ("gap, short", "gap, long", "difference in differences")
    lines = [
        Line(name, look, list(gaps), [gap[part] for gap in gaps.values()])
        for part, (name, look) in enumerate(zip(names, looks([None] * 3), strict=True))
    ]
    header = ["passes", "no-attention short", "long", "attention short", "long"]
    page = [
        "# When does it show?\n",
        "BLEU of the two -50 systems after so many passes over 110,389 pairs. The last is the best "
        "checkpoint of the finished training; the others are states on the way, while the learning "
        "rate was still high.\n",
        markdown_table([*header, "gap short", "gap long", "difference", "more than above"], rows),
        "BLEU with attention divided by BLEU without it:\n",
        markdown_table(["passes", "short", "long", "long / short"], factors),
        "Known bits per reference piece, against the target-only system after as many passes:\n",
        markdown_table([*header, "difference", "half-length without attention"], known),
        provenance(by_system(states[max(gaps)])),
    ]
    figure = draw(
        "Attention's lead by the amount of training",
        "Europarl, test",
        ("passes over the training text", "BLEU"),
        lines,
        "Short: up to 20 source words; long: above 30. Bands: 95% intervals.",
        log="x",
    )
    return {"md": "\n".join(page).encode(), "svg": figure}


def bits_page(files: Sequence[Packed], without: str, title: str) -> dict[str, bytes]:
    """What each system knows of the source, in bits: per sentence and per piece."""
    groups = {n: of for n, of in by_system(files).items() if of[0].config}
    names = [name for name in groups if name != without]

    def per_sentence(pool: Resampled, name: str) -> Samples:
        return pool.sentence_bits(name, without)

    labels, lines = length_lines(groups, names, per_sentence)
    halves = [[n, text(half_length(groups, n, bits_of(without)))] for n in names]
    _, long = ends(groups)
    places = [range(first, first + 10) for first in range(0, 60, 10)]
    by_place = [
        [f"{of[0] + 1}-{of[-1] + 1}", *(text(long.bits(n, without, of), 2) for n in names)]
        for of in places
    ]
    page = [
        f"# Known bits: {title}\n",
        f"The loss of `{without}` minus the system's, on the references. Bits per sentence:\n",
        bucket_table(groups, names, lambda pool, name: text(per_sentence(pool, name))),
        "Bits per reference piece:\n",
        bucket_table(groups, names, lambda pool, name: text(pool.bits(name, without), 2)),
        f"The same by place in the reference, sources above {LONG_WORDS} words:\n",
        markdown_table(["pieces", *names], by_place),
        "Half-length: source words at which bits per piece are half of those at 1-10 words; ∞: "
        "beyond the longest bucket.\n",
        markdown_table(["system", "half-length"], halves),
        provenance(groups),
    ]
    figure = draw(
        "What a system knows of the source",
        title,
        ("source words", "bits per sentence"),
        lines,
        "Loss of a target-only model minus the system's. Bands: 95% intervals.",
        labels,
    )
    return {"md": "\n".join(page).encode(), "svg": figure}


def numbers(one: Packed, words: float) -> float:
    """Numbers handed to the decoder for a source of so many words."""
    encoder, attention = one.config["model"]["encoder"], one.config["model"]["attention"]
    directions = 2 if encoder["directions"] == "both" else 1
    width = encoder["hidden_size"] * directions
    if attention["kind"] == "fixed":
        return float(width * (encoder["layers"] if encoder["summary"] == "all" else 1))
    if attention["kind"] in ("slots", "linear"):
        return float(width * attention["slots"])
    return width * words


def memory_page(files: Sequence[Packed], without: str, title: str) -> dict[str, bytes]:
    """BLEU by length, known bits of long sentences and half-length of memories of every size."""
    groups = by_system(files)
    pools = buckets(groups)
    *_, longest, _ = pools
    long_words = float(next(iter(groups.values()))[0].words[pools[longest].members].mean())
    names = [name for name in groups if name != without]
    sizes = {name: numbers(groups[name][0], long_words) for name in names}
    names.sort(key=lambda name: (sizes[name], name))
    bits = {name: pools[longest].sentence_bits(name, without) for name in names}
    rows = [
        [
            name,
            f"{sizes[name]:,.0f}",
            *(f"{pool.bleu(name)[0]:.1f}" for pool in pools.values()),
            text(bits[name]),
            text(half_length(groups, name, bits_of(without))),
            text(half_length(groups, name, Resampled.bleu)),
        ]
        for name in names
    ]
    apart = [
        [
            *pair,
            text(bits[pair[0]] - bits[pair[1]], signed=True),
            text(np.subtract(*(pools[longest].bleu(name) for name in pair)), signed=True),
        ]
        for pair in MEMORIES
        if groups.keys() >= {*pair}
    ]
    models = {name: groups[name][0].config["model"] for name in groups}
    series: dict[str, list[str]] = {}
    for name in names:
        kind = models[name]["attention"]["kind"]
        if kind != "slots" or models[name]["encoder"] == models[without]["encoder"]:
            series.setdefault("attention" if kind == "additive" else kind, []).append(name)
        if kind == "slots" and sizes[name] == 512:
            series.setdefault("512 numbers in 1 to 16 vectors", []).append(name)
    drawn = looks([groups[of[0]][0].config for of in series.values()])
    lines = [
        Line(
            kind,
            look,
            [sizes[name] for name in of],
            [bits[name] for name in of],
            [str(models[name]["attention"]["slots"]) for name in of if kind.startswith("512")],
        )
        for (kind, of), look in zip(series.items(), drawn, strict=True)
    ]
    page = [
        f"# Memory and length: {title}\n",
        f"*Numbers*: handed to the decoder for a sentence (attention: of {long_words:.0f} words). "
        f"Then BLEU by source words. *Bits*: known of a reference, sources of {longest} words. "
        "*Half-length*: source words at which known bits per reference piece, or BLEU, are half of "
        "those at 1-10 words; ∞: beyond the longest bucket.\n",
        markdown_table(["system", "numbers", *pools, "bits", "half-length, bits", "BLEU"], rows),
        f"Differences, sources of {longest} words:\n",
        markdown_table(["system", "minus", "bits", "BLEU"], apart),
        provenance(groups),
    ]
    figure = draw(
        "Known bits of a long sentence, by size of the memory",
        f"{title}, sources of {longest} words",
        ("numbers handed to the decoder", "known bits per sentence"),
        lines,
        "Known bits: loss of a target-only model minus the system's. Next to the points of 512 "
        f"numbers: vectors. Attention: one vector for each of {long_words:.0f} words. Bands: 95% "
        "intervals.",
        log="x",
    )
    return {"md": "\n".join(page).encode(), "svg": figure}


def width_page(files: Sequence[Packed], without: str, title: str) -> dict[str, bytes]:
    """What one vector holds by its width: BLEU half-length and bits, with their log-log slopes."""
    groups = by_system(files)
    *_, longest, _ = pools = buckets(groups)
    widths = {name: numbers(of[0], 0) for name, of in groups.items() if name != without}
    names = sorted(widths, key=lambda name: widths[name])
    held = {
        "words at half of the BLEU": [half_length(groups, n, Resampled.bleu) for n in names],
        f"bits, {longest} words": [pools[longest].sentence_bits(n, without) for n in names],
    }
    rows = [
        [
            f"{widths[name]:,.0f}",
            *(f"{pool.bleu(name)[0]:.1f}" for pool in pools.values()),
            *(text(of[row]) for of in held.values()),
        ]
        for row, name in enumerate(names)
    ]
    x = [widths[name] for name in names]
    slopes = [
        [
            what,
            *(
                text(slope(x[part], of[part]), 2)
                for part in (slice(None), slice(3), slice(-3, None))
            ),
        ]
        for what, of in held.items()
    ]
    drawn = looks([groups[names[0]][0].config] * len(held))
    lines = [Line(what, look, x, of) for (what, of), look in zip(held.items(), drawn, strict=True)]
    page = [
        f"# Width of the vector: {title}\n",
        "BLEU by source words of systems whose decoder gets one vector of so many numbers; the "
        "learning rate of each was chosen on dev. Then the source length at which BLEU is half of "
        f"that at 1-10 words, and the known bits of a reference of {longest} source words.\n",
        markdown_table(["width", *pools, *held], rows),
        "Slope of its logarithm on that of the width:\n",
        markdown_table(["", "all widths", "the lowest three", "the highest three"], slopes),
        provenance(groups),
    ]
    figure = draw(
        "What one vector holds, by its width",
        title,
        ("numbers in the vector", "words, or bits"),
        lines,
        "Both axes are logarithmic. Bands: 95% intervals.",
        log="both",
    )
    return {"md": "\n".join(page).encode(), "svg": figure}


def same_content_page(folders: Mapping[str, Sequence[Packed]]) -> dict[str, bytes]:
    """BLEU of equal content, whole and in parts."""
    rows, between = [], []
    systems = sorted({one.system for files in folders.values() for one in files})
    cases = [case for case in folders if "apart" not in case]
    joined = [case for case in cases if case != "cut"]
    changes: dict[str, list[Samples]] = {system: [] for system in systems}
    words: dict[str, float] = {}
    for case in cases:
        whole, apart = by_system(folders[case]), by_system(folders[f"{case}-apart"])
        for system in systems:
            members = np.ones(len(whole[system][0].words), dtype=bool)
            pair = [Resampled(of, members, 0).bleu(system) for of in (whole, apart)]
            words[case] = float(whole[system][0].words.mean())
            changes[system].append(pair[0] - pair[1])
            cells = [text(of) for of in pair] + [text(pair[0] - pair[1], signed=True)]
            cells.append(f"{Resampled(whole, members, 0).length(system)[0]:.2f}")
            rows.append([case, f"{len(members):,}", f"{words[case]:.0f}", system, *cells])
        if len(systems) == 2:
            first, second = (changes[system][-1] for system in systems)
            between.append([case, text(first - second, signed=True)])
    groups = by_system(folders[joined[0]])
    drawn = looks([groups[system][0].config for system in systems])
    lines = [
        Line(system, look, [words[case] for case in joined], changes[system][: len(joined)])
        for system, look in zip(systems, drawn, strict=True)
    ]
    header = ["source", "n", "mean words", "system", "whole", "in parts", "whole minus parts"]
    header.append("length of whole")
    page = [
        "# Same content, other length\n",
        "*joined-n*: n short sentences as one source, against the same sentences one by one. "
        "*cut*: sources of more than 40 words whole, against their parts, cut at punctuation. Both "
        "ways are scored against one reference. *length*: tokens of the translations for each "
        "token of the references.\n",
        markdown_table(header, rows),
        f"Whole minus parts: {systems[0]} minus {systems[-1]}.\n",
        markdown_table(["source", "difference"], between),
        provenance(groups),
    ]
    figure = draw(
        "What joining sentences costs",
        "Europarl, test",
        ("mean source words of the joined sentences", "BLEU, joined minus one by one"),
        lines,
        "The same sentences, one to five at a time. Bands: 95% intervals.",
    )
    return {"md": "\n".join(page).encode(), "svg": figure}


def pages(results: Path) -> dict[str, dict[str, bytes]]:
    """Name -> the files of each page whose trainings are packed."""
    europarl, slots = results / "figure2-cpu", results / "slots"
    made: dict[str, dict[str, bytes]] = {}
    for test_set in ("test", "newstest2014"):
        files = read_all(europarl / test_set)
        finished = [one for one in files if one.record["checkpoint"] == "best"]
        groups = by_system(finished)
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
    memories = read_all(slots / "test")
    if any(one.system == "none" for one in memories):
        shown = [one for one in memories if one.system in ("fixed", "additive", "none", "slots-8")]
        made["memory"] = memory_page(memories, "none", "grammar")
        made["bits-grammar"] = bits_page(shown, "none", "grammar")
        if any(one.system.startswith("width-") for one in memories):
            kinds = ("fixed", "none")
            one_vector = [m for m in memories if m.config["model"]["attention"]["kind"] in kinds]
            made["width"] = width_page(one_vector, "none", "grammar")
    cases = [*(f"joined-{n}" for n in range(1, MOST_JOINED + 1)), "cut"]
    names = [*cases, *(f"{case}-apart" for case in cases)]
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
