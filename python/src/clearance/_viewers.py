"""Scene descriptions in Rerun and Viser, packages that are imported only when they are asked for."""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from . import _describe as doc
from . import _native as nat
from ._arrays import Array, address
from ._errors import FileError, OptionError
from ._kinematics import rotated

COLORS: Final = {"a": (59, 120, 194), "b": (224, 129, 47), "other": (184, 184, 184), "witness": (17, 17, 17)}
RED: Final = (224, 0, 0)
PURPLE: Final = (142, 68, 173)


def _package(name: str, install: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise FileError(f"the package {name} is not installed ({e}): pip install {install}") from e


def hull(points: Array) -> Array:
    """The triangles [F,3] of the convex hull of points [P,3], counter-clockwise seen from outside."""
    n, error, needed = nat.native(), nat.Error(), ctypes.c_int64()
    points = np.ascontiguousarray(points, np.float64)
    triangles = np.zeros((max(2 * len(points) - 4, 0), 3), np.int32)  # no hull has more, by Euler's formula
    n.raise_for(n.hull(address(points), len(points), address(triangles), len(triangles), needed, error), error)
    return triangles[: needed.value]


class Scene:
    """A scene description with its columns as arrays."""

    def __init__(self, scene: dict[str, Any]) -> None:
        if scene.get("format") != doc.FORMAT or scene.get("version") != doc.VERSION:
            raise OptionError("the view has no scene description, or one of another version")
        self.scene = scene
        self.count: int = scene["rows"]["count"]
        self.columns = {k: doc.unpacked(v) for k, v in scene["rows"].items() if k != "count"}
        self.points = [doc.unpacked(s["points"]).reshape(-1, 3).astype(np.float64) for s in scene["shapes"]]
        self.size = 2 * max((float(np.linalg.norm(p, axis=1).max()) for p in self.points if len(p)), default=1.0)
        self._triangles: dict[int, Array] = {}

    def vector(self, name: str, i: int, width: int = 3) -> Array | None:
        """Element i of a column, None if it is not known."""
        column = self.columns.get(name)
        if column is None or not len(column):
            return None
        found = column.reshape(-1, width)[i].astype(np.float64)
        return found if np.isfinite(found).all() else None

    def mesh(self, body: int) -> tuple[Array, Array]:
        """Vertices [V,3] and triangles [F,3] of a body; a half-space is a square."""
        vertices, triangles, first = [np.zeros((0, 3))], [np.zeros((0, 3), np.int32)], 0
        for part in self.scene["bodies"][body]["parts"]:
            shape, pose = part["shape"], np.array(part["pose"])
            if self.scene["shapes"][shape]["kind"] == "halfspace":
                s = 4 * self.size
                points = np.array([[-s, -s, 0], [s, -s, 0], [s, s, 0], [-s, s, 0]])
                own = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
            else:
                points = self.points[shape]
                if shape not in self._triangles:
                    self._triangles[shape] = hull(points)
                own = self._triangles[shape]
            vertices.append(pose[:3] + rotated(np.broadcast_to(pose[3:], (len(points), 4)), points))
            triangles.append(own + np.int32(first))
            first += len(points)
        return np.concatenate(vertices), np.concatenate(triangles)

    def sides(self, i: int) -> Iterator[tuple[str, int, Array]]:
        """The sides of a row that are known: their name, body and pose."""
        for side in "ab":
            body, pose = int(self.columns[f"body_{side}"][i]), self.vector(f"pose_{side}", i, 7)
            if body >= 0 and pose is not None:
                yield side, body, pose

    def witnesses(self, i: int) -> list[Array]:
        """The witnesses of a row that are known."""
        return [w for w in (self.vector("witness_a", i), self.vector("witness_b", i)) if w is not None]

    def contacts(self, i: int) -> tuple[Array, Array]:
        """Contact points and normals [C,3] of a row."""
        if "contact_begin" not in self.columns:
            return np.zeros((0, 3)), np.zeros((0, 3))
        own = slice(*(int(x) for x in self.columns["contact_begin"][i : i + 2]))
        points, normals = (self.columns[f"contact_{n}"].reshape(-1, 3)[own] for n in ("point", "normal"))
        return points, normals

    def status(self, i: int) -> str:
        return str(self.scene["statuses"][int(self.columns["status"][i])])

    def worlds(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """The worlds with a time line: number, bodies [M], times [K], poses [K,M,7]."""
        for w in self.scene.get("worlds", ()):
            bodies, times = doc.unpacked(w["bodies"]).astype(int), doc.unpacked(w["times"])
            if len(times) > 1:
                yield w["world"], bodies, times, doc.unpacked(w["poses"]).reshape(len(times), -1, 7)


def to_rerun(scene: dict[str, Any], recording: Any = None, path: str | os.PathLike[str] | None = None) -> Any:
    """Log a scene description into a recording of Rerun, a new one by default; path is an .rrd file to write."""
    rr = _package("rerun", "rerun-sdk")
    s = Scene(scene)
    rec = rr.RecordingStream("clearance") if recording is None else recording
    if path is not None:
        rec.save(os.fspath(path))
    for i in range(s.count):
        rec.set_time("row", sequence=i)
        rec.log("row", rr.Clear(recursive=True))
        for side, body, pose in s.sides(i):
            _log_mesh(rr, rec, f"row/{side}", s.mesh(body), COLORS[side])
            _log_pose(rr, rec, f"row/{side}", pose)
        witnesses = s.witnesses(i)
        if witnesses:
            rec.log("row/witnesses", rr.Points3D(witnesses, colors=[COLORS["witness"]], radii=0.01 * s.size))
        normal, gap = s.vector("normal", i), s.vector("gap", i, 1)
        if normal is not None and witnesses:
            rec.log("row/normal", rr.Arrows3D(origins=[witnesses[0]], vectors=[0.2 * s.size * normal], colors=[RED]))
        if gap is not None and witnesses:
            rec.log("row/error", rr.Ellipsoids3D(centers=[witnesses[-1]], half_sizes=[[gap[0]] * 3], colors=[PURPLE]))
        points, normals = s.contacts(i)
        if len(points):
            rec.log("row/contacts", rr.Points3D(points, colors=[RED], radii=0.015 * s.size))
            rec.log("row/contacts/normals", rr.Arrows3D(origins=points, vectors=0.15 * s.size * normals, colors=[RED]))
        value = s.vector("value", i, 1)
        if value is not None:
            rec.log("value", rr.Scalars(float(value[0])))
        rec.log("status", rr.TextLog(f"row {int(s.columns['row'][i])}: {s.status(i)}"))
    for number, bodies, times, poses in s.worlds():
        rec.reset_time()
        known = [p for p, body in enumerate(bodies) if body >= 0]
        for place in known:
            mesh = s.mesh(int(bodies[place]))
            _log_mesh(rr, rec, f"world_{number}/place_{place}", mesh, COLORS["other"], static=True)
        for time, at in zip(times.tolist(), poses, strict=True):
            rec.set_time(scene["time_unit"] if scene["time_unit"] != "s" else "time", duration=time)
            for place in known:
                if np.isfinite(at[place]).all():
                    _log_pose(rr, rec, f"world_{number}/place_{place}", at[place])
    for trace in scene.get("traces", ()):
        _log_trace(rr, rec, s, trace)
    return rec


def _log_mesh(rr: Any, rec: Any, to: str, mesh: tuple[Array, Array], color: Any, static: bool = False) -> None:
    vertices, triangles = mesh
    if len(triangles):
        made = rr.Mesh3D(vertex_positions=vertices, triangle_indices=triangles, albedo_factor=color)
    else:
        made = rr.Points3D(vertices, colors=[color])  # a point or a segment
    rec.log(to, made, static=static)


def _log_pose(rr: Any, rec: Any, to: str, pose: Array) -> None:
    w, x, y, z = pose[3:].tolist()
    rec.log(to, rr.Transform3D(translation=pose[:3], quaternion=rr.Quaternion(xyzw=[x, y, z, w])))


def _log_trace(rr: Any, rec: Any, s: Scene, trace: dict[str, Any]) -> None:
    rec.reset_time()
    to = f"trace/row_{int(s.columns['row'][trace['row']])}"
    for k, step in enumerate(trace["steps"]):
        rec.set_time("step", sequence=k)
        for name in ("lower", "upper"):
            if isinstance(step[name], (int, float)):
                rec.log(f"{to}/{name}", rr.Scalars(float(step[name])))
        rec.log(f"{to}/solver", rr.TextLog(f"{step['solver']}, evaluation {step['evaluation']}"))
        at = step.get("support") or step["witnesses"]
        rec.log(f"{to}/support", rr.Points3D([at["a"], at["b"]], radii=0.012 * s.size))
        direction = 0.3 * s.size * np.array(step["direction"])
        rec.log(f"{to}/direction", rr.Arrows3D(origins=[at["a"]], vectors=[direction]))
        difference = [np.subtract(v["a"], v["b"]) for v in step.get("simplex", ())]
        rec.log(f"{to}/difference/simplex", rr.Points3D(difference, radii=0.012 * s.size))


def to_viser(scene: dict[str, Any], server: Any = None, port: int = 8080) -> Any:
    """Draw a scene description on a server of Viser, by default a new one on this machine: a slider chooses the row,
    another one the time."""
    viser = _package("viser", "viser")
    s = Scene(scene)
    out = viser.ViserServer(host="127.0.0.1", port=port, verbose=False) if server is None else server
    drawn = _Drawn(s, out)
    if s.count:
        row = out.gui.add_slider("row", 0, max(s.count - 1, 1), 1, 0)
        row.on_update(lambda _: drawn.row(min(int(row.value), s.count - 1)))
        drawn.row(0)
    worlds = list(s.worlds())
    if worlds:
        times = worlds[0][2]
        time = out.gui.add_slider(
            f"time ({scene['time_unit']})", float(times[0]), float(times[-1]), float(times[-1] - times[0]) / 1000,
            float(times[0]),
        )  # fmt: skip
        time.on_update(lambda _: drawn.world(worlds[0], float(time.value)))
    return out


class _Drawn:
    """What a server of Viser shows."""

    def __init__(self, scene: Scene, server: Any) -> None:
        self.scene, self.server = scene, server
        self.handles: list[Any] = []
        self.text = server.gui.add_markdown("")

    def _clear(self) -> None:
        for h in self.handles:
            h.remove()
        self.handles = []

    def _body(self, name: str, body: int, pose: Array, color: Any) -> None:
        vertices, triangles = self.scene.mesh(body)
        place = {"position": pose[:3], "wxyz": pose[3:]}
        if len(triangles):
            h = self.server.scene.add_mesh_simple(
                name, vertices, triangles, color=color, opacity=0.7, side="double", flat_shading=True, **place
            )
        else:
            size = 0.02 * self.scene.size
            h = self.server.scene.add_point_cloud(name, vertices, np.array(color), point_size=size, **place)
        self.handles.append(h)

    def _ball(self, name: str, at: Array, radius: float, color: Any) -> None:
        self.handles.append(self.server.scene.add_icosphere(name, radius=radius, color=color, position=at))

    def _arrow(self, name: str, at: Array, vector: Array, color: Any) -> None:
        ends = np.array([[at, at + vector]])
        width = 0.006 * self.scene.size
        self.handles.append(self.server.scene.add_line_segments(name, ends, color, thickness=width))

    def row(self, i: int) -> None:
        """Draw a row."""
        s = self.scene
        self._clear()
        for side, body, pose in s.sides(i):
            self._body(f"/{side}", body, pose, COLORS[side])
        witnesses = s.witnesses(i)
        for k, w in enumerate(witnesses):
            self._ball(f"/witness_{k}", w, 0.01 * s.size, COLORS["witness"])
        normal, gap, value = s.vector("normal", i), s.vector("gap", i, 1), s.vector("value", i, 1)
        if normal is not None and witnesses:
            self._arrow("/normal", witnesses[0], 0.2 * s.size * normal, RED)
        if gap is not None and gap[0] > 0 and witnesses:
            self._ball("/error", witnesses[-1], float(gap[0]), PURPLE)
        for k, (point, along) in enumerate(zip(*s.contacts(i), strict=True)):
            self._ball(f"/contact_{k}", point, 0.015 * s.size, RED)
            self._arrow(f"/contact_{k}_normal", point, 0.15 * s.size * along, RED)
        number = "" if value is None else f", {s.scene['value']} {value[0]:.9g}"
        self.text.content = f"row {int(s.columns['row'][i])}: {s.status(i)}{number}"

    def world(self, world: tuple[int, Array, Array, Array], time: float) -> None:
        """Draw a world at a time."""
        _, bodies, times, poses = world
        self._clear()
        k = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 2))
        share = (time - times[k]) / (times[k + 1] - times[k])
        for place, body in enumerate(bodies.tolist()):
            first, second = poses[k, place], poses[k + 1, place]
            if body >= 0 and np.isfinite(first).all() and np.isfinite(second).all():
                self._body(f"/place_{place}", body, doc.between(first, second, share), COLORS["other"])
