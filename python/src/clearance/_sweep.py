"""Sweeps: first contacts of bodies that move along way points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, take, torch_device
from ._asked import Asked, places_of, reduction
from ._bodies import Table, listed_pairs, pair_arrays
from ._errors import ArrayError, OptionError, RowError
from ._options import check_out, place, real, whole
from ._order import order_of, to_wxyz
from ._result import OfWorlds, Report, host_array, report_of, to_torch
from ._sweepfold import COLUMNS, CONTACT, FREE, OF_ALL_PAIRS, OF_WORLDS, UNDECIDED, Found, Worlds, blocks, merged
from ._types import Bools, Floats, Ints

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
) -> SweepResult:
    """See :meth:`Engine.sweep`."""
    nat.check_fork()
    options.motions(0)  # which checks them
    of_worlds, skipped = reduction(reduce), listed_pairs("skip", skip)
    if pairs not in (None, "all") or (pairs is None and skipped):
        raise OptionError(f'pairs: {pairs!r}, want None or "all", which pairs to skip need')
    array, places, lead = _motions(scene, poses, quat, bodies, copy)
    worlds, points, m = array.shape[:3]
    first, second = scene.pair_arrays() if pairs is None else _all_pairs(m, skipped)
    call = _Sweep(engine, scene, array, places, options)
    asked = Asked(places.copy(), None if pairs else np.stack([first, second], axis=1))  # copies: arrays may change
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
    every: dict[str, Any] = columns if device is None else {k: to_torch(c, device) for k, c in columns.items()}
    return SweepResult(**every, record=report, _asked=asked)


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
    return array.reshape(worlds, points, m, 7), places, lead


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
