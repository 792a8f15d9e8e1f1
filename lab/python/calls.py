"""What a call from Python costs beside the library's own clock.

    python lab/python/calls.py [--rounds 5] [--workers N]

The overhead of a call is its time, from arrays to a result, less ``report.seconds``, the clock of the engine in Go.
Large calls state the engine's share of the time. Rounds go through all cases in turns; the table has the median of the
medians of the rounds, with their range. lab/notebook/python.md has the figures.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import clearance as cl

# What a call returns: its result, whose report has the engine's clock.
Call = Callable[[], cl.Result]


def library() -> cl.Library:
    """A box, a hull of 30 points, an ellipsoid and a capsule."""
    lib = cl.Library()
    lib.box([0.5, 0.6, 0.7])
    lib.convex(np.random.default_rng(1).normal(0, 0.5, (30, 3)))
    lib.ellipsoid([0.4, 0.5, 0.6])
    lib.capsule(0.3, 0.5)
    return lib


def pairs(lib: cl.Library, n: int) -> tuple[Any, ...]:
    """N seeded pairs: the arguments of a query."""
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, len(lib), n, dtype=np.int32) for _ in range(2))
    pos_a, pos_b = (rng.normal(0, 2, (n, 3)) for _ in range(2))
    quat_a, quat_b = (rng.normal(size=(n, 4)) for _ in range(2))
    return lib, a, b, pos_a, quat_a, pos_b, quat_b


def small_calls(engine: cl.Engine) -> dict[str, Call]:
    """Calls whose overhead counts in microseconds."""
    lib = library()
    one, some = pairs(lib, 1), pairs(lib, 1000)
    out = engine.distance(*some, quat="wxyz")
    two = ("distance", "gap")
    roll, poses = held(engine, 10, None)
    return {
        "1 pair, all columns": lambda: engine.distance(*one, quat="wxyz"),
        "1,000 pairs, all columns": lambda: engine.distance(*some, quat="wxyz"),
        "1,000 pairs, all columns, out=": lambda: engine.distance(*some, quat="wxyz", out=out),
        "1,000 pairs, distance and gap": lambda: engine.distance(*some, quat="wxyz", columns=two),
        "held scene, 10 worlds × 100 pairs": lambda: roll(poses, quat="wxyz"),
    }


def large_calls(engine: cl.Engine) -> dict[str, Call]:
    """Calls whose overhead counts as a share of the time."""
    many = pairs(library(), 1_000_000)
    out = engine.distance(*many, quat="wxyz")
    calls: dict[str, Call] = {"10^6 pairs, out=": lambda: engine.distance(*many, quat="wxyz", out=out)}
    for name, reduce in (("rows", None), ("one answer per world", "world")):
        roll, poses = held(engine, 4096, reduce)
        step = roll(poses, quat="wxyz")
        calls[f"held scene, 4,096 worlds × 100 pairs, {name}"] = (
            lambda roll=roll, poses=poses, step=step: roll(poses, quat="wxyz", out=step)  # type: ignore[misc]
        )
    return calls


def held(engine: cl.Engine, worlds: int, reduce: Any) -> tuple[Any, Any]:
    """A rollout of a scene of 15 bodies and 100 pairs, with poses."""
    lib = library()
    scene = cl.Scene(lib)
    for i in range(15):
        scene.add(i % len(lib))
    scene.pairs = [(i, j) for i in range(15) for j in range(i + 1, 15)][:100]
    rng = np.random.default_rng(3)
    poses = np.concatenate([rng.normal(0, 3, (worlds, 15, 3)), rng.normal(size=(worlds, 15, 4))], axis=-1)
    return engine.rollout(scene, worlds=worlds, reduce=reduce), poses


def clocks(call: Call, repeats: int) -> tuple[list[float], list[float]]:
    """Seconds of each call, and of the engine within it."""
    all_of, inner = [], []
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        all_of.append(time.perf_counter() - start)
        inner.append(result.report.seconds)
        del result
    return all_of, inner


def main() -> None:
    parser = argparse.ArgumentParser(description="what a call from Python costs beside the engine's own clock")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=300, help="small calls per case and round")
    parser.add_argument("--workers", type=int, help="threads of the engine (default: one per processor)")
    parser.add_argument("--small", action="store_true", help="small calls alone")
    options = parser.parse_args()
    figures: dict[str, list[float]] = {}
    with cl.Engine("cpu", workers=options.workers) as engine:
        small, large = small_calls(engine), {} if options.small else large_calls(engine)
        for _ in range(options.rounds):
            for name, call in small.items():
                times, inner = clocks(call, options.calls)
                over = statistics.median(t - i for t, i in zip(times, inner, strict=True))
                figures.setdefault(name, []).append(1e6 * over)
            for name, call in large.items():
                times, inner = clocks(call, 3)
                figures.setdefault(name, []).append(100 * sum(inner) / sum(times))
    for name, values in figures.items():
        unit = "%" if name in large else "µs"
        text = f"{statistics.median(values):8.1f} {unit} ({min(values):.1f} to {max(values):.1f})"
        print(f"{name:50} {text}")


if __name__ == "__main__":
    main()
