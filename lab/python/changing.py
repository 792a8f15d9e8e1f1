"""What a scene costs that changes between queries: shapes added, pairs skipped, rollouts opened, objects attached.

    python lab/python/changing.py [ROUNDS]

It prints the least of some rounds in milliseconds; lab/notebook/front-door.md has what they were and are.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import clearance as cl


def least(work: Callable[[], object], rounds: int) -> float:
    """The least time of some calls, in milliseconds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def ball(rng: np.random.Generator, points: int) -> np.ndarray:
    """Points [N,3] on the unit sphere."""
    at = rng.normal(size=(points, 3))
    scaled: np.ndarray = at / np.linalg.norm(at, axis=1, keepdims=True)
    return scaled


def adding(engine: cl.Engine, library: cl.Library, rounds: int) -> str:
    """The first distance of a library, and one after one more box."""
    a, b, at, q = [0], [1], np.zeros((1, 3)), np.array([[1.0, 0, 0, 0]])

    def ask() -> None:
        engine.distance(library, a, b, at, q, at + 3, q, quat="wxyz")

    def grow() -> None:
        library.box((0.1, 0.2, 0.3))
        ask()

    return f"first {least(ask, 1):.1f}, again {least(ask, rounds):.2f}, after one more box {least(grow, rounds):.2f}"


def holding(engine: cl.Engine, obstacles: int, rounds: int) -> str:
    """An arm of eight links among obstacles, 30 of them hulls: one step with an object in its hand, and after it."""
    rng, scene = np.random.default_rng(0), cl.Scene()
    for k in range(8):
        scene.add(scene.library.capsule(0.05, 0.2), name=f"link{k}")
    for k in range(obstacles):
        shape = scene.library.convex(0.1 * ball(rng, 500)) if k < 30 else scene.library.box(rng.uniform(0.05, 0.1, 3))
        scene.add(shape)
    scene.pairs = [(i, j) for i in range(8) for j in range(i + 2, 8 + obstacles)]
    poses = rng.normal(0, 2, (1, len(scene.bodies), 7))

    def ask() -> None:
        with engine.rollout(scene, worlds=1, max_distance=0.1) as roll:
            roll(poses, quat="wxyz")

    def hold() -> None:
        held = scene.attach(20, "link7", [0, 0, 0.3, 1, 0, 0, 0], skip=["link6"])
        ask()
        held.detach()

    return f"first {least(ask, 1):.0f}, attach, open, step, detach {least(hold, rounds):.1f}"


def main() -> None:
    """Print all figures."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    rng, boxes, hulls = np.random.default_rng(0), cl.Library(), cl.Library()
    for _ in range(4000):
        boxes.box(rng.uniform(0.1, 1, 3))
    for _ in range(30):
        hulls.convex(ball(rng, 500))
    with cl.Engine("cpu") as engine:
        print("4,000 boxes:", adding(engine, boxes, rounds))
        print("30 hulls of 500 points:", adding(engine, hulls, rounds))
        for obstacles in (40, 1000, 4000):
            print(f"{obstacles:,} obstacles:", holding(engine, obstacles, rounds))
        scene = cl.Scene()
        shape = scene.library.box((0.1, 0.1, 0.1))
        for _ in range(2001):
            scene.add(shape)
        print(f"all_pairs {least(scene.all_pairs, rounds):.3f}")
        print(f"skip {least(lambda: scene.skip([(3, 7)]), 1):.3f}, {least(lambda: scene.skip([(3, 8)]), 1):.3f}")
        first = least(lambda: engine.rollout(scene, worlds=1, reduce="world").close(), 1)
        print(f"open {first:.0f}, {least(lambda: engine.rollout(scene, worlds=1, reduce='world').close(), rounds):.0f}")


if __name__ == "__main__":
    main()
