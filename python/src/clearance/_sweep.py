"""Sweeps: first contacts of bodies that move along way points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, reordered, take, torch_device
from ._asked import Asked, places_of
from ._bodies import Table
from ._errors import ArrayError, CopyError, OptionError, RowError
from ._options import real, whole
from ._result import Report, host_array, report_of, to_torch

if TYPE_CHECKING:
    from ._engine import Engine
    from ._scene import Scene

FREE, CONTACT = 0, 1
_UNDECIDED: Final = 2
STATES: Final = ("free", "contact", "undecided", "invalid")

_COLUMNS: Final[dict[str, Any]] = {
    "state": np.uint8,
    **dict.fromkeys(("lower", "upper", "closest", "t0", "t1"), np.float64),
    **dict.fromkeys(("part_a", "part_b", "evaluations"), np.int32),
}


@dataclass(frozen=True)
class SweepOptions:
    """The options of a sweep; None is the default of each."""

    max_distance: float | None
    time_tolerance: float | None
    tolerance: float | None
    max_evaluations: int | None


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """First contacts of the pairs of a scene that moves, [W,P]. Times are in [0, T-1], way point k at the time k.

    ``state`` is 0 free, 1 contact, 2 undecided, 3 invalid. There is no contact before ``t0``, which is proved; of a row
    in contact the first one lies in [``t0``, ``t1``], of an undecided one ``t1`` is the earliest known contact, NaN if
    none is known. Of free rows the least distance over the motion lies in [``lower``, ``upper``], +inf with an absent
    body; ``upper`` is attained at the time ``closest``. ``part_a`` and ``part_b`` are the parts of the contact, of free
    rows those of ``upper``. ``evaluations`` counts the poses at which solvers were asked.
    """

    state: Any
    lower: Any
    upper: Any
    closest: Any
    t0: Any
    t1: Any
    part_a: Any
    part_b: Any
    evaluations: Any
    record: nat.Report
    _asked: Any = None  # a _scene.Asked

    @property
    def report(self) -> Report:
        """What became of the call. Its counts are those of pairs; those by state are ``counts``."""
        return report_of(self.record)

    @property
    def counts(self) -> dict[str, int]:
        """The rows by state."""
        c = self.record.counts
        return dict(zip(STATES, (c[0], c[2], c[3], c[4]), strict=True))

    @property
    def hit(self) -> Any:
        """Rows that are not proved free over the whole motion: in contact, or failed. This is the cautious reading."""
        return self.state != FREE

    @property
    def ok(self) -> Any:
        """Rows with an answer."""
        return self.state <= CONTACT

    @property
    def failed(self) -> Any:
        """Rows without an answer: undecided or invalid."""
        return self.state >= _UNDECIDED

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if any row has no answer; it names the array, the row and the reason."""
        counts = self.counts
        if not counts["undecided"] and not counts["invalid"]:
            return
        message = f"rows without an answer: {counts['undecided']} undecided, {counts['invalid']} invalid"
        error = self.report.error
        if error is not None:
            array, row, reason = error
            raise RowError(f"{message}; first invalid: {array}[{row}]: {reason}", array, row, reason)
        row = int(np.flatnonzero(host_array(self.state).ravel() >= _UNDECIDED)[0])
        reason = "try a larger max_evaluations or tolerance"
        raise RowError(f"{message}; first: state[{row}]: {reason}", "state", row, reason)

    def __repr__(self) -> str:
        shape = "×".join(f"{n:,}" for n in self.state.shape)
        counts = ", ".join(f"{n:,} {name}" for name, n in self.counts.items() if n or name == "free")
        lines = [f"SweepResult of {shape} rows, on {self.report.backend}", f"  {counts}"]
        if self.report.error is not None:
            lines.append("  first invalid: {}[{}]: {}".format(*self.report.error))
        return "\n".join(lines)


def sweep(
    engine: Engine, scene: Scene, poses: Any, quat: str, bodies: Any, options: SweepOptions, copy: bool
) -> SweepResult:
    """See :meth:`Engine.sweep`."""
    nat.check_fork()
    n = engine._native
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')
    array = host("poses", poses, copy)
    if array.ndim != 4 or array.shape[1] < 2:
        raise ArrayError("poses", f"has the shape {list(array.shape)}, want [W, T, M, 7] with at least 2 way points")
    worlds, points = array.shape[:2]
    places, per_world = places_of(scene, bodies, worlds)
    m = places.shape[-1]
    array = take("poses", array, np.float64, (points, m, 7), worlds, copy)
    if quat == "xyzw":
        if not copy:
            raise CopyError("poses", 'have the order "xyzw", which takes a copy, and copy=False')
        array = reordered(array, (0, 1, 2, 6, 3, 4, 5))
    first, second = scene.pair_arrays()
    table = Table(scene.library, scene.bodies)
    rows = (worlds, len(first))
    columns: dict[str, Array] = {name: np.empty(rows, dtype) for name, dtype in _COLUMNS.items()}
    contacts = nat.Contacts(worlds * len(first), **{name: address(c) for name, c in columns.items()})
    motions = nat.Motions(table.number, worlds, m, points, len(first))
    motions.bodies, motions.template_a, motions.template_b, motions.poses = map(address, (places, first, second, array))
    motions.per_world, motions.workers = int(per_world), engine._workers
    for name in ("time_tolerance", "tolerance"):
        value = getattr(options, name)
        if value is not None:
            setattr(motions, name, real(name, value, 0, above=True))
    if options.max_distance is not None:
        motions.has_max_distance, motions.max_distance = 1, real("max_distance", options.max_distance, 0)
    if options.max_evaluations is not None:
        motions.max_evaluations = whole("max_evaluations", options.max_evaluations, 1)

    def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        return cast(int, n.sweep(engine._number, motions, contacts, ms, job, report, error))

    report = _jobs.run(submit, (array, places, first, second, columns, table))
    device = torch_device(poses)
    every: dict[str, Any] = columns if device is None else {k: to_torch(c, device) for k, c in columns.items()}
    # A copy, since arrays and scenes may change.
    return SweepResult(**every, record=report, _asked=Asked(places.copy(), np.stack([first, second], axis=1)))
