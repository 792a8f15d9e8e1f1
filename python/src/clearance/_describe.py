"""The scene description, ``docs/scene.md``: rows with shapes, poses and answers as one document that viewers read."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ._arrays import Array
from ._kinematics import normalized, product, rotated
from ._library import Library

FORMAT: Final = "clearance scene"
VERSION: Final = 1

# A shape is described as the hull of its support points in so many directions, or of its vertices if it has no more.
_DIRECTIONS: Final = 700
_VERTICES: Final = 2000

# The length up to which a list of numbers is an array of JSON.
_SHORT: Final = 64

# A part of a body: its shape, and its pose in the body (position, quaternion "wxyz").
Placed = tuple[int, Array]


def packed(values: Any) -> Any:
    """A list of numbers of the document: short ones as an array, in which None is NaN, others as bytes in base64."""
    array = np.asarray(values).ravel()
    if array.dtype.kind == "f":
        if len(array) <= _SHORT:
            return [float(x) if math.isfinite(x) else None for x in array]
        name = "float32" if array.dtype == np.float32 else "float64"
    elif len(array) <= _SHORT:
        return [int(x) for x in array]
    else:
        name = "uint8" if array.dtype == np.uint8 else "int32"
    data = np.ascontiguousarray(array, np.dtype(name).newbyteorder("<")).tobytes()
    return {name: base64.b64encode(data).decode("ascii")}


def unpacked(values: Any) -> Array:
    """The numbers of a list of the document."""
    if isinstance(values, dict):
        ((name, text),) = values.items()
        array: Array = np.frombuffer(base64.b64decode(text), np.dtype(name).newbyteorder("<"))
        return array
    return np.array([np.nan if x is None else x for x in values])


@dataclass
class Rows:
    """What the rows of a document are about; [N] but for poses [N,7]. Poses that are not known are NaN.

    ``shape_a`` and ``nearest_a`` are the shape that attains the value, -1 if that is not known, and its pose, whose
    quaternion need not be unit: a solver is to get what the query got.
    """

    body_a: Array
    body_b: Array
    pose_a: Array
    pose_b: Array
    shape_a: Array
    shape_b: Array
    nearest_a: Array
    nearest_b: Array
    place: dict[str, Array] = field(default_factory=dict)  # world, place_a, place_b, time

    def sides(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        return (self.shape_a, self.nearest_a), (self.shape_b, self.nearest_b)


def known(poses: Array) -> Array:
    """Poses [..., 7] with unit quaternions; all numbers of one that is no pose are NaN."""
    poses = normalized(np.array(poses, np.float64))
    poses[~np.isfinite(poses).all(axis=-1)] = np.nan
    return poses


def composed(poses: Array, position: Array, rotation: Array) -> Array:
    """Poses [N,7] of parts at poses in bodies at poses [N,7]; quaternions of the parts need not be unit."""
    out = np.empty_like(poses)
    out[:, :3] = poses[:, :3] + rotated(poses[:, 3:], position)
    out[:, 3:] = product(poses[:, 3:], rotation / np.linalg.norm(rotation, axis=-1, keepdims=True))
    return out


def planes(library: Library, shape: Array, pose: Array, normal: Array, sign: float) -> Array:
    """The support planes ⟨normal, x⟩ = plane [N] of shapes at poses along sign·normal; NaN of half-spaces."""
    out, pose = np.full(len(shape), np.nan), known(pose)
    good = (shape >= 0) & np.isfinite(normal).all(axis=1) & np.isfinite(pose).all(axis=1)
    for s in np.unique(shape[good]).tolist():
        if library[s].kind == "halfspace":
            continue
        rows = np.flatnonzero(good & (shape == s))
        n, p = normal[rows], pose[rows]
        points = library.support(s, sign * rotated(p[:, 3:] * [1, -1, -1, -1], n))
        out[rows] = (n * (p[:, :3] + rotated(p[:, 3:], points))).sum(axis=1)
    return out


def centers(library: Library, shape: Array, pose: Array) -> Array:
    """The points [N,3] in the world about which growth distances scale shapes at poses."""
    out, pose = np.full((len(shape), 3), np.nan), known(pose)
    for s in np.unique(shape[shape >= 0]).tolist():
        rows = np.flatnonzero(shape == s)
        out[rows] = pose[rows, :3] + rotated(pose[rows, 3:], np.broadcast_to(library.center(s), (len(rows), 3)))
    return out


def shapes_of(library: Library, used: Sequence[int]) -> list[dict[str, Any]]:
    """Shapes of a library as the document has them."""
    return [{"name": library[s].name or "", "kind": library[s].kind, "points": _points(library, s)} for s in used]


def _points(library: Library, index: int) -> Any:
    """The points whose hull is a shape, float32."""
    s = library[index]
    if s.kind == "halfspace":
        return []
    if s.kind == "convex" and not s.margin and len(s.parameters["vertices"]) <= _VERTICES:
        points = np.asarray(s.parameters["vertices"])
    elif s.kind == "box" and not s.margin:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = corners * s.parameters["half_extents"]
    else:
        points = np.unique(library.support(index, directions(_DIRECTIONS)), axis=0)
    return packed(points.astype(np.float32))


def directions(count: int) -> Array:
    """Unit vectors on a spiral, about evenly over the sphere."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def bodies_of(bodies: Sequence[tuple[str, Sequence[Placed]]], used: dict[int, int]) -> list[dict[str, Any]]:
    """Bodies as the document has them. used has the place of each shape in the document, and is extended."""
    return [
        {
            "name": name,
            "parts": [{"shape": used.setdefault(s, len(used)), "pose": [float(x) for x in pose]} for s, pose in parts],
        }
        for name, parts in bodies
    ]


def world_of(world: int, bodies: Any, times: Any, poses: Array) -> dict[str, Any]:
    """A world as the document has it: bodies [M], times [K], poses [K,M,7]."""
    return {
        "world": int(world),
        "bodies": packed(np.asarray(bodies, np.int32)),
        "times": packed(np.asarray(times, np.float64)),
        "poses": packed(known(poses)),
    }


def between(first: Array, second: Array, share: float) -> Array:
    """The pose [7], "wxyz", of a body that moves along a line and rotates about a fixed axis, by the shorter arc."""
    p, q = (pose[3:] / np.linalg.norm(pose[3:]) for pose in (first, second))
    if p @ q < 0:
        q = -q
    angle = 2 * np.arctan2(np.linalg.norm(q - p), np.linalg.norm(q + p))
    if angle > 1e-9:
        p = (np.sin((1 - share) * angle) * p + np.sin(share * angle) * q) / np.sin(angle)
    return np.concatenate([(1 - share) * first[:3] + share * second[:3], p])
