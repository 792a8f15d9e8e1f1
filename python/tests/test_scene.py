"""Rollouts of scenes: bodies of parts, culling, worlds reduced to one answer."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from conftest import run_python
from test_answers import matrices

import clearance as cl


def make_scene() -> cl.Scene:
    """Four bodies of one to three parts."""
    scene = cl.Scene()
    lib = scene.library
    box, ball, rod, point = lib.box([0.3, 0.2, 0.1]), lib.sphere(0.2), lib.capsule(0.1, 0.3), lib.convex([[0, 0, 0]])
    half = 0.5**0.5
    scene.add(box, name="plain")
    scene.add(cl.Part(ball, (0.5, 0, 0)), cl.Part(ball, (-0.5, 0, 0)), cl.Part(rod, (0, 0, 0), (half, 0, half, 0)))
    scene.add(cl.Part(rod, (0, 0.2, 0)), cl.Part(box, (0, -0.2, 0), (half, half, 0, 0)))
    scene.add(point, name="probe")
    scene.all_pairs(skip=[(3, 0)])
    return scene


@pytest.fixture(scope="module")
def poses() -> Any:
    rng = np.random.default_rng(1)
    p = rng.normal(0, 0.8, size=(50, 4, 7))
    p[..., 3:] /= np.linalg.norm(p[..., 3:], axis=-1, keepdims=True)
    return p


def by_pairs(engine: cl.Engine, scene: cl.Scene, poses: Any) -> tuple[Any, Any]:
    """Bounds of the rows [W,P] from pair lists of all parts, placed in the world by NumPy."""
    w = len(poses)
    lower = np.full((w, len(scene.pairs)), np.inf)
    upper = lower.copy()
    world = matrices(poses[..., 3:])
    for p, pair in enumerate(scene.pairs):
        for pa in scene.bodies[pair[0]].parts:
            for pb in scene.bodies[pair[1]].parts:
                arrays: list[Any] = []
                for body, part in zip(pair, (pa, pb), strict=True):
                    offset = np.einsum("wij,j->wi", world[:, body], np.asarray(part.position))
                    arrays += [poses[:, body, :3] + offset, product(poses[:, body, 3:], np.asarray(part.rotation))]
                shapes = [np.full(w, s, np.int32) for s in (pa.shape, pb.shape)]
                r = engine.distance(scene.library, *shapes, *arrays, quat="wxyz")
                lower[:, p], upper[:, p] = np.minimum(lower[:, p], r.lower), np.minimum(upper[:, p], r.upper)
    return lower, upper


def product(q: Any, r: Any) -> Any:
    """Quaternions q [N,4] times r [4], (w, x, y, z)."""
    w, v, s, u = q[:, :1], q[:, 1:], r[0], r[1:]
    return np.concatenate([w * s - v @ u[:, None], w * u + s * v + np.cross(v, u)], axis=1)


def test_rows_and_worlds(engine: cl.Engine, poses: Any) -> None:
    """Bounds of rows and worlds are those of their pairs of parts, with culling and without."""
    scene = make_scene()
    lower, upper = by_pairs(engine, scene, poses)
    slack = 1e-6
    for culling in (True, False):
        with engine.rollout(scene, worlds=50, culling=culling) as roll:
            r = roll(poses, quat="wxyz")
            assert r.distance.shape == (50, 5) and not r.failed.any()
            assert (r.lower <= upper + slack).all() and (lower <= r.upper + slack).all()
            assert (r.upper - r.lower < 1e-5).all()
            counts = np.array([[len(scene.bodies[i].parts) for i in p] for p in scene.pairs])
            assert (r.part_a >= 0).all() and (r.part_a < counts[:, 0]).all() and (r.part_b < counts[:, 1]).all()
            assert (r.part_b[:, counts[:, 1] == 3] == 2).any() or (counts[:, 1] < 3).all()
        with engine.rollout(scene, worlds=50, reduce="world", culling=culling) as roll:
            world = roll(poses, quat="wxyz")
            assert world.distance.shape == (50,)
            np.testing.assert_allclose(world.distance, r.distance.min(axis=1), atol=1e-6)
            assert (world.pair == r.distance.argmin(axis=1)).mean() > 0.9
            assert (world.contacts == (r.status == cl.PENETRATING).sum(axis=1)).all() and world.contacts_complete
            assert (world.hit == r.hit.any(axis=1)).all() and world.hit.any() and not world.hit.all()
            again = roll(poses, quat="wxyz", out=world)
            assert again.distance is world.distance and again.pair is world.pair
    near = engine.rollout(scene, worlds=50, max_distance=0.2)(poses, quat="wxyz")
    far = r.distance > 0.21
    assert (near.status == r.status).all() and (near.lower[far] > 0.2 - 1e-6).all()
    assert (np.abs(near.distance - r.distance)[~far & (r.distance < 0.19)] < 1e-6).all()
    collide = engine.rollout(scene, worlds=50, query="collide", reduce="world")(poses, quat="wxyz")
    assert (collide.hit == world.hit).all()


def test_matrices_and_orders(engine: cl.Engine, poses: Any) -> None:
    scene = pickle.loads(pickle.dumps(make_scene()))
    roll = engine.rollout(scene, worlds=50)
    r = roll(poses, quat="wxyz")
    other = roll(poses[..., [0, 1, 2, 4, 5, 6, 3]], quat="xyzw")
    assert other.distance.tobytes() == r.distance.tobytes()
    near = roll(xpos=poses[..., :3], xmat=matrices(poses[..., 3:]).reshape(50, 4, 9))
    np.testing.assert_allclose(near.distance, r.distance, atol=1e-6)


def test_matrices_by_name(engine: cl.Engine, poses: Any) -> None:
    """Arrays of a simulator, of all its bodies in its own order, find the bodies of the scene by their names."""
    scene = make_scene()
    scene.bodies[1] = cl.Body(scene.bodies[1].parts, "dumbbell")
    scene.bodies[2] = cl.Body(scene.bodies[2].parts, "cross")
    names = ["world", "probe", "cross", "plain", "dumbbell"]
    order = [3, 2, 0, 1]  # of the scene's bodies, at 1 to 4
    rng = np.random.default_rng(4)
    xpos, xmat = rng.normal(size=(50, 5, 3)), np.zeros((50, 5, 3, 3))
    xpos[:, 1:], xmat[:, 1:] = poses[:, order, :3], matrices(poses[:, order, 3:])
    with engine.rollout(scene, worlds=50) as roll:
        want = roll(xpos=poses[..., :3], xmat=matrices(poses[..., 3:]))
        assert roll(xpos=xpos, xmat=xmat, names=names).distance.tobytes() == want.distance.tobytes()
        for bad, reason in (
            (names[:-1], "bodies 'dumbbell', and 0 are named"),
            ([*names[:-1], "plain"], "1 bodies 'plain', and 2 are named"),
            ("plain", "want a list of names"),
        ):
            with pytest.raises(cl.OptionError, match=reason):
                roll(xpos=xpos, xmat=xmat, names=bad)
        with pytest.raises(cl.ArrayError, match=r"xpos: has the shape \[50, 4, 3\], want \[50, 5, 3\]"):
            roll(xpos=xpos[:, 1:], xmat=xmat[:, 1:], names=names)
        with pytest.raises(cl.OptionError, match="names"):
            roll(poses, quat="wxyz", names=names)
    scene.bodies[2] = cl.Body(scene.bodies[2].parts, "plain")
    with pytest.raises(cl.OptionError, match="2 bodies 'plain'"):
        engine.rollout(scene, worlds=50)(xpos=xpos, xmat=xmat, names=names)
    plain = engine.rollout_of_shapes(scene.library, [0, 1], [0], [1], worlds=1)
    with pytest.raises(cl.OptionError, match="names"):
        plain(xpos=xpos[:1, :2], xmat=xmat[:1, :2], names=["a", "b"])


def test_matrices_of_models(engine: cl.Engine, poses: Any) -> None:
    """The bodies of a model are not those of its scene: arrays of the same length by chance are refused."""

    class ModelScene(cl.Scene):
        def poses(self) -> None: ...

    scene = make_scene()
    model = ModelScene(scene.library, scene.bodies, scene.pairs)
    with engine.rollout(model, worlds=50) as roll, pytest.raises(cl.OptionError, match=r"names=.*scene\.poses"):
        roll(xpos=poses[..., :3], xmat=matrices(poses[..., 3:]))


def test_failures(engine: cl.Engine, poses: Any) -> None:
    """A world with a NaN fails alone, and reads as a hit; its place is named."""
    bad = poses.copy()
    bad[7, 2, 4] = np.nan
    world = engine.rollout(make_scene(), worlds=50, reduce="world")(bad, quat="wxyz")
    assert np.flatnonzero(world.failed).tolist() == [7] and world.hit[7] and world.lower[7] == -np.inf
    with pytest.raises(cl.RowError, match=r"poses\[7\]: body 2") as error:
        world.raise_if_failed()
    assert error.value.row == 7


def test_absent_bodies(engine: cl.Engine, poses: Any) -> None:
    """Places may be empty in some worlds; pairs with them are infinitely far apart."""
    scene = make_scene()
    which = np.tile(np.arange(4), (50, 1))
    which[3] = -1
    which[5, 1] = -1
    r = engine.rollout(scene, worlds=50, bodies=which)(poses, quat="wxyz")
    full = engine.rollout(scene, worlds=50)(poses, quat="wxyz")
    absent = np.zeros(full.distance.shape, bool)
    absent[3] = True
    absent[5] = [1 in p for p in scene.pairs]
    assert (r.distance[absent] == np.inf).all() and not r.hit[absent].any() and (r.lower[absent] == np.inf).all()
    assert r.distance[~absent].tobytes() == full.distance[~absent].tobytes()


def test_refused(engine: cl.Engine) -> None:
    scene = make_scene()
    with pytest.raises(cl.ShapeError):
        scene.add(name="empty")
    with pytest.raises(cl.OptionError, match="reduce"):
        engine.rollout(scene, worlds=1, reduce="all")  # type: ignore[arg-type]
    with pytest.raises(cl.OptionError, match="bodies"):
        engine.rollout(scene, worlds=1, bodies=[0, 1, 2, 9])
    with pytest.raises(cl.ArrayError, match="poses"):
        engine.rollout(scene, worlds=2)(np.zeros((3, 4, 7)), quat="wxyz")
    scene.add(17)
    with pytest.raises(cl.ShapeError, match="body 4, part 0: shape 17"):
        engine.rollout(scene, worlds=1)
    assert scene.index("probe") == 3 and "5 bodies" in repr(scene)


def test_nothing_is_copied() -> None:
    """A step with all arrays given takes no memory in proportion to its worlds, but for the poses of a block."""
    code = """
import resource, numpy as np, clearance as cl
scene = cl.Scene(); s = scene.library.sphere(0.1)
for _ in range(8): scene.add(s)
scene.all_pairs()
W = 100_000
with cl.Engine("cpu") as eng:
    roll = eng.rollout(scene, worlds=W, reduce="world", max_distance=0.1)
    poses = np.zeros((W, 8, 7)); poses[..., 3] = 1
    poses[..., 0] = np.arange(8) + np.random.default_rng(1).random((W, 8))
    out = roll(poses, quat="wxyz")
    out = roll(poses, quat="wxyz", copy=False, out=out)  # blocks have their full size from the second step on
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5): out = roll(poses, quat="wxyz", copy=False, out=out)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) * 1024 / W)
"""
    run = run_python(code)
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 8 * 7 * 8 / 4, "bytes per world; its poses have 448"
