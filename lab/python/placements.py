"""Worlds without overlap: scene.free_placements beside loops of MuJoCo that draw, detect collisions, and draw again.

    pip install mujoco example-robot-data
    python lab/python/placements.py [--worlds 4096] [--margin 0.005]

Eight objects (boxes, cylinders, capsules, hulls of 30 points) stand upright on a table of 50 × 50 cm, rotated about z.
Both sides draw positions and angles from the same distribution. MuJoCo's loops run mj_kinematics and mj_collision once
for each draw and accept it if no contact is nearer than the margin: one draws an object at a time, one all of them.
What each side accepts is then asked of the other. lab/notebook/front-door.md has the figures.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import mujoco
import numpy as np

import clearance as cl
from clearance import _placements
from clearance.mujoco import from_model

HALF = 0.25  # of the side of the square of the origins, metres
OBJECTS = 8


def model_of(margin: float) -> Any:
    """The MuJoCo model: a table and free objects."""
    points = " ".join(f"{x:.9g}" for x in np.random.default_rng(0).normal(0, 0.03, (30, 3)).ravel())
    kinds = ('type="box" size="0.03 0.04 0.05"', 'type="cylinder" size="0.03 0.05"',
             'type="capsule" size="0.025 0.05"', 'type="mesh" mesh="stone"')  # fmt: skip
    bodies = "".join(
        f'<body name="object {i}"><freejoint/><geom {kinds[i % 4]} margin="{margin}"/></body>' for i in range(OBJECTS)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="stone" vertex="{points}"/></asset><worldbody>'
        f'<geom name="table" type="box" size="0.5 0.5 0.02" pos="0 0 -0.02" margin="{margin}"/>{bodies}'
        "</worldbody></mujoco>"
    )


class Loop:
    """Rejections by MuJoCo, one draw at a time."""

    def __init__(self, model: Any, levels: Any, margin: float, seed: int = 0) -> None:
        self.model, self.data, self.margin = model, mujoco.MjData(model), margin
        self.levels, self.rng, self.draws = levels, np.random.default_rng(seed), 0

    def draw(self, i: int) -> None:
        half = self.rng.uniform(0, np.pi)
        x, y = self.rng.uniform(-HALF, HALF, 2)
        self.data.qpos[7 * i : 7 * i + 7] = [x, y, self.levels[i], np.cos(half), 0, 0, np.sin(half)]

    def free(self) -> bool:
        self.draws += 1
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return not (self.data.contact.dist[: self.data.ncon] < self.margin).any()

    def world(self, together: bool) -> Any:
        """The qpos of a world. Objects that are not placed yet wait far away."""
        q = self.data.qpos.reshape(OBJECTS, 7)
        if together:
            while True:
                for i in range(OBJECTS):
                    self.draw(i)
                if self.free():
                    return q.ravel().copy()
        q[:] = [0, 0, 0, 1, 0, 0, 0]
        q[:, 0] = 10 + 10 * np.arange(OBJECTS)
        for i in range(OBJECTS):
            self.draw(i)
            while not self.free():
                self.draw(i)
        return q.ravel().copy()


class Clock:
    """Seconds of the wall, and of the processor, which other work on the machine changes less."""

    def __enter__(self) -> Clock:
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self.wall, time.process_time() - self.cpu

    def __str__(self) -> str:
        return f"{self.wall:.2f} s, {self.cpu:.2f} s of CPU"


def stats(found: Any) -> str:
    rows = f"{found.filled.sum():,} of {len(found):,} filled"
    return f"{rows}, {found.tries.mean():.1f} draws, {found.undecided.sum()} undecided"


def table(worlds: int, margin: float) -> None:
    model = model_of(margin)
    scene = from_model(model, concave="hull")
    region = cl.SurfaceRegion([-HALF, -HALF], [HALF, HALF])
    regions = {f"object {i}": region for i in range(OBJECTS)}
    for workers in (None, 1):
        with cl.Engine("cpu", workers=workers) as eng:
            found = scene.free_placements(worlds, regions, margin=margin, engine=eng)
            with Clock() as clock:
                found = scene.free_placements(worlds, regions, margin=margin, engine=eng)
            print(f"clearance, sequence, workers {workers or 'all'}: {clock}; {stats(found)}")
    assert found is not None and found.configuration is not None
    with cl.Engine("cpu") as eng:
        few = max(1, worlds // 16)
        with Clock() as clock:
            every = scene.free_placements(
                few, regions, margin=margin, together=True, tries=100_000, restarts=0, engine=eng
            )
        print(f"clearance, together, {few} worlds: {clock}; {stats(every)}")
        levels = found.poses[0, [scene.index(f"object {i}") for i in range(OBJECTS)], 2]
        for together, count in ((False, worlds), (True, few)):
            loop = Loop(model, levels, margin)
            with Clock() as clock:
                accepted = np.stack([loop.world(together) for _ in range(count)])
            with eng.rollout(scene, worlds=count, reduce="world", precision="double") as roll:
                r = roll(scene.poses(qpos=accepted))
            name = "together" if together else "sequence"
            print(f"MuJoCo, {name}, {count} worlds: {clock}; {loop.draws / count:.1f} draws")
            print(f"  of them refuted at the margin: {(r.upper < margin).sum()}, least {r.distance.min():.6f} m")
        loop, refused = Loop(model, levels, margin), 0
        for q in found.configuration:
            loop.data.qpos[:] = q
            refused += not loop.free()
        print(f"worlds of clearance that MuJoCo refuses: {refused}")
        with eng.rollout(scene, worlds=worlds, precision="double") as roll:
            r = roll(found.poses)
        print(f"least distance, double precision: {r.lower.min():.6f} m; proved {found.lower.min():.6f} m")
        crowd = cl.SurfaceRegion([-0.05, -0.05], [0.05, 0.05])
        with Clock() as clock:
            full = scene.free_placements(
                worlds, dict.fromkeys(regions, crowd), margin=margin, unfilled="mask", engine=eng
            )
        print(f"origins in 10 × 10 cm: {clock}; {stats(full)}")
        try:
            scene.free_placements(1, dict.fromkeys(regions, crowd), margin=margin, engine=eng)
        except cl.PlacementError as e:
            print(f"  {e}")


def robot(worlds: int) -> None:
    """A Panda above a table, with three balls, all of it sampled."""
    arm: Any = cl.load("package://example-robot-data/robots/panda_description/urdf/panda.urdf", concave="hull")
    links = len(arm.bodies)
    arm.skip(arm.skip_never_and_always(2000).always)
    lib = arm.library
    top, ball = arm.add(lib.box([0.6, 0.6, 0.02]), name="table"), lib.sphere(0.08)
    balls = [arm.add(ball, name=f"ball {i}") for i in range(3)]
    arm.pairs = [*arm.pairs, *((i, top) for i in range(2, links)), *((i, b) for b in balls for i in range(links))]
    arm.pairs = [*arm.pairs, *((top, b) for b in balls), *((a, b) for a in balls for b in balls if a < b)]
    stand = np.tile([0, 0, 0, 1.0, 0, 0, 0], (4, 1))
    stand[0, :3] = 0.3, 0, -0.03
    regions = {f"ball {i}": cl.BoxRegion([0.2, -0.5, 0.1], [0.8, 0.5, 0.8]) for i in range(3)}
    with cl.Engine("cpu") as eng:
        with Clock() as clock:
            found = arm.free_placements(worlds, regions, ranges="limits", others=stand, margin=0.02, engine=eng)
        print(f"Panda and 3 balls: {clock}; {stats(found)}")
        with eng.rollout(arm, worlds=worlds, reduce="world", precision="double") as roll:
            print(f"  least distance, double precision: {roll(found.poses).lower.min():.6f} m")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--margin", type=float, default=0.005)
    args = parser.parse_args()
    print(f"blocks of {_placements._BLOCK} worlds, margin {args.margin} m")
    table(args.worlds, args.margin)
    robot(args.worlds)


if __name__ == "__main__":
    main()
