"""MuJoCo models of installed packages: what loads, and poses, pairs and distances beside MuJoCo's own.

    python python/benchmarks/mujoco_models.py FOLDER... [--rows 4000] [--configurations 5] [--only TEXT]

A folder is one of packages (site-packages, say): every file below it with the root <mujoco> that MuJoCo compiles is
taken. Poses are those of geoms at random configurations, pairs those for which mj_collision has a contact once all
geoms are spheres larger than the model. Rows are distances of separated pairs beside mj_geomDistance; one that differs
by more than --tolerance is asked again with a smaller tolerance of MuJoCo's, and by its other algorithm.
docs/results/models.md has the figures.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

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
    """Distances beside mj_geomDistance."""

    def __init__(self, engine: cl.Engine, count: int, tolerance: float) -> None:
        self.engine, self.count, self.tolerance = engine, count, tolerance
        self.compared, self.same, self.largest = 0, 0, 0.0
        self.outcomes: Counter[str] = Counter()

    def compare(self, scene: MujocoScene, qpos: np.ndarray, rng: np.random.Generator) -> None:
        model, data = scene.model, mujoco.MjData(scene.model)
        if not scene.pairs:
            return
        roll = self.engine.rollout(scene, worlds=1, precision="double", culling=False)
        for q in qpos:
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            r = roll(scene.poses(qpos=q[None]), quat="wxyz")
            apart = np.flatnonzero(np.asarray(r.ok[0]) & ~np.asarray(r.hit[0]) & np.isfinite(r.distance[0]))
            for p in rng.permutation(apart)[: max(1, self.count // len(qpos))]:
                sides = zip(scene.pairs[p], (r.part_a[0, p], r.part_b[0, p]), strict=True)
                a, b = (scene.geom_ids[i][k] for i, k in sides)
                self.row(model, data, a, b, float(r.distance[0, p]), float(r.lower[0, p]), float(r.upper[0, p]))

    def row(self, model: Any, data: Any, a: int, b: int, ours: float, low: float, high: float) -> None:
        self.compared += 1
        # Lengths of a model count from a metre on: geoms at 100 m have rounding errors of float32 vertices.
        allowed = self.tolerance * max(1.0, ours)
        theirs = mujoco.mj_geomDistance(model, data, a, b, 2 * ours + 1, None)
        if abs(theirs - ours) <= allowed:
            self.same += 1
            self.largest = max(self.largest, abs(theirs - ours))
            return
        kept = model.opt.ccd_tolerance, model.opt.ccd_iterations, model.opt.disableflags
        again = []
        for flags in (0, int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD)):
            model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-10, 1000
            model.opt.disableflags = kept[2] ^ flags
            again.append(mujoco.mj_geomDistance(model, data, a, b, 2 * ours + 1, None))
        model.opt.ccd_tolerance, model.opt.ccd_iterations, model.opt.disableflags = kept
        kinds = "-".join(sorted(mujoco.mjtGeom(int(model.geom_type[g])).name[7:].lower() for g in (a, b)))
        if any(abs(t - ours) <= allowed for t in again):
            self.outcomes[f"MuJoCo agrees by a smaller tolerance or its other algorithm: {kinds}"] += 1
        elif theirs > high:
            self.outcomes[f"MuJoCo is above the proved upper bound: {kinds}"] += 1
        else:
            self.outcomes[f"MuJoCo is below the proved lower bound: {kinds}" if theirs < low else f"open: {kinds}"] += 1


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
    print(f"- rows: {rows.compared:,} compared, {rows.same:,} within {options.tolerance:g} m ({rows.largest:.1e} m)")
    for outcome, count in rows.outcomes.most_common():
        print(f"  - {count:,}: {outcome}")


if __name__ == "__main__":
    main()
