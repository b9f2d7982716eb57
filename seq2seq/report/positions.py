"""The loss of references by the place in the target: where in a sentence a model loses its way."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from seq2seq.evaluation.lengths import FEW, bucket_labels
from seq2seq.report.side_by_side import Arm, SideBySide

EDGES = (5, 10, 20, 30, 40, 50)
"""Last piece of each range of places."""
SHADES = 8
"""Of a cell, from 0 to this one."""


@dataclass(frozen=True)
class Cell:
    """The pieces of one range of places in the references of one bucket."""

    loss: float
    """Mean, in nats."""
    pieces: int
    few: bool
    """Fewer than 100 pieces."""
    shade: int


@dataclass(frozen=True)
class PositionTable:
    """A system's losses."""

    system: str
    rows: list[tuple[str, list[Cell | None]]]
    """Words of the bucket of source length, then a cell for each of ``columns``."""


@dataclass(frozen=True)
class Positions:
    """The losses of all systems that say, in the same shades."""

    columns: list[str]
    tables: list[PositionTable]
    highest: float
    """The loss of the strongest shade."""


def positions(sides: SideBySide) -> Positions | None:
    """Mean loss by place in the target and source length, over all seeds; None if none says."""
    measured = {arm.name: sums for arm in sides.arms if (sums := _sums(sides, arm))[1].any()}
    if not measured:
        return None
    columns = bucket_labels(EDGES)
    with np.errstate(invalid="ignore"):
        highest = max(float(np.nanmax(total / count)) for total, count in measured.values())
    tables = []
    for name, (total, count) in measured.items():
        rows: list[tuple[str, list[Cell | None]]] = []
        for place, row in enumerate(sides.rows):
            cells = [
                _cell(float(total[place, i]), int(count[place, i]), highest)
                for i in range(len(columns))
            ]
            rows.append((row.words, cells))
        tables.append(PositionTable(name, rows))
    return Positions(columns, tables, highest)


def _sums(sides: SideBySide, arm: Arm) -> tuple[np.ndarray, np.ndarray]:
    """Sum of losses and number of pieces by bucket of source length and range of places."""
    shape = len(sides.members), len(EDGES) + 1
    total, count = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    for said in arm.reference_scores:
        if said.piece_losses is None:
            continue
        for row, chosen in enumerate(sides.members):
            for line in np.flatnonzero(chosen):
                losses = said.piece_losses[line]
                starts = [0, *EDGES][: bisect_left(EDGES, len(losses)) + 1]
                if losses:
                    total[row, : len(starts)] += np.add.reduceat(losses, starts)
                    ends = [*starts[1:], len(losses)]
                    count[row, : len(starts)] += np.subtract(ends, starts)
    return total, count


def _cell(total: float, count: int, highest: float) -> Cell | None:
    if not count:
        return None
    loss = total / count
    return Cell(loss, count, count < FEW, round(SHADES * loss / highest) if highest else 0)
