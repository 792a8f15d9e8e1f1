"""Sweeps: first contacts of bodies that move along way points, and their rows combined by world or by pair."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, take, torch_device
from ._attach import carried
from ._bodies import Table, listed_pairs, pair_arrays
from ._errors import ArrayError, OptionError, RowError
from ._inputs import RowBodies, places_of, reduction
from ._options import INT32, Bools, Floats, Ints, check_out, order_of, place, real, to_wxyz, whole
from ._poses import About, about_bodies, seven
from ._result import OfWorlds, Report, host_array, report_of, to_torch
from ._sweep_derivatives import REGULAR, Times

if TYPE_CHECKING:
    from ._engine import Engine
    from ._scene import Scene

STATES: Final = ("free", "contact", "undecided", "invalid")

# The width of the interval of a contact by default, that of the native library.
_TIME_TOLERANCE: Final = 1e-6


@dataclass(frozen=True)
class SweepOptions:
    """The options of a sweep; None is the default of each."""

    max_distance: float | None
    time_tolerance: float | None
    tolerance: float | None
    max_evaluations: int | None

    def motions(self, table: int, *sizes: int) -> nat.Motions:
        """Motions of some sizes in a table of bodies, with these options."""
        record = nat.Motions(table, *sizes)
        for name in ("time_tolerance", "tolerance"):
            value = getattr(self, name)
            if value is not None:
                setattr(record, name, real(name, value, 0, above=True))
        if self.max_distance is not None:
            record.has_max_distance, record.max_distance = 1, real("max_distance", self.max_distance, 0)
        if self.max_evaluations is not None:
            record.max_evaluations = whole("max_evaluations", self.max_evaluations, 1)
        return record


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult(OfWorlds):
    """First contacts of the pairs of a scene that moves, [W,P]. Times are in [0, T-1], way point k at the time k.

    ``state`` is 0 free, 1 contact, 2 undecided, 3 invalid. There is no contact before ``t0``, which is proved; of a row
    in contact the first one lies in [``t0``, ``t1``], of an undecided one ``t1`` is the earliest known contact, NaN if
    none is known. Of free rows the least distance over the motion lies in [``lower``, ``upper``], +inf with an absent
    body; ``upper`` is attained at the time ``closest``. ``part_a`` and ``part_b`` are the parts of the contact, of free
    rows those of ``upper``. ``evaluations`` counts the poses at which solvers were asked.

    Of all pairs: rows [N] are some of the pairs, and a pair without a row is proved free, and beyond ``max_distance``
    if there is one. ``body_a`` < ``body_b`` are the places of a row; the rows of world w are ``offsets[w]`` to
    ``offsets[w+1]-1``, in ascending order of both.

    Of worlds [W]: the first contact of any pair. ``pair`` is the index of the pair with the earliest known contact, or
    without one that with the least ``upper``, -1 if there is none; ``part_a`` and ``part_b`` are its parts. Of all
    pairs ``body_a`` and ``body_b`` are its places. ``contacts`` and ``failures`` count the pairs in contact and those
    without an answer. A world with an invalid pair is invalid.

    A sweep with ``grad=True`` has derivatives of the times of contact, see :meth:`vjp`.
    """

    state: Ints
    lower: Floats
    upper: Floats
    closest: Floats
    t0: Floats
    t1: Floats
    part_a: Ints
    part_b: Ints
    evaluations: Ints
    record: nat.Report
    pair: Ints | Any = None
    contacts: Ints | Any = None
    failures: Ints | Any = None
    body_a: Ints | Any = None
    body_b: Ints | Any = None
    offsets: Ints | Any = None
    _row_bodies: Any = None  # a RowBodies
    _times: Times | None = None
    _about: About | None = None  # the poses

    @property
    def time(self) -> Floats | Any:
        """The times of first contact, in which way point k is at k: where they are differentiable, those at which the
        shapes touch to rounding; elsewhere ``t1``."""
        return self._derived().answers[0]

    @property
    def time_smoothness(self) -> Ints | Any:
        """What the derivatives of the times are, uint8 codes of ``time_smoothness_names``."""
        return self._derived().answers[1]

    @property
    def time_smoothness_names(self) -> Array:
        """What the derivatives of the times are: "regular", or why there is none. "none": no contact, or none that is
        decided; "way point": at a way point, where velocities change; "not unique": at several points or normals;
        "grazing": the shapes do not approach; "half revolution": so between two way points."""
        return np.array(nat.native().about["time_smoothness"])[host_array(self.time_smoothness)]

    @property
    def differentiable(self) -> Bools | Any:
        """Rows whose time of contact has a derivative, to weight losses with."""
        rows: Bools = self.time_smoothness == REGULAR
        return rows

    def vjp(self, *, time: Any, wrt: Literal["twists", "poses"] = "twists") -> Any:
        """The gradient of a scalar with respect to the way points, of its gradient ``time`` with respect to the times
        of the rows (or one number for all).

        It is [W,T,M,6]: by the velocity of the position and the angular velocity of each body at each way point, in
        world axes; per metre and per radian. With ``wrt="poses"`` it is [W,T,M,7], the gradient of ``poses`` in its
        order of quaternions, which need not be unit. The time belongs to the motion in between: it depends on the two
        way points beside it alone. Rows that are not ``differentiable`` contribute nothing.
        """
        return self._derived().vjp(time, wrt)

    def _derived(self) -> Times:
        if self._times is None:
            raise OptionError("derivatives of times need the motions: ask for the sweep with grad=True")
        return self._times

    @property
    def report(self) -> Report:
        """What became of the call. Its counts are those of pairs; those by state are ``counts``."""
        return report_of(self.record, self._about, tuple(self.state.shape))

    @property
    def counts(self) -> dict[str, int]:
        """The rows by state."""
        c = self.record.counts
        return dict(zip(STATES, (c[0], c[2], c[3], c[4]), strict=True))

    @property
    def hit(self) -> Bools:
        """Rows that are not proved free over the whole motion: in contact, or failed. This is the cautious reading."""
        rows: Bools = self.state != FREE
        return rows

    @property
    def ok(self) -> Bools:
        """Rows with an answer."""
        return self.state <= CONTACT

    @property
    def failed(self) -> Bools:
        """Rows without an answer: undecided or invalid."""
        return self.state >= UNDECIDED

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
        row = int(np.flatnonzero(host_array(self.state).ravel() >= UNDECIDED)[0])
        reason = "try a larger max_evaluations or tolerance"
        raise RowError(f"{message}; first: state[{row}]: {reason}", "state", row, reason)

    def __repr__(self) -> str:
        shape = "×".join(f"{n:,}" for n in self.state.shape)
        counts = ", ".join(f"{n:,} {name}" for name, n in self.counts.items() if n or name == "free")
        lines = [f"SweepResult of {shape} rows, on {self.report.backend}", f"  {counts}"]
        if self.report.error is not None:
            lines.append("  first invalid: {}[{}]: {}".format(*self.report.error))
        return "\n".join(lines)


class _Sweep:
    """A call of :meth:`Engine.sweep`."""

    def __init__(self, engine: Engine, scene: Scene, poses: Array, places: Array, options: SweepOptions) -> None:
        self.engine, self.options, self.poses, self.places = engine, options, poses, places
        self.table = Table(scene.library, scene.bodies)

    def answer(self, worlds: slice, first: Array, second: Array, columns: Mapping[str, Array]) -> nat.Report:
        """Fill the columns [...,p] of some worlds, of pairs of places."""
        engine, n = self.engine, self.engine._native
        places = self.places[worlds] if self.places.ndim == 2 else self.places
        poses = self.poses[worlds]
        count, points, m = poses.shape[:3]
        contacts = nat.Contacts(count * len(first), **{name: address(columns[name]) for name in COLUMNS})
        motions = self.options.motions(self.table.number, count, m, points, len(first))
        motions.bodies, motions.template_a, motions.template_b = map(address, (places, first, second))
        motions.poses, motions.per_world, motions.workers = address(poses), int(places.ndim == 2), engine._workers

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.sweep(engine._number, motions, contacts, ms, job, report, error))

        return _jobs.run(submit, (poses, places, first, second, columns, self.table))

    def fold(self, to: Worlds | Found, first: Array, second: Array) -> list[tuple[int, nat.Report]]:
        """Answer the pairs of places of all worlds in blocks, and combine them: their first worlds and reports."""
        reports: list[tuple[int, nat.Report]] = []
        for worlds, pairs in blocks(len(self.poses), len(first)):
            a, b = first[pairs], second[pairs]
            shape = (worlds.stop - worlds.start, len(a))
            rows = {name: np.empty(shape, dtype) for name, dtype in COLUMNS.items()}
            reports.append((worlds.start, self.answer(worlds, a, b, rows)))
            if isinstance(to, Worlds):
                to.add(worlds, pairs.start, rows)
            else:
                to.add(worlds, a, b, rows)
        return reports


def sweep(
    engine: Engine,
    scene: Scene,
    poses: Any,
    quat: str | None,
    bodies: Any,
    options: SweepOptions,
    copy: bool,
    reduce: str | None,
    pairs: str | None,
    skip: Any,
    out: Any,
    grad: bool = False,
) -> SweepResult:
    """See :meth:`Engine.sweep`."""
    nat.check_fork()
    options.motions(0)  # which checks them
    of_worlds, skipped = reduction(reduce), listed_pairs("skip", skip)
    if pairs not in (None, "all") or (pairs is None and skipped):
        raise OptionError(f'pairs: {pairs!r}, want None or "all", which pairs to skip need')
    poses, quat, _ = seven("poses", poses, quat, copy)
    array, places, lead = _motions(scene, poses, quat, bodies, copy)
    worlds, points, m = array.shape[:3]
    first, second = scene.pair_arrays() if pairs is None else _all_pairs(m, skipped)
    call = _Sweep(engine, scene, array, places, options)
    row_bodies = RowBodies(
        places.copy(), None if pairs else np.stack([first, second], axis=1)
    )  # copies: arrays may change
    if not of_worlds and pairs:
        if out is not None:
            raise OptionError("out: the rows of all pairs are as many as are found, so no array can be ready for them")
        found = Found(worlds, options.max_distance)
        reports = call.fold(found, first, second)
        columns = found.columns()
    elif of_worlds:
        names = {**COLUMNS, **dict.fromkeys((*OF_WORLDS, *(OF_ALL_PAIRS if pairs else ())), np.int32)}
        columns = _places(out, names, lead)
        _check_overlap(columns, {"poses": array, "bodies": places})
        combined = Worlds(worlds, points - 1, options.time_tolerance or _TIME_TOLERANCE)
        reports = call.fold(combined, first, second)
        answers = combined.columns()
        if pairs:  # a pair of no place has the index -1
            for name, at in zip(OF_ALL_PAIRS, (first, second), strict=True):
                answers[name] = np.append(at, np.int32(-1))[answers["pair"]]
        for name, column in columns.items():
            column[...] = answers[name].reshape(lead)
    else:
        columns = _places(out, COLUMNS, (*lead, len(first)))
        reports = [(0, call.answer(slice(0, worlds), first, second, columns))]
    report = merged(reports, columns["state"]) if of_worlds or pairs else reports[0][1]
    device = torch_device(poses)
    times = None
    if grad:
        order = order_of(quat, poses)
        times = Times.of(call.table, engine._workers, places, array, order, lead, columns, (first, second), device)
    every: dict[str, Any] = columns if device is None else {k: to_torch(c, device) for k, c in columns.items()}
    return SweepResult(**every, record=report, _row_bodies=row_bodies, _times=times, _about=about_bodies(poses))


def _motions(
    scene: Scene, poses: Any, quat: str | None, bodies: Any, copy: bool
) -> tuple[Array, Array, tuple[int, ...]]:
    """Poses [W,T,M,7], "wxyz", the bodies at the places, [M] or [W,M], and the leading axes of the worlds."""
    quat = order_of(quat, poses)
    array = host("poses", poses, copy)
    if array.ndim < 4 or array.shape[-3] < 2:
        want = "[W, T, M, 7], or [..., T, M, 7], with at least 2 way points"
        raise ArrayError("poses", f"has the shape {list(array.shape)}, want {want}")
    lead, points = array.shape[:-3], array.shape[-3]
    worlds = math.prod(lead)
    places, _ = places_of(scene, bodies, worlds)
    m = places.shape[-1]
    array = take("poses", array, np.float64, (*lead[1:], points, m, 7), lead[0], copy)
    array = to_wxyz(array, quat, copy)
    return carried(scene.attachments, places, array.reshape(worlds, points, m, 7)), places, lead


def _all_pairs(places: int, skipped: list[tuple[int, int]]) -> tuple[Array, Array]:
    """All pairs of places but those to skip, ascending."""
    for pair in skipped:
        if pair[0] == pair[1] or not 0 <= min(pair) <= max(pair) < places:
            raise OptionError(f"skip: {pair!r}, want pairs of two of {places} places")
    first, second = (i.astype(np.int32) for i in np.triu_indices(places, 1))
    if skipped:
        skip_a, skip_b = pair_arrays("skip", [(min(p), max(p)) for p in skipped])
        kept = ~np.isin(first.astype(np.int64) * places + second, skip_a.astype(np.int64) * places + skip_b)
        first, second = first[kept], second[kept]
    return first, second


def _places(out: Any, names: Mapping[str, Any], rows: tuple[int, ...]) -> dict[str, Array]:
    """The arrays of the columns: those of the caller, or new ones."""
    check_out(out, names, "state")
    return {name: place(out, name, rows, dtype) for name, dtype in names.items()}


def _check_overlap(outputs: Mapping[str, Array], inputs: Mapping[str, Array]) -> None:
    """Refuse outputs that share memory with an input or another output, as the native library does."""
    seen = dict(inputs)
    for name, column in outputs.items():
        for other, array in seen.items():
            if np.may_share_memory(column, array):
                raise OptionError(f"out: the arrays {other} and {name} overlap in memory")
        seen[name] = column


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
