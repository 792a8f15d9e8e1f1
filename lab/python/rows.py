"""What a row of a large call costs in the thread of the caller: checks, copies and conversions of Python's side.

    python lab/python/rows.py [--rows 1000000] [--rounds 5]

Workers of the engine have threads of their own, so the CPU time of the caller's thread is that of the package alone,
which no further core makes shorter. The table has the least of the rounds, with the CPU time of the process beside it.
lab/notebook/python.md has the figures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calls
import numpy as np

import clearance as cl


def cases(engine: cl.Engine, rows: int, folder: Path) -> dict[str, tuple[int, Callable[[], object]]]:
    """Calls by name, each with its number of rows."""
    lib = calls.library()
    pairs = calls.pairs(lib, rows)
    _, a, b, pos_a, quat_a, pos_b, quat_b = pairs
    out = engine.distance(*pairs, quat="wxyz")
    single = [p.astype(np.float32) for p in (pos_a, quat_a, pos_b, quat_b)]
    apart = [np.repeat(p, 2, axis=0)[::2] for p in (pos_a, quat_a, pos_b, quat_b)]
    wide = a.astype(np.int64), b.astype(np.int64)
    found: dict[str, tuple[int, Callable[[], object]]] = {
        "distance, new arrays": (rows, lambda: engine.distance(*pairs, quat="wxyz")),
        "distance, out=": (rows, lambda: engine.distance(*pairs, quat="wxyz", out=out)),
        "distance, indices of int64": (rows, lambda: engine.distance(lib, *wide, *pairs[3:], quat="wxyz", out=out)),
        "distance, poses of float32": (rows, lambda: engine.distance(lib, a, b, *single, quat="wxyz", out=out)),
        "distance, strided poses": (rows, lambda: engine.distance(lib, a, b, *apart, quat="wxyz", out=out)),
        "distance, quaternions x, y, z, w": (rows, lambda: engine.distance(*pairs, quat="xyzw", out=out)),
    }
    for name, reduce in (("rows", None), ("least of worlds", "world")):
        roll, poses = calls.held(engine, max(1, rows // 100), reduce)
        step = roll(poses, quat="wxyz")
        found[f"held rollout, {name}, out="] = (
            poses.shape[0] * 100,
            lambda roll=roll, poses=poses, step=step: roll(poses, quat="wxyz", out=step),  # type: ignore[misc]
        )
        found[f"held rollout, {name}, new arrays"] = (
            poses.shape[0] * 100,
            lambda roll=roll, poses=poses: roll(poses, quat="wxyz"),  # type: ignore[misc]
        )
    scene, motions = sweeps(max(1, rows // 90))
    found["sweep"] = (motions.shape[0] * 3, lambda: engine.sweep(scene, motions, quat="wxyz"))
    lib.save(folder / "shapes.json")
    names = ("shape_a", "shape_b", "position_a", "rotation_a", "position_b", "rotation_b")
    np.savez(folder / "pairs.npz", **dict(zip(names, pairs[1:], strict=True)))
    files = folder / "pairs.npz", folder / "out.npz"
    found["score_file, NPZ"] = (
        rows,
        lambda: cl.score_file(*files, library=folder / "shapes.json", engine=engine, audit=False),
    )
    return found


def sweeps(worlds: int) -> tuple[cl.Scene, Any]:
    """Three bodies that move between two way points, in three pairs."""
    scene = cl.Scene(calls.library())
    for i in range(3):
        scene.add(i)
    scene.pairs = [(0, 1), (0, 2), (1, 2)]
    rng = np.random.default_rng(4)
    motions = np.zeros((worlds, 2, 3, 7))
    motions[..., :3] = rng.normal(0, 3, (worlds, 2, 3, 3))
    motions[..., 3] = 1
    return scene, motions


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of a row in the thread of the caller")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with cl.Engine(backend="cpu") as engine, tempfile.TemporaryDirectory() as folder:
        print("| call | ns a row, thread of the caller | process |\n|---|--:|--:|")
        for name, (rows, call) in cases(engine, options.rows, Path(folder)).items():
            call()
            best = None
            for _ in range(options.rounds):
                thread, process = time.thread_time(), time.process_time()
                call()
                spent = time.thread_time() - thread, time.process_time() - process
                best = min(best, spent) if best else spent
            assert best
            print(f"| {name} | {1e9 * best[0] / rows:.2f} | {1e9 * best[1] / rows:.0f} |", flush=True)


if __name__ == "__main__":
    main()
