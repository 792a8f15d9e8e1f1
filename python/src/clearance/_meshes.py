"""Meshes in memory, checked as those of files are, and meshes in formats that only trimesh reads."""

from __future__ import annotations

import importlib
import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final, Literal, get_args
from xml.etree import ElementTree

import numpy as np

from ._arrays import Array
from ._errors import ConcaveError, FileError
from ._options import one_of
from ._shape import Shape, read_mesh

# Readers of other formats take some 20 times the size of a file as memory.
_MAX_SIZE: Final = 1 << 27

# Formats that the native library reads, by their extensions.
MESHES: Final = (".obj", ".stl", ".ply")

UpAxis = Literal["ignore", "file"]
UP_AXES: Final = get_args(UpAxis)

# Elements of COLLADA that say how a model looks, not where its surface is.
_LOOKS: Final = frozenset(
    {"library_" + x for x in ("animations", "animation_clips", "cameras", "effects", "images", "lights", "materials")}
    | {"bind_material", "extra", "instance_camera", "instance_light"}
)

# The rotations to Z_UP. COLLADA 1.4.1, <up_axis>: right, up and towards the viewer are -y, x, z of X_UP, x, y, z of
# Y_UP and x, z, -y of Z_UP.
_UP_AXES: Final = {
    "X_UP": ((0, -1, 0), (0, 0, -1), (1, 0, 0)),
    "Y_UP": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "Z_UP": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}


def convex_parts(vertices: Any, faces: Any, what: str, advice: str = "", tolerance: float | None = None) -> list[Shape]:
    """The convex parts of the mesh of vertices [N,3] and triangles [F,3]: one, or its connected components;
    ConcaveError if one of them is not convex to the tolerance, see :meth:`Library.mesh`.

    ``what`` is named in place of a file, ``advice`` says what else than the hull may be taken.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.obj"
        lines = ["v {!r} {!r} {!r}".format(*map(float, v)) for v in vertices]
        lines += ["f {} {} {}".format(*(int(i) + 1 for i in f)) for f in faces]
        path.write_text("\n".join(lines) + "\n")
        try:
            return read_mesh(path, False, tolerance)
        except FileError as e:
            reason = str(e).replace(str(path), what)
            try:
                read_mesh(path, True)
            except FileError as other:  # anything but concave parts
                raise FileError(reason) from other
            raise ConcaveError(reason, advice) from e


def foreign_mesh(file: Path, up_axis: UpAxis = "ignore") -> tuple[Array, Array]:
    """Vertices [N,3], in metres, and triangles [F,3] of a mesh file of any format that trimesh reads, its parts as
    one. The axes are those of the file; with ``up_axis="file"``, those of COLLADA are rotated to z up."""
    one_of("up_axis", up_axis, UP_AXES)
    try:
        trimesh: Any = importlib.import_module("trimesh")
    except ImportError as e:
        raise ImportError(f"{file} is read by trimesh: pip install trimesh") from e
    _check_size(file)
    axes = _axes(file) if up_axis == "file" else np.eye(3)
    given: dict[str, Any] = {"file_obj": os.fspath(file)}
    if file.suffix.lower() == ".dae":
        given = {"file_obj": io.BytesIO(_geometry(file)), "file_type": "dae", "ignore_broken": False}
    try:
        mesh = trimesh.load(**given, force="mesh", process=False)  # which drops nothing
        vertices = np.array(mesh.vertices, np.float64).reshape(-1, 3)
        faces = np.array(mesh.faces, np.int64).reshape(-1, 3)
    except Exception as e:  # of many libraries
        raise FileError(f"{file}: trimesh cannot read it: {type(e).__name__}: {e}") from e
    if not len(faces):
        raise FileError(f"{file}: no triangles")
    return (vertices @ axes.T) * _metres(trimesh, mesh.units, file), faces


def _geometry(file: Path) -> bytes:
    """A COLLADA file without what has no part in its geometry.

    trimesh leaves out, in silence, the triangles whose material refers to something that the file does not have, such
    as an image. Without materials none are left out, and a broken reference of the geometry itself is an error.
    """
    try:
        root = ElementTree.parse(file).getroot()
    except (OSError, ElementTree.ParseError) as e:
        raise FileError(f"{file} is no COLLADA file: {e}") from e
    for element in root.iter():
        element.attrib.pop("material", None)
        element[:] = [c for c in element if _local(c) not in _LOOKS]
    return ElementTree.tostring(root)


def _check_size(file: Path) -> None:
    """Raise FileError for a file that would take much memory, also as an archive that small files may hide it in."""
    size = file.stat().st_size
    with file.open("rb") as f:
        begin = f.read(4)
    if begin.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zX", b"\x28\xb5\x2f\xfd")) or ".tar" in file.suffixes:
        raise FileError(f"{file} is compressed: unpack it")
    if begin == b"PK\x03\x04":
        if file.suffix.lower() in (".zip", ".zae"):
            raise FileError(f"{file} is an archive: unpack it")
        try:
            with zipfile.ZipFile(file) as z:
                size = sum(member.file_size for member in z.infolist())
        except (zipfile.BadZipFile, OSError) as e:
            raise FileError(f"{file} is a damaged archive: {e}") from e
    if size > _MAX_SIZE:
        raise FileError(f"{file} has {size:,} bytes, want at most {_MAX_SIZE:,}: write it as OBJ, STL or PLY")


def _axes(file: Path) -> Array:
    """The rotation [3,3] of a mesh file to z up: of COLLADA files by their ``up_axis``, Y_UP without one."""
    kind = file.suffix.lower()
    if kind != ".dae":
        return np.eye(3)
    axis, depth = "Y_UP", 0
    try:
        for event, element in ElementTree.iterparse(file, ("start", "end")):
            depth += 1 if event == "start" else -1
            if depth == 1 and event == "end" and _local(element) == "asset":
                axis = next(((c.text or "").strip() for c in element if _local(c) == "up_axis"), axis)
                break
    except (OSError, ElementTree.ParseError) as e:
        raise FileError(f"{file} is no COLLADA file: {e}") from e
    if axis not in _UP_AXES:
        raise FileError(f"{file}: up_axis {axis!r}, want one of {', '.join(_UP_AXES)}")
    return np.array(_UP_AXES[axis], np.float64)


def _local(element: ElementTree.Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rsplit("}", 1)[-1]


def _metres(trimesh: Any, unit: str | None, file: Path) -> float:
    """The metres of the unit that a file states, by trimesh's name of it. A file without one is in metres."""
    if unit is None:
        return 1.0
    try:
        metres = float(trimesh.units.unit_conversion(unit, "meters"))
    except (KeyError, ValueError) as e:
        raise FileError(f"{file}: the unit {unit!r} is not known") from e
    if not 0 < metres < np.inf:
        raise FileError(f"{file}: the unit {unit!r}, want a length above 0")
    return metres
