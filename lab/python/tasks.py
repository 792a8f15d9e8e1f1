"""What users wait for: the first answer in a fresh environment, an arm in 4,096 worlds, a file of 2,000,000 grasps.

    pip install gymnasium pyarrow
    python lab/python/tasks.py [--wheel build/python/dist/clearance-*.whl] [--grasps 2000000] [--worlds 4096]

With ``--wheel`` a virtual environment is made, the wheel and NumPy are installed there, and a program asks for the
distance of a thousand pairs, twice: the first time nothing is in the caches of the interpreter. The arm is that of
arm_worlds.py, one answer per world. The file of grasps, one pair each, has a column of names that is none of
those of pairs; it must stand in the results unchanged. Files lie in ``--folder``, and writing the grasps is not timed.
lab/notebook/python.md has the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

import clearance as cl

# The program of a fresh environment: it prints the seconds of its steps.
FIRST = """
import json, time
start = time.perf_counter()
import numpy as np, clearance as cl
at = [time.perf_counter()]
lib = cl.Library()
box, ball = lib.box([1, 1, 1]), lib.sphere(0.5)
eng = cl.Engine("cpu")
at.append(time.perf_counter())
far = np.random.default_rng(1).uniform(-3, 3, (1000, 3))
r = eng.distance(lib, box, ball, [0, 0, 0], [1, 0, 0, 0], far, [1, 0, 0, 0], quat="wxyz")
r.raise_if_failed()
at.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip([start, *at], at)]))
"""


def fresh(wheel: Path, folder: Path) -> None:
    """Time the way from nothing to a first answer."""
    start = time.perf_counter()
    venv.create(folder / "venv", with_pip=True)
    made = time.perf_counter() - start
    python = str(folder / "venv/bin/python")
    start = time.perf_counter()
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", str(wheel)]
    subprocess.run(pip, check=True)
    print(f"environment {made:.1f} s, pip install with NumPy {time.perf_counter() - start:.1f} s")
    for name in ("first", "second"):
        start = time.perf_counter()
        command, own = [python, "-I", "-c", FIRST], {k: v for k, v in os.environ.items() if k != "CLEARANCE_LIBRARY"}
        run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=own)
        steps = [1e3 * s for s in json.loads(run.stdout)]
        whole = time.perf_counter() - start
        print(
            f"{name} program {whole:.2f} s: import {steps[0]:.0f} ms, engine {steps[1]:.0f} ms, "
            f"1,000 distances {steps[2]:.1f} ms"
        )


def arm(worlds: int, steps: int, engine: cl.Engine) -> None:
    """Time the steps of a rollout of arms, one answer per world."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import arms

    scene, poses = arms.arm_worlds.make_scene(), arms.poses_of(worlds)
    start = time.perf_counter()
    roll = engine.rollout(scene, worlds=worlds, reduce="world")
    result = roll(poses, quat="wxyz")
    first = time.perf_counter() - start
    seconds, cpu = [], time.process_time()
    for _ in range(steps):
        start = time.perf_counter()
        roll(poses, quat="wxyz", out=result)
        seconds.append(time.perf_counter() - start)
    result.raise_if_failed()
    each, cpu = statistics.median(seconds), (time.process_time() - cpu) / steps
    print(
        f"arm: {worlds:,} worlds of {len(scene.pairs)} pairs: opened and answered once in {1e3 * first:.0f} ms, "
        f"a step in {1e3 * each:.1f} ms ({1e3 * cpu:.1f} ms of CPU), {worlds / each:,.0f} arm steps/s; "
        f"{int(result.hit.sum()):,} worlds hit"
    )


def write_grasps(path: Path, count: int) -> cl.Library:
    """Grasps of a bottle by a hand, one pair each, in groups of a hundred thousand rows, with names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    lib = cl.Library()
    lib.box([0.06, 0.012, 0.04], name="hand")
    lib.convex(np.random.default_rng(2).normal(0, 0.04, (40, 3)), name="bottle")
    rng = np.random.default_rng(1)
    writer: Any = None
    for first in range(0, count, 100_000):
        n = min(100_000, count - first)
        rotation = rng.normal(size=(n, 4))
        columns: dict[str, Any] = {
            "shape_a": np.zeros(n, np.int32),
            "shape_b": np.ones(n, np.int32),
            "position_a": rng.normal(0, 0.12, (n, 3)),
            "position_b": np.zeros((n, 3)),
            "rotation_a": rotation / np.linalg.norm(rotation, axis=1, keepdims=True),
            "rotation_b": np.tile([1.0, 0, 0, 0], (n, 1)),
            "grasp": pa.array([f"grasp {i}" for i in range(first, first + n)]),
        }
        for name, c in columns.items():
            if isinstance(c, np.ndarray) and c.ndim == 2:
                columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(c.ravel()), c.shape[1])
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return lib


def grasps(count: int, folder: Path, engine: cl.Engine) -> None:
    """Time a file of grasps, without and with the audit of every answer."""
    import pyarrow.parquet as pq

    lib = write_grasps(folder / "grasps.parquet", count)
    for audit in (False, True):
        start, cpu = time.perf_counter(), time.process_time()
        rep = cl.score_file(
            folder / "grasps.parquet", folder / "answers.parquet", library=lib, audit=audit, engine=engine
        )
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        rep.raise_if_failed()
        if audit:
            rep.raise_if_refuted()
        what = "answered and audited" if audit else "answered"
        print(f"grasps: {count:,} {what} in {seconds:.2f} s ({cpu:.2f} s of CPU), {count / seconds:,.0f} rows/s")
    names = pq.read_table(folder / "answers.parquet", columns=["grasp"])
    if not names.equals(pq.read_table(folder / "grasps.parquet", columns=["grasp"])):
        sys.exit("the column of names is another one in the results")
    print(f"grasps: the column of names stands in the results, {names.nbytes / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description="what users wait for")
    parser.add_argument("--wheel", type=Path, help="the wheel of a fresh environment, which pip installs")
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--grasps", type=int, default=2_000_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--folder", type=Path, help="where files are written (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.wheel is not None:
            fresh(options.wheel.resolve(), folder)
        with cl.Engine("cpu", workers=options.workers) as engine:
            arm(options.worlds, options.steps, engine)
            grasps(options.grasps, folder, engine)


if __name__ == "__main__":
    main()
