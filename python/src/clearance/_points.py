"""Contact points of pairs: at most four a pair, in rows per point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, take
from ._errors import ClosedError, OptionError
from ._named import named
from ._options import real
from ._pairs import check_order, pair_columns
from ._result import Report, report_of

if TYPE_CHECKING:
    from ._engine import Engine
    from ._library import Library

MAX_POINTS: Final = 4

STATUSES: Final = ("separated", "contact", "undecided", "invalid")
_CONTACT: Final = 1


@dataclass(frozen=True, eq=False, repr=False)
class ContactPoints:
    """The contact points of N pairs, K of them, in the order of the pairs.

    ``pair`` int32 [K] is the row of the pair, and ``world`` int32 [K] its world, if the call was given worlds.
    ``position`` [K,3] is the middle between the point of A and that of B in metres, ``normal`` [K,3] the unit normal
    from A to B, both in world axes. ``gap`` [K] is an upper bound, ``lower`` [K] a lower bound of the gap along the
    normal in metres, negative in penetration. ``id`` uint64 [K] names the features that meet: it lasts from step to
    step as long as these do.

    ``status`` uint8 [N] is 0 (farther apart than the largest gap), 1 (points), 2 (undecided) or 3 (invalid); ``count``
    int32 [N] is the number of points.
    """

    pair: Array
    world: Array | None
    position: Array
    normal: Array
    gap: Array
    lower: Array
    id: Array
    status: Array
    count: Array
    record: nat.Report

    @property
    def report(self) -> Report:
        """What became of the call."""
        return report_of(self.record)

    @property
    def failed(self) -> Array:
        """Pairs that are undecided or invalid: they are not proved separated, and have no points."""
        return self.status > _CONTACT

    def __len__(self) -> int:
        return len(self.pair)

    def __repr__(self) -> str:
        failed = int(np.count_nonzero(self.failed))
        return (
            f"ContactPoints: {len(self):,} points of {len(self.status):,} pairs, {failed:,} of them without an answer"
        )


def contacts(
    engine: Engine,
    library: Library,
    pairs: tuple[Any, Any, Any, Any, Any, Any],
    quat: str,
    max_gap: float,
    world: Any,
    copy: bool,
) -> ContactPoints:
    """See :meth:`Engine.contacts`."""
    check_order(quat)
    most = real("max_gap", max_gap, 0)
    if most == np.inf:
        raise OptionError("max_gap: inf, want a length in metres")
    a, b, pos_a, quat_a, pos_b, quat_b = pairs
    rows, arrays = pair_columns(a, b, pos_a, quat_a, pos_b, quat_b, quat, copy)
    worlds = None if world is None else take("world", world, np.int32, (), rows, copy)
    record = nat.Pairs(rows, *map(address, arrays))
    columns: dict[str, Array] = {
        "status": np.empty(rows, np.uint8),
        "count": np.empty(rows, np.int32),
        "normal": np.empty((rows, 3)),
        "lower": np.empty(rows),
        "position": np.empty((rows, MAX_POINTS, 3)),
        "gap": np.empty((rows, MAX_POINTS)),
        "id": np.empty((rows, MAX_POINTS), np.uint64),
    }
    n = engine._native
    handle = library._open()  # which lives until the call has ended
    given = named(columns)
    if not engine._number:
        raise ClosedError("the engine is closed")

    def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        return cast(
            int,
            n.contact_points(engine._number, handle.number, record, most, given, len(given), ms, job, report, error),
        )

    report = _jobs.run(submit, (arrays, columns, given, handle))
    used = np.arange(MAX_POINTS) < columns["count"][:, None]
    pair = np.repeat(np.arange(rows, dtype=np.int32), columns["count"])
    return ContactPoints(
        pair,
        None if worlds is None else worlds[pair],
        columns["position"][used],
        columns["normal"][pair],
        columns["gap"][used],
        columns["lower"][pair],
        columns["id"][used],
        columns["status"],
        columns["count"],
        report,
    )
