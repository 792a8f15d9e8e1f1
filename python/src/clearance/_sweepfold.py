"""Rows of sweeps combined: one answer per world, and the rows of all pairs that are not proved far and free."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from . import _native as nat
from ._arrays import Array
from ._options import INT32

FREE, CONTACT, UNDECIDED, INVALID = range(4)

# The columns of the rows of a sweep, and those that rows of worlds and of all pairs have besides.
COLUMNS: Final[dict[str, Any]] = {
    "state": np.uint8,
    **dict.fromkeys(("lower", "upper", "closest", "t0", "t1"), np.float64),
    **dict.fromkeys(("part_a", "part_b", "evaluations"), np.int32),
}
OF_WORLDS: Final = ("pair", "contacts", "failures")
OF_ALL_PAIRS: Final = ("body_a", "body_b")

# The rows in memory at a time, of some 57 bytes.
BLOCK_ROWS: Final = 1 << 18

Columns = dict[str, Array]


def blocks(worlds: int, pairs: int) -> Iterator[tuple[slice, slice]]:
    """Ranges of worlds and of pairs that cover all of them, by world: all pairs of some worlds, or some of one."""
    step = max(1, BLOCK_ROWS // max(pairs, 1))
    for world in range(0, worlds, step):
        for pair in range(0, max(pairs, 1), BLOCK_ROWS):
            yield slice(world, min(world + step, worlds)), slice(pair, min(pair + BLOCK_ROWS, pairs))


class Worlds:
    """The answers of W worlds, from those of their pairs; see :class:`SweepResult`."""

    def __init__(self, worlds: int, last: int, time_tolerance: float) -> None:
        self.last, self.time_tolerance = last, time_tolerance
        self.lower, self.upper, self.t0, self.t1 = (np.full(worlds, np.inf) for _ in range(4))
        self.closest = np.full(worlds, np.nan)
        self.part_a, self.part_b, self.pair = (np.full(worlds, -1, np.int32) for _ in range(3))
        self.counts = np.zeros((4, worlds), np.int64)  # of the pairs, by state
        self.evaluations = np.zeros(worlds, np.int64)

    def add(self, at: slice, first: int, rows: Columns) -> None:
        """Count in the answers [w,p] of some worlds and of the pairs from the first one on."""
        state = rows["state"]
        if not state.size:
            return
        for code in range(4):
            self.counts[code, at] += (state == code).sum(axis=1)
        self.evaluations[at] += rows["evaluations"].sum(axis=1, dtype=np.int64)
        self.lower[at] = np.fmin(self.lower[at], np.fmin.reduce(rows["lower"], axis=1))
        moving = np.where(state == FREE, np.inf, rows["t0"])
        self.t0[at] = np.fmin(self.t0[at], np.fmin.reduce(moving, axis=1))
        known = ~np.isinf(self.t1[at])  # by a contact, so that bounds of distances count no more
        self._least(at, first, rows, "upper", self.upper, ~known)
        self._least(at, first, rows, "t1", self.t1, np.ones(len(state), bool))

    def _least(self, at: slice, first: int, rows: Columns, name: str, least: Array, names: Array) -> None:
        """Take over the least value of a column, and where ``names`` is true the pair that attains it."""
        value = np.where(np.isnan(rows[name]), np.inf, rows[name])
        which = value.argmin(axis=1)
        row = np.arange(len(value)), which
        less = value[row] < least[at]
        least[at] = np.where(less, value[row], least[at])
        if name == "upper":
            self.closest[at] = np.where(less, rows["closest"][row], self.closest[at])
        less &= names
        self.pair[at] = np.where(less, first + which, self.pair[at])
        for part in ("part_a", "part_b"):
            column = getattr(self, part)
            column[at] = np.where(less, rows[part][row], column[at])

    def columns(self) -> Columns:
        """The columns of the worlds."""
        free = self.counts[FREE] == self.counts.sum(axis=0)
        invalid = self.counts[INVALID] > 0
        t1 = np.where(np.isinf(self.t1), np.nan, self.t1)
        contact = ~free & (t1 - self.t0 <= self.time_tolerance)
        state = np.select([free, invalid, contact], [FREE, INVALID, CONTACT], UNDECIDED)
        t0, lower = np.where(free, float(self.last), self.t0), np.where(free, self.lower, 0)
        reals = {"lower": lower, "upper": self.upper, "closest": self.closest, "t0": t0, "t1": t1}
        wholes = {"part_a": self.part_a, "part_b": self.part_b, "pair": self.pair}
        columns = {name: np.where(invalid, np.nan, c) for name, c in reals.items()}
        columns |= {name: np.where(invalid, -1, c) for name, c in wholes.items()}
        columns |= {"state": state, "evaluations": np.minimum(self.evaluations, INT32)}
        columns |= {"contacts": self.counts[CONTACT], "failures": self.counts[UNDECIDED:].sum(axis=0)}
        return {name: c.astype(COLUMNS.get(name, np.int32)) for name, c in columns.items()}


class Found:
    """The rows of all pairs that are in contact, or without an answer, or not proved to lie beyond a distance."""

    def __init__(self, worlds: int, max_distance: float | None) -> None:
        self.max_distance = math.inf if max_distance is None else max_distance
        self.any_free = max_distance is not None
        self.counts = np.zeros(worlds + 1, np.int64)
        self.rows: list[Columns] = []

    def add(self, at: slice, first: Array, second: Array, rows: Columns) -> None:
        """Count in the answers [w,p] of some worlds and pairs of places."""
        kept = rows["state"] != FREE
        if self.any_free:
            kept |= ~(rows["lower"] > self.max_distance)
        self.counts[1 + at.start : 1 + at.stop] += kept.sum(axis=1)
        pair = np.nonzero(kept)[1]
        found = {name: c[kept] for name, c in rows.items()}
        self.rows.append(found | {"body_a": first[pair], "body_b": second[pair]})

    def columns(self) -> Columns:
        """The columns of the rows, and where those of each world begin."""
        names = {**COLUMNS, **dict.fromkeys(OF_ALL_PAIRS, np.int32)}
        empty: list[Columns] = [{name: np.empty(0, dtype) for name, dtype in names.items()}]
        columns = {name: np.concatenate([r[name] for r in empty + self.rows]) for name in names}
        return columns | {"offsets": np.cumsum(self.counts)}


def merged(reports: list[tuple[int, nat.Report]], state: Array) -> nat.Report:
    """The report of the rows of a result, from those of blocks with their first worlds."""
    total = reports[0][1] if reports else nat.Report(error_row=-1, worst_row=-1)
    for world, r in reports[1:]:
        total.iterations += r.iterations
        total.wall_seconds += r.wall_seconds
        if total.error_row < 0 <= r.error_row:
            total.error_row = world + r.error_row
            total.error_column, total.error_reason = r.error_column, r.error_reason
    counts = np.bincount(state.ravel(), minlength=4).tolist()
    total.rows = total.done = state.size
    total.counts[:] = [counts[FREE], 0, *counts[CONTACT:]]
    return total
