"""Clearance along a trajectory of an arm, as a figure: what is proved at each time step, and between them.

The distances at the steps are intervals. They say nothing of what happens in between, so a sweep along the same steps
proves where the motion is free of contact, or finds the first contact. It needs matplotlib.

    python examples/trajectory.py --out trajectory.png
"""

from __future__ import annotations

import argparse
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

import clearance as cl

LINKS, LENGTH, RADIUS = 3, 0.4, 0.05  # metres


def make_scene() -> cl.Scene:
    """Three links of a planar arm, a post, and a beam; the links are asked about both."""
    scene = cl.Scene()
    lib = scene.library
    link = lib.capsule(RADIUS, LENGTH / 2)
    for k in range(LINKS):
        # The capsule lies along local x, from the joint on.
        scene.add(cl.Part(link, (LENGTH / 2, 0, 0), (0.5**0.5, 0, 0.5**0.5, 0)), name=f"link {k}")
    scene.add(lib.cylinder(0.06, 0.4), name="post")
    scene.add(lib.box([0.5, 0.05, 0.05]), name="beam")
    scene.pairs = [(a, b) for a in range(LINKS) for b in (LINKS, LINKS + 1)]
    return scene


def forward(joints: Any) -> Any:
    """Poses [T,M,7] of the bodies for joint angles [T,LINKS] about z; the post and the beam stand still."""
    angle = np.cumsum(joints, axis=1)
    poses = np.zeros((len(joints), LINKS + 2, 7))
    direction = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    poses[:, 1:LINKS, :3] = LENGTH * np.cumsum(direction, axis=1)[:, :-1]
    poses[:, :LINKS, 3], poses[:, :LINKS, 6] = np.cos(angle / 2), np.sin(angle / 2)
    poses[:, LINKS:, 3] = 1
    poses[:, LINKS, :3], poses[:, LINKS + 1, :3] = [0.72, 0.55, 0], [-0.2, 0.95, 0]
    return poses


def study(engine: cl.Engine, joints: Any) -> tuple[cl.SceneResult, cl.SweepResult]:
    """The distances at the steps [T,P], and the first contacts of the motion [1,P]."""
    scene, poses = make_scene(), forward(joints)
    with engine.rollout(scene, worlds=len(joints)) as roll:
        steps = roll(poses, quat="wxyz")
    return steps, engine.sweep(scene, poses[None], quat="wxyz")


def draw(steps: cl.SceneResult, motion: cl.SweepResult, path: str) -> None:
    """The least of all pairs over time, pair by pair, with the first contact."""
    scene = make_scene()
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for p, (a, b) in enumerate(scene.pairs):
        axes.plot(steps.distance[:, p], label=f"{scene.bodies[a].name}, {scene.bodies[b].name}")
        axes.fill_between(range(len(steps)), steps.lower[:, p], steps.upper[:, p], alpha=0.3)
    hit = motion.hit[0]
    if hit.any():
        first = float(motion.t0[0][hit].min())
        axes.axvline(first, color="black", linestyle="--", label=f"free of contact until step {first:.2f}, proved")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set(xlabel="step", ylabel="signed distance [m]")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="clearance along a trajectory")
    parser.add_argument("--out", default="trajectory.png")
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    joints = np.linspace([0, 0.4, 0.3], [2.2, -0.2, 0.5], options.steps)
    with cl.Engine() as engine:
        steps, motion = study(engine, joints)
    draw(steps, motion, options.out)
    print(f"least distance at the steps {steps.distance.min():.4f} m; {motion.counts}; figure {options.out}")


if __name__ == "__main__":
    main()
