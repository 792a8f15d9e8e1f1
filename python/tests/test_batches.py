"""Arrays of several leading axes, and poses that remember the order of their quaternions."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Pairs

import clearance as cl
from clearance import urdf

LEAD = (2, 3, 4)
POSES = ("pos_a", "quat_a", "pos_b", "quat_b")

TWO = """<robot name="two">
  <link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="arm"><collision><geometry><cylinder radius="0.2" length="1"/></geometry></collision></link>
  <link name="tip"><collision><geometry><sphere radius="0.4"/></geometry></collision></link>
  <joint name="pan" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="1 0 0.7"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0.3 0 0.5"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def rows(library: cl.Library) -> Pairs:
    return Pairs(library, 24)


@pytest.fixture
def library() -> cl.Library:
    lib = cl.Library()
    lib.box([0.5, 0.6, 0.7])
    lib.sphere(0.5)
    lib.capsule(0.2, 0.6)
    return lib


@pytest.fixture
def scene() -> urdf.UrdfScene:
    return urdf.load(TWO, skip_adjacent=False)


def batched(pairs: Pairs) -> list[Any]:
    """The six arrays with several leading axes."""
    return [x.reshape(*LEAD, *x.shape[1:]) for x in pairs.arrays()[1:]]


def same(got: Any, want: Any, lead: tuple[int, ...]) -> None:
    """Whether columns are those of another result, with the leading axes of the rows."""
    for name in ("distance", "gap", "normal", "witness_a", "status"):
        column, flat = getattr(got, name), getattr(want, name)
        assert column.shape == lead + ((3,) if name in ("normal", "witness_a") else ()), name
        assert column.tobytes() == flat.tobytes(), name


@pytest.mark.parametrize("quat", ["wxyz", "xyzw"])
def test_pairs(engine: cl.Engine, rows: Pairs, quat: Any) -> None:
    lib, *flat = rows.arrays()
    want = engine.distance(lib, *flat, quat=quat)
    got = engine.distance(lib, *batched(rows), quat=quat)
    same(got, want, LEAD)
    assert got.hit.shape == got.lower.shape == LEAD and got.rows == 24 and len(got) == 2
    again = engine.distance(lib, *batched(rows), quat=quat, out=got)
    assert again.distance is got.distance


def test_trailing_axes(engine: cl.Engine, rows: Pairs) -> None:
    """An argument with the last leading axes alone is that of all along the others."""
    lib, a, b, pos_a, quat_a, pos_b, quat_b = rows.arrays()
    full = [np.broadcast_to(x[:4], (2, 3, *x[:4].shape)).reshape(24, *x.shape[1:]) for x in (a, b, quat_a)]
    want = engine.distance(lib, full[0], full[1], pos_a, full[2], pos_b, quat_b, quat="wxyz")
    parts = pos_a.reshape(*LEAD, 3), quat_a[:4], pos_b.reshape(*LEAD, 3), quat_b.reshape(*LEAD, 4)
    got = engine.distance(lib, a[:4], b[:4], *parts, quat="wxyz", grad=True)
    same(got, want, LEAD)
    gradient = got.vjp(distance=1.0, wrt="poses")
    flat = engine.distance(lib, full[0], full[1], pos_a, full[2], pos_b, quat_b, quat="wxyz", grad=True)
    each = flat.vjp(distance=1.0, wrt="poses")
    assert gradient.pos_a.shape == (*LEAD, 3) and gradient.pos_a.tobytes() == each.pos_a.tobytes()
    np.testing.assert_allclose(gradient.quat_a, each.quat_a.reshape(6, 4, 4).sum(axis=0), atol=1e-14)
    single = engine.distance(lib, 0, 1, parts[0], [1, 0, 0, 0], parts[2], [1, 0, 0, 0], quat="wxyz")
    assert single.distance.shape == LEAD


def test_matrices_and_derivatives(engine: cl.Engine, rows: Pairs) -> None:
    lib, *flat = rows.arrays()
    arrays = batched(rows)
    one = engine.distance(lib, *flat, quat="wxyz", grad=True)
    two = engine.distance(lib, *arrays, quat="wxyz", grad=True)
    assert two.smoothness.shape == LEAD and two.vjp(distance=1.0).shape == (*LEAD, 12)
    ones = np.ones((24, 3))
    assert two.vjp(normal=ones.reshape(*LEAD, 3)).tobytes() == one.vjp(normal=ones).tobytes()
    twists = np.random.default_rng(2).normal(size=(24, 12))
    assert two.jvp(twists.reshape(*LEAD, 12)).normal.tobytes() == one.jvp(twists).normal.tobytes()
    assert two.jvp(pos_a=ones.reshape(*LEAD, 3)).distance.shape == LEAD
    products = engine.vjp("distance", lib, *arrays, quat="wxyz", distance=1.0)
    assert products.tobytes() == engine.vjp("distance", lib, *flat, quat="wxyz", distance=1.0).tobytes()
    assert products.shape == (*LEAD, 12)
    moved = np.broadcast_to(np.eye(3), (*LEAD, 3, 3))
    r = engine.distance(lib, arrays[0], arrays[1], arrays[2], moved, arrays[4], np.eye(3), quat="matrix")
    assert r.distance.shape == LEAD
    points = engine.contacts(lib, *arrays, quat="wxyz", max_gap=0.1)
    plain = engine.contacts(lib, *flat, quat="wxyz", max_gap=0.1)
    assert points.status.shape == points.count.shape == LEAD and (points.pair == plain.pair).all()


@pytest.mark.parametrize(
    ("name", "shape", "reason"),
    [
        ("b", (3, 4, 2), r"b: has the shape \[3, 4, 2\], want \[2, 3, 4\], .*of pos_a, or \[3, 4\]"),
        ("quat_a", (3, 2, 4, 4), r"quat_a: has the shape \[3, 2, 4, 4\], want \[2, 3, 4, 4\]"),
        ("pos_b", (24, 3), r"pos_b: has the shape \[24, 3\], want \[2, 3, 4, 3\]"),
    ],
)
def test_shapes_that_do_not_fit(engine: cl.Engine, rows: Pairs, name: str, shape: tuple[int, ...], reason: str) -> None:
    arrays = dict(zip(("a", "b", *POSES), batched(rows), strict=True))
    arrays[name] = arrays[name].reshape(shape)
    with pytest.raises(cl.ArrayError, match=reason):
        engine.distance(rows.library, *arrays.values(), quat="wxyz")


@pytest.mark.parametrize("reduce", [None, "world"])
@pytest.mark.parametrize("pairs", [None, "all"])
@pytest.mark.usefixtures("page_without_script")
def test_rollouts(engine: cl.Engine, scene: urdf.UrdfScene, reduce: Any, pairs: Any) -> None:
    joints = scene.random_joints(6, 1, slides=(0, 1)).reshape(2, 3, 2)
    poses = scene.poses(joints)
    assert poses.shape == (2, 3, 3, 7)
    flat = scene.poses(joints.reshape(6, 2))
    assert poses.tobytes() == flat.tobytes()
    roll = engine.rollout(scene, worlds=6, reduce=reduce, pairs=pairs)
    got, want = roll(poses, grad=True), roll(flat, grad=True)
    same(got, want, want.status.shape if pairs and not reduce else (2, 3, *want.status.shape[1:]))
    assert got.vjp(distance=1.0).shape == (2, 3, 3, 6)
    assert got.vjp(distance=1.0, wrt="poses").tobytes() == want.vjp(distance=1.0, wrt="poses").tobytes()
    twists = np.random.default_rng(3).normal(size=(2, 3, 3, 6))
    assert got.jvp(twists).distance.tobytes() == want.jvp(twists.reshape(6, 3, 6)).distance.tobytes()
    if not pairs or reduce:
        g = roll.vjp(poses, distance=1.0)
        assert g.shape == (2, 3, 3, 6) and g.tobytes() == roll.vjp(flat, distance=1.0).tobytes()
    r, by_joints = scene.gradient(roll, joints)
    assert by_joints.shape == (*r.status.shape, 2)
    assert by_joints.tobytes() == scene.gradient(roll, joints.reshape(6, 2))[1].tobytes()
    page = cl.show(got, scene, poses).scene
    assert page["rows"] == cl.show(want, scene, flat).scene["rows"]
    with pytest.raises(cl.ArrayError, match=r"\[2, 2, 3, 7\], want \[6, 3, 7\], or several leading .* product is 6"):
        roll(poses[:, :2])


@pytest.mark.parametrize("reduce", [None, "world"])
@pytest.mark.parametrize("pairs", [None, "all"])
@pytest.mark.usefixtures("page_without_script")
def test_sweeps(engine: cl.Engine, scene: urdf.UrdfScene, reduce: Any, pairs: Any) -> None:
    poses = scene.poses(scene.random_joints(24, 1, slides=(0, 1)).reshape(2, 3, 4, 2))
    flat = poses.reshape(6, 4, 3, 7)
    options: dict[str, Any] = {"reduce": reduce, "pairs": pairs, "max_distance": 0.05}
    got, want = (engine.sweep(scene, p, **options) for p in (poses, flat))
    if pairs and not reduce:
        assert got.offsets.tolist() == want.offsets.tolist()
    else:
        assert got.t0.shape == (2, 3, *want.t0.shape[1:])
        again = engine.sweep(scene, poses, out=got, **options)
        assert again.t0 is got.t0
        with pytest.raises(cl.ArrayError, match=r"out\..*want .* \[2, 3"):
            engine.sweep(scene, poses, out=want, **options)
    for f in dataclasses.fields(want):
        if isinstance(column := getattr(want, f.name), np.ndarray):
            assert getattr(got, f.name).tobytes() == column.tobytes(), f.name
    assert got.counts == want.counts and want.state.size
    page = cl.show(got, scene, poses).scene
    assert page["rows"] == cl.show(want, scene, flat).scene["rows"]
    assert page["worlds"] == cl.show(want, scene, flat).scene["worlds"]
    with pytest.raises(cl.ArrayError, match=r"want \[W, T, M, 7\], or \[..., T, M, 7\], with at least 2"):
        engine.sweep(scene, poses[:, :, :1], **options)


def test_rollouts_of_shapes_and_matrices(engine: cl.Engine, library: cl.Library) -> None:
    roll = engine.rollout_of_shapes(library, [0, 1, 2], [0, 0], [1, 2], worlds=6)
    xpos = np.random.default_rng(4).normal(size=(6, 3, 3)) * 2
    xmat = np.broadcast_to(np.eye(3), (6, 3, 3, 3))
    want = roll(xpos=xpos, xmat=xmat)
    same(roll(xpos=xpos.reshape(3, 2, 3, 3), xmat=xmat.reshape(3, 2, 3, 9)), want, (3, 2, 2))
    with pytest.raises(cl.ArrayError, match=r"xmat: .*want \[3, 2, 3, 3, 3\] or \[3, 2, 3, 9\]"):
        roll(xpos=xpos.reshape(3, 2, 3, 3), xmat=xmat)


def test_forward_kinematics(scene: urdf.UrdfScene) -> None:
    joints = scene.random_joints(6, 1, slides=(0, 1))
    base = np.tile([1.0, 2, 3, 1, 0, 0, 0], (2, 3, 1))
    forward = scene.forward(joints.reshape(2, 3, 2), base)
    assert forward.shape == (2, 3, 3, 7) and forward.tobytes() == scene.forward(joints, base[0, 0]).tobytes()
    twists = np.ones((2, 3, 3, 6))
    out = scene.poses(joints.reshape(2, 3, 2))
    assert scene.poses(joints[::-1].reshape(2, 3, 2), out=out) is out
    assert (out.reshape(6, 3, 7) == scene.poses(joints[::-1])).all()
    with pytest.raises(cl.ArrayError, match=r"joints: has the shape \[2\], want \[N, 2\], or \[..., 2\]"):
        scene.poses(joints[0])
    for wrong in (["1"] * 7, [1j] * 7, [True] * 7):
        with pytest.raises(cl.ArrayError, match=r"base: is .*, want real numbers"):
            scene.poses(joints, base=wrong)
    for count in (-1, 2.5, "3"):
        with pytest.raises(cl.OptionError, match=r"count: .*whole number"):
            scene.random_joints(count, slides=(0, 1))  # type: ignore[arg-type]
    with pytest.raises(cl.ArrayError, match=r"base: .*want \[7\] or \[2, 3, 7\]"):
        scene.poses(joints.reshape(2, 3, 2), base=base[0])
    flat = scene.joint_gradient(twists.reshape(6, 3, 6), joints)
    assert flat.any() and scene.joint_gradient(twists, joints.reshape(2, 3, 2)).tobytes() == flat.tobytes()


def test_forward_kinematics_of_mujoco(engine: cl.Engine) -> None:
    mujoco: Any = pytest.importorskip("mujoco", reason="mujoco is not installed")
    from clearance.mujoco import from_model

    text = (
        "<mujoco><worldbody><body><joint type='hinge' axis='0 1 0'/><geom type='box' size='1 .2 .2'/>"
        "<body pos='2 0 1'><joint type='slide' range='0 1'/><geom size='.5'/></body></body></worldbody></mujoco>"
    )
    scene = from_model(mujoco.MjModel.from_xml_string(text))
    scene.all_pairs()
    qpos = scene.random_qpos(6, 1, slides=(0, 1))
    poses = scene.poses(qpos=qpos.reshape(3, 2, 2))
    assert poses.shape == (3, 2, 2, 7) and poses.tobytes() == scene.poses(qpos=qpos).tobytes()
    xpos, xquat = np.zeros((3, 2, 3, 3)), np.tile([1.0, 0, 0, 0], (3, 2, 3, 1))
    assert scene.poses(xpos=xpos, xquat=xquat).shape == (3, 2, 2, 7)
    assert scene.poses(xpos=xpos, xmat=np.zeros((3, 2, 3, 9)) + np.eye(3).ravel()).shape == (3, 2, 2, 7)
    with engine.rollout(scene, worlds=6) as roll:
        result, gradient = scene.gradient(roll, qpos.reshape(3, 2, 2))
        assert result.distance.shape == (3, 2, 1) and gradient.shape == (3, 2, 1, 2)
        assert gradient.tobytes() == scene.gradient(roll, qpos)[1].tobytes()
        bodies = result.vjp(distance=1.0)
        assert scene.joint_gradient(bodies, qpos.reshape(3, 2, 2)).shape == (3, 2, 2)


def test_poses_remember_their_order(engine: cl.Engine, scene: urdf.UrdfScene, tmp_path: Path) -> None:
    poses = scene.poses(scene.random_joints(4, 1, slides=(0, 1)))
    roll = engine.rollout(scene, worlds=4)
    want = roll(np.array(poses), quat="wxyz").distance.tobytes()
    for known in (
        poses,
        poses.copy(),
        copy.copy(poses),
        copy.deepcopy(poses),
        poses[:],
        poses.reshape(2, 2, 3, 7),
        poses[None],
        poses[[0, 1, 2, 3]],
        poses[:, :, ...],
        poses[...],
    ):
        assert roll(known).distance.tobytes() == want
    assert roll(pickle.loads(pickle.dumps(poses))).distance.tobytes() == want
    assert roll(poses[np.ones(4, bool)]).distance.tobytes() == want
    plain = np.empty((4, 3, 7))
    assert roll(scene.poses(scene.random_joints(4, 1, slides=(0, 1)), out=plain)).distance.tobytes() == want
    assert engine.sweep(scene, poses.reshape(2, 2, 3, 7)).t0.shape == (2, 3)
    assert len(engine.scene_contacts(scene, poses, max_gap=0.1).status) == 12
    cl.write_worlds(tmp_path / "w.npz", scene, poses)
    assert roll(cl.read_worlds(tmp_path / "w.npz", scene).poses).distance.tobytes() == want
    assert roll.vjp(poses, distance=1.0).shape == (4, 3, 6)
    assert scene.skip_never_and_always(poses=poses, engine=engine).samples == 4


def test_an_order_is_not_guessed(engine: cl.Engine, scene: urdf.UrdfScene) -> None:
    """What may have another order, and what contradicts itself, is refused."""
    poses = scene.poses(scene.random_joints(4, 1, slides=(0, 1)))
    roll = engine.rollout(scene, worlds=4)
    moved = poses[..., [0, 1, 2, 4, 5, 6, 3]]
    others = (
        *(moved, np.array(poses), poses + 0, np.concatenate([poses[:2], poses[2:]]), poses[:, :, ::-1]),
        *(
            poses.tolist(),
            np.stack([*poses]),
            poses.view(np.ndarray),
            poses[..., ::-1],
            poses.reshape(-1).reshape(4, 3, 7),
        ),
        *(moved[:], poses[:, :, [0, 1, 2, 4, 5, 6, 3], ...], poses[..., :, ::-1], poses[:, :, ::-1, ...]),
    )
    for unknown in others:
        with pytest.raises(cl.OptionError, match='quat: None, want "wxyz" or "xyzw"'):
            roll(unknown)
    assert roll(moved, quat="xyzw").distance.tobytes() == roll(poses, quat="wxyz").distance.tobytes()
    with pytest.raises(cl.OptionError, match=r"quat: 'xyzw', and the poses were made in the order 'wxyz'"):
        roll(poses, quat="xyzw")
    with pytest.raises(cl.OptionError, match=r"quat: 'xyzw', and the poses were made in the order 'wxyz'"):
        cl.show(roll(poses), scene, poses, quat="xyzw")
    with pytest.raises(cl.OptionError, match="quat: None"):
        engine.sweep(scene, np.array(poses).reshape(2, 2, 3, 7))
