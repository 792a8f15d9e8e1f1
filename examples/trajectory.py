"""Clearance along a trajectory of an arm, as a figure: what is proved at each time step, and between them.

The distances at the steps are intervals. They say nothing of what happens in between, so a sweep along the same steps
proves where the motion is free of contact, or finds the first contact. The picture is trajectory.png.

python examples/trajectory.py   (needs matplotlib)
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import clearance as cl

LINKS, LENGTH, RADIUS = 3, 0.4, 0.05  # metres


def make_scene() -> cl.Scene:
    """Three links of a planar arm, a post, and a beam; the links are asked about both."""
    scene, rotated = cl.Scene(), (0.5**0.5, 0, 0.5**0.5, 0)  # a capsule lies along its z axis, a link along x
    link = scene.library.capsule(RADIUS, LENGTH / 2)
    for k in range(LINKS):
        scene.add(cl.Part(link, (LENGTH / 2, 0, 0), rotated), name=f"link {k}")  # from the joint on
    scene.add(scene.library.cylinder(0.06, 0.4), name="post")
    scene.add(scene.library.box([0.5, 0.05, 0.05]), name="beam")
    scene.pairs = [(a, b) for a in range(LINKS) for b in (LINKS, LINKS + 1)]
    return scene


def forward(joints: Any) -> Any:
    """Poses [T,M,7] of the bodies for joint angles [T,LINKS] about z; the post and the beam stand still."""
    angle, poses = np.cumsum(joints, axis=1), np.zeros((len(joints), LINKS + 2, 7))
    direction = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    poses[:, 1:LINKS, :3] = LENGTH * np.cumsum(direction, axis=1)[:, :-1]
    poses[:, :LINKS, 3], poses[:, :LINKS, 6], poses[:, LINKS:, 3] = np.cos(angle / 2), np.sin(angle / 2), 1
    poses[:, LINKS:, :3] = [0.72, 0.55, 0], [-0.2, 0.95, 0]
    return poses


def study(engine: cl.Engine, joints: Any) -> tuple[cl.SceneResult, cl.SweepResult]:
    """The distances at the steps [T,P], and the first contacts of the motion [1,P]."""
    scene, poses = make_scene(), forward(joints)
    with engine.rollout(scene, worlds=len(joints)) as roll:
        steps = roll(poses, quat="wxyz")
    return steps, engine.sweep(scene, poses[None], quat="wxyz")


if __name__ == "__main__":
    steps, motion = study(cl.Engine(), np.linspace([0, 0.4, 0.3], [2.2, -0.2, 0.5], 60))
    first = motion.t0[motion.hit].min()
    plt.plot(steps.distance, label=[f"link {a}, {('post', 'beam')[b - LINKS]}" for a, b in make_scene().pairs])
    plt.axvline(first, color="black", linestyle="--", label=f"free until step {first:.2f}, proved")
    plt.legend()
    plt.gca().set(xlabel="step", ylabel="signed distance (m)")
    plt.savefig("trajectory.png")
    least = steps.distance.min()
    print(f"Motion is proved free until step {first:.2f}; the least distance at a step is {least:.4f} m.")
