"""Contact points of pairs, at most four a pair in rows per point, and contacts of steps with their surfaces."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, take, take_rows
from ._attach import carried
from ._bodies import Body, Surface
from ._derivatives import poses_of
from ._errors import ClosedError, OptionError
from ._inputs import pair_columns
from ._kinematics import normalized, product, rotated
from ._native import named, numbers
from ._options import Floats, Ints, one_of, order_of, real, to_wxyz
from ._poses import About, Given, about_bodies, seven
from ._result import Poses, Report, report_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._bodies import Part
    from ._engine import Engine
    from ._library import Library
    from ._scene import Scene

MAX_POINTS: Final = 4

STATUSES: Final = ("separated", "contact", "undecided", "invalid")
_CONTACT: Final = 1


@dataclass(frozen=True, eq=False)
class PointsGradient:
    """Gradients of N pairs: ``twists`` [N,12] are those by the velocities of the position and the angular velocities of
    A, then of B, in world axes. ``smoothness`` uint8 [N] says what they are, by the codes of ``smoothness_names``.
    ``poses`` are those with respect to positions and quaternions in the forms of the call, if they were asked for."""

    twists: Floats
    smoothness: Ints
    poses: Poses | None = None

    @property
    def smoothness_names(self) -> Array:
        """What the derivatives of the pairs are."""
        return np.array(nat.native().smoothness)[self.smoothness]


@dataclass(frozen=True, eq=False)
class Call:
    """A call that contact points came from."""

    engine: Engine
    library: Library
    arrays: list[Array]  # a, b, pos_a, pos_b, quat_a, quat_b; "wxyz"
    order: str  # of the quaternions of the call
    shapes: tuple[tuple[int, ...], ...]  # of pos_a, quat_a, pos_b, quat_b as they were given
    lead: tuple[int, ...]
    max_gap: float
    count: Array
    id: Array

    def vjp(self, points: int, position: Any, normal: Any, gap: Any, wrt: str) -> PointsGradient:
        """See :meth:`ContactPoints.vjp`."""
        if one_of("wrt", wrt, ["twists", "poses"]) == "poses" and self.order == "matrix":
            raise OptionError('quat: "matrix" has no free entries to differentiate by; want twists, or quaternions')
        if position is None and normal is None and gap is None:
            raise OptionError("vjp: no cotangent; want position, normal or gap")
        rows = len(self.count)
        used = np.arange(MAX_POINTS) < self.count[:, None]
        columns: dict[str, Array] = {"count": self.count, "id": self.id}
        for name, value, tail in (("position", position, (3,)), ("gap", gap, ())):
            if value is not None:
                columns[f"{name}_bar"] = np.zeros((rows, MAX_POINTS, *tail))
                columns[f"{name}_bar"][used] = take(name, value, np.float64, tail, points, True)
        if normal is not None:
            columns["normal_bar"] = np.zeros((rows, 3))
            pair = np.repeat(np.arange(rows), self.count)
            np.add.at(columns["normal_bar"], pair, take("normal", normal, np.float64, (3,), points, True))
        twists: Array = np.zeros((rows, 12))
        smoothness: Array = np.zeros(rows, np.uint8)
        out = {"twists": twists, "smoothness": smoothness}
        n, handle = self.engine._native, self.library._open()
        record = nat.Pairs(rows, *map(address, self.arrays))
        given = named({**columns, **out})
        if not self.engine._number:
            raise ClosedError("the engine is closed")
        places = self.engine._number, handle.number, record, self.max_gap, given, len(given)

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.contact_points_vjp(*places, ms, job, report, error))

        _jobs.run(submit, (self, columns, out, given, handle))
        poses = None
        if wrt == "poses":
            rotations = self.arrays[4], self.arrays[5]
            poses = Poses(*poses_of(twists, rotations, self.order, self.shapes, self.lead))
        return PointsGradient(twists.reshape(*self.lead, 12), smoothness.reshape(self.lead), poses)


@dataclass(frozen=True, eq=False, repr=False)
class ContactPoints:
    """The contact points of N pairs, K of them, in the order of the pairs.

    ``pair`` int32 [K] is the row of the pair, and ``world`` int32 [K] its world, if the call was given worlds.
    ``position`` [K,3] is the middle between the point of A and that of B in metres, ``normal`` [K,3] the unit normal
    from A to B, both in world axes. ``gap`` [K] is an upper bound, ``lower`` [K] a lower bound of the clearance along
    the normal in metres, negative in penetration. ``id`` uint64 [K] names the features that meet: it lasts from step to
    step as long as these do.

    Of a scene, ``pair`` is the pair of bodies in ``scene.pairs``, and ``part_a`` and ``part_b`` int32 [K] are the parts
    that touch; a row of the N is then a pair of parts of a world: world after world, pair after pair.

    Pairs of several leading axes are counted along all of them; ``status`` and ``count`` have these axes.

    ``status`` uint8 [N] is 0 (farther apart than ``max_gap``), 1 (points), 2 (undecided) or 3 (invalid); ``count``
    int32 [N] is the number of points.
    """

    pair: Ints
    world: Array | None
    position: Floats
    normal: Floats
    gap: Floats
    lower: Floats
    id: Ints
    status: Ints
    count: Ints
    record: nat.Report
    part_a: Array | None = None
    part_b: Array | None = None
    _call: Call | None = None
    _about: About | None = None  # the poses

    @property
    def report(self) -> Report:
        """What became of the call."""
        return report_of(self.record, self._about, tuple(self.status.shape))

    def vjp(
        self,
        *,
        position: ArrayLike | None = None,
        normal: ArrayLike | None = None,
        gap: ArrayLike | None = None,
        wrt: Literal["twists", "poses"] = "twists",
    ) -> PointsGradient:
        """The gradient of a function with respect to the poses of the pairs, by its gradients with respect to
        ``position`` and ``normal`` [K,3] and ``gap`` [K] of the points; None is zero. The call must have had grad=True.

        Features are those that ``id`` names: vertices over faces and crossings of edges move with them, witnesses and
        normals as :meth:`Result.vjp` has them. A normal of a face rotates with its body. ``smoothness`` of a pair is
        "not unique" where faces are parallel and neither lies inside the other, or where features are about to change;
        the gradient is then one of several. With ``wrt="poses"`` there is the gradient with respect to positions and
        quaternions, too.
        """
        if self._call is None:
            raise OptionError("derivatives of contact points need the poses: ask for the points with grad=True")
        return self._call.vjp(len(self), position, normal, gap, wrt)

    @property
    def failed(self) -> Array:
        """Pairs that are undecided or invalid: they are not proved separated, and have no points."""
        return self.status > _CONTACT

    def __len__(self) -> int:
        return len(self.pair)

    def __repr__(self) -> str:
        failed = int(np.count_nonzero(self.failed))
        return (
            f"ContactPoints: {len(self):,} points of {self.status.size:,} pairs, {failed:,} of them without an answer"
        )


def contacts(
    engine: Engine,
    library: Library,
    a: Any,
    b: Any,
    poses: Given,
    max_gap: float,
    world: Any,
    copy: bool,
    grad: bool = False,
) -> ContactPoints:
    """See :meth:`Engine.contacts`."""
    most = real("max_gap", max_gap, 0)
    if most == np.inf:
        raise OptionError("max_gap: inf, want a length in metres")
    lead, arrays = pair_columns(a, b, poses, copy)
    rows = len(arrays[0])
    worlds = None if world is None else take("world", world, np.int32, lead[1:], lead[0], copy).ravel()
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
        columns["status"].reshape(lead),
        columns["count"].reshape(lead),
        report,
        _about=poses.about,
        _call=None
        if not grad
        else Call(
            engine,
            library,
            [x.copy() for x in arrays],
            poses.stated,
            poses.shapes,
            lead,
            most,
            columns["count"],
            columns["id"],
        ),
    )


def scene_contacts(engine: Engine, scene: Scene, poses: Any, quat: str | None, max_gap: float) -> ContactPoints:
    """See :meth:`Engine.scene_contacts`."""
    poses, quat, _ = seven("poses", poses, quat)
    about, quat = about_bodies(poses), order_of(quat, poses)
    array, _ = take_rows("poses", poses, (len(scene.bodies), 7))
    worlds = len(array)
    array = carried(scene.attachments, np.arange(len(scene.bodies)), to_wxyz(array, quat))
    rotation = normalized(array)[..., 3:]
    placed = [
        [
            (
                p.shape,
                array[:, i, :3] + rotated(rotation[:, i], np.array(p.position, np.float64)),
                _rotation_of(rotation[:, i], p),
            )
            for p in b.parts
        ]
        for i, b in enumerate(scene.bodies)
    ]
    rows = [
        (k, i, j, m, n)
        for k, (i, j) in enumerate(scene.pairs)
        for m in range(len(scene.bodies[i].parts))
        for n in range(len(scene.bodies[j].parts))
    ]
    columns = np.array(rows, np.int32).reshape(-1, 5)

    def gather(which: int, item: int, width: int) -> Array:
        sides = [placed[row[1 + which]][row[3 + which]][item] for row in rows]
        stacked: Array = np.stack(sides, axis=1) if sides else np.zeros((worlds, 0, width))
        return stacked.reshape(-1, width)

    shapes = [np.array([placed[r[1 + w]][r[3 + w]][0] for r in rows], np.int32) for w in (0, 1)]
    a, b = (np.tile(s, worlds) for s in shapes)
    world = np.repeat(np.arange(worlds, dtype=np.int32), len(rows))
    sides = Given((gather(0, 1, 3), gather(0, 2, 4), gather(1, 1, 3), gather(1, 2, 4)), "wxyz", "wxyz")
    found = contacts(engine, scene.library, a, b, sides, max_gap, world, True)
    of = columns[found.pair % max(len(rows), 1)]
    return replace(found, pair=of[:, 0], part_a=of[:, 3], part_b=of[:, 4], _about=about)


def _rotation_of(rotation: Array, part: Part) -> Array:
    own = np.array(part.rotation, np.float64)
    return product(rotation, np.broadcast_to(own / np.linalg.norm(own), rotation.shape))


Rule = Literal["standard", "geometric_mean", "mean", "minimum", "maximum", "product"]

# Rules of combination, by their codes.
RULES: Final = list(get_args(Rule))


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """N contacts of a step, world after world.

    ``world``, ``body_a``, ``body_b``, ``part_a``, ``part_b`` [N] are indices; the ground is the body behind the last
    one. ``position`` [N,3] in metres and ``gap`` [N], an upper bound of the clearance along the normal, are those
    before the step, or before the part of the step that the contact belongs to; ``gap`` is NaN where the points came
    near later.
    ``normal`` [N,3] points from a to b. ``impulse`` [N,3] in N·s acts on b, and its opposite on a. Vectors are in world
    axes. ``id`` [N] uint64 names the point of its pair of parts, and lasts as long as the features that meet.
    """

    world: Ints
    body_a: Ints
    body_b: Ints
    part_a: Ints
    part_b: Ints
    position: Floats
    normal: Floats
    impulse: Floats
    gap: Floats
    id: Ints

    def __len__(self) -> int:
        return len(self.world)

    def __repr__(self) -> str:
        return f"Contacts of {len(np.unique(self.world)):,} worlds: {len(self):,}"

    def _rows(self, rows: slice) -> Contacts:
        return Contacts(*(getattr(self, f.name)[rows] for f in fields(self)))


# The fields of Contacts in the C interface: the type, and the numbers of a contact if they are a vector.
_CONTACT_COLUMNS: Final[dict[str, tuple[type[np.generic], int]]] = {
    "world": (np.int32, 0),
    "body_a": (np.int32, 0),
    "body_b": (np.int32, 0),
    "part_a": (np.int32, 0),
    "part_b": (np.int32, 0),
    "position": (np.float64, 3),
    "normal": (np.float64, 3),
    "impulse": (np.float64, 3),
    "gap": (np.float64, 0),
    "id": (np.uint64, 0),
}


def fetch(simulation: int, recorded: bool) -> tuple[Contacts, Array]:
    """The contacts of the last step of a native simulation, or of the recorded steps of a run, and their records."""
    n, error, found = nat.native(), nat.Error(), ctypes.c_int64()
    options = numbers(recorded=int(recorded))
    given = named(options)
    n.raise_for(n.simulation_contacts(simulation, given, len(given), found, error), error)
    count = found.value
    out: dict[str, Array] = {
        name: np.zeros((count, width) if width else count, of) for name, (of, width) in _CONTACT_COLUMNS.items()
    }
    out["record"] = np.zeros(count, np.int32)
    given = named({**options, **out})
    n.raise_for(n.simulation_contacts(simulation, given, len(given), found, error), error)
    record = out.pop("record")
    return Contacts(**out), record


class Recorded:
    """The contacts of the recorded steps of a run."""

    def __init__(self, step: Array, contacts: Contacts, record: Array) -> None:
        self._first = np.searchsorted(record, np.arange(len(step) + 1))
        self._contacts, self._at = contacts, {int(s): i for i, s in enumerate(step)}

    def record(self, step: int) -> int:
        """The record of a step."""
        if step not in self._at:
            known = f"{min(self._at)} to {max(self._at)}" if self._at else "none"
            raise OptionError(f"step: {step!r} was not recorded; recorded steps are {known}, see Trajectory.step")
        return self._at[step]

    def of(self, step: int) -> Contacts:
        """The contacts of a step."""
        k = self.record(step)
        return self._contacts._rows(slice(int(self._first[k]), int(self._first[k + 1])))


def surface_arrays(
    name: str, column: Array, bodies: Sequence[Body], own: bool, surfaces: Iterable[Surface], m: int
) -> dict[str, Array | None]:
    """The arrays of the values of parts and pairs of a property, friction or restitution, of M bodies. own: the ground,
    body M, has a value of its own; else its contacts have those of the other body."""
    parts = [
        (i, j, float(v))
        for i, b in enumerate(bodies)
        for j, p in enumerate(b.parts)
        if (v := getattr(p, name)) is not None
    ]
    pairs: list[tuple[int, int, int, int, float]] = []
    if len(bodies) > m and not own:
        pairs += [(i, -1, m, -1, float(v)) for i, v in enumerate(column[:m])]
        pairs += [(i, j, m, -1, v) for i, j, v in parts]
    for s in surfaces:
        if not isinstance(s, Surface):
            raise OptionError(f"surfaces: {s!r}, want Surface")
        value: Any = getattr(s, name)
        if value is not None:
            ends = [-1 if p is None else p for p in (s.part_a, s.part_b)]
            pairs.append((s.a, ends[0], s.b, ends[1], real(f"{name} of a surface", value)))
    out: dict[str, Array | None] = {}
    for key, rows in (("part", parts), ("pair", pairs)):
        if rows:
            out[f"{name}_{key}s"] = np.array([r[:-1] for r in rows], np.int32)
            out[f"{name}_{key}_values"] = np.array([r[-1] for r in rows], np.float64)
    return out
