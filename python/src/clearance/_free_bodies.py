"""Free rigid bodies of models, for simulations, and their masses, centers of mass and inertias."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import _native as nat
from ._arrays import Array, reordered, take
from ._bodies import Body, Part, Surface, Table
from ._errors import OptionError
from ._kinematics import product, rotated
from ._library import Library
from ._options import real


def mass_properties(
    library: Library, bodies: Sequence[int | Part | Body], density: float = 1000.0
) -> tuple[Array, Array, Array]:
    """The mass [M], center of mass [M,3] in the frame of the body, and inertia [M,6] about it, of a uniform density."""
    listed = bodies_of(library, "bodies", bodies)
    table = Table(library, listed)
    out = np.zeros((len(listed), 10))
    for i in range(len(listed)):
        _mass(table, i, real("density", density, 0, above=True), out[i])
    return out[:, 0].copy(), out[:, 1:4].copy(), out[:, 4:].copy()


def masses(
    table: Table, bodies: Sequence[Body], m: int, mass: Any, density: float, inertia: Any, center: Any
) -> dict[str, Array | None]:
    """The columns mass, inertia and center of bodies, of which those from m on do not move."""
    every = len(bodies)
    mass_of, inertias, centers = np.full(every, np.inf), np.zeros((every, 6)), np.zeros((every, 3))
    columns: dict[str, Array | None] = {"mass": mass_of, "inertia": inertias, "center": centers}
    if inertia is None and center is not None:
        raise OptionError("center: an inertia is needed beside a center of mass, which it is about")
    if inertia is not None and mass is None:
        raise OptionError("inertia: it takes a mass")
    if mass is not None:
        mass_of[:m] = body_column("mass", mass, m)
    if inertia is not None:
        inertias[:m] = take("inertia", inertia, np.float64, (6,), m, True)
        if center is not None:
            centers[:m] = take("center", center, np.float64, (3,), m, True)
        return columns
    row = np.zeros(10)
    for i, body in enumerate(bodies[:m]):
        stated = body.physics if mass is None else {}
        if mass is None:
            mass_of[i] = np.inf if stated.get("fixed") else stated.get("mass", np.nan)
        if "inertia" in stated:
            inertias[i], centers[i] = stated["inertia"], stated.get("center_of_mass", (0, 0, 0))
            continue
        of_density = mass is None and "mass" not in stated and not stated.get("fixed")
        if not of_density and not 0 < mass_of[i] < np.inf:
            continue  # fixed, or refused with the number of the body
        _mass(table, i, real("density", stated.get("density", density), 0, above=True), row)
        scale = 1.0 if of_density else mass_of[i] / row[0]
        mass_of[i], centers[i], inertias[i] = scale * row[0], row[1:4], scale * row[4:]
    return columns


def body_column(name: str, value: Any, rows: int) -> Array:
    """A number for all bodies, or one for each."""
    array = np.asarray(value)
    if array.ndim == 0:
        array = np.full(rows, array)
    return take(name, array, np.float64, (), rows, True)


def bodies_of(library: Library, name: str, bodies: Sequence[int | Part | Body]) -> list[Body]:
    """The bodies of an argument, of shapes of the library."""
    if not isinstance(library, Library):
        raise OptionError(f"library: a {type(library).__name__}, want a Library")
    if isinstance(bodies, (int, Part, Body)):
        raise OptionError(f"{name}: {bodies!r:.60}, want a list of bodies")
    return [_body_of(b) for b in bodies]


def _body_of(body: int | Part | Body) -> Body:
    """A body, of one part if it is one."""
    if isinstance(body, Body):
        return body
    return Body((body if isinstance(body, Part) else Part(body),))


def _mass(table: Table, index: int, density: float, out: Array) -> None:
    n, error = nat.native(), nat.Error()
    code = n.bodies_mass(table.number, index, density, out.ctypes.data, error)
    n.raise_for(code, error)


@dataclass(frozen=True, eq=False, repr=False)
class FreeBodies:
    """M free bodies of a model, at its first state.

    ``mass`` [M] is in kg, inf for bodies that do not move, ``center`` [M,3] the center of mass in the frame of the
    body, ``inertia`` [M,6] about it (xx, yy, zz, xy, xz, yz) in the axes of the body. ``position`` [M,3] and
    ``rotation`` [M,4] ("wxyz") are the poses of the model. ``options`` are those of
    :class:`clearance.contact.Simulation` that the model states; ``clearance.contact.Simulation.of(bodies)`` takes all
    of them. ``omitted`` names what of the model was left out as asked.
    ``notes`` says what of URDF files was read otherwise than it stands there.
    """

    library: Library
    bodies: list[Body]
    mass: Array
    center: Array
    inertia: Array
    position: Array
    rotation: Array
    options: dict[str, Any]
    omitted: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def with_friction(self, friction: Any) -> FreeBodies:
        """The bodies with a friction, or one for each, in place of those that the model states, of parts and pairs too,
        and of its rule."""
        kept = {k: v for k, v in self.options.items() if k not in ("friction_rule", "surfaces")}
        bodies = [without_friction(b) for b in self.bodies]
        return replace(self, bodies=bodies, options={**kept, "friction": friction})

    def __repr__(self) -> str:
        return f"FreeBodies: {', '.join(b.name or '-' for b in self.bodies)}"


class Rigid:
    """The parts and masses of a body, in its frame."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.mass, self.first, self.second = 0.0, np.zeros(3), np.zeros((3, 3))

    def add_part(self, shape: int, position: Array, rotation: Array, part: Part) -> None:
        """A part of a link at a pose in the frame of the body."""
        at = position + rotated(rotation, np.asarray(part.position, np.float64))
        axes = product(rotation, np.asarray(part.rotation, np.float64))
        self.parts.append(replace(part, shape=shape, position=tuple(at), rotation=tuple(axes)))

    def add_mass(self, mass: float, center: Array, inertia: Array) -> None:
        """A mass with its inertia [3,3] about its center, in the axes of the body."""
        self.mass += mass
        self.first += mass * center
        self.second += inertia + mass * (center @ center * np.eye(3) - np.outer(center, center))

    def column(self) -> tuple[float, Array, Array]:
        """Mass, center and inertia [6] about it."""
        c = self.first / self.mass if self.mass else np.zeros(3)
        i = self.second - self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        return self.mass, c, np.array([i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]])


def _matrix(q: Array) -> Array:
    """The rotation matrix of a unit quaternion."""
    columns: Array = np.stack([rotated(q, e) for e in np.eye(3)], axis=1)
    return columns


def rotated_inertia(q: Array, inertia: Array) -> Array:
    m = _matrix(q)
    about: Array = m @ inertia @ m.T
    return about


def free_bodies(
    library: Library,
    bodies: list[Body],
    columns: list[Any],
    poses: list[Array],
    options: dict[str, Any],
    omitted: Collection[str] = (),
    notes: Collection[str] = (),
) -> FreeBodies:
    """Bodies by mass, center and inertia (columns) and poses [7] of each."""
    pose = np.array(poses).reshape(-1, 7)
    return FreeBodies(
        library,
        bodies,
        np.array([c[0] for c in columns]),
        np.array([c[1] for c in columns]).reshape(-1, 3),
        np.array([c[2] for c in columns]).reshape(-1, 6),
        pose[:, :3].copy(),
        pose[:, 3:].copy(),
        options,
        list(omitted),
        list(notes),
    )


def without_friction(body: Body) -> Body:
    """A body whose parts state no friction."""
    return replace(body, parts=tuple(replace(p, friction=None) for p in body.parts))


def pair_surfaces(
    bodies: int, of: Callable[[int, int], Array], default: Callable[[int, int], Any], skip: Collection[frozenset[int]]
) -> list[Surface]:
    """The surfaces of the pairs of bodies that are not skipped whose frictions [A,B], of each part of one with each of
    the other, are not those by default: one for a pair whose parts have one friction, or one for each pair of parts."""
    listed = []
    for j in range(bodies):
        for i in range(j):
            if frozenset((i, j)) in skip:
                continue
            values = of(i, j)
            rule = np.broadcast_to(default(i, j), values.shape)
            if (values == values[0, 0]).all():
                if (values != rule).any():
                    listed.append(Surface(i, j, friction=float(values[0, 0])))
                continue
            for k, m in np.argwhere(values != rule).tolist():
                listed.append(Surface(i, j, friction=float(values[k, m]), part_a=k, part_b=m))
    return listed


def placed(bodies: Sequence[Body], parts_pose: Any, quat: str) -> list[Body]:
    """The bodies with their parts at other poses [P,7], body after body."""
    count = sum(len(b.parts) for b in bodies)
    poses = take("parts_pose", parts_pose, np.float64, (7,), count, True)
    q = poses[:, 3:] if quat == "wxyz" else reordered(poses[:, 3:], (3, 0, 1, 2))
    size = np.linalg.norm(q, axis=1, keepdims=True)
    for name, wrong in (
        ("is not finite", ~np.isfinite(poses).all(axis=1)),
        ("has a quaternion of zeros", size[:, 0] == 0),
    ):
        if wrong.any():
            raise OptionError(f"parts_pose: row {int(np.flatnonzero(wrong)[0])} {name}")
    q, out, first = q / size, [], 0
    for b in bodies:
        parts = [
            replace(p, position=tuple(poses[k, :3].tolist()), rotation=tuple(q[k].tolist()))
            for k, p in enumerate(b.parts, first)
        ]
        first += len(parts)
        out.append(replace(b, parts=tuple(parts)))
    return out
