"""Signed distances and contacts of URDF models at random configurations, beside coal's; see models.py.

A row is a pair of parts of two bodies at a configuration. Where coal's distance differs by more than 1e-5 m (its
tolerance is 1e-6 m), relative above 1 m, coal is asked again with 1e-10. If it still differs, the reference solver
decides, see arbiter.py. A contact differs if one of them
says contact and the other not while the distance is more than the tolerance away from 0.
"""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path
from typing import Any

import arbiter
import models_poses
import numpy as np

import clearance as cl
from clearance import urdf
from clearance._kinematics import rotated

TOLERANCE = 1e-5


class Coal:
    """The shapes of a library as geometries of coal."""

    def __init__(self, library: cl.Library) -> None:
        self.coal: Any = importlib.import_module("coal")
        self.shapes = [self._shape(s) for s in library]
        self.first, self.second = self._request(None), self._request(1e-10)
        self.result, self.collided = self.coal.DistanceResult(), self.coal.CollisionResult()
        self.contact = self.coal.CollisionRequest()

    def _request(self, tolerance: float | None) -> Any:
        request = self.coal.DistanceRequest()
        if tolerance is not None:
            request.gjk_tolerance = request.epa_tolerance = tolerance
            request.gjk_max_iterations = request.epa_max_iterations = 10_000
        return request

    def _shape(self, s: cl.Shape) -> Any:
        """The geometry of a shape; None for a hull that coal does not make: without a volume, or of too many neighbors
        of a vertex."""
        coal, p = self.coal, s.parameters
        if s.kind == "box":
            return coal.Box(*(2 * p["half_extents"]))
        if s.kind == "sphere":
            return coal.Sphere(p["radius"])
        if s.kind in ("capsule", "cylinder"):
            return (coal.Capsule if s.kind == "capsule" else coal.Cylinder)(p["radius"], 2 * p["half_length"])
        if s.kind == "halfspace":
            return coal.Halfspace(np.array([0, 0, 1.0]), 0.0)
        vertices = p["vertices"]
        if np.linalg.matrix_rank(vertices - vertices[0], tol=1e-6 * np.abs(vertices).max()) < 3:
            return None
        mesh = coal.BVHModelOBBRSS()
        mesh.beginModel(0, len(vertices))
        mesh.addVertices(vertices)
        mesh.endModel()
        try:
            mesh.buildConvexHull(True, "Qt")
        except RuntimeError:
            return None
        return mesh.convex

    def placed(self, poses: np.ndarray) -> list[Any]:
        """The transforms of poses [N,7]."""
        axes = np.stack([rotated(poses[:, 3:], e) for e in np.eye(3)], axis=-1)
        return [self.coal.Transform3s(m, p) for m, p in zip(axes, poses[:, :3], strict=True)]

    def distance(self, a: int, b: int, at: tuple[Any, Any], request: Any) -> float:
        self.result.clear()
        return float(self.coal.distance(self.shapes[a], at[0], self.shapes[b], at[1], request, self.result))

    def collides(self, a: int, b: int, at: tuple[Any, Any]) -> bool:
        self.collided.clear()
        return bool(self.coal.collide(self.shapes[a], at[0], self.shapes[b], at[1], self.contact, self.collided))


class Rows:
    """Rows beside coal, with the outcomes of those that differ."""

    def __init__(self) -> None:
        self.engine = cl.Engine("cpu")
        self.models, self.rows, self.same, self.largest = 0, 0, 0, 0.0
        self.hits, self.contacts, self.near = 0, 0, 0
        self.distances: Counter[str] = Counter()
        self.flags: Counter[str] = Counter()

    def compare(self, scene: urdf.UrdfScene, count: int, rng: np.random.Generator) -> None:
        """Compare ``count`` rows of a scene: one half at random, the other the deepest and nearest of as many as six
        times that."""
        peer = Coal(scene.library)
        made = [[k for k, p in enumerate(b.parts) if peer.shapes[p.shape] is not None] for b in scene.bodies]
        pairs = np.array([(i, k, j, m) for i, j in scene.pairs for k in made[i] for m in made[j]], np.int32)
        if not len(pairs):
            return
        self.models += 1
        worlds = int(np.clip(-(-3 * count // len(pairs)), 20, 2000))
        poses = scene.poses(models_poses.configurations(scene, worlds, rng))
        chosen = rng.choice(worlds * len(pairs), min(3 * count, worlds * len(pairs)), replace=False)
        world, which = np.divmod(chosen, len(pairs))
        (a, left), (b, right) = (
            arbiter.placed(scene, poses[world], pairs[which, s], pairs[which, s + 1]) for s in (0, 2)
        )
        given = (np.ascontiguousarray(x) for x in (left[:, :3], left[:, 3:], right[:, :3], right[:, 3:]))
        r = self.engine.distance(scene.library, a, b, *given, quat="wxyz", precision="double", columns=("distance",))
        r.raise_if_failed()
        distance, hit = np.asarray(r.distance), np.asarray(r.hit)
        near = np.argsort(distance)
        taken = np.unique(np.concatenate([near[: count // 2], np.arange(len(near))[: count - count // 2]]))
        at = peer.placed(left[taken]), peer.placed(right[taken])
        for k, n in enumerate(taken):
            pair, both = (int(a[n]), int(b[n])), (left[n], right[n])
            self._row(scene, peer, pair, both, (at[0][k], at[1][k]), float(distance[n]), bool(hit[n]))

    def _row(
        self, scene: urdf.UrdfScene, peer: Coal, pair: tuple[int, int], poses: Any, at: Any, ours: float, hit: bool
    ) -> None:
        self.rows += 1
        self.hits += hit
        allowed = TOLERANCE * max(1.0, abs(ours))
        kinds = "-".join(sorted(scene.library[i].kind for i in pair))
        theirs = peer.distance(*pair, at, peer.first)
        if abs(theirs - ours) <= allowed:
            self.same += 1
            self.largest = max(self.largest, abs(theirs - ours))
        else:
            again = peer.distance(*pair, at, peer.second)
            if abs(again - ours) <= allowed:
                self.distances[f"coal agrees by a smaller tolerance: {kinds}"] += 1
            else:
                low, high = arbiter.bounds(scene.library, pair, poses)
                self.distances[f"{arbiter.about_distance(low, high, ours, again, 'coal')}: {kinds}"] += 1
        collides = peer.collides(*pair, at)
        if collides == hit:
            self.contacts += 1
        elif abs(ours) <= allowed:
            self.near += 1
        else:
            low, high = arbiter.bounds(scene.library, pair, poses)
            self.flags[f"{arbiter.about_contact(low, high, hit, 'coal')}: {kinds}"] += 1


def compare(paths: list[Path], count: int) -> None:
    """Print how ``count`` rows of the models compare, spread evenly over those with pairs."""
    scenes = []
    for path in paths:
        try:
            scene = urdf.load(path, concave="hull")
        except cl.ClearanceError:
            continue
        if scene.pairs:
            scenes.append((path, scene))
    rows, rng = Rows(), np.random.default_rng(1)
    for k, (path, scene) in enumerate(scenes):
        try:
            rows.compare(scene, -(-(count - rows.rows) // (len(scenes) - k)), rng)
        except cl.ClearanceError as e:
            print(f"  {path}: {e}", flush=True)
    version = importlib.import_module("coal").__version__
    print(f"\ncoal {version}: {rows.models} models with pairs, {rows.rows:,} rows, {rows.hits:,} in contact")
    print(f"- signed distances within {TOLERANCE:g} m: {rows.same:,} (to {rows.largest:.1e} m)")
    for outcome, n in rows.distances.most_common():
        print(f"  - {n:,}: {outcome}")
    print(f"- contacts alike: {rows.contacts:,}; {rows.near:,} others within {TOLERANCE:g} m of touching")
    for outcome, n in rows.flags.most_common():
        print(f"  - {n:,}: {outcome}")
