"""Pairs of bodies: an array that reads like a list of tuples, from which pairs are left out in microseconds.

Scenes of thousands of bodies have millions of pairs. The array is never searched: of all pairs of M bodies the row of a
pair is known, and any other list is sorted once. Rows that are left out stay in the array until somebody reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from typing import Any, SupportsIndex, overload

import numpy as np

from ._arrays import Array
from ._errors import OptionError


class Pairs(MutableSequence[tuple[int, int]]):
    """P pairs of indices of bodies, in order."""

    def __init__(self, rows: Any = (), *, every: int | None = None) -> None:
        """The rows of an int32 array [P,2], or with ``every`` all pairs (i, j) of so many bodies, i < j, by i and j."""
        self._every = every  # bodies of which _base has all pairs, or None
        self._base: Array | None = None if every is not None else np.array(rows, np.int32).reshape(-1, 2)
        self._out = set[int]()  # rows of _base that are left out
        self._more: list[tuple[int, int]] = []  # pairs after those of _base
        self._sorted: tuple[Array, Array] | None = None  # the keys of _base, ascending, and their rows
        self._rows: Array | None = None  # what all of this is

    def array(self) -> Array:
        """The pairs, int32 [P,2]. It must not be written to."""
        if self._rows is None:
            rows = self._all_rows()
            if self._out:
                rows = np.delete(rows, sorted(self._out), axis=0)
            if self._more:
                rows = np.concatenate([rows, np.array(self._more, np.int32).reshape(-1, 2)])
            rows.flags.writeable = False
            self._rows = rows
        return self._rows

    def leave_out(self, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Remove every row of some pairs, in either order, and return what was removed."""
        removed: list[tuple[int, int]] = []
        for pair in pairs:
            rows = self._found(pair)
            self._out.update(rows)
            removed += [self._row(r, pair) for r in rows]
        self._rows = None
        return removed

    def _row(self, row: int, pair: tuple[int, int]) -> tuple[int, int]:
        """The pair of a row, whose order the row has."""
        if self._every is not None:
            return min(pair), max(pair)
        i, j = self._all_rows()[row].tolist()
        return i, j

    def has(self, pair: tuple[int, int]) -> bool:
        """Whether a pair is there, in either order."""
        return bool(self._found(pair))

    def _all_rows(self) -> Array:
        """The rows before any was left out."""
        if self._base is None:
            places = np.arange(self._every or 0, dtype=np.int32)
            after = places[::-1]  # pairs (i, j) of each i
            self._base = np.empty((int(after.sum()), 2), np.int32)
            self._base[:, 0] = np.repeat(places, after)
            # Row r of body i, whose first row is s, has the body i + 1 + r - s.
            self._base[:, 1] = np.arange(len(self._base), dtype=np.int32)
            self._base[:, 1] += np.repeat(places + 1 - (np.cumsum(after, dtype=np.int32) - after), after)
        return self._base

    def _found(self, pair: tuple[int, int]) -> list[int]:
        """The rows of a pair that are not left out."""
        if self._more:
            self._restart(self.array())
        i, j = min(pair), max(pair)
        if self._every is not None:
            m = self._every
            rows = [i * m - i * (i + 1) // 2 + j - i - 1] if 0 <= i < j < m else []
        else:
            if self._sorted is None:
                base = self._all_rows().astype(np.int64)
                keys = (base.min(axis=1) << 32) + base.max(axis=1)
                order = np.argsort(keys, kind="stable")
                self._sorted = keys[order], order
            keys, order = self._sorted
            lo, hi = np.searchsorted(keys, [(i << 32) + j, (i << 32) + j + 1])
            rows = order[lo:hi].tolist()
        return [r for r in rows if r not in self._out]

    def _restart(self, rows: Array) -> None:
        """Replace all rows."""
        self._every, self._base, self._sorted, self._rows = None, rows, None, None
        self._out, self._more = set(), []

    # -- a list of tuples ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        base = (self._every or 0) * ((self._every or 0) - 1) // 2 if self._base is None else len(self._base)
        return base - len(self._out) + len(self._more)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        rows = self.array()
        return zip(rows[:, 0].tolist(), rows[:, 1].tolist(), strict=True)

    def __contains__(self, pair: object) -> bool:
        if not isinstance(pair, tuple) or len(pair) != 2:
            return False
        return any(tuple(self._all_rows()[r].tolist()) == pair for r in self._found(pair))

    @overload
    def __getitem__(self, index: SupportsIndex) -> tuple[int, int]: ...
    @overload
    def __getitem__(self, index: slice) -> Pairs: ...
    def __getitem__(self, index: SupportsIndex | slice) -> tuple[int, int] | Pairs:
        if isinstance(index, slice):
            return Pairs(self.array()[index])
        i, j = self.array()[index].tolist()
        return i, j

    def __setitem__(self, index: Any, value: Any) -> None:
        pairs = list(self)
        if isinstance(index, slice):
            pairs[index] = [_checked(p) for p in value]
        else:
            pairs[index] = _checked(value)
        self._restart(np.array(pairs, np.int32).reshape(-1, 2))

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        pairs = list(self)
        del pairs[index]
        self._restart(np.array(pairs, np.int32).reshape(-1, 2))

    def insert(self, index: SupportsIndex, value: tuple[int, int]) -> None:
        """Insert a pair before a row."""
        value = _checked(value)
        if index == len(self):
            self._more.append(value)
            self._rows = None
            return
        pairs = list(self)
        pairs.insert(index, value)
        self._restart(np.array(pairs, np.int32).reshape(-1, 2))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Pairs):
            return np.array_equal(self.array(), other.array())
        return isinstance(other, list) and list(self) == other

    def __add__(self, other: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        return [*self, *other]

    def __repr__(self) -> str:
        count, few = len(self), repr(list(self[:8])).removesuffix("]")
        return few + ("]" if count <= 8 else f", …] ({count:,} pairs)")

    def __reduce__(self) -> tuple[Any, ...]:
        return Pairs, (self.array(),)


def _checked(pair: Any) -> tuple[int, int]:
    """A pair of two indices that an array of int32 can hold."""
    listed: tuple[Any, ...] = tuple(pair) if isinstance(pair, (tuple, list, np.ndarray)) else ()
    if len(listed) != 2 or not all(isinstance(i, (int, np.integer)) and abs(int(i)) < 1 << 31 for i in listed):
        raise OptionError(f"pairs: {pair!r}, want pairs of two bodies")
    return int(listed[0]), int(listed[1])
