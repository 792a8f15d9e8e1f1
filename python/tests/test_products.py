"""Products with derivatives whose answers stay where they are: beside those of answers that were handed back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import NO_TORCH, Pairs, every_kind
from test_derivatives import asked, cotangents
from test_joint_gradients import W, bodies

import clearance as cl

NAMES = ("a", "b", "pos_a", "quat_a", "pos_b", "quat_b")


@pytest.fixture(scope="module", params=["cpu", "vulkan"])
def either(request: Any) -> Iterator[cl.Engine]:
    try:
        engine = cl.Engine(request.param)
    except cl.NoBackendError as e:
        pytest.skip(f"no Vulkan device: {e}")
    with engine:
        yield engine


def every_case() -> Pairs:
    """Every kind with every kind, apart and penetrating, and rows that have no answer, or no derivative."""
    p = Pairs(every_kind(), 400, spread=1.0)
    p.pos_a[3] = np.nan
    p.quat_b[5] = 0
    p.a[7] = p.b[7] = 0
    p.pos_b[7] = p.pos_a[7]  # spheres with one center
    return p


def agree(got: Any, want: Any, scale: float = 1e-9) -> None:
    """Numbers to rounding; large ones belong to systems that are badly conditioned."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and np.isfinite(got).all()
    size = np.maximum(1, np.abs(want).reshape(len(want), -1).max(axis=1)).reshape(-1, *[1] * (want.ndim - 1))
    assert (np.abs(got - want) <= scale * size * size).all(), np.max(np.abs(got - want) / size / size)


@pytest.mark.parametrize("options", [{}, {"derivative": "gumbel", "epsilon": 0.1}, {"cut_off": 1.0}], ids=str)
@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_of_pairs(either: Any, order: Any, options: dict[str, Any]) -> None:
    """Products are those of a query with grad=True; of the distance alone they are those of the column d_distance."""
    p = every_case()
    n = len(p.a)
    c, twists = cotangents(n), np.random.default_rng(3).normal(size=(n, 12))
    r = asked(either, p, order, **options)
    o: Any = {"quat": order, "precision": "double", **options}
    scale = 1e-9 if "epsilon" not in options else 1e-7
    agree(either.vjp("distance", *p.arrays(), **c, **o), r.vjp(**c), scale)
    closed = either.query("distance", *p.arrays(), columns=["d_distance"], **o).d_distance
    agree(either.vjp("distance", *p.arrays(), distance=c["distance"], **o), c["distance"][:, None] * closed, 1e-14)
    for got, want in zip(
        either.vjp("distance", *p.arrays(), witness_b=c["witness_b"], wrt="poses", **o),
        r.vjp(witness_b=c["witness_b"], wrt="poses"),
        strict=True,
    ):
        agree(got, want, scale)
    for got, want in zip(either.jvp("distance", *p.arrays(), twists, **o), r.jvp(twists), strict=True):
        agree(got, want, scale)
    assert not either.vjp("distance", *p.arrays(), **c, **o)[r.smoothness == 0].any() and (r.smoothness == 0).any()


@pytest.mark.parametrize("query", ["growth", "penetration"])
def test_of_other_queries(either: Any, query: str) -> None:
    p = every_case()
    c = cotangents(len(p.a))
    got = either.vjp(query, *p.arrays(), **c, quat="wxyz", precision="double")
    agree(got, asked(either, p, query=query).vjp(**c))


def test_single_precision(either: Any) -> None:
    """With normals and witnesses as they are, the gradient is theirs."""
    p = every_case()
    r = asked(either, p, precision="single")
    got = either.vjp("distance", *p.arrays(), distance=1.0, quat="wxyz", precision="single")
    agree(got, cl.distance_gradient(r, p.pos_a, p.pos_b), 3e-6)


def test_rows_without_an_answer(either: Any) -> None:
    """A cotangent that is not a number counts for nothing where there is no answer; no row gets one of another."""
    p = every_case()
    c = cotangents(len(p.a))
    for name, rows in c.items():
        rows[[3, 5]] = np.nan
        for only in (c, {name: rows}):
            got = either.vjp("distance", *p.arrays(), **only, quat="wxyz", precision="double")
            assert np.isfinite(got).all() and not got[[3, 5]].any() and got[[2, 4, 6]].any(axis=1).all()


def test_same_bits(either: Any) -> None:
    """A row has the same gradient in a part of the pairs, and for any number of workers."""
    p = every_case()
    c = cotangents(len(p.a))
    whole = either.vjp("distance", *p.arrays(), **c, quat="wxyz")
    part = (p.library, *(getattr(p, name)[100:110] for name in NAMES))
    few = either.vjp("distance", *part, **{k: v[100:110] for k, v in c.items()}, quat="wxyz")
    np.testing.assert_array_equal(few, whole[100:110])
    if either.info()["backends"][0]["name"] == "cpu":
        with cl.Engine("cpu", workers=1) as one:
            np.testing.assert_array_equal(one.vjp("distance", *p.arrays(), **c, quat="wxyz"), whole)


def test_zeroth_order(engine: Any) -> None:
    p = Pairs(every_kind(), 20, spread=1.0)
    c = cotangents(20)
    o: Any = {"derivative": "zeroth", "samples": 4, "seed": 3}
    got = engine.vjp("distance", *p.arrays(), **c, quat="wxyz", precision="double", **o)
    np.testing.assert_array_equal(got, asked(engine, p).vjp(**c, **o))


@pytest.mark.parametrize("wrt", ["twists", "poses"])
def test_of_rollouts_of_shapes(either: Any, wrt: Any) -> None:
    lib = every_kind()
    rng = np.random.default_rng(4)
    worlds, m = 30, len(lib)
    poses = np.concatenate([rng.normal(0, 1, (worlds, m, 3)), rng.normal(size=(worlds, m, 4))], axis=-1)
    poses[2, 4] = np.nan
    first, second = np.triu_indices(m, 1)
    c: Any = {"distance": rng.normal(size=(worlds, len(first))), "normal": rng.normal(size=(worlds, len(first), 3))}
    with either.rollout_of_shapes(lib, range(m), first, second, worlds=worlds, precision="double") as roll:
        r = roll(poses, quat="xyzw", grad=True)
        # Of the distance alone, normals and witnesses count as they are; depths of curved shapes leave them 1e-4 off.
        parts: Any = ((c, 1e-9), ({"distance": c["distance"]}, 1e-4))
        for part, scale in parts:
            got = roll.vjp(poses, quat="xyzw", **part, wrt=wrt)
            agree(got, r.vjp(**part, wrt=wrt), scale)
            np.testing.assert_array_equal(got, roll.vjp(poses, quat="xyzw", **part, wrt=wrt))
        assert not got[2, 4].any()
        gumbel: Any = {"derivative": "gumbel", "epsilon": 0.1}
        agree(roll.vjp(poses, quat="xyzw", **c, **gumbel), r.vjp(**c, **gumbel), 1e-7)


@pytest.mark.parametrize("options", [{}, {"reduce": "world"}, {"reduce": "world", "pairs": "all"}], ids=str)
def test_of_bodies_of_parts(either: Any, options: dict[str, Any]) -> None:
    """Gradients of bodies of parts, absent ones among them, of rows that bounds ruled out, and of the least of a world.

    The rollout need not have the columns that derivatives need.
    """
    scene, poses = bodies()
    rng = np.random.default_rng(6)
    poses[0, 1, :3] += 100.0
    poses[1, 2] = np.nan
    places = np.tile(np.arange(4, dtype=np.int32), (W, 1))
    places[2, 3] = -1
    o: Any = {"worlds": W, "bodies": places, "max_distance": 0.5, "precision": "double", **options}
    with either.rollout(scene, **o) as roll, either.rollout(scene, columns=["status"], **o) as lacking:
        r = roll(poses, quat="wxyz", grad=True)
        c: Any = {"distance": rng.normal(size=r.status.shape), "witness_a": rng.normal(size=(*r.status.shape, 3))}
        parts: Any = (c, {"distance": c["distance"]})
        wanted: Any = ("twists", "poses")
        for part in parts:
            for wrt in wanted:
                got = roll.vjp(poses, quat="wxyz", **part, wrt=wrt)
                agree(got, r.vjp(**part, wrt=wrt))
                np.testing.assert_array_equal(got, lacking.vjp(poses, quat="wxyz", **part, wrt=wrt))
        assert got.any() and not got[1, 2].any() and not got[2, 3].any()


def test_tensors(engine: Any) -> None:
    """Tensors in, tensors out."""
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    p = Pairs(every_kind(), 20)
    lib, *arrays = p.arrays()
    tensors = [torch.tensor(x) for x in arrays]
    got = engine.vjp("distance", lib, *tensors, quat="wxyz", distance=torch.ones(20))
    want = engine.vjp("distance", lib, *arrays, quat="wxyz", distance=1.0)
    assert isinstance(got, torch.Tensor) and np.array_equal(got.numpy(), want)


def test_no_rows(engine: Any) -> None:
    scene, poses = bodies()
    empty: Any = (np.zeros(0, np.int32), np.zeros(0, np.int32), *(np.zeros((0, k)) for k in (3, 4, 3, 4)))
    assert engine.vjp("distance", scene.library, *empty, quat="wxyz", distance=1.0).shape == (0, 12)
    with engine.rollout_of_shapes(scene.library, [0, 1, 2, 0], [], [], worlds=W) as roll:
        assert not roll.vjp(poses, quat="wxyz", distance=1.0).any()


def test_what_is_refused(engine: Any) -> None:
    p = Pairs(every_kind(), 5)
    scene, poses = bodies()
    with engine.rollout(scene, worlds=W) as roll, engine.rollout(scene, worlds=W, pairs="all") as sparse:
        refused: Any = (
            (lambda: engine.vjp("distance", *p.arrays(), quat="wxyz"), "no cotangent"),
            (lambda: engine.vjp("collide", *p.arrays(), quat="wxyz", distance=1.0), "collide has no derivatives"),
            (lambda: engine.vjp("distance", *p.arrays(), quat="wxyz", distance=1.0, sample=3), "did you mean samples"),
            (lambda: engine.vjp("distance", *p.arrays(), quat="wxyz", distance=1.0, columns=[]), "no option"),
            (lambda: roll.vjp(poses, quat="wxyz"), "no cotangent"),
            (lambda: roll.vjp(poses, quat="wxyz", distance=1.0, derivative="zeroth"), "order zero"),
            (lambda: sparse.vjp(poses, quat="wxyz", distance=1.0), 'reduce="world"'),
        )
        for call, words in refused:
            with pytest.raises(cl.OptionError, match=words):
                call()
        with pytest.raises(cl.ArrayError, match="normal"):
            engine.vjp("distance", *p.arrays(), quat="wxyz", normal=np.zeros((5, 2)))
    with pytest.raises(cl.ClosedError):
        roll.vjp(poses, quat="wxyz", distance=1.0)
