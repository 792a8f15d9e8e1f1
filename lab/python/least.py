"""The least of each world over listed pairs, beside all pairs with the complement skipped, and MuJoCo's own calls.

    pip install mujoco dm_control gymnasium-robotics
    python lab/python/least.py FOLDER [--worlds 1024] [--rounds 9] [--workers 1]

FOLDER has the packages (site-packages, say). The scenes are ten humanoids of dm_control on the ground, all pairs of
bodies of different humanoids and of these with the ground, once without and once with the pairs within a humanoid; its
dog; and the kitchen of gymnasium-robotics. Configurations are random. The two sources of pairs answer in turns, in an
order that alternates; times are processor times, the ratio is the median of those of the rounds, and answers are
compared bit for bit. MuJoCo has one thread and fewer worlds: mj_collision, and mj_geomDistance of each pair of geoms
with the least so far as its limit.
lab/results/models.md has the figures.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import mujoco
import mujoco_models
import numpy as np

import clearance as cl
from clearance.mujoco import MujocoScene, from_model

FIGURES = 10


def humanoids(folder: Path) -> Any:
    """Ten humanoids on one ground."""
    path = next(folder.rglob("dm_control/suite/humanoid.xml"))
    every = mujoco.MjSpec.from_file(str(path))
    every.delete(every.body("torso"))
    for listed in (every.actuators, every.sensors, every.tendons, every.keys, every.excludes):
        for element in list(listed):
            every.delete(element)
    for k in range(FIGURES):
        one = mujoco.MjSpec.from_file(str(path))
        frame = every.worldbody.add_frame(pos=(1.2 * (k % 4), 1.2 * (k // 4), 0))
        frame.attach_body(one.body("torso"), f"{k}/", "")
    every.memory = 1 << 30
    return every.compile()


def scenes(folder: Path) -> dict[str, MujocoScene]:
    """The scenes by name."""
    found = {}
    whole = from_model(humanoids(folder), concave="hull")
    between = from_model(whole.model, concave="hull")
    figure = [b.name.split("/")[0] for b in between.bodies]
    between.pairs = [(i, j) for i, j in between.pairs if figure[i] != figure[j]]
    found["10 humanoids"] = between
    found["10 humanoids, and their own pairs"] = whole
    dog = mujoco.MjModel.from_xml_path(str(next(folder.rglob("dm_control/suite/dog.xml"))))
    found["dog"] = from_model(dog, concave="hull")
    kitchen = mujoco.MjModel.from_xml_path(str(next(folder.rglob("kitchen_env_model.xml"))))
    found["kitchen"] = from_model(kitchen, concave="hull")
    return found


def complement(scene: cl.Scene) -> list[tuple[int, int]]:
    """The pairs of bodies that a scene does not list."""
    listed = {(min(p), max(p)) for p in scene.pairs}
    m = len(scene.bodies)
    return [(i, j) for i in range(m) for j in range(i + 1, m) if (i, j) not in listed]


FLAGS = ("hit", "status", "contacts", "failures", "any")
VALUES = ("distance", "gap", "part_a", "part_b", "normal", "witness_a", "witness_b")


def same(a: Any, b: Any) -> str:
    """Whether two results have the same bits: what counts and decides in all worlds, and the values of those whose
    least is within the limit. Beyond a limit the values are bounds, and each source of pairs has its own."""

    def alike(names: tuple[str, ...], worlds: Any) -> bool:
        columns = [(np.asarray(getattr(a, n))[worlds], np.asarray(getattr(b, n))[worlds]) for n in names]
        return all(x.tobytes() == y.tobytes() for x, y in columns)

    every, hit = np.arange(len(a.hit)), np.flatnonzero(np.asarray(a.hit))
    if not alike(FLAGS, every):
        return "NO"
    if alike(VALUES, every):
        return "yes"
    return f"of the {len(hit)} in contact, and all flags" if alike(VALUES, hit) else "NO"


def by_mujoco(scene: MujocoScene, qpos: np.ndarray) -> tuple[float, float]:
    """Milliseconds a world of mj_collision, and of mj_geomDistance of each pair of geoms for the least."""
    model, data = scene.model, mujoco.MjData(scene.model)
    ids = scene.geom_ids
    geoms = [(a, b) for i, j in scene.pairs for a in ids[i] for b in ids[j]]
    collision, distance = 0.0, 0.0
    for q in qpos:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        start = time.process_time()
        mujoco.mj_collision(model, data)
        middle = time.process_time()
        least = 1e9
        for a, b in geoms:
            least = min(least, mujoco.mj_geomDistance(model, data, a, b, max(least, 1e-6), None))
        collision, distance = collision + middle - start, distance + time.process_time() - middle
    return 1e3 * collision / len(qpos), 1e3 * distance / len(qpos)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--looped", type=int, default=64, help="worlds that MuJoCo answers")
    options = parser.parse_args()
    engine = cl.Engine("cpu", workers=options.workers)
    print(
        "| scene | limit | pairs | listed, ms | all, ms | ratio (least, most) | same bits | MuJoCo, ms of one thread |"
    )
    print("|---|---|--:|--:|--:|---|---|---|")
    for name, scene in scenes(options.folder).items():
        qpos = mujoco_models.configurations(scene, options.worlds, np.random.default_rng(1))
        poses = scene.poses(qpos=qpos)
        collision, distance = by_mujoco(scene, qpos[: options.looped])
        for limit in (None, 0.0):
            asked = {"worlds": options.worlds, "reduce": "world", "max_distance": limit}
            rolls = [
                engine.rollout(scene, **asked),
                engine.rollout(scene, pairs="all", skip=complement(scene), **asked),
            ]
            taken: list[list[float]] = [[], []]
            results: list[Any] = [None, None]
            for k in range(options.rounds + 1):  # the first is not counted
                for i in (0, 1) if k % 2 else (1, 0):
                    start = time.process_time()
                    results[i] = rolls[i](poses, quat="wxyz")
                    if k:
                        taken[i].append(1e3 * (time.process_time() - start))
            ratios = [a / b for a, b in zip(*taken, strict=True)]
            theirs = options.worlds * (collision if limit == 0.0 else distance)
            what = "mj_collision" if limit == 0.0 else "mj_geomDistance"
            print(
                f"| {name} | {'none' if limit is None else f'{limit:g} m'} | {len(scene.pairs):,} "
                f"| {statistics.median(taken[0]):.0f} | {statistics.median(taken[1]):.0f} "
                f"| {statistics.median(ratios):.2f} ({min(ratios):.2f}, {max(ratios):.2f}) "
                f"| {same(*results)} | {what} {theirs:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
