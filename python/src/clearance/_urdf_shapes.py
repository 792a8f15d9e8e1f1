"""The shapes of collision elements of URDF files."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np

from ._arrays import Array
from ._errors import ShapeError
from ._mesh_files import MeshFiles
from ._urdf_xml import Collision

_SAME: Final = np.array([1.0, 0, 0, 0])


def shapes_of(collision: Collision, meshes: MeshFiles) -> tuple[list[int], Array]:
    """The shapes of a collision element, and their rotation in its frame."""
    lib, geometry = meshes.library, collision.geometry
    options: dict[str, Any] = {"name": collision.name, "margin": meshes.margin}
    kind, numbers = geometry.kind, geometry.numbers
    if kind == "mesh":
        return meshes.shapes(geometry.filename, numbers, collision.name, collision.where), _SAME
    if kind == "plane":
        return [lib.halfspace(**options)], _from_z(numbers)
    try:
        if not numbers.all() and not (kind == "capsule" and numbers[0]):
            shape = lib.convex(_flat(kind, numbers), **options)
            what = f"a {kind} of {_names(kind)} {' '.join(f'{x:g}' for x in numbers)}, taken as flat"
            meshes.notes.take(collision.where, what)
        elif kind == "box":
            shape = lib.box(numbers / 2, **options)
        elif kind == "sphere":
            shape = lib.sphere(numbers[0], **options)
        else:
            shape = (lib.cylinder if kind == "cylinder" else lib.capsule)(numbers[0], numbers[1] / 2, **options)
    except ShapeError as e:
        raise ShapeError(f"{collision.where}: {e}") from e
    return [shape], _SAME


def _names(kind: str) -> str:
    return {"box": "size", "sphere": "radius"}.get(kind, "radius and length")


def _flat(kind: str, numbers: Array) -> Array:
    """The points [N,3] of a shape without a thickness."""
    if kind == "box":
        return np.array(list(itertools.product(*([-x / 2, x / 2] if x else [0.0] for x in numbers.tolist()))))
    if kind == "sphere":
        return np.zeros((1, 3))
    radius, length = numbers.tolist()
    if radius:
        raise ShapeError(f"cylinder: length = 0 with radius {radius:g}: a disc is no shape that is known, want > 0")
    return np.array([[0, 0, -length / 2], [0, 0, length / 2]] if length else [[0.0, 0, 0]])


def _from_z(normal: Array) -> Array:
    """A rotation [4] that rotates z to a direction."""
    scaled = normal / np.abs(normal).max()  # so that no square under- or overflows
    x, y, z = scaled / np.linalg.norm(scaled)
    # (1 + z, -y, x, 0) lies half-way between no rotation and twice the angle; its length is at least √2 for z ≥ 0.
    # Below, half a revolution about x comes first, which rotates z to -z.
    q = np.array([1 + z, -y, x, 0] if z >= 0 else [-y, 1 - z, 0, x])
    unit: Array = q / np.linalg.norm(q)
    return unit
