"""The mesh files that a model names, where they are, and the shapes of its collision elements."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import numpy as np

from ._arrays import Array
from ._errors import ConcaveError, FileError, ShapeError
from ._library import Library
from ._meshes import MESHES, OTHERS, UpAxis, convex_parts, decomposed, foreign_mesh, mesh_shapes
from ._packages import SCHEMES, folders, inside
from ._shape import Shape
from ._urdf_xml import Collision
from ._xml import Notes


def mesh_file(file: Path, concave: str, tolerance: float | None, up_axis: UpAxis) -> list[Shape]:
    """The convex parts of a mesh file of any format, or its hull; options are those of :func:`clearance.urdf.load`."""
    if file.suffix.lower() in MESHES:
        return mesh_shapes(file, concave, tolerance)
    vertices, faces = foreign_mesh(file, up_axis)
    if concave != "hull":
        try:
            return convex_parts(vertices, faces, os.fspath(file), OTHERS, tolerance)
        except ConcaveError:
            if concave == "raise":
                raise
            return decomposed(file, up_axis)
    return [Shape("convex", {"vertices": vertices})]


@dataclass(eq=False)
class MeshFiles:
    """The mesh files of a model, each read once, and their shapes, each made once for a scale.

    ``folder`` is that of the model; ``packages`` are the folders of packages by name.
    """

    folder: Path
    packages: Mapping[str, str | os.PathLike[str]]
    library: Library
    notes: Notes
    concave: str
    tolerance: float | None
    margin: float
    up_axis: UpAxis
    _found: dict[str, Path] = field(default_factory=dict)
    _parts: dict[Path, list[Shape]] = field(default_factory=dict)
    _made: dict[tuple[Path, tuple[float, ...]], list[int]] = field(default_factory=dict)

    def shapes(self, uri: str, scale: Array, name: str, where: str) -> list[int]:
        """The shapes of a mesh at a scale. ``name`` is that of shapes that are new; errors begin with ``where``."""
        file = self._found.get(uri)
        if file is None:
            file = self._found[uri] = self.find(uri, where)
        key = file, tuple(scale.tolist())
        if key not in self._made:
            try:
                if file not in self._parts:
                    self._parts[file] = mesh_file(file, self.concave, self.tolerance, self.up_axis)
                options: dict[str, Any] = {"name": name, "margin": self.margin}
                parts = self._parts[file]
                self._made[key] = [self.library.convex(s.parameters["vertices"] * scale, **options) for s in parts]
            except ConcaveError as e:
                raise ConcaveError(f"{where}: {e.reason}", e.others) from e
            except (FileError, ShapeError) as e:
                raise type(e)(f"{where}: {e}") from e
        return self._made[key]

    def find(self, uri: str, where: str) -> Path:
        """The file of a name in the model."""
        tried = self.places(uri, where)
        for file in tried:
            if file.is_file():
                return file
        for name, what in ((unquote(uri), "percent-encoded"), (uri.replace("\\", "/"), "with backslashes")):
            if name != uri:
                for file in self.places(name, where):
                    if file.is_file():
                        self.notes.take(where, f"the name of a file, {what}", f": {uri}")
                        return file
        if uri.startswith(SCHEMES):
            raise FileError(f"{where}: {uri} is not found; packages={{name: folder}} says where packages are")
        raise FileError(f"{where}: {tried[0]} is not found")

    def places(self, uri: str, where: str) -> list[Path]:
        """The files that a name may mean, the likeliest first."""
        above = [self.folder.resolve(), *self.folder.resolve().parents]
        if not uri.startswith(SCHEMES):
            if "://" in uri and not uri.startswith("file://"):
                raise FileError(f"{where}: {uri}: want a path, file://, package:// or model://")
            return [self.folder / uri.removeprefix("file://")]
        if uri.partition("://")[2].startswith("/"):
            self.notes.take(where, "a name without a package, taken as one that begins with it", f": {uri}")
        package, rest = inside(uri, where)
        if package in self.packages:
            return [Path(self.packages[package]) / rest]
        around = [p / rest for p in above if p.name == package] + [p / package / rest for p in above]
        return around + [p / package / rest for p in folders()]


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
