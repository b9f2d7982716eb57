"""Page of the moment at which attention appears, from what study/moment.py measured."""

import io
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from groups import CONFIG
from jaxtyping import Float, Int
from layout import draw_samples, gained, scored
from matplotlib.figure import Figure
from moment import SEEDS, SYSTEMS, States
from PIL import Image

from seq2seq.drawing import map_figure, name_lines, new_figure, render, styles
from seq2seq.evaluation.significance import Interval, Pool, Samples
from seq2seq.evaluation.translations import ALL, ENDS, LONG, length_pools
from seq2seq.report.tables import markdown_table

ATTENTION, BASELINE, BLIND = SYSTEMS
APPEARED = 0.5
"""Alignment error below which attention has appeared."""
AFTER = 2
"""Number of states after ``Moment.before`` in which the primary test expects the lead to grow."""
PAUSE, END = 800, 3000
"""Milliseconds for which the animation shows a state, and the last one."""
SHRINK = 3
"""Factor by which the animation's pictures are smaller than figures."""


def read_states(folder: Path) -> dict[str, list[States]]:
    """Read the states of each system, seed by seed; {} if a training is missing."""
    paths = {system: [folder / f"{system}-{n}.npz.xz" for n in SEEDS] for system in SYSTEMS}
    if not all(path.exists() for of in paths.values() for path in of):
        return {}
    return {system: [States.load(path) for path in of] for system, of in paths.items()}


class Moment:
    """Statistics of the states of all systems on pools of sentences; K seeds, U states."""

    def __init__(self, states: Mapping[str, list[States]]) -> None:
        self.states = states
        self.updates = states[ATTENTION][0].updates
        self._bits = {
            system: np.stack([one.losses[..., 0] for one in of]) / np.log(2)
            for system, of in states.items()
        }
        self._lead = self._bits[BASELINE] - self._bits[ATTENTION]
        self._links = np.stack([one.links for one in states[ATTENTION]])
        self._entropies = np.stack([one.entropies for one in states[ATTENTION]])

    def bits(self, pool: Pool, system: str, state: int) -> Samples:
        """Known bits of a sentence: the loss of the target-only system minus that of ``system``."""
        blind, own = (
            pool.estimate(_counted(self._bits[name][:, state]), _mean) for name in (BLIND, system)
        )
        return blind - own

    def lead(self, pool: Pool, state: int) -> Samples:
        """Known bits of attention minus those of the baseline."""
        return self.bits(pool, ATTENTION, state) - self.bits(pool, BASELINE, state)

    def error(self, pool: Pool, state: int) -> Samples:
        """Alignment error rate."""
        return pool.estimate(self._links[:, state], _error)

    def entropy(self, pool: Pool, state: int) -> Samples:
        """Entropy of the weights, in nats, the mean over sentences."""
        return pool.estimate(_counted(self._entropies[:, state]), _mean)

    def errors(self, pool: Pool) -> Float[np.ndarray, "K U"]:
        """Alignment error of each seed and state."""
        return np.asarray(_error(self._links[:, :, pool.members].sum(axis=2)))

    def leads(self, pool: Pool) -> Float[np.ndarray, "K U"]:
        """Lead of attention in each seed and state."""
        return np.asarray(self._lead[:, :, pool.members].mean(axis=2))

    def before(self, pool: Pool) -> Int[np.ndarray, "K"]:
        """Index of each seed's last state with an error of at least ``APPEARED``; 0 if none."""
        high = self.errors(pool) >= APPEARED
        return np.array([np.flatnonzero(of).max(initial=0) for of in high])

    def gain(self, everyone: Pool, pool: Pool) -> Samples:
        """Share of the last lead that is gained in the ``AFTER`` states after ``before``.

        The leads are those on ``pool``, and ``before`` is that of ``everyone``.
        """
        last = len(self.updates) - 1
        columns = []
        for of, before in zip(self._lead, self.before(everyone), strict=True):
            after = min(before + AFTER, last)
            columns.append(np.stack([of[after] - of[before], of[last]], axis=1))
        return pool.estimate(
            np.stack(columns), lambda sums: np.asarray(sums[..., 0] / sums[..., 1])
        )


def _counted(values: Float[np.ndarray, "K N"]) -> Float[np.ndarray, "K N 2"]:
    return np.stack([values, np.ones_like(values)], axis=-1)


def _mean(sums: Float[np.ndarray, "R K 2"]) -> Float[np.ndarray, "R K"]:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _error(sums: Float[np.ndarray, "*N 3"]) -> Float[np.ndarray, "*N"]:
    """Alignment error rate from numbers of links: correct, found, and gold, which are all sure."""
    return np.asarray(1 - 2 * sums[..., 0] / (sums[..., 1] + sums[..., 2]))


def moment_figure(moment: Moment, pools: Mapping[str, Pool]) -> Figure:
    """Draw known bits of both systems, and attention's alignment error, by updates."""
    figure = new_figure(
        4.8,
        "The moment attention appears",
        "Grammar, three seeds. Left: sources above 30 words. Right: all sources",
        "Bands: 95% intervals.",
    )
    configs = [{"model": {"attention": {"kind": kind}}} for kind in ("additive", "fixed")]
    drawn = dict(zip((ATTENTION, BASELINE), styles(configs), strict=True))
    parts, numbers = figure.subplots(1, 2), range(len(moment.updates))
    lines = [
        (parts[0], system, [moment.bits(pools[LONG], system, n) for n in numbers])
        for system in drawn
    ]
    lines.append((parts[1], ATTENTION, [moment.error(pools[ALL], n) for n in numbers]))
    for axes, system, samples in lines:
        draw_samples(axes, drawn[system], system, samples, moment.updates.tolist())
    for axes, title in zip(parts, ("known bits of a sentence", "alignment error"), strict=True):
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("updates")
    parts[1].set_ylim(0, 1.02)
    name_lines(figure, parts[1], [one for one in parts[0].lines if one.get_label() == BASELINE])
    return figure


def animation(states: States) -> bytes:
    """Draw the attention to one sentence in each state, as an animated GIF."""
    frames = []
    for update, weights in zip(states.updates, states.weights.tolist(), strict=True):
        lay_out = partial(map_figure, *states.shown, weights, f"After {update} updates")
        picture = Image.open(io.BytesIO(render(lay_out, forms=("png",))["png"]))
        frames.append(picture.convert("RGB").reduce(SHRINK).quantize(64))
    stream, pauses = io.BytesIO(), [PAUSE] * (len(frames) - 1) + [END]
    frames[0].save(stream, "gif", save_all=True, append_images=frames[1:], duration=pauses, loop=0)
    return stream.getvalue()


def moment_page(states: Mapping[str, list[States]]) -> dict[str, bytes]:
    """Make the page, its figure and the animation."""
    moment, first = Moment(states), states[ATTENTION][0]
    pools = {label: of for label, of in length_pools(first.words, CONFIG).items() if of.sentences}
    every, long = pools[ALL], pools[LONG]
    rows = []
    for number, update in enumerate(moment.updates):
        samples = [moment.error(every, number), moment.entropy(every, number)]
        row = [f"{update}", *(scored(one, 2) for one in samples)]
        row += [scored(moment.bits(long, system, number)) for system in (ATTENTION, BASELINE)]
        rows.append([*row, gained(moment.lead(long, number))])
    buckets = {label: pool for label, pool in pools.items() if label not in (*ENDS, ALL)}
    by_length = [
        [f"{update}", *(scored(moment.error(pool, number), 2) for pool in buckets.values())]
        for number, update in enumerate(moment.updates)
    ]
    seeds, last = [], len(moment.updates) - 1
    each = zip(SEEDS, moment.before(every), moment.errors(every), moment.leads(long), strict=True)
    for seed, before, errors, leads in each:
        falls, grows = np.diff(errors), np.diff(leads)
        states_of = before, min(before + 1, last), falls.argmin() + 1, grows.argmax() + 1
        cells = [f"{moment.updates[state]}" for state in states_of]
        seeds.append([f"{seed}", *cells[:2], f"{falls.min():+.2f}", *cells[2:]])
    gain = moment.gain(every, long)
    shown = "shown" if Interval.of(gain).low > 0.5 else "not shown"
    record = first.record
    markdown = [
        "# The moment attention appears\n",
        "Measured on the references of "
        f"{every.sentences} test sentences; known bits and lead on the {long.sentences} of more "
        "than 30 words, for each sentence. *AER*: alignment error rate. *Entropy* in nats. *Lead*: "
        "known bits of attention minus those of the baseline.\n",
        markdown_table(["updates", "AER", "entropy", ATTENTION, BASELINE, "lead"], rows),
        "AER by source length:\n",
        markdown_table(["updates", *buckets], by_length),
        f"By seed: the last state with an AER of at least {APPEARED} and the next one; the "
        "largest change of AER between neighbouring states; the ends of the 50 updates in which "
        "AER falls most, and in which the lead grows most.\n",
        markdown_table(
            ["seed", "before", "after", "change of AER", "AER falls by", "lead grows by"], seeds
        ),
        f"Primary test: share of the lead at update {moment.updates[-1]} that is gained in the "
        f"{AFTER} states after the last one before the moment: {scored(gain, 2)}. That it is above "
        f"0.5 is **{shown}**.\n",
        f"Brackets are 95% intervals from {CONFIG.bootstrap:,} resamples of the sentences and "
        f"seeds. Code `{str(record.git_commit)[:10]}`, {record.precision}, "
        f"{record.hardware.processor}, PyTorch {record.versions['torch']}. Written by "
        "`python study/report.py` from results/.\n",
    ]
    return {
        "md": "\n".join(markdown).encode(),
        "svg": render(lambda: moment_figure(moment, pools), forms=("svg",))["svg"],
        "gif": animation(first),
    }
