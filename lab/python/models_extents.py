"""Extents of meshes, as a URDF model with concave="hull" has them, beside trimesh's and coal's; see models.py.

A box of three lengths away from the origin is written in every format that is read, COLLADA with each up_axis and some
units, and must come back; then every mesh file of the folders is compared on each axis.
"""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import clearance as cl
from clearance import urdf

SUFFIXES = (".obj", ".stl", ".ply", ".dae", ".glb", ".gltf", ".off", ".3mf")
LOW, HIGH = np.array([0.25, -0.5, 1.0]), np.array([1.25, 1.5, 4.0])  # numbers of float32

# Relative to the larger of the size and the distance from the origin; numbers of a few formats are of float32.
ALLOWED = 1e-6

_COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{unit}{axis}</asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="{count}">{numbers}</float_array>
<technique_common><accessor source="#a" count="{corners}" stride="3">
<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
</accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="{triangles}"><input semantic="VERTEX" source="#v" offset="0"/><p>{faces}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node>{placed}<instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


def bounds(path: Path, up_axis: str = "ignore") -> np.ndarray:
    """The bounds [2,3] of a mesh file in a URDF model."""
    geometry = f'<geometry><mesh filename="{path}"/></geometry>'
    text = f'<robot name="r"><link name="l"><collision>{geometry}</collision></link></robot>'
    scene = urdf.load(text, concave="hull", up_axis=up_axis)  # type: ignore[arg-type]
    every = np.concatenate([s.parameters["vertices"] for s in scene.library])
    return np.stack([every.min(axis=0), every.max(axis=0)])


def _box() -> Any:
    trimesh: Any = importlib.import_module("trimesh")
    return trimesh.creation.box(bounds=np.stack([LOW, HIGH]))


def _collada(path: Path, unit: float | None, axis: str | None, placed: str = "") -> None:
    box = _box()
    vertices, faces = box.vertices, box.faces
    path.write_text(
        _COLLADA.format(
            unit="" if unit is None else f'<unit name="u" meter="{unit!r}"/>',
            axis="" if axis is None else f"<up_axis>{axis}</up_axis>",
            count=vertices.size,
            numbers=" ".join(map(repr, map(float, vertices.ravel()))),
            corners=len(vertices),
            triangles=len(faces),
            faces=" ".join(map(str, faces.ravel())),
            placed=placed,
        )
    )


def _written(folder: Path) -> None:
    """Print how the box comes back from each format."""
    want = np.stack([LOW, HIGH])
    kinds = [
        ("obj", "obj"),
        ("stl", "stl"),
        ("stl_ascii", "stl"),
        ("ply", "ply"),
        ("off", "off"),
        ("glb", "glb"),
        ("3mf", "3mf"),
    ]
    for kind, suffix in kinds:
        path = folder / f"{kind}.{suffix}"
        _box().export(str(path), file_type=kind)
        _say(kind, bounds(path), want * (0.001 if kind == "3mf" else 1))  # millimetres, unless it says otherwise
    (folder / "ascii.ply").write_bytes(_box().export(file_type="ply", encoding="ascii"))
    _say("ply, ASCII", bounds(folder / "ascii.ply"), want)
    _box().scene().export(str(folder / "box.gltf"))
    _say("gltf", bounds(folder / "box.gltf"), want)
    for axis in (None, "X_UP", "Y_UP", "Z_UP"):
        for unit in (None, 1.0, 0.01, 0.001, 0.0254):
            path = folder / f"{axis}-{unit}.dae"
            _collada(path, unit, axis)
            scaled = want * (unit or 1.0)
            _say(f"dae, {axis}, unit {unit}", bounds(path), scaled)
            standing = _to_z_up(scaled, axis or "Y_UP")
            ordered = np.stack([standing.min(axis=0), standing.max(axis=0)])
            _say(f'dae, {axis}, unit {unit}, up_axis="file"', bounds(path, "file"), ordered)
    _collada(folder / "placed.dae", 0.01, "Y_UP", "<translate>1 2 3</translate><rotate>0 0 1 90</rotate>")
    standing = np.array([1.0, 2, 3]) + np.stack([-want[:, 1], want[:, 0], want[:, 2]], axis=1)
    ordered = np.stack([standing.min(axis=0), standing.max(axis=0)])
    _say("dae, Y_UP, unit 0.01, translated and rotated", bounds(folder / "placed.dae"), 0.01 * ordered)


def _to_z_up(p: np.ndarray, axis: str) -> np.ndarray:
    """The rotation of points to z up: COLLADA 1.4.1, <up_axis>."""
    x, y, z = p.T
    return np.stack({"X_UP": [-y, -z, x], "Y_UP": [x, -z, y], "Z_UP": [x, y, z]}[axis], axis=1)


def _say(what: str, found: np.ndarray, want: np.ndarray) -> None:
    off = np.abs(found - want).max() / np.abs(want).max()
    print(f"  {'same' if off <= ALLOWED else 'DIFFERENT'} to {off:.1e}: {what}")


def _by_trimesh(path: Path) -> np.ndarray:
    trimesh: Any = importlib.import_module("trimesh")
    mesh = trimesh.load(str(path), force="mesh", process=False)
    scale = 1.0 if mesh.units is None else float(trimesh.units.unit_conversion(mesh.units, "meters"))
    return np.array(mesh.bounds) * scale


def _by_coal(path: Path) -> np.ndarray:
    coal: Any = importlib.import_module("coal")
    mesh = coal.MeshLoader().load(str(path), np.ones(3))
    mesh.computeLocalAABB()
    return np.stack([np.array(mesh.aabb_local.min_).ravel(), np.array(mesh.aabb_local.max_).ravel()])


def compare(paths: list[Path]) -> None:
    """Print how many files agree with each of the others, by format, and every one that does not."""
    with tempfile.TemporaryDirectory() as folder:
        _written(Path(folder))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    largest: dict[str, float] = defaultdict(float)
    for path in paths:
        kind = path.suffix.lower()[1:]
        counts[kind]["files"] += 1
        try:
            ours = bounds(path)
        except cl.ClearanceError as e:
            counts[kind]["refused"] += 1
            print(f"  refused: {e}", flush=True)
            continue
        for name, peer in (("trimesh", _by_trimesh), ("coal", _by_coal)):
            try:
                theirs = peer(path)
            except Exception as e:  # of other libraries
                counts[kind][f"not read by {name}"] += 1
                print(f"  {name}: {path}: {str(e).splitlines()[0][:100] if str(e) else type(e).__name__}", flush=True)
                continue
            off = float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1e-300))
            same = off <= ALLOWED
            counts[kind][f"{'as' if same else 'NOT as'} {name}"] += 1
            if same:
                largest[kind] = max(largest[kind], off)
            else:
                print(f"  {name}: {path}: {theirs.ravel()}, here {ours.ravel()}", flush=True)
    for kind in sorted(counts):
        rest = ", ".join(f"{what} {count:,}" for what, count in sorted(counts[kind].items()))
        print(f"- {kind}: {rest}; to {largest[kind]:.1e}")
