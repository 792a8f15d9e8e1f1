"""The collision geometry of a Pinocchio model as shapes of a library, and the pairs of them that are near.

A geometry object stands at a constant placement in the frame of its joint. Primitives are taken as they are, a mesh as
the convex hull of its vertices. A pair is culled if the balls around both shapes are farther apart than the largest
gap of a contact, which proves that there is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ._arrays import Array
from ._errors import ShapeError
from ._library import Library

# Rounding of the distance of two balls, relative to the coordinates: thousands of units.
_ROUNDING: Final = 1e-12


@dataclass(eq=False)
class Geometry:
    """G shapes at joints, and P pairs of them.

    ``joint`` int [G] is the joint of a shape, 0 of one that does not move; ``position`` [G,3] and ``rotation`` [G,3,3]
    place it in the frame of the joint. ``center`` [G,3] and ``radius`` [G] are a ball around it, in its own frame; the
    radius of a half-space is infinite. ``pairs`` int [P,2] are shapes of different joints.
    """

    library: Library = field(default_factory=Library)
    names: list[str] = field(default_factory=list)
    shapes: list[int] = field(default_factory=list)
    joints: list[int] = field(default_factory=list)
    positions: list[Array] = field(default_factory=list)
    rotations: list[Array] = field(default_factory=list)
    balls: list[tuple[Array, float]] = field(default_factory=list)
    pairs: Array = field(default_factory=lambda: np.zeros((0, 2), np.int32))

    def add(self, name: str, shape: int, joint: int, position: Any, rotation: Any) -> int:
        """Add a shape of the library, and return its index."""
        self.names.append(name)
        self.shapes.append(shape)
        self.joints.append(joint)
        self.positions.append(np.array(position, np.float64))
        self.rotations.append(np.array(rotation, np.float64))
        self.balls.append(_ball(self.library, shape))
        return len(self.names) - 1

    def close(self) -> None:
        """Make the arrays, once all shapes are there."""
        g = len(self.names)
        self.shape = np.array(self.shapes, np.int32).reshape(g)
        self.joint = np.array(self.joints, np.int64).reshape(g)
        self.position = np.array(self.positions, np.float64).reshape(g, 3)
        self.rotation = np.array(self.rotations, np.float64).reshape(g, 3, 3)
        self.center = np.array([b[0] for b in self.balls], np.float64).reshape(g, 3)
        self.radius = np.array([b[1] for b in self.balls], np.float64).reshape(g)
        reach = self.radius[self.pairs]
        # The sum of the radii of the bounded shapes of each pair.
        self.size = np.where(np.isfinite(reach), reach, 0).sum(axis=1)

    def placements(self, joint_position: Array, joint_rotation: Array) -> tuple[Array, Array]:
        """Positions [W,G,3] and rotations [W,G,3,3] in the world, by those of the joints [W,N,3], [W,N,3,3]."""
        rotation = joint_rotation[:, self.joint]
        position = joint_position[:, self.joint] + np.einsum("wgij,gj->wgi", rotation, self.position)
        return position, rotation @ self.rotation

    def near(self, position: Array, rotation: Array, max_gap: float) -> tuple[Array, Array]:
        """The rows (world [N], pair [N]), world after world, whose shapes are not proved farther apart."""
        a, b = self.pairs[:, 0], self.pairs[:, 1]
        center = position + np.einsum("wgij,gj->wgi", rotation, self.center)
        ra, rb = self.radius[a], self.radius[b]
        apart = np.linalg.norm(center[:, b] - center[:, a], axis=-1) - (ra + rb)
        for first, second, radius in ((a, b, rb), (b, a, ra)):
            plane = np.isinf(self.radius[first])  # a half-space, whose normal is its z axis
            above = center[:, second[plane]] - position[:, first[plane]]
            apart[:, plane] = np.einsum("wpi,wpi->wp", above, rotation[:, first[plane]][..., 2]) - radius[plane]
        scale = np.abs(center).sum(axis=-1)
        # NaN is near: the engine then refuses the row with its reason.
        kept = ~(apart - _ROUNDING * (scale[:, a] + scale[:, b] + self.size) > max_gap)
        world, pair = np.nonzero(kept)
        return world.astype(np.int32), pair


def _ball(library: Library, shape: int) -> tuple[Array, float]:
    """A ball around a shape, about the middle of its box."""
    if library[shape].kind == "halfspace":
        return np.zeros(3), np.inf
    parameters = library[shape].parameters
    axes = np.vstack([np.eye(3), -np.eye(3)])
    extents = np.einsum("ij,ij->i", library.support(shape, axes), axes)
    center = 0.5 * (extents[:3] - extents[3:])
    margin = library[shape].margin
    if "vertices" in parameters:
        vertices = np.asarray(parameters["vertices"], np.float64)
        return center, float(np.linalg.norm(vertices - center, axis=1).max()) + margin
    if library[shape].kind in ("sphere", "ellipsoid"):
        return center, float((extents[:3] + extents[3:]).max()) / 2
    return center, float(np.linalg.norm(extents[:3] + extents[3:])) / 2


def geometry_of(model: Any, geometry: Any) -> Geometry:
    """The shapes and the pairs of a ``pinocchio.GeometryModel``; those without collisions are left out."""
    out = Geometry()
    kept: dict[int, int] = {}
    hulls: dict[bytes, int] = {}
    for index, item in enumerate(geometry.geometryObjects):
        if item.disableCollision:
            continue
        shape, position, rotation = _shape_of(out.library, item, hulls)
        placement = item.placement
        position = placement.translation + placement.rotation @ position
        kept[index] = out.add(item.name, shape, int(item.parentJoint), position, placement.rotation @ rotation)
    pairs: list[tuple[int, int]] = []
    for pair in geometry.collisionPairs:
        i, j = int(pair.first), int(pair.second)
        if i not in kept or j not in kept:
            continue
        a, b = kept[i], kept[j]
        planes = [out.library[out.shapes[k]].kind == "halfspace" for k in (a, b)]
        if out.joints[a] != out.joints[b] and not all(planes):
            pairs.append((a, b))
    out.pairs = np.array(pairs, np.int32).reshape(-1, 2)
    return out


def _shape_of(library: Library, item: Any, hulls: dict[bytes, int]) -> tuple[int, Array, Array]:
    """The shape of a geometry object, with its position and its rotation in the frame of the object."""
    g, name = item.geometry, item.name
    kind = type(g).__name__
    margin = float(g.getSweptSphereRadius()) if hasattr(g, "getSweptSphereRadius") else 0.0
    origin, level = np.zeros(3), np.eye(3)
    if kind == "Sphere":
        return library.sphere(float(g.radius), margin=margin, name=name), origin, level
    if kind == "Box":
        return library.box(np.array(g.halfSide, np.float64).ravel(), margin=margin, name=name), origin, level
    if kind == "Ellipsoid":
        return library.ellipsoid(np.array(g.radii, np.float64).ravel(), margin=margin, name=name), origin, level
    if kind in ("Capsule", "Cylinder", "Cone"):
        add = getattr(library, kind.lower())
        return add(float(g.radius), float(g.halfLength), margin=margin, name=name), origin, level
    if kind == "Halfspace":  # n·x ≤ d
        normal = np.array(g.n, np.float64).ravel()
        return library.halfspace(margin=margin, name=name), float(g.d) * normal, upright(normal)
    if kind.startswith("BVHModel"):
        points = np.array(g.vertices(), np.float64)
    elif kind.startswith("Convex"):
        points = np.array(g.points(), np.float64)
    elif kind == "TriangleP":
        points = np.array([g.a, g.b, g.c], np.float64)
    else:
        raise ShapeError(f"geometry object {name!r}: a {kind}, want a primitive, a half-space or a mesh")
    points = np.ascontiguousarray(points.reshape(-1, 3))
    key = points.tobytes() + np.float64(margin).tobytes()
    if key not in hulls:
        hulls[key] = library.convex(points, margin=margin, name=name)
    return hulls[key], origin, level


def upright(normal: Array) -> Array:
    """A rotation [3,3] whose third column is a unit vector."""
    return np.stack([*tangents(normal[None])[0, :2], normal], axis=1)


def tangents(normal: Array) -> Array:
    """Frames [K,3,3] of unit normals [K,3]: the rows t1, t2 and n, by the formula of Duff et al. (2017)."""
    x, y, z = normal[:, 0], normal[:, 1], normal[:, 2]
    s = np.copysign(1.0, z)
    a = -1 / (s + z)
    b = x * y * a
    rows = [1 + s * x * x * a, s * b, -s * x, b, s + y * y * a, -y, x, y, z]
    return np.stack(rows, axis=1).reshape(-1, 3, 3)
