"""Meshes in memory, checked as those of files are, and meshes in formats that only trimesh reads."""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ._arrays import Array
from ._errors import FileError
from ._library import read_mesh


def check_convex(vertices: Any, faces: Any, what: str, advice: str) -> None:
    """Raise FileError if the mesh of vertices [N,3] and triangles [F,3] is not convex to 3 % of its size.

    ``what`` is named in place of a file, ``advice`` follows the reason.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mesh.obj"
        lines = ["v {!r} {!r} {!r}".format(*map(float, v)) for v in vertices]
        lines += ["f {} {} {}".format(*(int(i) + 1 for i in f)) for f in faces]
        path.write_text("\n".join(lines) + "\n")
        try:
            read_mesh(path, False)
        except FileError as e:
            raise FileError(f"{str(e).replace(str(path), what)}. {advice}") from e


def foreign_mesh(file: Path) -> tuple[Array, Array]:
    """Vertices [N,3], in metres, and triangles [F,3] of a mesh file of any format that trimesh reads, its parts as
    one."""
    try:
        trimesh: Any = importlib.import_module("trimesh")
    except ImportError as e:
        raise ImportError(f"{file} is read by trimesh: pip install trimesh") from e
    _check_axes(file)
    try:
        mesh = trimesh.load(os.fspath(file), force="mesh", process=False)  # which drops nothing
        vertices = np.array(mesh.vertices, np.float64).reshape(-1, 3)
        faces = np.array(mesh.faces, np.int64).reshape(-1, 3)
    except Exception as e:  # of many libraries
        raise FileError(f"{file}: trimesh cannot read it: {type(e).__name__}: {e}") from e
    return vertices * _metres(trimesh, mesh.units, file), faces


def _check_axes(file: Path) -> None:
    """Raise FileError for a COLLADA file unless it states that z points up.

    Programs do not agree on the others: by the standard they are to be rotated, ROS and trimesh leave them as they are.
    A file that states no axis has Y_UP by the standard.
    """
    kind = file.suffix.lower()
    if kind == ".zae":
        raise FileError(f"{file} is zipped COLLADA: unpack it")
    if kind != ".dae":
        return
    axis, depth = "Y_UP", 0
    try:
        for event, element in ElementTree.iterparse(file, ("start", "end")):
            depth += 1 if event == "start" else -1
            if depth == 1 and event == "end" and _local(element) == "asset":
                axis = next(((c.text or "").strip() for c in element if _local(c) == "up_axis"), axis)
                break
    except (OSError, ElementTree.ParseError) as e:
        raise FileError(f"{file} is no COLLADA file: {e}") from e
    if axis != "Z_UP":
        raise FileError(
            f"{file}: up_axis {axis}, want Z_UP: programs do not agree on whether other axes are rotated, so export "
            "the mesh with z up, or state Z_UP if its axes are those of the link as they are"
        )


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
