"""Products with derivatives of rollouts: beside those of answers handed back, by bodies and configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import NO_TORCH, Pairs, every_kind
from test_derivatives import asked, cotangents
from test_urdf import arm  # noqa: F401, a fixture

import clearance as cl
from clearance import urdf

W = 6
STEP = 1e-6

# Every kind of joint, several on one body, off its origin; a mocap body; two free bodies.
MODEL = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <geom name="post" type="capsule" size=".05 .2" pos="0.3 0.1 0.2"/>
    <body name="arm" pos="0 0 .3" euler=".1 .2 .3">
      <joint type="hinge" axis="0 1 0" pos=".02 0 .01" ref=".2"/>
      <joint type="slide" axis="1 0 .5"/>
      <geom type="ellipsoid" size=".06 .05 .2" pos="0 0 .2"/>
      <body name="hand" pos="0 .05 .45" quat=".9 .1 .2 -.1">
        <joint type="hinge" axis="1 0 0" pos="0 0 .02"/>
        <joint type="ball" pos="0 .01 0"/>
        <geom type="ellipsoid" size=".03 .08 .1" pos=".05 0 .1"/>
      </body>
    </body>
    <body name="rock" pos=".5 .4 .6"><freejoint/><geom type="ellipsoid" size=".1 .07 .12" pos=".02 0 0"/></body>
    <body name="egg" pos="-.4 .3 .7"><freejoint/><geom type="ellipsoid" size=".05 .07 .1"/></body>
    <body name="lamp" mocap="true" pos="0 -.4 .9"><geom type="sphere" size=".1"/></body>
  </worldbody>
</mujoco>
"""


def differences(value: Callable[[Any], Any], at: Any) -> Any:
    """Central differences [..., C] of values of configurations [W,C]."""
    columns = []
    for k in range(at.shape[1]):
        step = np.zeros(at.shape[1])
        step[k] = STEP
        columns.append((value(at + step) - value(at - step)) / (2 * STEP))
    return np.stack(columns, axis=-1)


def smooth_rows(r: Any) -> Any:
    good = np.isin(r.smoothness, [1, 2])
    assert good.mean() > 0.5
    return good


def mujoco_scene() -> tuple[Any, Any, Any]:
    mujoco: Any = pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco")
    from clearance.mujoco import from_model

    model = mujoco.MjModel.from_xml_string(MODEL)
    scene = from_model(model)
    rng = np.random.default_rng(3)
    qpos = np.tile(model.qpos0, (W, 1)) + rng.normal(0, 0.2, (W, model.nq))  # quaternions that are not unit
    return mujoco, scene, qpos


def test_mujoco_kinematics() -> None:
    """Poses of configurations are those of mj_kinematics."""
    mujoco, scene, qpos = mujoco_scene()
    data = [mujoco.MjData(scene.model) for _ in qpos]
    for d, q in zip(data, qpos, strict=True):
        d.qpos[:] = q
        mujoco.mj_kinematics(scene.model, d)
    want, got = scene.poses(data), scene.poses(qpos=qpos)
    np.testing.assert_allclose(got[..., :3], want[..., :3], atol=1e-14)
    np.testing.assert_allclose(np.abs(np.sum(got[..., 3:] * want[..., 3:], axis=-1)), 1, atol=1e-14)


def test_mujoco(engine: cl.Engine) -> None:
    """Gradients of the pairs with respect to qpos are the differences, of every kind of joint; the product agrees."""
    _, scene, qpos = mujoco_scene()
    with engine.rollout(scene, worlds=W, precision="double") as roll:
        r, jacobian = scene.gradient(roll, qpos)
        assert jacobian.shape == (W, len(scene.pairs), scene.model.nq)
        want = differences(lambda q: roll(scene.poses(qpos=q), quat="wxyz").distance, qpos)
        good = smooth_rows(r)
        np.testing.assert_allclose(jacobian[good], want[good], atol=2e-7)
        assert (np.abs(jacobian[good]).max(axis=0) > 1e-3).all(), "a coordinate that no row tells of"
        c = np.random.default_rng(1).normal(size=(W, len(scene.pairs)))
        product = scene.joint_gradient(r.vjp(distance=c), qpos)
        np.testing.assert_allclose(product, np.einsum("wp,wpc->wc", c, jacobian), atol=1e-12)


@pytest.mark.parametrize("shapes", [False, True])
def test_after_close(engine: cl.Engine, shapes: bool) -> None:
    """Answers keep what their derivatives need, though the rollout is closed; the smoothness is read when it is."""
    _, scene, qpos = mujoco_scene()
    options: Any = {"worlds": W, "precision": "double"}
    if shapes:
        first, second = scene.pair_arrays()
        kinds = [body.parts[0].shape for body in scene.bodies]
        roll: Any = engine.rollout_of_shapes(scene.library, kinds, first, second, **options)
    else:
        roll = engine.rollout(scene, **options)
    poses = scene.poses(qpos=qpos)
    r, c = roll(poses, quat="wxyz", grad=True), np.random.default_rng(2).normal(size=(W, len(scene.pairs)))
    assert "smoothness" in repr(r)
    want, tangent = r.vjp(distance=c), r.jvp(np.ones((W, len(scene.bodies), 6)))
    np.testing.assert_allclose(roll.vjp(poses, quat="wxyz", distance=c, normal=np.zeros(3)), want, atol=1e-12)
    roll.close()
    with pytest.raises(cl.ClosedError):
        roll(poses, quat="wxyz")
    assert np.array_equal(r.vjp(distance=c), want)
    assert np.array_equal(r.jvp(np.ones((W, len(scene.bodies), 6))).distance, tangent.distance)
    smooth = r.smoothness
    assert smooth.shape == r.status.shape and r.smoothness is smooth and smooth_rows(r).any()


def test_smoothness_of_a_closed_engine() -> None:
    _, scene, qpos = mujoco_scene()
    with cl.Engine("cpu") as short, short.rollout(scene, worlds=W) as roll:
        r = roll(scene.poses(qpos=qpos), grad=True)
    with pytest.raises(cl.ClosedError):
        _ = r.smoothness


def test_urdf(engine: cl.Engine, arm: Path) -> None:  # noqa: F811
    """Gradients with respect to joints: those that move, slide and mimic, with a base that is rotated."""
    scene = urdf.load(arm, concave="hull", skip_adjacent=False)
    for k, radii in enumerate(([0.1, 0.2, 0.1], [0.2, 0.1, 0.15])):
        scene.add(scene.library.ellipsoid(radii), name=f"obstacle {k}")
    scene.all_pairs()
    rng = np.random.default_rng(2)
    base = np.concatenate([rng.normal(size=3), rng.normal(size=4)])
    others = np.concatenate([rng.normal(0, 0.3, (2, 3)) + base[:3], rng.normal(size=(2, 4))], axis=1)
    joints = scene.random_joints(W, seed=4)
    with engine.rollout(scene, worlds=W, precision="double") as roll:
        r, jacobian = scene.gradient(roll, joints, base=base, others=others)

        def value(q: Any) -> Any:
            return roll(scene.poses(q, base, others), quat="wxyz").distance

        good, want = np.isin(r.smoothness, [1, 2]), differences(value, joints)
        assert good.sum() > 20
        # Differences of rows at a corner of their features may be those of two sides.
        error = np.abs(jacobian[good] - want[good]).max(axis=-1)
        assert np.mean(error < 2e-7) > 0.97, np.sort(error)[-5:]
        c = rng.normal(size=r.distance.shape)
        product = scene.joint_gradient(r.vjp(distance=c), joints, base)
        np.testing.assert_allclose(product, np.einsum("wp,wpc->wc", c, jacobian), atol=1e-11)


@pytest.mark.parametrize("pairs", [None, "all"])
def test_least_of_worlds(engine: cl.Engine, pairs: Any) -> None:
    """The gradient of the least distance of a world is that of the pair that attains it."""
    _, scene, qpos = mujoco_scene()
    options: Any = {"worlds": W, "precision": "double", "pairs": pairs}
    with engine.rollout(scene, reduce="world", **options) as roll, engine.rollout(scene, **options) as rows:
        r, g = scene.gradient(roll, qpos)
        assert g.shape == (W, scene.model.nq) and r.distance.shape == (W,)
        want = differences(lambda q: roll(scene.poses(qpos=q), quat="wxyz").distance, qpos)
        np.testing.assert_allclose(g, want, atol=2e-7)
        every, jacobian = scene.gradient(rows, qpos)
        for w in range(W):
            of = every.of(w) if pairs == "all" else slice(None)
            distances = every.distance[of] if pairs == "all" else every.distance[w]
            mine = jacobian[of] if pairs == "all" else jacobian[w]
            np.testing.assert_allclose(g[w], mine[np.argmin(distances)], atol=1e-12)


def bodies() -> tuple[cl.Scene, Any]:
    """Bodies of several smooth parts, at random poses with quaternions that are not unit."""
    rng = np.random.default_rng(5)
    scene = cl.Scene()
    shapes = [scene.library.ellipsoid(rng.uniform(0.1, 0.3, 3)) for _ in range(3)]
    for _ in range(4):
        scene.add(*(cl.Part(s, rng.normal(0, 0.3, 3), rng.normal(size=4)) for s in shapes))
    scene.all_pairs()
    return scene, np.concatenate([rng.normal(0, 1, (W, 4, 3)), rng.normal(size=(W, 4, 4))], axis=-1)


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_bodies_of_parts(engine: cl.Engine, order: Any) -> None:
    """Gradients with respect to the poses of bodies, of a scalar of all answers, are the differences."""
    scene, poses = bodies()
    rng = np.random.default_rng(6)
    p = len(scene.pairs)
    c: Any = {"distance": rng.normal(size=(W, p)), **{k: rng.normal(size=(W, p, 3)) for k in ("normal", "witness_a")}}
    with engine.rollout(scene, worlds=W, precision="double") as roll:
        r = roll(poses, quat=order, grad=True)
        assert (r.smoothness == 1).all() and r.smoothness.shape == (W, p)
        gradient = r.vjp(**c, wrt="poses")
        assert gradient.shape == poses.shape

        def scalar(flat: Any) -> Any:
            s = roll(flat.reshape(poses.shape), quat=order)
            return sum((c[k] * getattr(s, k)).reshape(W, -1).sum(axis=1) for k in c)

        want = differences(scalar, poses.reshape(W, -1))
        np.testing.assert_allclose(gradient.reshape(W, -1), want, atol=5e-5, rtol=5e-5)
        twists = rng.normal(size=(W, 4, 6))
        t = r.jvp(twists)
        left = sum((c[k] * getattr(t, k)).sum() for k in c)
        np.testing.assert_allclose(left, np.sum(r.vjp(**c) * twists), rtol=1e-10)


def test_rollout_of_shapes(engine: cl.Engine) -> None:
    """Rows of a rollout of shapes have the gradients of the same pairs, added by their bodies."""
    lib = cl.Library()
    shapes = [lib.ellipsoid([0.2, 0.3, 0.4]), lib.sphere(0.3), lib.ellipsoid([0.4, 0.2, 0.1])]
    _, poses = bodies()
    poses = poses[:, :3]
    with engine.rollout_of_shapes(lib, shapes, [0, 0, 1], [1, 2, 2], worlds=W, precision="double") as roll:
        got = roll(poses, quat="wxyz", grad=True).vjp(distance=1.0)
    want = np.zeros((W, 3, 6))
    for a, b in ((0, 1), (0, 2), (1, 2)):
        placed = (poses[:, a, :3], poses[:, a, 3:], poses[:, b, :3], poses[:, b, 3:])
        r = engine.distance(lib, shapes[a], shapes[b], *placed, quat="wxyz", precision="double", grad=True)
        g = r.vjp(distance=1.0)
        want[:, a] += g[:, :6]
        want[:, b] += g[:, 6:]
    np.testing.assert_allclose(got, want, atol=1e-12)


def test_rows_that_were_not_solved(engine: cl.Engine) -> None:
    """Absent bodies, pairs that bounds ruled out and invalid poses have no derivative, and never a NaN."""
    scene, poses = bodies()
    poses[0, 1, :3] += 100.0
    poses[1, 2] = np.nan
    places = np.tile(np.arange(4, dtype=np.int32), (W, 1))
    places[2, 3] = -1
    with engine.rollout(scene, worlds=W, bodies=places, max_distance=0.5, precision="double") as roll:
        r = roll(poses, quat="wxyz", grad=True)
    gradient = r.vjp(distance=1.0)
    assert np.isfinite(gradient).all()
    assert not gradient[0, 1].any() and not gradient[1, 2].any() and not gradient[2, 3].any()
    assert not r.smoothness[r.distance > 1.0].any() and r.smoothness.any()
    with (
        engine.rollout(scene, worlds=W, columns=["distance"]) as lacking,
        pytest.raises(cl.OptionError, match="normal"),
    ):
        lacking(poses, quat="wxyz", grad=True)


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
