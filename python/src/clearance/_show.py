"""Rows of a result as one HTML page to look at: shapes, witnesses, normal, support planes. It works offline."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ._arrays import Array, host, reordered, take
from ._asked import Asked
from ._errors import ArrayError, FileError, OptionError
from ._kinematics import product, rotated
from ._library import Library
from ._options import Order, whole
from ._pairs import pair_columns
from ._result import PENETRATING, SEPARATED, STATUSES, UNDECIDED, Result, SceneResult, host_array
from ._scene import Scene
from ._sweep import STATES, SweepResult
from ._sweepfold import CONTACT, FREE

# A shape is drawn as the hull of its support points in so many directions, or of its vertices if it has no more.
_DIRECTIONS: Final = 700
_VERTICES: Final = 2000

# The most rows of a page: some hundred megabytes of HTML, which browsers still open.
_ROWS: Final = 10_000

# A part of a body as drawn: its shape, and its pose in the world (position, quaternion).
_Placed = tuple[int, Array]

# What a row is about: names of both sides, their parts, and those parts that attain the least: of these are the planes.
_Sides = tuple[str, str, list[list[_Placed]], list[list[_Placed]]]


@dataclass(frozen=True, repr=False)
class View:
    """A page of rows. Notebooks show it; ``save`` writes it as a file."""

    html: str
    rows: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        text = html.escape(self.html, quote=True)
        return f'<iframe style="width:100%;height:560px" srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        return f"View of {self.rows} rows, {len(self.html) / 1e6:.1f} MB of HTML: save it to look at it"


def show(
    result: Result | SweepResult,
    *question: Any,
    quat: Order,
    rows: Any = None,
    most: int = 100,
    path: str | os.PathLike[str] | None = None,
) -> View:
    """A page that shows rows of a result: shapes, witnesses, normal, support planes, in a list to sort by distance, gap
    or status.

    ``question`` is what the result answers: ``show(r, library, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")`` for a
    pair list, ``show(r, scene, poses, quat="wxyz")`` for a rollout of a scene or a sweep. Sweeps are shown at the
    earliest known contact, and free rows where they are closest.

    The rows are those without an answer, then those of the least distance, ``most`` of them. ``rows`` are those among
    which they are chosen, as a mask like ``r.hit``; or all to show, as indices into the flattened result. A page has
    at most 10,000 rows. ``path`` is a file to write.
    """
    if not isinstance(result, (Result, SweepResult)):
        raise OptionError(f"result: a {type(result).__name__}, want the result of a query or a sweep")
    moving = isinstance(result, SweepResult)
    status = host_array(result.state if isinstance(result, SweepResult) else result.status).ravel()
    chosen = _chosen(result, status, rows, whole("most", most, 0, _ROWS))
    scene_given = len(question) == 2 and isinstance(question[0], Scene)
    pairs_given = not moving and len(question) == 7 and isinstance(question[0], Library)
    if quat not in ("wxyz", "xyzw") or not (scene_given or pairs_given):
        raise OptionError(
            "want show(result, library, a, b, pos_a, quat_a, pos_b, quat_b, quat=…) or "
            'show(result, scene, poses, quat=…) with quat "wxyz" or "xyzw"'
        )
    used: dict[int, int] = {}  # shapes of the library by their place on the page
    pairs: _Bodies | _Pairs
    if isinstance(result, SweepResult):
        moved = _Moving(result, quat, *question)
        records = [_moved(result, i, int(status[i]), moved.of(i), used) for i in chosen]
        pairs, value, what = moved, "distance", "sweep"
    else:
        pairs = _Standing(result, quat, *question) if scene_given else _Pairs(len(status), quat, *question)
        records = [_record(result, pairs.library, i, status[i], pairs.of(i), used) for i in chosen]
        value, what = (
            "factor" if result.query == "growth" else "distance",
            f"{result.query}, {result.precision} precision",
        )
    library: Library = pairs.library
    data = {"value": value, "shapes": [_shape(library, s) for s in used], "rows": records}
    heading = f"{what}: {len(chosen):,} of {len(status):,} rows"
    page = _page("Clearance", heading, data)
    view = View(page, len(chosen))
    if path is not None:
        view.save(path)
    return view


def play(
    library: Library, frames: list[tuple[int, str, list[_Placed], list[_Placed], str, str]], interval: float, what: str
) -> View:
    """A page that plays frames: of each its number, its status, the parts of both sides with their names. ``interval``
    is the time between two of them in seconds."""
    used: dict[int, int] = {}
    rows = [
        _bare(number, 0, status, (name_a, name_b, [moving, fixed], []), used)
        for number, status, moving, fixed, name_a, name_b in frames
    ]
    shapes = [_shape(library, s) for s in used]
    data = {"value": "distance", "play": max(1000 * interval, 15), "shapes": shapes, "rows": rows}
    return View(_page("Clearance", f"{what}: {len(rows):,} steps", data), len(rows))


def _chosen(result: Result | SweepResult, status: Array, rows: Any, most: int) -> list[int]:
    """The rows of a page."""
    candidates = np.arange(len(status))
    if rows is not None:
        given = host("rows", list(rows) if hasattr(rows, "__next__") else rows, True)
        if given.dtype.kind == "b":
            shape = (result.state if isinstance(result, SweepResult) else result.status).shape
            if given.shape not in (tuple(shape), (len(status),)):
                raise ArrayError("rows", f"is a mask of {list(given.shape)}, want one of {list(shape)}")
            candidates = np.flatnonzero(given)
        else:
            return _listed(given, len(status))
    value = _values(result, status)[candidates]
    return [int(i) for i in candidates[np.argsort(value, kind="stable")[:most]]]


def _listed(given: Array, count: int) -> list[int]:
    """Rows by their indices."""
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ArrayError("rows", f"is {given.dtype} {list(given.shape)}, want indices of rows, or a mask")
    if len(given) > _ROWS:
        raise OptionError(f"rows: {len(given)}, want at most {_ROWS} on a page; a mask shows the worst of its rows")
    for i in given.tolist():
        if not 0 <= i < count:
            raise OptionError(f"rows: {i}, want rows from 0 to {count - 1}")
    return [int(i) for i in given]


def _values(result: Result | SweepResult, status: Array) -> Array:
    """What rows are ordered by: those without an answer come first, then those of the least value."""
    if isinstance(result, SweepResult):  # contacts come before free rows, the earliest first
        first, lower = host_array(result.t0).ravel(), host_array(result.lower).ravel()
        value: Array = np.where(status == CONTACT, first - first.max(initial=0) - 1, lower)
        return np.where(status > CONTACT, -np.inf, value)
    value = np.zeros(len(status)) if result.distance is None else host_array(result.distance).ravel().astype(np.float64)
    return np.where(status >= UNDECIDED, -np.inf, value)


class _Pairs:
    """The shapes of the rows of a pair list."""

    def __init__(
        self, rows: int, quat: str, library: Library, a: Any, b: Any, pos_a: Any, quat_a: Any, pos_b: Any, quat_b: Any
    ) -> None:
        self.library = library
        found, arrays = pair_columns(a, b, pos_a, quat_a, pos_b, quat_b, quat, True)
        if found != rows:
            raise ArrayError("a", f"and the other arrays have {found} rows, want {rows}, those of the result")
        self.shapes, self.positions, self.rotations = arrays[:2], arrays[2:4], arrays[4:]

    def of(self, row: int) -> _Sides:
        names: list[str] = []
        placed: list[list[_Placed]] = []
        for shapes, position, rotation in zip(self.shapes, self.positions, self.rotations, strict=True):
            s = int(shapes[row])
            good = 0 <= s < len(self.library)
            names.append(f"{s}: {self.library[s]!r}" if good else f"{s}: not in the library")
            placed.append([(s, np.concatenate([position[row], rotation[row]]))] if good else [])
        return names[0], names[1], placed, placed


class _Bodies:
    """The bodies of the rows of a scene, as they were asked about."""

    def __init__(self, result: SceneResult | SweepResult, scene: Scene) -> None:
        if result._asked is None:
            raise OptionError("the result does not say which bodies its rows are about; want one of an Engine")
        self.library, self.scene, self.result = scene.library, scene, result
        self.asked: Asked = result._asked
        self.worlds = None if result.offsets is None else host_array(result.world)
        if int(self.asked.bodies.max(initial=-1)) >= len(scene.bodies):
            raise OptionError(f"the scene has {len(scene.bodies)} bodies, and the result is of one with more")
        self.parts = [None if c is None else host_array(c).ravel() for c in (result.part_a, result.part_b)]

    def _count(self, rows: int) -> int:
        """The number of worlds of a result whose first axis has so many rows."""
        return rows if self.result.offsets is None else len(self.result.offsets) - 1

    def _places(self, row: int) -> tuple[int, tuple[int, int]]:
        """The world of a row and its pair of places, -1 where the row does not say."""
        r, pairs = self.result, self.asked.pairs
        if self.worlds is not None:
            return int(self.worlds[row]), (int(r.body_a[row]), int(r.body_b[row]))
        if r.pair is not None and r.body_a is not None:
            return row, (int(r.body_a[row]), int(r.body_b[row]))
        if pairs is None:
            raise OptionError("the result has no columns body_a and body_b")
        world, p = divmod(row, len(pairs)) if r.pair is None else (row, int(r.pair[row]))
        return world, (int(pairs[p, 0]), int(pairs[p, 1])) if p >= 0 else (-1, -1)

    def _pose(self, row: int, world: int, place: int) -> Array:
        """The pose of the body at a place."""
        raise NotImplementedError

    def _when(self, row: int) -> str:
        """What the name of a row says of its time."""
        return ""

    def of(self, row: int) -> _Sides:
        world, pair = self._places(row)
        names: list[str] = []
        placed: list[list[_Placed]] = []
        nearest: list[list[_Placed]] = []
        for place, column in zip(pair, self.parts, strict=True):
            body = -1 if place < 0 else self.asked.body(world, place)
            stands = self._pose(row, world, place) if body >= 0 else np.zeros(0)
            parts = [place_part(stands, p) for p in self.scene.bodies[body].parts] if body >= 0 else []
            part = -1 if column is None else int(column[row])
            if part >= len(parts) > 0:
                raise OptionError(
                    f"row {row} is about part {part} of body {body}, which has {len(parts)} in this scene"
                )
            names.append(
                f"world {world}: not known"
                if place < 0
                else f"world {world}, place {place}{self._when(row)}: {self._name(body)}"
            )
            placed.append(parts)
            nearest.append(parts[part : part + 1] if part >= 0 else [])
        return names[0], names[1], placed, nearest

    def _name(self, body: int) -> str:
        return f"body {body}: {self.scene.bodies[body].name}" if body >= 0 else "no body"


class _Standing(_Bodies):
    """The bodies of the rows of a rollout."""

    def __init__(self, result: Result, quat: str, scene: Scene, poses: Any) -> None:
        if not isinstance(result, SceneResult):
            raise OptionError("the result is not one of a scene")
        super().__init__(result, scene)
        self.poses = _poses(poses, quat, (self._count(len(result)), self.asked.bodies.shape[-1]))

    def _pose(self, row: int, world: int, place: int) -> Array:
        pose: Array = self.poses[world, place]
        return pose


class _Moving(_Bodies):
    """The bodies of the rows of a sweep, at the time that is shown."""

    def __init__(self, result: SweepResult, quat: str, scene: Scene, poses: Any) -> None:
        super().__init__(result, scene)
        array = host("poses", poses, True)
        points = array.shape[1] if array.ndim == 4 else 0
        self.poses = _poses(array, quat, (self._count(result.state.shape[0]), points, self.asked.bodies.shape[-1]))
        t0, t1, closest = (host_array(c).ravel() for c in (result.t0, result.t1, result.closest))
        free = host_array(result.state).ravel() == FREE
        time = np.where(free, closest, np.where(np.isfinite(t1), t1, t0))
        self.time = np.clip(np.where(np.isfinite(time), time, 0), 0, points - 1)

    def _when(self, row: int) -> str:
        return f" at the time {self.time[row]:.6g}"

    def _pose(self, row: int, world: int, place: int) -> Array:
        time = float(self.time[row])
        k = min(int(time), self.poses.shape[1] - 2)
        first, second = self.poses[world, k : k + 2, place]
        return between(first, second, time - k)


def _poses(value: Any, quat: str, leading: tuple[int, ...]) -> Array:
    """Poses [*leading, 7] in the order "wxyz"."""
    array = take("poses", value, np.float64, (*leading[1:], 7), leading[0], True)
    return reordered(array, (0, 1, 2, 6, 3, 4, 5)) if quat == "xyzw" else array


def between(first: Array, second: Array, share: float) -> Array:
    """The pose [7], "wxyz", of a body that moves along a line and rotates about a fixed axis, by the shorter arc."""
    p, q = (pose[3:] / np.linalg.norm(pose[3:]) for pose in (first, second))
    if p @ q < 0:
        q = -q
    angle = 2 * np.arctan2(np.linalg.norm(q - p), np.linalg.norm(q + p))
    if angle > 1e-9:
        p = (np.sin((1 - share) * angle) * p + np.sin(share * angle) * q) / np.sin(angle)
    return np.concatenate([(1 - share) * first[:3] + share * second[:3], p])


def _moved(result: SweepResult, row: int, state: int, sides: _Sides, used: dict[int, int]) -> dict[str, Any]:
    """A row of a sweep as the page has it: the distance of a row in contact is 0, of a free one its lower bound."""
    lower = float(host_array(result.lower).ravel()[row])
    code, value = {FREE: (SEPARATED, lower if np.isfinite(lower) else None), CONTACT: (PENETRATING, 0.0)}.get(
        state, (state + UNDECIDED - CONTACT - 1, None)
    )
    record = _bare(row, code, STATES[state], sides, used)
    return record | {"distance": value}


def place_part(pose: Array, part: Any) -> _Placed:
    rotation = pose[3:] / np.linalg.norm(pose[3:])
    own = np.asarray(part.rotation, np.float64)
    position = pose[:3] + rotated(rotation, np.asarray(part.position, np.float64))
    return part.shape, np.concatenate([position, product(rotation, own / np.linalg.norm(own))])


def _bare(row: int, code: int, status: str, sides: _Sides, used: dict[int, int]) -> dict[str, Any]:
    """A row without its columns."""
    name_a, name_b, placed, _ = sides
    record: dict[str, Any] = {"row": row, "code": code, "status": status, "name_a": name_a, "name_b": name_b}
    record |= {"planes": [], **dict.fromkeys(("distance", "gap", "normal", "witness_a", "witness_b"))}
    for side, parts in zip("ab", placed, strict=True):
        finite = [(s, pose) for s, pose in parts if np.isfinite(pose).all() and pose[3:].any()]
        record[side] = [[used.setdefault(s, len(used)), pose.tolist()] for s, pose in finite]
    return record


def _record(
    result: Result, library: Library, row: int, status: int, sides: _Sides, used: dict[int, int]
) -> dict[str, Any]:
    """A row as the page has it."""
    record, nearest = _bare(row, int(status), STATUSES[status], sides, used), sides[3]
    for name, width in (("distance", 1), ("gap", 1), ("normal", 3), ("witness_a", 3), ("witness_b", 3)):
        column = getattr(result, name)
        value = None if column is None else host_array(column).reshape(-1, width)[row].astype(np.float64)
        if value is not None and not np.isfinite(value).all():
            value = None
        record[name] = value if value is None else value.tolist() if width > 1 else float(value[0])
    if record["normal"] and record["witness_a"] and record["witness_b"] and result.query != "growth":
        n, at = np.array(record["normal"]), np.array(record["witness_a"])
        for parts, sign in zip(nearest, (1.0, -1.0), strict=True):
            values = [sign * _support_value(library, s, pose, sign * n) for s, pose in parts]
            if values and np.isfinite(values).all():
                value = max(values) if sign > 0 else min(values)
                record["planes"].append((at + (value - n @ at) * n).tolist())
    return record


def _support_value(library: Library, shape: int, pose: Array, direction: Array) -> float:
    """The support value of a shape at a pose in a direction of the world; inf for half-spaces."""
    if library[shape].kind == "halfspace":
        return float("inf")
    q = pose[3:] / np.linalg.norm(pose[3:])
    local = rotated(q * [1, -1, -1, -1], direction)
    return float(direction @ pose[:3] + local @ library.support(shape, local[None])[0])


def _shape(library: Library, index: int) -> dict[str, Any]:
    """A shape as the points whose hull is drawn."""
    s = library[index]
    if s.kind == "halfspace":
        return {"kind": s.kind, "points": []}
    if s.kind == "convex" and not s.margin and len(s.parameters["vertices"]) <= _VERTICES:
        points = s.parameters["vertices"]
    elif s.kind == "box" and not s.margin:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        points = corners * s.parameters["half_extents"]
    else:
        points = np.unique(library.support(index, _directions(_DIRECTIONS)), axis=0)
    return {"kind": s.kind, "points": [[float(f"{x:.7g}") for x in p] for p in points]}


def _directions(count: int) -> Array:
    """Unit vectors on a spiral, about evenly over the sphere."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)


def _script() -> str:
    """The script of the page. Without it the error says why, as scripts/viewer.sh found it."""
    folder = Path(__file__).parent
    script, reason = folder / "viewer.js", folder / "viewer.missing"
    if script.exists():
        return script.read_text(encoding="utf-8")
    why = reason.read_text(encoding="utf-8").strip() if reason.exists() else "scripts/viewer.sh was not run"
    raise FileError(
        f"{script} is missing: {why} when the wheel was built. The viewer comes from npm; build the wheel where npm is "
        "installed and reaches its registry: 'make wheel'"
    )


def _page(title: str, heading: str, data: Any) -> str:
    parts = {
        "title": html.escape(title),
        "heading": html.escape(heading),
        "data": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "script": _script(),
    }
    text = Path(__file__).with_name("viewer.html").read_text(encoding="utf-8")
    pieces = text.split("{{")
    return pieces[0] + "".join(parts[p.split("}}", 1)[0]] + p.split("}}", 1)[1] for p in pieces[1:])
