"""Rows of a result as a scene description and a page of it: shapes, answers, contacts, motions, traces of solvers."""

from __future__ import annotations

import ctypes
import json
import math
import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from . import _describe as doc
from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, take_batch
from ._attach import carried
from ._errors import ArrayError, OptionError
from ._inputs import RowBodies, pair_columns
from ._library import Library
from ._options import INT32, Rotation, one_of, order_of, real, to_wxyz, whole
from ._page import View
from ._poses import read, seven
from ._result import STATUSES, UNDECIDED, Result, SceneResult, host_array
from ._scene import Scene
from ._sweep import CONTACT, FREE, STATES, SweepResult

if TYPE_CHECKING:
    from ._points import ContactPoints

# The most rows of a page: some tens of megabytes of HTML.
ROWS: Final = 100_000

# The most poses of bodies on the time lines of a page, of some 75 characters each.
_POSES: Final = 1_000_000

# The most rows whose steps a page has.
_TRACES: Final = 1_000


def show(
    result: Result | SweepResult,
    *question: Any,
    quat: Rotation | None = None,
    rows: Any = None,
    most: int = 100,
    trace: Any = (),
    method: str = "auto",
    contacts: ContactPoints | None = None,
    dt: float | None = None,
    path: str | os.PathLike[str] | None = None,
) -> View:
    """A page that shows rows of a result in a table to sort: shapes, witnesses, normal, support planes, error ball,
    the Minkowski difference; and of a growth distance the scaled shapes.

    ``question`` is what the result answers: ``show(r, library, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")`` or
    ``show(r, library, a, b, pose_a, pose_b)`` for a pair list, ``show(r, scene, poses, quat="wxyz")`` for a rollout of
    a scene or a sweep. Sweeps are shown at the earliest known contact, and free rows where they are closest; they play
    along their way points. A rollout whose worlds are the steps of one trajectory plays with ``dt``, the seconds
    between two of them.

    The rows are those without an answer, then those of the least distance, ``most`` of them. ``rows`` are those among
    which they are chosen, as a mask like ``r.hit``; or all to show, as indices into the flattened result. A page has
    at most 100,000 rows, and 1,000,000 poses of bodies along time.

    ``trace`` are rows (indices into the flattened result) whose steps the page shows one by one, with their bounds: the
    back end "ref" solves them again, by ``method``, with the query and the precision of the result. ``contacts`` are
    the contact points of the pairs, of :meth:`Engine.contacts`. ``path`` is a file to write, of which one that ends in
    .json is the scene description alone.
    """
    if not isinstance(result, (Result, SweepResult)):
        raise OptionError(f"result: a {type(result).__name__}, want the result of a query or a sweep")
    moving = isinstance(result, SweepResult)
    status = host_array(result.state if isinstance(result, SweepResult) else result.status).ravel()
    chosen = _chosen(result, status, rows, whole("most", most, 0, ROWS))
    steps = host("trace", trace, True)
    traced = _listed("trace", steps if steps.size else np.zeros(0, np.int64), len(status), _TRACES)
    chosen = [*chosen, *sorted(set(traced) - set(chosen))]
    scene_given = len(question) == 2 and isinstance(question[0], Scene)
    pairs_given = not moving and len(question) in (5, 7) and isinstance(question[0], Library)
    if scene_given:
        joined, quat, _ = seven("poses", question[1], quat)
        quat = order_of(quat, joined)
        question = (question[0], joined)
    if not (scene_given or pairs_given):
        raise OptionError(
            "want show(result, library, a, b, pose_a, pose_b), show(result, library, a, b, pos_a, quat_a, pos_b, "
            "quat_b, quat=…) or show(result, scene, poses, quat=…)"
        )
    if dt is not None and (moving or not scene_given):
        raise OptionError("dt: the seconds between worlds that are steps of a rollout; this result is of none")
    if contacts is not None and not pairs_given:
        raise OptionError("contacts: the contact points of pairs, and this result is of a scene")
    about: _Pairs | _Bodies
    if isinstance(result, SweepResult):
        about = _Moving(result, quat, *question)
    elif scene_given:
        about = _Standing(result, quat, *question, dt=None if dt is None else real("dt", dt, 0, above=True))
    else:
        about = _Pairs(len(status), quat, *question)
    scene = _described(result, about, np.array(chosen, np.int64), status)
    if contacts is not None:
        _add_contacts(scene, contacts, chosen)
    if traced:
        if isinstance(result, SweepResult):
            raise OptionError("trace: a sweep asks about many poses of a pair; trace a query at one of them")
        sides = about.rows(np.array(traced, np.int64)).sides()
        position = {row: i for i, row in enumerate(chosen)}
        found = traces(about.library, result.query, result.precision, method, traced, sides)
        scene["traces"] = [t | {"row": position[row]} for t, row in zip(found, traced, strict=True)]
    view = View(scene)
    if path is not None:
        view.save(path)
    return view


def play(
    library: Library,
    bodies: Sequence[tuple[str, Sequence[doc.Placed]]],
    poses: Array,
    times: Array,
    steps: Array,
    statuses: Sequence[str],
    status: Array,
    title: str,
) -> View:
    """A page that plays a world: bodies [M] with their parts, poses [K,M,7] at times [K] in seconds. Its rows are the
    K times, with the number of the step and the code of the status of each."""
    used: dict[int, int] = {}
    k = len(times)
    if k > ROWS:
        raise OptionError(f"most: {k:,} steps, and a page has at most {ROWS:,}")
    _check_poses(k * len(bodies))
    described = doc.bodies_of(bodies, used)
    none, nowhere = np.full(k, -1, np.int32), np.full(k * 7, np.nan)
    columns: dict[str, Any] = {"row": steps, "status": status, "body_a": none, "body_b": none}
    columns |= {"pose_a": nowhere, "pose_b": nowhere, "value": np.full(k, np.nan), "gap": np.full(k, np.nan)}
    columns |= {name: np.full(3 * k, np.nan) for name in ("normal", "witness_a", "witness_b")}
    columns |= {"world": np.zeros(k, np.int32), "place_a": none, "place_b": none, "time": times}
    scene = _document(title, "distance", statuses, "s", doc.shapes_of(library, list(used)), described, columns, k)
    scene["worlds"] = [doc.world_of(0, np.arange(len(bodies)), times, poses)]
    return View(scene)


def _check_poses(count: int) -> None:
    """Raise OptionError for more poses of bodies than a page has."""
    if count > _POSES:
        raise OptionError(
            f"{count:,} poses of bodies along time, and a page has at most {_POSES:,}: show fewer steps, way points, "
            "worlds or bodies"
        )


def _document(
    title: str,
    value: str,
    statuses: Sequence[str],
    unit: str,
    shapes: list[dict[str, Any]],
    bodies: list[dict[str, Any]],
    columns: dict[str, Any],
    count: int,
) -> dict[str, Any]:
    return {
        "format": doc.FORMAT,
        "version": doc.VERSION,
        "title": title,
        "value": value,
        "statuses": list(statuses),
        "time_unit": unit,
        "shapes": shapes,
        "bodies": bodies,
        "rows": {"count": count, **{name: doc.packed(column) for name, column in columns.items()}},
    }


def _described(result: Result | SweepResult, about: _Pairs | _Bodies, chosen: Array, status: Array) -> dict[str, Any]:
    """The scene description of the rows of a result."""
    rows = about.rows(chosen)
    count = len(chosen)
    if count and int(chosen.max()) > INT32:
        raise OptionError(f"rows: row {int(chosen.max())}, and a page has rows up to {INT32}; query a part of them")
    columns: dict[str, Any] = {"row": chosen, "body_a": rows.body_a, "body_b": rows.body_b}
    columns |= {"pose_a": rows.pose_a, "pose_b": rows.pose_b}
    names: Sequence[str] = STATUSES
    if isinstance(result, SweepResult):
        names, value = STATES, np.full(count, np.nan)
        state, lower = status[chosen], host_array(result.lower).ravel()[chosen]
        known = (state == FREE) & np.isfinite(lower)
        value[known], value[state == CONTACT] = lower[known], 0
        columns |= {"value": value, "gap": np.full(count, np.nan)}
        columns |= {name: np.full((count, 3), np.nan) for name in ("normal", "witness_a", "witness_b")}
        title, kind = "sweep", "distance"
    else:
        for name, width in (("distance", 1), ("gap", 1), ("normal", 3), ("witness_a", 3), ("witness_b", 3)):
            column = getattr(result, name)
            columns["value" if name == "distance" else name] = (
                np.full((count, width), np.nan)
                if column is None
                else host_array(column).reshape(-1, width)[chosen].astype(np.float64)
            )
        title, kind = f"{result.query}, {result.precision} precision", "distance"
        if result.query == "growth":
            kind = "factor"
            for name, (shape, pose) in zip(("center_a", "center_b"), rows.sides(), strict=True):
                columns[name] = doc.centers(about.library, shape, pose)
        else:
            for name, (shape, pose), sign in zip(("plane_a", "plane_b"), rows.sides(), (1.0, -1.0), strict=True):
                columns[name] = doc.planes(about.library, shape, pose, columns["normal"], sign)
    columns["status"] = status[chosen].astype(np.int32)
    columns |= rows.place
    used: dict[int, int] = {}
    bodies = doc.bodies_of(about.bodies(), used)
    title = f"{title}: {count:,} of {len(status):,} rows"
    shapes = doc.shapes_of(about.library, list(used))
    scene = _document(title, kind, names, about.unit, shapes, bodies, columns, count)
    worlds = about.worlds_described()
    if worlds:
        scene["worlds"] = worlds
    return scene


def _add_contacts(scene: dict[str, Any], contacts: ContactPoints, chosen: Sequence[int]) -> None:
    """Add the contact points of the rows of a pair list."""
    pair = np.asarray(contacts.pair)
    order = np.argsort(pair, kind="stable")
    first, last = (np.searchsorted(pair[order], np.asarray(chosen), side=side) for side in ("left", "right"))
    taken = np.concatenate([order[f:e] for f, e in zip(first, last, strict=True)] or [np.zeros(0, np.int64)])
    rows = scene["rows"]
    rows["contact_begin"] = doc.packed(np.concatenate([[0], np.cumsum(last - first)]).astype(np.int32))
    for name in ("position", "normal", "gap"):
        column = doc.packed(np.asarray(getattr(contacts, name), np.float64)[taken])
        rows[f"contact_{'point' if name == 'position' else name}"] = column


def _chosen(result: Result | SweepResult, status: Array, rows: Any, most: int) -> list[int]:
    """The rows of a page."""
    candidates = np.arange(len(status))
    if rows is not None:
        given = host("rows", list(rows) if hasattr(rows, "__next__") else rows, True)
        if given.dtype.kind == "b":
            shape = (result.state if isinstance(result, SweepResult) else result.status).shape
            if given.shape not in (tuple(shape), (len(status),)):
                raise ArrayError("rows", f"is a mask of {list(given.shape)}, want one of {list(shape)}")
            candidates = np.flatnonzero(given)
        else:
            return _listed("rows", given, len(status), ROWS)
    value = _values(result, status)[candidates]
    return [int(i) for i in candidates[np.argsort(value, kind="stable")[:most]]]


def _listed(name: str, given: Array, count: int, most: int) -> list[int]:
    """Rows by their indices."""
    mask = ", or a mask" if name == "rows" else ""
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ArrayError(name, f"is {given.dtype} {list(given.shape)}, want indices of rows{mask}")
    if len(given) > most:
        hint = "; a mask shows the worst of its rows" if mask else ""
        raise OptionError(f"{name}: {len(given)}, want at most {most} on a page{hint}")
    for i in given.tolist():
        if not 0 <= i < count:
            raise OptionError(f"{name}: {i}, want rows from 0 to {count - 1}")
    return [int(i) for i in given]


def _values(result: Result | SweepResult, status: Array) -> Array:
    """What rows are ordered by: those without an answer come first, then those of the least value."""
    if isinstance(result, SweepResult):  # contacts come before free rows, the earliest first
        first, lower = host_array(result.t0).ravel(), host_array(result.lower).ravel()
        value: Array = np.where(status == CONTACT, first - first.max(initial=0) - 1, lower)
        return np.where(status > CONTACT, -np.inf, value)
    value = np.zeros(len(status)) if result.distance is None else host_array(result.distance).ravel().astype(np.float64)
    return np.where(status >= UNDECIDED, -np.inf, value)


class _Pairs:
    """The shapes of the rows of a pair list."""

    unit = ""

    def __init__(self, rows: int, quat: str | None, library: Library, a: Any, b: Any, *poses: Any) -> None:
        self.library = library
        _, arrays = pair_columns(a, b, read(poses, {}, quat, True), True)
        if len(arrays[0]) != rows:
            raise ArrayError("a", f"and the other arrays have {len(arrays[0])} rows, want {rows}, those of the result")
        self.shapes, self.positions, self.rotations = arrays[:2], arrays[2:4], arrays[4:]
        self.used: dict[int, int] = {}  # shapes of the library by their place among the bodies

    def rows(self, chosen: Array) -> doc.Rows:
        bodies, shapes, raw = [], [], []
        for column, position, rotation in zip(self.shapes, self.positions, self.rotations, strict=True):
            s = column[chosen]
            s = np.where((s >= 0) & (s < len(self.library)), s, -1)
            place = {i: self.used.setdefault(i, len(self.used)) for i in np.unique(s[s >= 0]).tolist()} | {-1: -1}
            shapes.append(s)
            bodies.append(np.array([place[i] for i in s.tolist()], np.int32))
            raw.append(np.concatenate([position[chosen], rotation[chosen]], axis=1))
        poses = [doc.known(p) for p in raw]
        return doc.Rows(bodies[0], bodies[1], poses[0], poses[1], shapes[0], shapes[1], raw[0], raw[1])

    def bodies(self) -> list[tuple[str, list[doc.Placed]]]:
        """Each shape that a row names is a body."""
        rest = np.array([0.0, 0, 0, 1, 0, 0, 0])
        return [(f"{s}: {self.library[s]!r}", [(s, rest)]) for s in self.used]

    def worlds_described(self) -> list[dict[str, Any]]:
        return []


class _Bodies:
    """The bodies of the rows of a scene, as they were asked about."""

    unit = ""

    def __init__(self, result: SceneResult | SweepResult, scene: Scene) -> None:
        if result._row_bodies is None:
            raise OptionError("the result does not say which bodies its rows are about; want one of an Engine")
        self.library, self.scene, self.result = scene.library, scene, result
        self.row_bodies: RowBodies = result._row_bodies
        self.worlds = None if result.offsets is None else host_array(result.world)
        if int(self.row_bodies.bodies.max(initial=-1)) >= len(scene.bodies):
            raise OptionError(f"the scene has {len(scene.bodies)} bodies, and the result is of one with more")
        names = ("body_a", "body_b", "pair")
        columns = (None if c is None else host_array(c).ravel() for c in (getattr(result, name) for name in names))
        self.body_a, self.body_b, self.pair = columns
        self.parts = [None if c is None else host_array(c).ravel() for c in (result.part_a, result.part_b)]
        self.used: dict[int, int] = {}  # worlds by their place in the document

    def _worlds(self, rows: tuple[int, ...]) -> int:
        """The number of worlds of a result, by the axes of its rows."""
        if self.result.offsets is not None:  # rows of all pairs
            return len(self.result.offsets) - 1
        return math.prod(rows if self.pair is not None else rows[:-1])

    def _places(self, row: int) -> tuple[int, tuple[int, int]]:
        """The world of a row and its pair of places, -1 where the row does not say."""
        pairs = self.row_bodies.pairs
        if self.body_a is not None and self.body_b is not None and (self.worlds is not None or self.pair is not None):
            world = row if self.worlds is None else int(self.worlds[row])
            return world, (int(self.body_a[row]), int(self.body_b[row]))
        if pairs is None:
            raise OptionError("the result has no columns body_a and body_b")
        world, p = divmod(row, len(pairs)) if self.pair is None else (row, int(self.pair[row]))
        return world, (int(pairs[p, 0]), int(pairs[p, 1])) if p >= 0 else (-1, -1)

    def _pose(self, row: int, world: int, place: int) -> Array:
        """The pose of the body at a place."""
        raise NotImplementedError

    def _times(self, chosen: Array, worlds: Array) -> Array | None:
        """The times of rows on the time lines of their worlds, None where worlds stand still."""
        raise NotImplementedError

    def rows(self, chosen: Array) -> doc.Rows:
        found = [self._places(i) for i in chosen.tolist()]
        worlds = np.array([w for w, _ in found], np.int64)
        places = [np.array([pair[side] for _, pair in found], np.int32) for side in (0, 1)]
        sides = [self._side(chosen, worlds, p, c) for p, c in zip(places, self.parts, strict=True)]
        (body_a, pose_a, shape_a, near_a), (body_b, pose_b, shape_b, near_b) = sides
        place = {"world": self._known_worlds(worlds), "place_a": places[0], "place_b": places[1]}
        times = self._times(chosen, worlds)
        if times is not None:
            place["time"] = times
        return doc.Rows(body_a, body_b, pose_a, pose_b, shape_a, shape_b, near_a, near_b, place)

    def _known_worlds(self, worlds: Array) -> Array:
        """The places of worlds in the document."""
        return np.array([self.used.setdefault(w, len(self.used)) for w in worlds.tolist()], np.int32)

    def _side(
        self, chosen: Array, worlds: Array, places: Array, column: Array | None
    ) -> tuple[Array, Array, Array, Array]:
        """Body, pose, nearest shape and its pose of one side of rows."""
        count = len(chosen)
        bodies, shapes = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        poses, nearest = np.full((count, 7), np.nan), np.full((count, 7), np.nan)
        for i, (row, world, place) in enumerate(zip(chosen.tolist(), worlds.tolist(), places.tolist(), strict=True)):
            body = -1 if place < 0 else int(self.row_bodies.of_world(world)[place])
            if body < 0:
                continue
            bodies[i], poses[i] = body, self._pose(row, world, place)
            parts = self.scene.bodies[body].parts
            part = -1 if column is None else int(column[row])
            if part >= len(parts) > 0:
                raise OptionError(
                    f"row {row} is about part {part} of body {body}, which has {len(parts)} in this scene"
                )
            if part >= 0:
                p, shapes[i] = parts[part], parts[part].shape
                nearest[i, :3], nearest[i, 3:] = p.position, p.rotation
        poses = doc.known(poses)
        nearest = doc.known(nearest)
        return bodies, poses, shapes, doc.composed(poses, nearest[:, :3], nearest[:, 3:])

    def bodies(self) -> list[tuple[str, list[doc.Placed]]]:
        return bodies_described(self.scene.bodies)

    def worlds_described(self) -> list[dict[str, Any]]:
        """The worlds of the rows, as the document has them."""
        raise NotImplementedError


def bodies_described(bodies: Sequence[Any]) -> list[tuple[str, list[doc.Placed]]]:
    """Bodies with the poses of their parts."""
    out = []
    for i, body in enumerate(bodies):
        poses = [np.concatenate([np.asarray(p.position, np.float64), p.rotation]) for p in body.parts]
        parts = [(p.shape, pose) for p, pose in zip(body.parts, doc.known(np.array(poses)), strict=True)]
        out.append((f"body {i}: {body.name}", parts))
    return out


class _Standing(_Bodies):
    """The bodies of the rows of a rollout, whose worlds may be the steps of a trajectory, dt seconds apart."""

    def __init__(self, result: Result, quat: Any, scene: Scene, poses: Any, *, dt: float | None) -> None:
        if not isinstance(result, SceneResult):
            raise OptionError("the result is not one of a scene")
        super().__init__(result, scene)
        worlds, m = self._worlds(host_array(result.status).shape), self.row_bodies.bodies.shape[-1]
        every = to_wxyz(take_batch("poses", poses, np.float64, (m, 7), worlds, True), quat).reshape(worlds, m, 7)
        self.poses = carried(scene.attachments, self.row_bodies.bodies, every)
        self.dt, self.unit = dt, "" if dt is None else "s"
        if dt is not None and self.row_bodies.bodies.ndim > 1:
            raise OptionError("dt: the worlds have bodies of their own, so they are no steps of a trajectory")

    def _pose(self, row: int, world: int, place: int) -> Array:
        pose: Array = self.poses[world, place]
        return pose

    def _known_worlds(self, worlds: Array) -> Array:
        return super()._known_worlds(worlds) if self.dt is None else np.zeros(len(worlds), np.int32)

    def _times(self, chosen: Array, worlds: Array) -> Array | None:
        return None if self.dt is None else worlds * self.dt

    def worlds_described(self) -> list[dict[str, Any]]:
        _check_poses((len(self.used) if self.dt is None else len(self.poses)) * self.poses.shape[1])
        if self.dt is not None:
            return [doc.world_of(0, self.row_bodies.bodies, self.dt * np.arange(len(self.poses)), self.poses)]
        return [doc.world_of(w, self.row_bodies.of_world(w), [0], self.poses[w, None]) for w in self.used]


class _Moving(_Bodies):
    """The bodies of the rows of a sweep, at the time that is shown."""

    unit = "way points"

    def __init__(self, result: SweepResult, quat: Any, scene: Scene, poses: Any) -> None:
        super().__init__(result, scene)
        array = host("poses", poses, True)
        points, m = array.shape[-3] if array.ndim > 3 else 0, self.row_bodies.bodies.shape[-1]
        worlds = self._worlds(host_array(result.state).shape)
        every = to_wxyz(take_batch("poses", array, np.float64, (points, m, 7), worlds, True), quat)
        self.poses = carried(scene.attachments, self.row_bodies.bodies, every.reshape(worlds, points, m, 7))
        t0, t1, closest = (host_array(c).ravel() for c in (result.t0, result.t1, result.closest))
        free = host_array(result.state).ravel() == FREE
        time = np.where(free, closest, np.where(np.isfinite(t1), t1, t0))
        self.time = np.clip(np.where(np.isfinite(time), time, 0), 0, points - 1)

    def _pose(self, row: int, world: int, place: int) -> Array:
        time = float(self.time[row])
        k = min(int(time), self.poses.shape[1] - 2)
        first, second = self.poses[world, k : k + 2, place]
        return doc.between(first, second, time - k)

    def _times(self, chosen: Array, worlds: Array) -> Array | None:
        times: Array = self.time[chosen]
        return times

    def worlds_described(self) -> list[dict[str, Any]]:
        _check_poses(len(self.used) * self.poses.shape[1] * self.poses.shape[2])
        times = np.arange(self.poses.shape[1])
        return [doc.world_of(w, self.row_bodies.of_world(w), times, self.poses[w]) for w in self.used]


def traces(
    library: Library,
    query: str,
    precision: str,
    method: str,
    rows: Sequence[int],
    sides: Sequence[tuple[Array, Array]],
) -> list[dict[str, Any]]:
    """The traces of rows, of both sides of which there are the shapes [N] and their poses [N,7]."""
    n = nat.native()
    handle = library._open()  # which lives until the calls have ended
    about = nat.Query(library=handle.number, query=n.query_codes[query])
    about.method = n.methods.index(one_of("method", method, n.methods))
    about.precision = n.precisions.index(precision)
    about.columns = n.column_set(list(n.queries[query]["columns"]))
    out: list[dict[str, Any]] = []
    for i, row in enumerate(rows):
        shapes = [np.array([s[i]], np.int32) for s, _ in sides]
        if min(int(s[0]) for s in shapes) < 0 or not all(np.isfinite(p[i]).all() for _, p in sides):
            raise OptionError(f"trace: row {row} has no pair of shapes to solve")
        poses = [p[i, :3].copy() for _, p in sides] + [p[i, 3:].copy() for _, p in sides]
        pair = nat.Pairs(1, *(address(x) for x in (*shapes, *poses)))
        keep = handle, shapes, poses
        out.append(_jobs.aside(partial(_solved, n, about, pair, row, keep)))
    return out


def _solved(n: Any, query: nat.Query, pair: nat.Pairs, row: int, keep: Any) -> dict[str, Any]:
    """The trace of a row. ``keep`` is the memory that the pair names."""
    size, error, needed = 1 << 20, nat.Error(), ctypes.c_int64()
    while True:
        buffer = ctypes.create_string_buffer(size)
        if n.trace(query, pair, 0, ctypes.addressof(buffer), size, needed, error) != nat.OK:
            raise OptionError(f"trace: row {row}: {error.message.decode()}")
        if needed.value <= size:
            found: dict[str, Any] = json.loads(buffer.value)
            return found
        size = needed.value
