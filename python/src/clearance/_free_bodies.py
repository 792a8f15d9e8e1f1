"""Free rigid bodies of models, for simulations."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ._arrays import Array
from ._bodies import Body, Part, Surface
from ._kinematics import product, rotated
from ._library import Library


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
