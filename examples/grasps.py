"""Grasps in a Parquet file: which of them a gripper can take without touching the object or the table.

A grasp is a world of three bodies: a gripper of two fingers, a bottle and a table. The file has the pose of each; the
answers are another Parquet file with a row for each grasp, its least distance, and an audit proves them from the shapes
alone. The picture grasps.png has the grasp with the largest clearance.

python examples/grasps.py   (needs pyarrow)
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import clearance as cl

CLEAR = 0.002  # metres, from bottle and table


def make_scene() -> cl.Scene:
    """A gripper that is open by 8 cm, a smooth bottle, and a table; the gripper is asked about both."""
    scene = cl.Scene()
    finger = scene.library.box([0.01, 0.008, 0.04])
    scene.add(cl.Part(finger, (-0.05, 0, 0)), cl.Part(finger, (0.05, 0, 0)), name="gripper")
    scene.add(scene.library.superquadric([0.03, 0.03, 0.08], [0.3, 1.0]), name="bottle")
    scene.add(scene.library.halfspace(), name="table")
    scene.pairs = [(0, 1), (0, 2)]
    return scene


def make_poses(count: int, seed: int = 1) -> Any:
    """Random poses [W,3,7] of grippers about the bottle: position, then quaternion w, x, y, z."""
    rng, poses = np.random.default_rng(seed), np.zeros((count, 3, 7))
    poses[:, 0, :3] = rng.normal([0, 0, 0.08], [0.008, 0.008, 0.05], (count, 3))
    yaw, lean = rng.uniform(0, np.pi, count), rng.normal(0, 0.1, count)  # half angles about z and x
    halves = np.cos(yaw), np.cos(lean), np.sin(yaw), np.sin(lean)
    poses[:, 0, 3:] = np.stack([halves[i] * halves[j] for i, j in ((0, 1), (0, 3), (2, 3), (2, 1))], axis=1)
    poses[:, 1, 2], poses[:, 1:, 3] = 0.08, 1
    return poses


def score(folder: Path, count: int) -> Any:
    """The proved least clearances [W] of grasps: -inf without an answer."""
    scene, grasps, answers = make_scene(), folder / "grasps.parquet", folder / "answers.parquet"
    cl.write_worlds(grasps, scene, make_poses(count), quat="wxyz")
    cl.rollout_file(grasps, answers, scene=scene, reduce="world")
    audited, refuted = cl.audit_rollout_file(grasps, answers, scene=scene, reduce="world")
    assert audited == count and not refuted
    distance, gap, status = (c.to_numpy() for c in pq.read_table(answers).select(["distance", "gap", "status"]).columns)
    return np.where(status < cl.UNDECIDED, distance.astype(np.float64) - gap, -np.inf)


if __name__ == "__main__":
    lower = score(Path(), 10_000)
    best = make_poses(10_000)[np.argmax(lower)]
    make_scene().picture(best, quat="wxyz", size=(640, 400), path="grasps.png")
    print(f"Of {len(lower):,} grasps {(lower > CLEAR).sum():,} are proved {1000 * CLEAR:g} mm clear; none is refuted.")
