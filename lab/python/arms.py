"""The arms of arm_worlds.py on rollouts, beside Python loops over coal and MuJoCo for the same answers.

    pip install gymnasium coal mujoco
    python lab/python/arms.py [--worlds 4096] [--rounds 3] [--workers 1]

Each world is an arm at random joints among obstacles of its own, 30 pairs of bodies. The loops, one thread each, set
the poses of a world and then ask for the distance of each pair, for the first ``--looped`` worlds; a loop whose package
is not installed is left out, and the program says so. The rounds go through all cases in turns.
lab/notebook/python.md has the figures.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import clearance as cl

arm_worlds: Any = importlib.import_module("arm_worlds")

# Distances [W,P] of the worlds from poses [W,M,7].
Loop = Callable[[Any], Any]


def poses_of(worlds: int) -> Any:
    """Random joints, and obstacles as those that an episode begins with."""
    rng = np.random.default_rng(1)
    links, obstacles = arm_worlds.LINKS, arm_worlds.OBSTACLES
    poses = np.zeros((worlds, links + obstacles + 1, 7))
    poses[..., 3] = 1
    poses[:, :links] = arm_worlds.forward(rng.uniform(-1, 1, (worlds, links)))
    angle, radius = rng.uniform(-np.pi, np.pi, (worlds, obstacles)), rng.uniform(0.35, 0.9, (worlds, obstacles))
    place = [radius * np.cos(angle), radius * np.sin(angle), rng.uniform(0.2, 1.2, (worlds, obstacles))]
    poses[:, links : links + obstacles, :3] = np.stack(place, axis=-1)
    return poses


def parts(scene: cl.Scene) -> list[cl.Shape]:
    """The shape of each body; all of them have one part at their origin."""
    return [scene.library[body.parts[0].shape] for body in scene.bodies]


def coal_loop(scene: cl.Scene) -> Loop:
    coal: Any = importlib.import_module("coal")
    made: list[Any] = []
    for s in parts(scene):
        p = s.parameters
        if s.kind == "capsule":
            made.append(coal.Capsule(p["radius"], 2 * p["half_length"]))
        elif s.kind == "box":
            made.append(coal.Box(*(2 * p["half_extents"])))
        elif s.kind == "sphere":
            made.append(coal.Sphere(p["radius"]))
        else:
            made.append(coal.Halfspace(np.array([0.0, 0, 1]), 0.0))
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    transforms = [coal.Transform3s() for _ in made]

    def loop(poses: Any) -> Any:
        out = np.empty((len(poses), len(scene.pairs)))
        for w, world in enumerate(poses):
            for k, transform in enumerate(transforms):
                transform.setTranslation(world[k, :3])
                transform.setRotation(matrix(world[k, 3:]))
            for p, (a, b) in enumerate(scene.pairs):
                result.clear()
                out[w, p] = coal.distance(made[a], transforms[a], made[b], transforms[b], request, result)
        return out

    return loop


def matrix(q: Any) -> Any:
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = q.tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def mujoco_loop(scene: cl.Scene) -> Loop:
    mujoco: Any = importlib.import_module("mujoco")
    bodies = []
    for s in parts(scene):
        p = s.parameters
        if s.kind == "capsule":
            geom = f'type="capsule" size="{p["radius"]} {p["half_length"]}"'
        elif s.kind == "box":
            geom = 'type="box" size="{} {} {}"'.format(*p["half_extents"])
        elif s.kind == "sphere":
            geom = f'type="sphere" size="{p["radius"]}"'
        else:
            geom = 'type="plane" size="5 5 1"'
        bodies.append(f'<body mocap="true"><geom {geom}/></body>')
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(bodies)}</worldbody></mujoco>")
    data, points = mujoco.MjData(model), np.zeros(6)

    def loop(poses: Any) -> Any:
        out = np.empty((len(poses), len(scene.pairs)))
        for w, world in enumerate(poses):
            data.mocap_pos[:], data.mocap_quat[:] = world[:, :3], world[:, 3:]
            mujoco.mj_kinematics(model, data)
            for p, (a, b) in enumerate(scene.pairs):
                out[w, p] = mujoco.mj_geomDistance(model, data, a, b, 100.0, points)
        return out

    return loop


def loops_of(scene: cl.Scene) -> dict[str, Loop]:
    """The loops whose packages are installed."""
    loops: dict[str, Loop] = {}
    for name, make in (("coal", coal_loop), ("mujoco", mujoco_loop)):
        try:
            loops[f"{name}, a loop"] = make(scene)
        except ImportError as e:
            print(f"without {name}: {e}", file=sys.stderr)
    return loops


def compare(name: str, got: Any, want: cl.Result) -> None:
    """Print the largest differences of separated and of penetrating rows."""
    difference, hit = np.abs(got - want.distance[: len(got)]), want.hit[: len(got)]
    most = [f"{difference[rows].max():.1e} m" if rows.any() else "none" for rows in (~hit, hit)]
    print(f"{name}: differences from ours {most[0]} of separated rows, {most[1]} of the {hit.mean():.2%} that are not")


def main() -> None:
    parser = argparse.ArgumentParser(description="arm steps per second beside loops over other libraries")
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--looped", type=int, default=1000, help="worlds of the loops")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="of the rollouts per round")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    scene, poses = arm_worlds.make_scene(), poses_of(options.worlds)
    loops, rates = loops_of(scene), dict[str, list[float]]()
    with cl.Engine("cpu", workers=options.workers) as engine:
        rollouts = {
            "rollout, all columns of all rows": engine.rollout(scene, worlds=options.worlds),
            "rollout, distance and gap": engine.rollout(scene, worlds=options.worlds, columns=("distance", "gap")),
            "rollout, reduce='world'": engine.rollout(scene, worlds=options.worlds, reduce="world"),
            "rollout, max_distance=0.1": engine.rollout(scene, worlds=options.worlds, max_distance=0.1),
        }
        results = {name: roll(poses, quat="wxyz") for name, roll in rollouts.items()}
        for _ in range(options.rounds):
            for name, loop in loops.items():
                start = time.perf_counter()
                got = loop(poses[: options.looped])
                rates.setdefault(name, []).append(len(got) / (time.perf_counter() - start))
            for name, roll in rollouts.items():
                start = time.perf_counter()
                for _ in range(options.steps):
                    roll(poses, quat="wxyz", out=results[name])
                rates.setdefault(name, []).append(options.steps * options.worlds / (time.perf_counter() - start))
        for name, loop in loops.items():
            compare(name, loop(poses[: options.looped]), results["rollout, all columns of all rows"])
    base = [statistics.median(rates[name]) for name in loops]
    for name, values in rates.items():
        rate = statistics.median(values)
        ratios = ", ".join(f"{rate / b:.1f}" for b in base)
        print(f"{name:36} {rate:12,.0f} arm steps/s ({min(values):,.0f} to {max(values):,.0f}) {ratios}")


if __name__ == "__main__":
    main()
