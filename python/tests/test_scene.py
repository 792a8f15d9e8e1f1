"""Rollouts of scenes: bodies of parts, culling, worlds reduced to one answer; and proposals of pairs to skip."""

from __future__ import annotations

import pickle
from pathlib import Path
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


def test_counts_of_given_poses(engine: cl.Engine) -> None:
    """Balls on a line at random: the counts are those of their distances."""
    scene = cl.Scene()
    for k in range(4):
        scene.add(scene.library.sphere(0.5), name=f"ball{k}")
    scene.all_pairs()
    x = np.random.default_rng(1).uniform(0, [0, 0.5, 3, 1], (500, 4))
    x[:, 3] += 10
    poses = np.zeros((500, 4, 7))
    poses[..., 0], poses[..., 3] = x, 1
    p = scene.skip_never_and_always(poses=poses, engine=engine)
    apart = [(np.abs(x[:, i] - x[:, j]) > 1).sum() for i, j in scene.pairs]
    assert p.separated.tolist() == apart and (p.contact == 500 - p.separated).all() and p.samples == 500
    assert p.never == [(0, 3), (1, 3), (2, 3)] and p.always == [(0, 1)] and p.skip == [*p.never, *p.always]
    assert (1 - p.unseen) ** 500 == pytest.approx(0.05) and "no proof" in repr(p) and "ball0-ball1" in repr(p)
    scene.skip(p.skip)
    assert scene.pairs == [(0, 2), (1, 2)]
    poses[7, 3, 0] = np.nan
    scene.all_pairs()
    p = scene.skip_never_and_always(poses=poses, engine=engine)
    assert p.never == [] and "3 answers failed" in repr(p)
    with pytest.raises(cl.OptionError, match="poses"):
        scene.skip_never_and_always(100, engine=engine)


def test_urdf(engine: cl.Engine, tmp_path: Path) -> None:
    """A finger between a shell that it never leaves and a wall that it never meets; the seed decides the samples."""
    from clearance import urdf

    box = '<link name="{}"><collision><origin xyz="{} 0 0"/><geometry><box size="{}"/></geometry></collision></link>'
    links = [("shell", 0, ".2 .2 .2"), ("finger", 0.5, "1.2 .1 .1"), ("wall", 3, ".1 5 5"), ("post", 0, ".1 .1 .1")]
    joint = '<joint name="{0}" type="{1}"><parent link="shell"/><child link="{0}"/>{2}<axis xyz="0 0 1"/></joint>'
    text = "".join(box.format(*a) for a in links) + joint.format("finger", "continuous", "")
    text += joint.format("wall", "fixed", "") + joint.format("post", "fixed", '<origin xyz="0 .8 0"/>')
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{text}</robot>')
    scene = urdf.load(tmp_path / "r.urdf", skip_adjacent=False)
    scene.skip([(0, 2), (0, 3), (2, 3)])
    table = scene.add(scene.library.halfspace(), name="table")
    scene.pairs.append((table, 1))
    p = scene.skip_never_and_always(2000, engine=engine, seed=3)
    assert p.pairs == [(0, 1), (1, 2), (1, 3)] and p.always == [(0, 1)] and p.never == [(1, 2)]
    # The finger, 0.05 wide on each side, meets a post of the half width 0.05 at 0.75 to 0.85: about 2 asin(0.1 / 0.8).
    assert p.contact[2] / 2000 == pytest.approx(2 * np.arcsin(0.1 / 0.8) / (2 * np.pi), rel=0.3)
    again = scene.skip_never_and_always(2000, engine=engine, seed=3)
    assert (again.contact == p.contact).all()


def test_mujoco(engine: cl.Engine) -> None:
    """Pairs with a free body are not proposed; samples lie within the limits; counts are those of MuJoCo's contacts."""
    mujoco: Any = pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco to run this test")
    from clearance.mujoco import from_model

    text = """<mujoco><worldbody>
      <geom name="rail" type="box" size="2 .1 .1" pos="0 0 -1"/>
      <body name="arm"><joint name="swing" type="hinge" axis="0 1 0" range="-30 30" limited="true"/>
        <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.8"/>
        <body name="tip" pos="0 0 -.8"><joint name="push" type="slide" axis="0 0 1" range="-.2 .2" limited="true"/>
          <geom type="sphere" size=".08"/>
          <body pos=".1 0 0" name="bulb"><joint type="ball" range="0 .5" limited="true"/>
            <geom type="ellipsoid" size=".05 .06 .07" pos=".1 0 0"/></body></body></body>
      <body name="loose" pos="0 1 0"><freejoint/><geom type="sphere" size=".1"/></body>
      <body name="target" mocap="true" pos="0 2 0"><geom type="sphere" size=".1"/>
        <body name="flag" pos="0 0 .2"><geom type="sphere" size=".1"/></body></body>
    </worldbody></mujoco>"""
    text = text.replace("<mujoco>", '<mujoco><compiler angle="radian"/>', 1).replace("-30 30", "-.5 .5")
    model = mujoco.MjModel.from_xml_string(text)
    scene = from_model(model)
    names = [b.name for b in scene.bodies]
    p = scene.skip_never_and_always(1000, engine=engine)
    free = {"loose", "target", "flag"}  # MuJoCo's mocap bodies are where the caller puts them
    assert not [(i, j) for i, j in p.pairs if free & {names[i], names[j]}]
    assert sum(bool(free & {names[i], names[j]}) for i, j in scene.pairs) == len(scene.pairs) - len(p.pairs) > 6
    qpos = scene.random_qpos(1000, 0)
    assert np.abs(qpos[:, 0]).max() <= 0.5 and np.abs(qpos[:, 1]).max() <= 0.2
    assert (2 * np.arccos(qpos[:, 2]) <= 0.5 + 1e-12).all()
    data, seen = mujoco.MjData(model), np.zeros(len(p.pairs), int)
    number = {frozenset(scene.body_ids[b] for b in pair): k for k, pair in enumerate(p.pairs)}
    for q in qpos:
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        hit = {frozenset(int(model.geom_bodyid[g]) for g in c.geom) for c in data.contact if c.dist < 0}
        for pair in hit & number.keys():
            seen[number[pair]] += 1
    assert np.abs(seen - p.contact).max() <= 2 and 0 < p.contact.max() < 1000
    added = from_model(model)
    wall = added.add(added.library.halfspace(), name="wall")
    added.pairs += [(i, wall) for i in range(wall)]
    more = added.skip_never_and_always(1000, engine=engine)
    assert more.pairs == p.pairs and (more.contact == p.contact).all() and (more.separated == p.separated).all()
    loose = mujoco.MjModel.from_xml_string(text.replace(' range="-.2 .2" limited="true"', ""))
    with pytest.raises(cl.OptionError, match=r"'push' slides.*slides=\(low, high\)"):
        from_model(loose).skip_never_and_always(10, engine=engine)
    within = from_model(loose).skip_never_and_always(1000, engine=engine, slides=(-0.2, 0.2))
    assert (within.contact == p.contact).all() and (within.separated == p.separated).all()
    with pytest.raises(cl.OptionError, match="slides: the range of joints that are sampled"):
        scene.skip_never_and_always(poses=scene.poses(qpos=qpos[:3]), engine=engine, slides=(0, 1))


def test_slides_without_limits(engine: cl.Engine) -> None:
    """A peg that slides along a wall meets it where its range ends there; both kinds of models say the same."""
    from clearance import urdf

    link = '<link name="{0}"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
    text = f'<robot name="r">{link.format("wall")}{link.format("peg")}'
    text += '<joint name="rail" type="prismatic"><parent link="wall"/><child link="peg"/></joint></robot>'
    scene = urdf.load(text, skip_adjacent=False)
    with pytest.raises(cl.OptionError, match=r"'rail' slides.*slides=\(low, high\)"):
        scene.skip_never_and_always(10, engine=engine)
    assert scene.skip_never_and_always(50, engine=engine, slides=(1.5, 2)).never == [(0, 1)]
    assert scene.skip_never_and_always(50, engine=engine, slides=(-0.5, 0.5)).always == [(0, 1)]
    for wrong in ((1, 0), (0, np.inf), 3, "ab", (True, 2)):
        with pytest.raises(cl.OptionError, match="slides"):
            scene.skip_never_and_always(10, engine=engine, slides=wrong)  # type: ignore[arg-type]


def test_pairs_to_skip_are_known() -> None:
    """A pair to skip that is none of two bodies, or that nobody asks about, is an error and skips nothing."""
    scene = cl.Scene()
    for k in range(4):
        scene.add(scene.library.sphere(0.5), name=f"ball{k}")
    wrong: Any
    for wrong in ((0, 4), (1, 1), (-1, 2), (0, 1, 2), (0, 1.5)):
        with pytest.raises(cl.OptionError, match="skip: "):
            scene.all_pairs(skip=[(0, 1), wrong])
    assert scene.pairs == []
    scene.all_pairs(skip=[(1, 0)])
    before = list(scene.pairs)
    for wrong in ((0, 4), (1, 1), (0, 1), (1, 0)):
        with pytest.raises(cl.OptionError, match="pairs: "):
            scene.skip([(2, 3), wrong])
    assert scene.pairs == before
    scene.skip([(3, 2)])
    assert scene.pairs == [p for p in before if p != (2, 3)]
