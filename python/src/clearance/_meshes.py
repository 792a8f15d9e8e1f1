"""Meshes: in memory, checked as those of files are, in formats that only trimesh reads, and cut into convex parts.

Convex parts of concave meshes are found by CoACD [Wei2022], an optional package.

[Wei2022] X. Wei, M. Liu, Z. Ling, H. Su, "Approximate Convex Decomposition for 3D Meshes with Collision-Aware Concavity
and Tree Search", ACM Transactions on Graphics 41(4), 2022.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final, Literal, get_args
from xml.etree import ElementTree

import numpy as np

from ._arrays import Array
from ._errors import ConcaveError, FileError, OptionError
from ._options import not_onto, one_of, path_bytes, real, whole
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


CONCAVE: Final = ("raise", "hull", "coacd")


def concavity(concave: str) -> str:
    """The option of that name, checked."""
    if concave not in CONCAVE:
        raise OptionError(f'concave: {concave!r}, want "raise", "hull" or "coacd"')
    return concave


# What else than its hull a concave mesh may be taken as.
OTHERS: Final = 'concave="coacd" takes convex parts (clearance decompose), tolerance= a mesh that is nearly convex'


def mesh_shapes(path: str | os.PathLike[str], concave: str, tolerance: float | None = None) -> list[Shape]:
    """The convex parts of an OBJ, STL or PLY file, those of CoACD if a part is concave, or the hull of the whole.
    ``tolerance`` is that of :meth:`Library.mesh`."""
    if concavity(concave) == "hull":
        return read_mesh(path, True)
    try:
        return read_mesh(path, False, tolerance)
    except FileError as e:
        read_mesh(path, True)  # raises if anything but concave parts is wrong with the file
        if concave == "raise":
            raise ConcaveError(str(e), OTHERS) from e
    return decomposed(path)


def decomposed(path: str | os.PathLike[str], up_axis: UpAxis = "ignore") -> list[Shape]:
    """The parts that :func:`decompose` finds with its default options."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "parts.obj"
        decompose(path, out, up_axis=up_axis)
        return read_mesh(out, False)


def decompose(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    threshold: float = 0.05,
    max_parts: int | None = None,
    seed: int = 0,
    up_axis: UpAxis = "ignore",
) -> int:
    """Write the parts of an approximate convex decomposition of a closed mesh, and return their number.

    ``path`` is any mesh file that trimesh reads; ``out`` is an OBJ file with one group per part, in metres if the
    mesh file states its unit, else in its numbers, that :meth:`Library.mesh_parts` reads. Axes are those of the file;
    ``up_axis="file"`` rotates COLLADA to z up. ``threshold`` is CoACD's concavity of a part, from 0.01 (many parts,
    close to the mesh) to 1. It is an approximation: distances are proved for the parts, not for the mesh. Equal input,
    options and version of CoACD give an equal file. It needs the packages coacd and trimesh.
    """
    for what, given in (("mesh", path), ("out", out)):
        path_bytes(what, given, FileError)
    if not 0.01 <= real("threshold", threshold) <= 1:
        raise OptionError(f"threshold: {threshold}, want a number from 0.01 to 1")
    most = -1 if max_parts is None else whole("max_parts", max_parts, 1)
    start = whole("seed", seed, 0)
    if Path(out).suffix.lower() != ".obj":
        raise FileError(f"{os.fspath(out)}: parts are written as OBJ, want a name that ends in .obj")
    not_onto(out, [path])
    try:
        coacd: Any = importlib.import_module("coacd")
    except ImportError as e:
        raise ImportError("concave meshes are decomposed by CoACD: pip install coacd trimesh") from e
    vertices, faces = _closed(Path(path), up_axis)
    coacd.set_log_level("error")
    mesh = coacd.Mesh(vertices, faces)
    from importlib import metadata  # which imports much that no other use of the package needs

    parts = coacd.run_coacd(mesh, threshold=float(threshold), max_convex_hull=most, seed=start)
    if not parts:
        raise FileError(f"{os.fspath(path)}: CoACD found no parts")
    name = Path(path).name
    by = f"CoACD {metadata.version('coacd')}, threshold {float(threshold)!r}, seed {start}"
    lines = [f"# {len(parts)} convex parts of {name} by {by}"]
    first = 1
    for k, (corners, triangles) in enumerate(parts):
        lines.append(f"g part_{k}")
        lines += ["v {!r} {!r} {!r}".format(*map(float, v)) for v in corners]
        lines += ["f {} {} {}".format(*(int(i) + first for i in t)) for t in triangles]
        first += len(corners)
    try:
        Path(out).write_text("\n".join(lines) + "\n")
    except OSError as e:
        raise FileError(f"{os.fspath(out)}: {e.strerror}") from e
    return len(parts)


def _closed(path: Path, up_axis: UpAxis) -> tuple[Array, Array]:
    """Vertices and triangles of a closed surface, equal vertices as one; an error says where it is open."""
    if not path.is_file():
        raise FileError(f"{path}: no such file")
    given, faces = foreign_mesh(path, up_axis)
    if not np.isfinite(given).all():
        raise FileError(f"{path}: vertex {int(np.argwhere(~np.isfinite(given))[0, 0])} is not finite")
    vertices, place = np.unique(given + 0.0, axis=0, return_inverse=True)  # + 0.0: -0 equals 0
    corners = place.reshape(-1)[faces]
    a, b, c = corners.T
    corners = corners[(a != b) & (b != c) & (c != a)]
    edges = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    # The surface is closed and oriented if each directed edge has as many opposite ones.
    code = edges[:, 0] * len(vertices) + edges[:, 1]
    back = edges[:, 1] * len(vertices) + edges[:, 0]
    codes, counts = np.unique(code, return_counts=True)
    at = np.searchsorted(codes, back).clip(max=len(codes) - 1)
    opposite = np.where(codes[at] == back, counts[at], 0)
    bad = np.flatnonzero(opposite != counts[np.searchsorted(codes, code)])
    if bad.size:
        p, q = (", ".join(f"{x:g}" for x in vertices[i]) for i in edges[bad[0]])
        raise FileError(
            f"{path} is not closed: {bad.size} edges have a triangle on one side alone, or two that disagree about the "
            f"outside; the first runs from ({p}) to ({q}). Repair it first, or take its hull"
        )
    x, y, z = (vertices[corners[:, i]] - vertices.mean(axis=0) for i in range(3))
    volume = float(np.einsum("ij,ij->", x, np.cross(y, z)))
    if not abs(volume) > 1e-12 * float(np.prod(np.ptp(vertices, axis=0).clip(min=1e-300))) or not len(corners):
        raise FileError(f"{path} has no volume")
    return vertices, corners.astype(np.int32)  # CoACD takes either orientation


def command(words: list[str]) -> int:
    """``clearance decompose``: the convex parts of a mesh as an OBJ file with one group per part."""
    parser = argparse.ArgumentParser(
        prog="clearance decompose",
        description="the convex parts of a closed mesh, by CoACD (pip install coacd trimesh)",
    )
    parser.add_argument("mesh", help="a mesh file that trimesh reads")
    parser.add_argument("out", help="the OBJ file to write, one group per part")
    parser.add_argument("--threshold", type=float, default=0.05, help="concavity of a part, 0.01 to 1 (default 0.05)")
    parser.add_argument("--max-parts", type=int, help="the greatest number of parts, at the cost of the threshold")
    parser.add_argument("--seed", type=int, default=0, help="of the search (default 0)")
    options = parser.parse_args(words)
    try:
        count = decompose(
            options.mesh,
            options.out,
            threshold=options.threshold,
            max_parts=options.max_parts,
            seed=options.seed,
        )
    except ImportError as e:
        print(f"clearance: {e}", file=sys.stderr)
        return 3
    print(f"{options.out}: {count} convex parts" if count > 1 else f"{options.out}: 1 convex part")
    return 0
