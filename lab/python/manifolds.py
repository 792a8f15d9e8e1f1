"""Contact points of pairs beside coal's contact patches and MuJoCo's contacts of the same pairs.

    pip install coal cmeel-eigen mujoco
    python lab/python/manifolds.py [--pairs 400] [--note "..."] [--out lab/results/manifolds.md]

Pairs of a kind are seeded. They penetrate by 10 µm to 1 mm along the normal, which is known where faces lie on each
other and else that of the engine, and are then moved together by a rigid motion. All three have their defaults: no
margins, a largest gap of zero, coal's tolerance of patches of 1 mm, a tolerance of 1e-8 of its solvers.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import clearance as cl

LEAST, MOST = 1e-5, 1e-3  # depths of penetration, in metres
OFF: Final = 1e-6  # how far a point may lie outside of a body, in metres
HEADS: Final = (
    "pairs",
    "",
    "points",
    "as many as ours",
    "our area / theirs",
    "deepest point differs, µm",
    "depth falls short, µm",
    "off bodies",
    "farthest, µm",
)
FAR: Final = 1e6  # coordinates and depths beyond are not those of a contact, in metres
UP: Final = np.array([0.0, 0, 1])

# The vertices of a shape, its half-extents, or its radius and half-length, by its kind.
Shape = tuple[str, Any]


@dataclass
class Pair:
    """Two shapes, with the pose of B as that of A is the identity, and the normal if the draw knows it."""

    a: Shape
    b: Shape
    position: Any
    rotation: Any
    normal: Any = None


@dataclass
class Points:
    """The contact points of a pair: positions, gaps, and the unit normal from A to B."""

    position: Any
    gap: Any
    normal: Any


Peer = Callable[[Pair, Any, Any], Points]


def spin_about(axis: Any, angle: float) -> Any:
    """The unit quaternion of a rotation."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis, float)])


def product(p: Any, q: Any) -> Any:
    """The product of two quaternions."""
    vector = p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])
    return np.concatenate([[p[0] * q[0] - p[1:] @ q[1:]], vector])


def matrix(q: Any) -> Any:
    """The rotation matrix of a unit quaternion."""
    cross = np.array([[0, -q[3], q[2]], [q[3], 0, -q[1]], [-q[2], q[1], 0]])
    return np.eye(3) + 2 * q[0] * cross + 2 * cross @ cross


def any_rotation(rng: np.random.Generator) -> Any:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def box(rng: np.random.Generator) -> Shape:
    return "box", rng.uniform(0.1, 0.2, 3)


def round_shape(kind: str, rng: np.random.Generator) -> Shape:
    return kind, (rng.uniform(0.05, 0.1), rng.uniform(0.1, 0.2))


def hull(rng: np.random.Generator) -> Shape:
    """Twenty points on an ellipsoid."""
    points = rng.normal(size=(20, 3))
    return "convex", points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.1, 0.2, 3)


def prism(rng: np.random.Generator) -> Shape:
    """A prism over five to eight points of an ellipse."""
    angles = np.arange(rng.integers(5, 9)) + rng.uniform(-0.3, 0.3)
    ring = np.stack([np.cos(2 * np.pi * angles / len(angles)), np.sin(2 * np.pi * angles / len(angles))], axis=1)
    ring *= rng.uniform(0.1, 0.2, 2)
    half = rng.uniform(0.1, 0.2)
    return "convex", np.concatenate([np.column_stack([ring, np.full(len(ring), z)]) for z in (-half, half)])


def stacked(a: Shape, b: Shape, offset: float, rng: np.random.Generator, first: Any = None) -> Pair:
    """B on A, face on face, at ``offset`` less the depth, rotated about the normal after ``first``."""
    spin = spin_about(UP, rng.uniform(0, 2 * np.pi))
    rotation = spin if first is None else product(spin, first)
    along = offset - rng.uniform(LEAST, MOST)
    return Pair(a, b, np.array([*rng.uniform(-0.08, 0.08, 2), along]), rotation, UP)


def tops(a: Shape, b: Shape) -> float:
    """The distance along the normal of B's origin over A's as their faces touch."""

    def half(s: Shape) -> float:
        return float(np.max(s[1][:, 2]) if s[0] == "convex" else s[1][-1])

    return half(a) + half(b)


def apart(a: Shape, b: Shape, rng: np.random.Generator) -> Pair:
    """A and B in any rotation, apart; :func:`touching` brings them together."""
    direction = rng.normal(size=3)
    return Pair(a, b, direction / np.linalg.norm(direction), any_rotation(rng))


def box_box(rng: np.random.Generator) -> Pair:
    a, b = box(rng), box(rng)
    return stacked(a, b, tops(a, b), rng)


def box_plane(rng: np.random.Generator) -> Pair:
    b = box(rng)
    return stacked(("halfspace", None), b, b[1][2], rng)


def capsules_parallel(rng: np.random.Generator) -> Pair:
    """Capsules that penetrate over at least a quarter of the shorter one."""
    a, b = round_shape("capsule", rng), round_shape("capsule", rng)
    (r, h), (s, k) = a[1], b[1]
    along = rng.uniform(-1, 1) * (h + k - 0.5 * min(h, k))
    angle = rng.uniform(0, 2 * np.pi)
    normal = np.array([np.cos(angle), np.sin(angle), 0])
    at = (r + s - rng.uniform(LEAST, MOST)) * normal + along * UP
    return Pair(a, b, at, spin_about(UP, rng.uniform(0, 2 * np.pi)), normal)


def cylinder_cap(rng: np.random.Generator) -> Pair:
    a, b = box(rng), round_shape("cylinder", rng)
    return stacked(a, b, tops(a, b), rng)


def cylinder_side(rng: np.random.Generator) -> Pair:
    a, b = box(rng), round_shape("cylinder", rng)
    return stacked(a, b, a[1][2] + b[1][0], rng, spin_about([1.0, 0, 0], np.pi / 2))


def prisms(rng: np.random.Generator) -> Pair:
    a, b = prism(rng), prism(rng)
    return stacked(a, b, tops(a, b), rng)


KINDS: Final[dict[str, Callable[[np.random.Generator], Pair]]] = {
    "boxes, face on face": box_box,
    "boxes, any rotation": lambda rng: apart(box(rng), box(rng), rng),
    "box on a half-space": box_plane,
    "capsules, parallel": capsules_parallel,
    "capsules, any rotation": lambda rng: apart(round_shape("capsule", rng), round_shape("capsule", rng), rng),
    "cylinder on a box, cap": cylinder_cap,
    "cylinder on a box, side": cylinder_side,
    "cylinder and box, any rotation": lambda rng: apart(box(rng), round_shape("cylinder", rng), rng),
    "hulls, face on face": prisms,
    "hulls, any rotation": lambda rng: apart(hull(rng), hull(rng), rng),
}


def add(lib: cl.Library, shape: Shape) -> int:
    kind, size = shape
    if kind == "box":
        return lib.box(size)
    if kind == "convex":
        return lib.convex(size)
    if kind == "halfspace":
        return lib.halfspace()
    return lib.capsule(*size) if kind == "capsule" else lib.cylinder(*size)


def touching(engine: cl.Engine, pairs: list[Pair], rng: np.random.Generator) -> None:
    """Moves those apart along their normal until they penetrate."""
    drawn = [p for p in pairs if p.normal is None]
    if not drawn:
        return
    lib = cl.Library()
    a, b = [add(lib, p.a) for p in drawn], [add(lib, p.b) for p in drawn]
    at, rotation = np.array([p.position for p in drawn]), np.array([p.rotation for p in drawn])
    zero, unit = np.zeros_like(at), np.tile([1.0, 0, 0, 0], (len(drawn), 1))
    r = engine.distance(lib, a, b, zero, unit, at, rotation, quat="wxyz")
    r.raise_if_failed()
    at -= r.normal * (r.distance + rng.uniform(LEAST, MOST, len(drawn)))[:, None]
    for p, position, normal in zip(drawn, at, r.normal, strict=True):
        p.position, p.normal = position, normal


def ours(engine: cl.Engine, pairs: list[Pair], poses: Any) -> tuple[list[Points], int]:
    """The points of the engine, and how many of them have a gap below the lower bound."""
    lib = cl.Library()
    a, b = [add(lib, p.a) for p in pairs], [add(lib, p.b) for p in pairs]
    at, rotation = poses
    r = engine.contacts(lib, a, b, at[:, 0], rotation[:, 0], at[:, 1], rotation[:, 1], quat="wxyz", max_gap=0)
    assert not r.failed.any()
    ends = np.cumsum(r.count)[:-1]
    each = zip(*(np.split(x, ends) for x in (r.position, r.gap, r.normal)), strict=True)
    return [Points(p, g, n[0] if len(n) else UP) for p, g, n in each], int(np.count_nonzero(~(r.lower <= r.gap)))


def coal_peer() -> Peer:
    coal: Any = importlib.import_module("coal")

    def made(shape: Shape) -> Any:
        kind, size = shape
        if kind == "box":
            return coal.Box(*(2 * size))
        if kind == "halfspace":
            return coal.Halfspace(UP, 0.0)
        if kind == "convex":
            points = coal.StdVec_Vec3s()
            points.extend(list(size))
            return coal.Convex.convexHull(points, False, "")
        return (coal.Capsule if kind == "capsule" else coal.Cylinder)(size[0], 2 * size[1])

    request, wanted = coal.CollisionRequest(), coal.ContactPatchRequest()
    request.enable_contact = True
    request.gjk_tolerance = request.epa_tolerance = 1e-8

    def peer(pair: Pair, at: Any, rotation: Any) -> Points:
        shapes, placed = (made(pair.a), made(pair.b)), (coal.Transform3s(), coal.Transform3s())
        for k, transform in enumerate(placed):
            transform.setTranslation(at[k])
            transform.setRotation(matrix(rotation[k]))
        result, found = coal.CollisionResult(), coal.ContactPatchResult()
        if not coal.collide(shapes[0], placed[0], shapes[1], placed[1], request, result):
            return Points(np.zeros((0, 3)), np.zeros(0), UP)
        coal.computeContactPatch(shapes[0], placed[0], shapes[1], placed[1], result, wanted, found)
        if not found.numContactPatches():
            return Points(np.zeros((0, 3)), np.zeros(0), UP)
        patch = found.getContactPatch(0)
        points = np.array([np.ravel(patch.getPoint(k)) for k in range(patch.size())]).reshape(-1, 3)
        return Points(points, np.full(len(points), patch.penetration_depth), np.ravel(patch.getNormal()).copy())

    return peer


def mujoco_peer() -> Peer:
    mujoco: Any = importlib.import_module("mujoco")

    def text(numbers: Any) -> str:
        return " ".join(repr(float(x)) for x in np.ravel(numbers))

    def peer(pair: Pair, at: Any, rotation: Any) -> Points:
        assets, bodies = "", ""
        for k, (kind, size) in enumerate((pair.a, pair.b)):
            if kind == "convex":
                assets += f'<mesh name="m{k}" vertex="{text(size)}"/>'
                geom = f'type="mesh" mesh="m{k}"'
            elif kind == "halfspace":
                geom = 'type="plane" size="5 5 1"'
            else:
                geom = f'type="{kind}" size="{text(size)}"'
            bodies += f'<body mocap="true"><geom name="g{k}" {geom} contype="0" conaffinity="0"/></body>'
        model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option ccd_tolerance="1e-8" ccd_iterations="200"/><asset>{assets}</asset>'
            f'<worldbody>{bodies}</worldbody><contact><pair geom1="g0" geom2="g1"/></contact></mujoco>'
        )
        data = mujoco.MjData(model)
        data.mocap_pos[:], data.mocap_quat[:] = at, rotation
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if not data.ncon:
            return Points(np.zeros((0, 3)), np.zeros(0), UP)
        normal = data.contact.frame[0, :3] * (1 if data.contact.geom[0, 0] == 0 else -1)
        return Points(data.contact.pos.copy(), data.contact.dist.copy(), normal)

    return peer


PEERS: Final[dict[str, Callable[[], Peer]]] = {"coal": coal_peer, "MuJoCo": mujoco_peer}


def sane(p: Points) -> bool:
    """Whether there are points, all of them with a depth that a contact can have."""
    return len(p.gap) > 0 and bool(np.all(np.abs(p.gap) < FAR))


def area(p: Points) -> float:
    """The area of the hull of the points, seen along the normal."""
    if len(p.position) < 3 or not sane(p) or not np.all(np.abs(p.position) < FAR):
        return 0.0
    side = np.cross(p.normal, np.eye(3)[np.argmin(np.abs(p.normal))])
    side /= np.linalg.norm(side)
    flat = (p.position - p.position[0]) @ np.stack([side, np.cross(p.normal, side)], axis=1)
    flat = flat[np.lexsort(flat.T)]

    def chain(points: Any) -> list[Any]:
        out: list[Any] = []
        for q in points:
            while len(out) > 1 and cross(out[-1] - out[-2], q - out[-2]) <= 0:
                out.pop()
            out.append(q)
        return out[:-1]

    def cross(u: Any, v: Any) -> float:
        return float(u[0] * v[1] - u[1] * v[0])

    ring = chain(flat) + chain(flat[::-1])
    return abs(sum(cross(u, v) for u, v in zip(ring, ring[1:] + ring[:1], strict=True))) / 2


def outside(engine: cl.Engine, pairs: list[Pair], poses: Any, found: list[Points]) -> Any:
    """How far each point lies off its bodies, in metres.

    The point of A, half a gap before the middle, must not lie outside of A, nor that of B outside of B, and the middle
    not deeper in either body than the largest depth of penetration.
    """
    lib = cl.Library()
    point = lib.convex([[0.0, 0, 0]])
    row = np.repeat(np.arange(len(pairs)), [len(p.gap) for p in found])
    if not len(row):
        return np.zeros(0)
    middle = np.concatenate([p.position for p in found])
    half = np.concatenate([0.5 * p.gap[:, None] * p.normal for p in found])
    lost = ~np.all(np.abs(np.concatenate([middle, half], axis=1)) < FAR, axis=1)
    middle[lost] = half[lost] = 0
    unit, index = np.tile([1.0, 0, 0, 0], (len(row), 1)), np.full(len(row), point)
    most = np.zeros(len(row))
    for k, sign in enumerate((-1, 1)):
        shapes = np.array([add(lib, p.b if k else p.a) for p in pairs])[row]
        place, rotated = poses[0][row, k], poses[1][row, k]
        own = engine.distance(lib, shapes, index, place, rotated, middle + sign * half, unit, quat="wxyz")
        deep = engine.distance(lib, shapes, index, place, rotated, middle, unit, quat="wxyz")
        own.raise_if_failed()
        deep.raise_if_failed()
        most = np.maximum(most, np.maximum(own.distance, -deep.distance - MOST))
    return np.where(lost, np.inf, most)


def reach(shape: Shape, direction: Any) -> float:
    """How far a shape reaches from its origin in a direction of its frame; a half-space, from its plane along z."""
    kind, size = shape
    if kind == "halfspace":
        return 0.0
    if kind == "box":
        return float(np.abs(direction) @ size)
    if kind == "convex":
        return float(np.max(size @ direction))
    across = np.linalg.norm(direction[:2]) if kind == "cylinder" else np.linalg.norm(direction)
    return float(size[0] * across + size[1] * abs(direction[2]))


def short(pair: Pair, at: Any, rotation: Any, found: Points) -> float:
    """By how much the bodies penetrate along the normal beyond the deepest point, in metres."""
    n = found.normal
    a, b = (matrix(q).T @ n for q in rotation)
    return float(reach(pair.a, a) + reach(pair.b, -b) - n @ (at[1] - at[0]) + found.gap.min())


def measured(engine: cl.Engine, name: str, seed: int, count: int, peers: dict[str, Peer]) -> tuple[list[str], int]:
    """The rows of the table of a kind, and the points of the engine with a gap below the bound."""
    rng = np.random.default_rng([34, seed])
    pairs = [KINDS[name](rng) for _ in range(count)]
    touching(engine, pairs, rng)
    at, rotation = np.zeros((count, 2, 3)), np.zeros((count, 2, 4))
    for i, p in enumerate(pairs):
        q = any_rotation(rng)
        at[i, 0] = rng.uniform(-1, 1, 3)
        at[i, 1] = at[i, 0] + matrix(q) @ p.position
        rotation[i] = q, product(q, p.rotation)
    poses = at, rotation
    own, below = ours(engine, pairs, poses)
    rows, size = [], np.array([area(p) for p in own])
    answers = {"Clearance": own}
    for peer, call in peers.items():
        answers[peer] = [call(p, at[i], rotation[i]) for i, p in enumerate(pairs)]
    for i, (who, found) in enumerate(answers.items()):
        n = np.array([len(p.gap) for p in found])
        off = outside(engine, pairs, poses, found)
        cells = [name if i == 0 else "", who, f"{np.median(n):g} ({n.min()} to {n.max()})"]
        if i == 0:
            cells += ["", "", ""]
        else:
            theirs = np.array([area(p) for p in found])
            both = (theirs > 1e-9) & (size > 1e-9)
            deepest = [abs(p.gap.min() - found[i].gap.min()) for i, p in enumerate(own) if sane(p) and sane(found[i])]
            equal = np.mean(n == [len(p.gap) for p in own])
            cells += [f"{100 * equal:.3g} %", f"{np.median(size[both] / theirs[both]):.3f}" if both.any() else "-"]
            cells += [f"{1e6 * np.median(deepest):.2g}, {1e6 * max(deepest):.2g}" if deepest else "-"]
        less = np.array([short(pairs[i], at[i], rotation[i], p) for i, p in enumerate(found) if sane(p)])
        cells += [f"{100 * np.mean(less > OFF):.3g} %, {1e6 * max(0, less.max()):.2g}" if len(less) else "-"]
        cells += [f"{100 * np.mean(off > OFF):.3g} %" if len(off) else "-", f"{1e6 * off.max(initial=0):.2g}"]
        rows.append("| " + " | ".join(cells) + " |")
    return rows, below


def main() -> None:
    parser = argparse.ArgumentParser(description="contact points beside those of coal and MuJoCo")
    parser.add_argument("--pairs", type=int, default=400, help="pairs of each kind")
    parser.add_argument("--note", default="", help="a sentence of the page about the machine")
    parser.add_argument("--out", type=Path, help="write the page to a file")
    options = parser.parse_args()
    peers, versions = dict[str, Peer](), list[str]()
    for name, make in PEERS.items():
        try:
            peers[name] = make()
        except ImportError as e:
            print(f"{name}: {e}: left out")
            continue
        versions.append(f"{name} {importlib.import_module(name.lower()).__version__}")
    page = [
        "# Contact points beside coal and MuJoCo",
        "",
        f"`lab/python/manifolds.py`: {options.pairs:,} pairs of each kind that penetrate by 10 µm to 1 mm,",
        f"shapes of 0.1 to 0.4 m. {', '.join(versions) or 'No peers'}. "
        f"{platform.machine()}, {os.cpu_count()} processors.",
        "",
        f"| {' | '.join(HEADS)} |",
        "|---|---|---|" + "--:|" * (len(HEADS) - 3),
    ]
    below = 0
    with cl.Engine("cpu", precision="double") as engine:
        for seed, name in enumerate(KINDS):
            rows, less = measured(engine, name, seed, options.pairs, peers)
            page += rows
            below += less
    page += ["", HOW]
    if len(peers) == len(PEERS):
        page += ["", DIFFERENCES]
    page += ["", f"Points of Clearance with a gap below the lower bound: {below}."]
    page += ["", options.note] if options.note else []
    print("\n".join(page))
    if options.out:
        options.out.write_text("\n".join(page) + "\n", encoding="utf-8")


HOW: Final = """\
Points: median, least and most of a pair. Areas are those of the hull of the points along the normal, a median of the
pairs where both have one. Deepest points: median and largest difference. A depth falls short where the bodies penetrate
along the reported normal by more than 1 µm beyond the deepest point, so that a move by that depth does not part them;
the largest in µm. A point is off its bodies if its point of A, half a gap before it, lies more than 1 µm outside of
A, that of B outside of B, or it lies deeper than 1 mm in either; the last column is how far at most, inf for
coordinates or depths beyond 1e6 m."""

DIFFERENCES: Final = """What differs with coal 3.0.3 and MuJoCo 4.0.0:

- Boxes, face on face: two rectangles intersect with up to eight corners. Both peers keep all, Clearance four, of the
  largest area that its choice finds.
- Any rotation: Clearance has every corner of the intersection along the normal with a gap of at most zero, few as they
  are below 1 mm, and both peers often the deepest alone. Where coal has two points, they mostly lie off the bodies; of
  boxes also with patch tolerances of 1e-5 and 1e-8. Of cylinders and boxes two points of coal lie at 1e307 m.
- Capsules, parallel: Clearance and MuJoCo have both ends of the stretch that the capsules share. coal has one of them
  for more than half of the pairs.
- Cylinder on a box, cap: coal samples the rim at twelve points. Clearance and MuJoCo have four, a square on a whole
  rim in Clearance.
- Hulls, face on face: coal keeps all corners of the intersection, Clearance and MuJoCo four. MuJoCo has vertices in
  float32.
- Cylinder and box, hulls, any rotation: MuJoCo often has the normal of another feature and a depth that does not part
  the bodies along it, and some of its points of hulls lie off them. The depth of coal does for nearly all pairs. That
  of Clearance is proved in the lower bound of every row; of points that are equally deep up to 1e-5 of the size it
  takes the first by ID, which may be short by as much."""


if __name__ == "__main__":
    main()
