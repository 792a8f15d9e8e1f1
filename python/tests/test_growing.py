"""Scenes that change between queries have the answers of scenes that were made at once, bit for bit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import clearance as cl


@pytest.fixture(scope="module", params=["cpu", "ref", "vulkan"])
def engine(request: Any) -> Any:
    try:
        with cl.Engine(request.param) as e:
            yield e
    except cl.NoBackendError as err:
        pytest.skip(f"{request.param}: {err}")


def add(lib: cl.Library, seed: int) -> None:
    """Add a shape of any kind, by a seed."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.2, 1.0, 3)
    match seed % 6:
        case 0:
            lib.box(size, margin=0.05, name=f"box{seed}")
        case 1:
            lib.ellipsoid(size, center=[0.05, 0, 0])
        case 2:
            lib.convex(size * rng.normal(size=(8, 3)))
        case 3:
            lib.cylinder(size[0], size[1])
        case 4:
            lib.smooth_hull(np.concatenate([v := rng.normal(size=(8, 3)), -v]), 8)
        case _:
            lib.convex(size * rng.normal(size=(300, 3)))


def answers(engine: Any, lib: cl.Library) -> list[Any]:
    """Distances and factors of seeded pairs of all shapes."""
    rng, n, m = np.random.default_rng(len(lib)), 60, len(lib)
    a, b = rng.integers(0, m, (2, n), dtype=np.int32)
    poses = rng.normal(0, 1.5, (2, n, 3)), rng.normal(size=(2, n, 4))
    placed = poses[0][0], poses[1][0], poses[0][1], poses[1][1]
    found = []
    for ask in (engine.distance, engine.growth):
        r = ask(lib, a, b, *placed, quat="wxyz")
        found += [getattr(r, name) for name in ("status", "gap", "normal", "witness_a") if hasattr(r, name)]
    return found


def test_libraries_that_grow(engine: Any) -> None:
    """Shapes are added between queries, in steps with and without a query."""
    rng, lib, seeds = np.random.default_rng(5), cl.Library(), list[int]()
    for _ in range(6):
        more = [len(seeds) + k for k in range(int(rng.integers(1, 4)))]
        for seed in more:
            add(lib, seed)
        seeds += more
        if rng.integers(0, 3) == 0:
            lib.support(0, [[1.0, 0, 0]])  # the library is made, and nothing of it for kernels
            continue
        scratch = cl.Library()
        for seed in seeds:
            add(scratch, seed)
        for got, want in zip(answers(engine, lib), answers(engine, scratch), strict=True):
            assert got.tobytes() == want.tobytes()


def test_a_wrong_shape_is_named_by_its_place() -> None:
    lib = cl.Library()
    lib.sphere(1)
    lib.support(0, [[1.0, 0, 0]])
    lib.sphere(2)
    lib.box([1, 1, 1], name="crate", center=[3, 0, 0])
    for _ in range(2):
        with pytest.raises(cl.ShapeError, match=r'shape 2 .*"crate".*center'):
            lib.support(0, [[1.0, 0, 0]])


def test_threads_that_add_and_ask() -> None:
    """Each of several threads sees all shapes that it has added."""
    lib, engine = cl.Library(), cl.Engine("cpu")
    lib.sphere(1)

    def work(k: int) -> None:
        for i in range(20):
            index = lib.sphere(1 + k + i)
            r = engine.distance(lib, [index], [0], [[0.0, 0, 0]], [[1.0, 0, 0, 0]], [[99.0, 0, 0]], [[1.0, 0, 0, 0]],
                                quat="wxyz")  # fmt: skip
            assert abs(r.distance[0] - (97 - k - i)) < 1e-6
            lib.sphere(2)

    with engine, ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(lib) == 161
