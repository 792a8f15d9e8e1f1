"""MuJoCo models of installed packages: what loads, and poses, pairs and distances beside MuJoCo's own.

    python lab/python/mujoco_models.py FOLDER... [--rows 4000] [--configurations 5] [--only TEXT]

A folder is one of packages (site-packages, say): every file below it with the root <mujoco> that MuJoCo compiles is
taken. Poses are those of geoms at random configurations, pairs those for which mj_collision has a contact once all
geoms are spheres larger than the model. Rows are signed distances beside mj_geomDistance, and contacts beside those of
mj_collision. A distance that differs by more than --tolerance is asked again with a smaller tolerance of MuJoCo's, and
by its other algorithm; then the reference solver decides, see arbiter.py.
lab/results/models.md has the figures.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import arbiter
import mujoco
import numpy as np

import clearance as cl
from clearance._kinematics import product, rotated
from clearance.mujoco import MujocoScene, from_model


def files(folders: list[Path], only: str) -> list[Path]:
    found = {f for folder in folders for f in folder.rglob("*.xml") if only in str(f)}
    return sorted(f for f in found if b"<mujoco" in f.read_bytes())


def loaded(model: Any) -> tuple[MujocoScene, list[str]]:
    """The scene of a model, without the geoms and flexes that it refuses, and their names."""
    omit: list[str] = []
    while True:
        try:
            return from_model(model, concave="hull", omit=omit), omit
        except cl.ShapeError as e:
            name = re.search(r"omit=\('(.*)',\)", str(e))
            if name is None:
                raise
            omit.append(name[1])


def configurations(scene: MujocoScene, count: int, rng: np.random.Generator) -> np.ndarray:
    """Random configurations, with free bodies in random poses near the origin."""
    model = scene.model
    qpos = scene.random_qpos(count, rng, slides=(-1, 1))
    for j in range(model.njnt):
        if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE:
            at = model.jnt_qposadr[j]
            qpos[:, at : at + 3] += rng.normal(0, 0.5, (count, 3))
            q = rng.normal(size=(count, 4))
            qpos[:, at + 3 : at + 7] = q / np.linalg.norm(q, axis=1, keepdims=True)
    return qpos


def pose_errors(scene: MujocoScene, data: Any, poses: np.ndarray) -> tuple[float, float]:
    """The largest differences of positions of geoms, relative to their distance from the origin where that is above a
    metre, and of entries of their axes."""
    worst, tilted = 0.0, 0.0
    for pose, body, geoms in zip(poses, scene.bodies, scene.geom_ids, strict=True):
        at = np.array([p.position for p in body.parts])
        q = product(pose[3:], np.array([p.rotation for p in body.parts]))
        want = data.geom_xpos[geoms]
        off = np.abs(pose[:3] + rotated(pose[3:], at) - want).max(axis=1)
        worst = max(worst, (off / np.maximum(1, np.linalg.norm(want, axis=1))).max())
        q = q / np.linalg.norm(q, axis=-1, keepdims=True)
        axes = np.stack([rotated(q, e) for e in np.eye(3)], axis=-1)
        tilted = max(tilted, np.abs(axes - data.geom_xmat[geoms].reshape(-1, 3, 3)).max())
    return worst, tilted


def pairs_differ(path: Path, scene: MujocoScene, omitted: list[str]) -> set[tuple[int, int]] | None:
    """The pairs of geoms that the scene or MuJoCo alone collides; None if MuJoCo has no room for all contacts."""
    spec = mujoco.MjSpec.from_file(str(path))
    spec.memory = 4 << 30
    model = spec.compile()
    gone = {g for g in range(model.ngeom) if (model.geom(g).name or f"geom {g}") in omitted}
    large = 1e3 * max(1.0, float(model.stat.extent))
    for g in range(model.ngeom):
        if model.geom_type[g] != mujoco.mjtGeom.mjGEOM_PLANE:
            model.geom_type[g], model.geom_size[g] = mujoco.mjtGeom.mjGEOM_SPHERE, (large, 0, 0)
            model.geom_rbound[g], model.geom_aabb[g] = large, (0, 0, 0, large, large, large)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    if data.warning[int(mujoco.mjtWarning.mjWARN_CONTACTFULL)].number:
        return None
    listed = {(int(min(g)), int(max(g))) for g in data.contact.geom}
    want = {p for p in listed if p[0] >= 0 and not gone & set(p)}
    ids = scene.geom_ids
    return want ^ {(min(a, b), max(a, b)) for i, j in scene.pairs for a in ids[i] for b in ids[j]}


class Rows:
    """Signed distances beside mj_geomDistance, and contacts of pairs of bodies beside those of mj_collision."""

    def __init__(self, engine: cl.Engine, count: int, tolerance: float) -> None:
        self.engine, self.count, self.tolerance = engine, count, tolerance
        self.compared, self.deep, self.same, self.largest = 0, 0, 0, 0.0
        self.flags, self.alike, self.near = 0, 0, 0
        self.outcomes: Counter[str] = Counter()

    def compare(self, scene: MujocoScene, qpos: np.ndarray, rng: np.random.Generator) -> None:
        """Compare rows of a model at configurations: one half at random, the other the deepest and nearest."""
        model, data = scene.model, mujoco.MjData(scene.model)
        if not scene.pairs:
            return
        roll = self.engine.rollout(scene, worlds=1, precision="double", culling=False)
        most = max(1, self.count // len(qpos))
        pairs = np.array(scene.pairs)
        for q in qpos:
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_collision(model, data)
            poses = scene.poses(qpos=q[None])
            r = roll(poses, quat="wxyz")
            valid = np.flatnonzero(np.asarray(r.ok[0]) & np.isfinite(r.distance[0]) & (np.asarray(r.part_a[0]) >= 0))
            nearest = valid[np.argsort(np.asarray(r.distance[0])[valid])][: most // 2]
            chosen = np.unique(np.concatenate([nearest, rng.permutation(valid)[: most - most // 2]]))
            ends = pairs[chosen].T
            every = np.broadcast_to(poses, (len(chosen), *poses.shape[1:]))
            found = zip(ends, (np.asarray(r.part_a[0])[chosen], np.asarray(r.part_b[0])[chosen]), strict=True)
            (shape_a, at_a), (shape_b, at_b) = (arbiter.placed(scene, every, body, part) for body, part in found)
            touching = self._touching(scene, data)
            for k, p in enumerate(chosen):
                sides = zip(scene.pairs[p], (r.part_a[0, p], r.part_b[0, p]), strict=True)
                a, b = (scene.geom_ids[i][k] for i, k in sides)
                shapes, at = (int(shape_a[k]), int(shape_b[k])), (at_a[k], at_b[k])
                self._row(scene, data, (a, b), shapes, at, float(r.distance[0, p]))
                self._flag(scene, (a, b), shapes, at, float(r.distance[0, p]), bool(r.hit[0, p]), p in touching)

    def _touching(self, scene: MujocoScene, data: Any) -> set[int]:
        """The pairs of the scene with a contact of mj_collision that is no mere margin."""
        body = {g: i for i, geoms in enumerate(scene.geom_ids) for g in geoms}
        number = {p: k for k, p in enumerate(scene.pairs)}
        contacts = zip(data.contact.geom.tolist(), data.contact.dist.tolist(), strict=True)
        ends = [(body.get(g, -1), body.get(h, -1)) for (g, h), dist in contacts if dist <= 0]
        return {number[i, j] for a, b in ends for i, j in ((a, b), (b, a)) if (i, j) in number}

    def _kinds(self, model: Any, geoms: tuple[int, int]) -> str:
        return "-".join(sorted(mujoco.mjtGeom(int(model.geom_type[g])).name[7:].lower() for g in geoms))

    def _row(
        self, scene: MujocoScene, data: Any, geoms: tuple[int, int], shapes: tuple[int, int], at: Any, ours: float
    ) -> None:
        self.compared += 1
        self.deep += ours < 0
        model = scene.model
        # Lengths of a model count from a metre on: geoms at 100 m have rounding errors of float32 vertices.
        allowed = self.tolerance * max(1.0, abs(ours))
        most = 2 * abs(ours) + 1
        theirs = mujoco.mj_geomDistance(model, data, *geoms, most, None)
        if abs(theirs - ours) <= allowed:
            self.same += 1
            self.largest = max(self.largest, abs(theirs - ours))
            return
        kept = model.opt.ccd_tolerance, model.opt.ccd_iterations, model.opt.disableflags
        again = []
        for flags in (0, int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)):
            model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-10, 1000
            model.opt.disableflags = kept[2] ^ flags
            again.append(mujoco.mj_geomDistance(model, data, *geoms, most, None))
        model.opt.ccd_tolerance, model.opt.ccd_iterations, model.opt.disableflags = kept
        kinds = self._kinds(model, geoms)
        if any(abs(t - ours) <= allowed for t in again):
            what = "depths" if ours < 0 else "distances"
            self.outcomes[f"MuJoCo agrees by a smaller tolerance or its other algorithm, {what}: {kinds}"] += 1
            return
        low, high = arbiter.bounds(scene.library, shapes, at)
        self.outcomes[f"{arbiter.about_distance(low, high, ours, theirs, 'MuJoCo')}: {kinds}"] += 1

    def _flag(
        self,
        scene: MujocoScene,
        geoms: tuple[int, int],
        shapes: tuple[int, int],
        at: Any,
        ours: float,
        hit: bool,
        touching: bool,
    ) -> None:
        self.flags += 1
        if hit == touching:
            self.alike += 1
        elif abs(ours) <= self.tolerance * max(1.0, abs(ours)):
            self.near += 1
        else:
            low, high = arbiter.bounds(scene.library, shapes, at)
            self.outcomes[f"{arbiter.about_contact(low, high, hit, 'MuJoCo')}: {self._kinds(scene.model, geoms)}"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=4000, help="of each model; 0 for none")
    parser.add_argument("--configurations", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="in metres; that of MuJoCo is 1e-6")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rows = Rows(cl.Engine("cpu"), options.rows, options.tolerance)
    total, compiled, whole, omitted, failed = 0, 0, 0, 0, []
    worst, tilted, slowest, differing, unchecked, pairs = 0.0, 0.0, (0.0, ""), [], 0, 0
    for path in files(options.folders, options.only):
        total += 1
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue
        compiled += 1
        start = time.perf_counter()
        try:
            scene, omit = loaded(model)
        except cl.ClearanceError as e:
            failed.append(f"{path.name}: {e}")
            continue
        slowest = max(slowest, (time.perf_counter() - start, path.name))
        whole, omitted = whole + (not omit), omitted + bool(omit)
        rng = np.random.default_rng(total)
        qpos = configurations(scene, options.configurations, rng)
        data, poses = mujoco.MjData(model), scene.poses(qpos=qpos)
        for k, q in enumerate(qpos):
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            if scene.bodies:
                position, axes = pose_errors(scene, data, poses[k])
                if position > 1e-14 or axes > 1e-14:
                    print(f"  {path.name}: poses differ by {position:.1e}, {axes:.1e}", flush=True)
                worst, tilted = max(worst, position), max(tilted, axes)
        differ = pairs_differ(path, scene, omit)
        unchecked, pairs = unchecked + (differ is None), pairs + len(scene.pairs)
        if differ:
            names = [tuple(model.geom(g).name or g for g in pair) for pair in sorted(differ)[:3]]
            differing.append(f"{path.name}: {len(differ)} pairs, {names}")
        if options.rows:
            rows.compare(scene, qpos, rng)
    print(f"\nMuJoCo {mujoco.__version__}: {total} files, {compiled} compiled by MuJoCo\n")
    print(f"- loaded as they are {whole}, without geoms and flexes by name {omitted}, refused {len(failed)} {failed}")
    print(f"- slowest load {slowest[0]:.2f} s ({slowest[1]})")
    print(f"- poses: positions to {worst:.1e} (relative above 1 m), axes to {tilted:.1e}")
    print(f"- pairs: {pairs:,}; {len(differing)} models differ {differing}; not compared {unchecked}")
    near = f"{options.tolerance:g} m"
    print(f"- rows: {rows.compared:,}, {rows.deep:,} penetrate; {rows.same:,} within {near} (to {rows.largest:.1e} m)")
    print(f"- contacts: {rows.flags:,} pairs of bodies, {rows.alike:,} alike, {rows.near:,} within {near} of touching")
    for outcome, count in rows.outcomes.most_common():
        print(f"  - {count:,}: {outcome}")


if __name__ == "__main__":
    main()
