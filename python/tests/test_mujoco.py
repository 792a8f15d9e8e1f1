"""Scenes of MuJoCo models, against mujoco itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance._kinematics import product, rotated
from clearance.mujoco import from_model

mujoco: Any = pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco to run these tests")

# mj_geomDistance of these versions is 0 for some boxes that are more than a metre apart.
EARLY = mujoco.mj_version() < 4_000_000

MODEL = """
<mujoco>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .25  .3 .2 0"/>
    <mesh name="dart" vertex="0 0 0  .4 .05 0  .1 .1 0  .05 .4 0  .1 .1 .3"
          face="0 2 1  0 3 2  0 1 4  1 2 4  2 3 4  3 0 4"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom name="wall" type="box" size=".1 2 1" pos="1.5 0 1" euler="0 0 20"/>
    <geom name="picture" type="box" size=".1 .1 .1" contype="0" conaffinity="0"/>
    <body name="arm" pos="0 0 .5">
      <joint type="hinge" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>
      <geom name="rod" type="capsule" size=".08 .3" pos=".3 0 0" euler="0 90 0"/>
      <geom name="knob" type="sphere" size=".12" margin=".02"/>
      <body name="plate" pos=".6 0 0">
        <geom name="disc" type="cylinder" size=".15 .02"/>
        <body name="hand" pos=".1 0 0">
          <joint type="ball"/>
          <geom name="palm" type="ellipsoid" size=".1 .15 .05"/>
          <geom name="tag" type="box" size=".05 .05 .05" pos=".1 0 0" contype="2" conaffinity="2"/>
        </body>
      </body>
    </body>
    <body name="free" pos="0 .8 .8"><freejoint/><geom name="block" type="mesh" mesh="wedge" contype="3"/></body>
    <body name="loose" pos="-.8 0 .8"><freejoint/><geom name="cube" type="box" size=".2 .1 .15" conaffinity="3"/></body>
    <body name="ghost" pos="0 -.8 .8"><freejoint/>
      <geom name="only" type="sphere" size=".2" contype="0" conaffinity="0"/></body>
  </worldbody>
  <contact>
    <exclude body1="free" body2="loose"/>
    <pair geom1="only" geom2="cube"/>
  </contact>
</mujoco>
"""


def compiled(text: str = MODEL) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(text)
    return model, mujoco.MjData(model)


def at_random(model: Any, data: Any, rng: np.random.Generator) -> None:
    """A configuration with free bodies near the rest."""
    for j in range(model.njnt):
        at = model.jnt_qposadr[j]
        kind = model.jnt_type[j]
        n = {0: 7, 1: 4}.get(int(kind), 1)
        data.qpos[at : at + n] = rng.normal(0, 0.6, n)
        if n == 7:
            data.qpos[at + 2] += 0.8
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_forward(model, data)


def pairs_of_geoms(scene: Any) -> set[tuple[int, int]]:
    """The pairs of geoms that a scene asks about."""
    geoms = scene.geom_ids
    return {(min(a, b), max(a, b)) for i, j in scene.pairs for a in geoms[i] for b in geoms[j]}


def test_pairs_are_those_of_mujoco() -> None:
    """With margins beyond all distances, every pair that MuJoCo's filters pass has a contact."""
    for flags in ("", 'filterparent="disable"'):  # the middle phase keeps the margins of the compiler
        option = f'<mujoco><option><flag midphase="disable" {flags}/></option>'
        # It misses contacts of boxes at large margins; the filters do not depend on the types.
        text = MODEL.replace("<mujoco>", option).replace('type="box"', 'type="ellipsoid"')
        model, data = compiled(text)
        scene = from_model(model)
        model.geom_margin[:] = 20
        model.pair_margin[:] = 20
        mujoco.mj_forward(model, data)
        want = {(int(min(c.geom)), int(max(c.geom))) for c in data.contact}
        got = pairs_of_geoms(scene)
        names = {(model.geom(a).name, model.geom(b).name) for a, b in got ^ want}
        assert not names
        assert len(got) > 10


FIXED = """
<mujoco><option><flag midphase="disable" FLAGS/></option><worldbody>
<geom name="floor" type="plane" size="0 0 1"/><geom name="post" size=".3"/>
<body><geom name="static" size=".3"/></body>
<body><geom name="base" size=".3"/><geom name="table" type="plane" size="0 0 1"/>
  <body><joint/><geom name="link" size=".3"/><body><joint/><geom name="next" size=".3"/></body></body></body>
<body mocap="true"><geom name="hand" size=".3"/>
  <body><geom name="finger" size=".3"/><body><joint/><geom name="tip" size=".3"/></body></body>
  <body><joint/><geom name="thumb" size=".3"/></body></body>
<body mocap="true"><geom name="other" size=".3"/></body>
<body><freejoint/><geom name="free" size=".3"/></body>
</worldbody></mujoco>
"""


@pytest.mark.parametrize("flags", ["", 'filterparent="disable"', 'contact="disable"', 'constraint="disable"'])
def test_pairs_of_fixed_bodies(flags: str) -> None:
    """Bodies that nothing moves (the world, mocap bodies, what is welded to these) do not collide with each other,
    whatever weld ids the version of MuJoCo gives them; flags that disable contacts leave no pairs."""
    model, data = compiled(FIXED.replace("FLAGS", flags))
    scene = from_model(model)
    mujoco.mj_forward(model, data)  # all spheres and planes overlap
    want = {(int(min(c.geom)), int(max(c.geom))) for c in data.contact}
    assert pairs_of_geoms(scene) == want
    assert len(want) == 0 if "disable" in flags and "parent" not in flags else len(want) > 30
    named = {frozenset((model.geom(a).name, model.geom(b).name)) for a, b in want}
    for a in ("floor", "post", "static", "table", "finger", "other"):
        assert frozenset((a, "hand")) not in named and (not want or frozenset((a, "free")) in named)


def test_explicit_pairs_without_contacts() -> None:
    """The flag that disables contacts disables those of explicit pairs, too."""
    text = MODEL.replace("<mujoco>", '<mujoco><option><flag contact="disable"/></option>')
    model, data = compiled(text)
    mujoco.mj_forward(model, data)
    assert model.npair == 1 and data.ncon == 0
    assert from_model(model).pairs == []


def frames(scene: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """The positions and the axes of all parts of a scene less those of their geoms in MuJoCo."""
    poses = scene.poses(data)[0]
    parts = [(pose, p, g) for pose, b, ids in zip(poses, scene.bodies, scene.geom_ids, strict=True)
             for p, g in zip(b.parts, ids, strict=True)]  # fmt: skip
    position = [pose[:3] + rotated(pose[3:], np.asarray(p.position)) - data.geom_xpos[g] for pose, p, g in parts]
    q = np.array([product(pose[3:], np.asarray(p.rotation)) for pose, p, g in parts])
    axes = np.stack([rotated(q, e) for e in np.eye(3)], axis=-1)
    return np.array(position), axes - np.array([data.geom_xmat[g].reshape(3, 3) for _, _, g in parts])


def test_frames_that_are_nearly_those_of_their_bodies() -> None:
    """The compiler of MuJoCo takes a frame within 1e-6 of that of the body, or of its inertia, as that frame: poses of
    geoms are those of mj_kinematics all the same, for every kind of frame and of inertia."""
    geoms = (
        "",
        'pos="3e-7 -2e-7 4e-7"',
        'pos="1 1 1" quat="1 2e-7 -3e-7 1e-7"',
        'pos="INERTIA 3e-7" quat="1 2e-7 1e-7 -2e-7"',
        'pos="INERTIA 0" quat=".5 .5 -.5 .5000003"',
        'pos="1 2 3" quat=".5 .5 -.5 .5000002"',
        'pos="1 2 3" quat="1 2 3 4"',
    )
    inertias = ("0 0 0", "2e-7 -1e-7 1e-7", ".1 .2 0", ".1 .2 0"), ("1 0 0 0", "1 1e-7 0 2e-7", "1 0 1e-7 0")
    bodies = ""
    for pos in inertias[0]:
        for quat in (*inertias[1], ".5 .5 -.5 .5"):
            inertia = f'<inertial pos="{pos}" quat="{quat}" mass="1" diaginertia="1 2 2.5"/>'
            near = " ".join(pos.split()[:2])
            each = "".join(f'<geom size=".1" {g.replace("INERTIA", near)}/>' for g in geoms)
            bodies += f'<body pos="1 2 3"><freejoint/>{inertia}{each}</body>'
    model, data = compiled(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    scene = from_model(model)
    rng = np.random.default_rng(3)
    for _ in range(20):
        at_random(model, data, rng)
        position, axes = frames(scene, data)
        # Some roundings of numbers of at most 6.
        assert np.abs(position).max() < 1e-14 and np.abs(axes).max() < 1e-14
    seen = {int(c) for c in model.geom_sameframe}
    assert seen == {0, 1, 2, 3, 4} and {0, 1, 3} <= {int(c) for c in model.body_sameframe}
    moved = [g for g in range(model.ngeom) if model.geom_sameframe[g] == 1 and np.abs(model.geom_pos[g]).max() > 1e-7]
    assert moved


def test_files_and_specs(tmp_path: Path) -> None:
    """from_model takes a file and an MjSpec as well as a model; an error of MuJoCo names the file."""
    want = from_model(compiled()[0])
    path = tmp_path / "model.xml"
    path.write_text(MODEL)
    mujoco.mj_saveModel(compiled()[0], str(tmp_path / "model.mjb"))
    for given in (path, str(path), tmp_path / "model.mjb", mujoco.MjSpec.from_string(MODEL)):
        scene = from_model(given)
        assert scene.pairs == want.pairs and scene.geom_ids == want.geom_ids and scene.model.nq == want.model.nq
    path.write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    with pytest.raises(cl.FileError, match=r"model\.xml.*size 0.*line 1"):
        from_model(path)
    with pytest.raises(cl.FileError, match=r"gone\.xml"):
        from_model(tmp_path / "gone.xml")
    with pytest.raises(cl.OptionError, match="want an MjModel, an MjSpec or the path"):
        from_model(3)


def test_range_of_slides_without_limits() -> None:
    model, _ = compiled(JOINTS)
    scene = from_model(model)
    with pytest.raises(cl.OptionError, match=r"'jnt 0' slides.*slides=\(low, high\)"):
        scene.random_qpos(3)
    with pytest.raises(cl.OptionError, match="count: -1"):
        scene.random_qpos(-1)
    qpos = scene.random_qpos(2000, seed=1, slides=(-0.5, 2))
    for j in range(model.njnt):
        if model.jnt_type[j] == 2:
            q = qpos[:, model.jnt_qposadr[j]]
            assert -0.5 <= q.min() < -0.4 and 1.9 < q.max() <= 2
    for wrong in ((1, 0), (0, np.inf), 3, (1, 2, 3), "ab"):
        with pytest.raises(cl.OptionError, match="slides"):
            scene.random_qpos(1, slides=wrong)  # type: ignore[arg-type]


def test_distances_are_those_of_mujoco(engine: cl.Engine) -> None:
    """Distances of random configurations lie within both tolerances of mj_geomDistance, where the pair is separated.

    Depths are left out: MuJoCo's are estimates of its EPA, and its documentation promises no bound.
    """
    model, data = compiled()
    scene = from_model(model)
    pairs = scene.pairs
    roll = engine.rollout(scene, worlds=1, precision="double", culling=False)
    rng, compared, worst = np.random.default_rng(1), 0, 0.0
    for _ in range(200):
        at_random(model, data, rng)
        r = roll(scene.poses(data), quat="wxyz")
        for p in range(len(pairs)):
            if r.hit[0, p]:
                continue
            a, b = (scene.geom_ids[i][part[0, p]] for i, part in zip(pairs[p], (r.part_a, r.part_b), strict=True))
            got = mujoco.mj_geomDistance(model, data, a, b, 50.0, None)
            if EARLY and got == 0:
                continue
            worst = max(worst, abs(got - r.distance[0, p]))
            compared += 1
    # MuJoCo's tolerance of its convex solver, mjOption.ccd_tolerance, is 1e-6.
    assert compared > 1500 and worst < 1e-5, (compared, worst)


def test_poses(engine: cl.Engine) -> None:
    """Poses of MjData, of batches with quaternions, and with matrices, are the same."""
    model, data = compiled()
    scene = from_model(model)
    rng, every = np.random.default_rng(2), []
    for _ in range(3):
        at_random(model, data, rng)
        every.append((data.xpos.copy(), data.xquat.copy(), data.xmat.copy()))
    xpos, xquat, xmat = (np.stack(x) for x in zip(*every, strict=True))
    roll = engine.rollout(scene, worlds=3)
    a = roll(scene.poses(xpos=xpos, xquat=xquat), quat="wxyz")
    b = roll(scene.poses(xpos=xpos, xmat=xmat), quat="wxyz")
    np.testing.assert_allclose(a.distance, b.distance, atol=1e-6)
    assert scene.poses(data).tobytes() == scene.poses(xpos=xpos, xquat=xquat)[2:].tobytes()
    with pytest.raises(cl.OptionError):
        scene.poses(xpos=xpos)
    n = model.nbody
    with pytest.raises(cl.ArrayError, match=rf"xpos: .*want \[W, {n}, 3\]"):
        scene.poses(xpos=xpos[0], xquat=xquat[0])
    # Arrays of another model, or of other worlds, would be read at wrong places.
    more = {name: np.repeat(x, 2, 1)[:, : n + 1] for name, x in (("xpos", xpos), ("xquat", xquat), ("xmat", xmat))}
    for name in ("xquat", "xmat"):
        with pytest.raises(cl.ArrayError, match=rf"xpos: .*\[3, {n + 1}, 3\], want \[W, {n}, 3\]"):
            scene.poses(xpos=more["xpos"], **{name: more[name]})
        good = xquat if name == "xquat" else xmat
        for wrong in (more[name], good[:2], good[..., :3], good[:, :-1], good.reshape(3, -1)):
            with pytest.raises(cl.ArrayError, match=f"{name}: .*want"):
                scene.poses(xpos=xpos, **{name: wrong})
    np.testing.assert_array_equal(
        scene.poses(xpos=xpos, xmat=xmat.reshape(3, n, 3, 3)), scene.poses(xpos=xpos, xmat=xmat)
    )
    with pytest.raises(cl.ArrayError, match="xquat: is <U"):
        scene.poses(xpos=xpos, xquat=xquat.astype(str))
    other = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body/></worldbody></mujoco>")
    for wrong_data in (mujoco.MjData(other), [data, mujoco.MjData(other)], 7):
        with pytest.raises(cl.ArrayError, match=r"data: .*want MjData of the model"):
            scene.poses(wrong_data)
    with pytest.raises(cl.ArrayError, match="data: is empty, want one MjData or more"):
        scene.poses([])


JOINTS = """
<mujoco>
  <worldbody>
    <body name="base" pos=".1 .2 .3" quat="1 .2 -.3 .4">
      <joint type="slide" axis="1 2 0"/><joint type="hinge" axis="0 1 1" pos=".1 -.2 .05" ref=".3"/>
      <geom type="sphere" size=".1"/>
      <body name="left" pos=".4 0 0" euler="10 20 30">
        <joint type="ball" pos=".05 .02 -.1"/><geom type="sphere" size=".1"/>
        <body name="tip" pos="0 .3 .1"><geom type="sphere" size=".1"/></body>
      </body>
      <body name="right" pos="-.4 0 .1">
        <joint type="hinge" axis="1 0 0" pos="0 .1 0"/><joint type="hinge" axis="0 0 1"/>
        <joint type="slide" axis="0 1 0" ref=".2" pos=".3 .1 0"/><geom type="sphere" size=".1"/>
      </body>
    </body>
    <body name="free" pos="0 0 2"><freejoint/><geom type="sphere" size=".1"/>
      <body pos=".2 .1 0"><joint type="hinge" axis="0 1 0"/><geom type="sphere" size=".1"/></body>
    </body>
    <body name="mocap" mocap="true" pos="3 2 1" quat="0 1 1 0"><geom type="sphere" size=".1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("text", [MODEL, JOINTS], ids=["arm", "joints"])
def test_forward_kinematics(text: str) -> None:
    """Poses of configurations are those of mj_kinematics, for every kind of joint; those of one world have the same
    bits alone, and an array of an earlier call keeps the poses of other bodies."""
    model, data = compiled(text)
    scene = from_model(model)
    scene.add(scene.library.sphere(0.1), name="other")
    rng, known = np.random.default_rng(7), len(scene.body_ids)
    qpos, want = np.empty((300, model.nq)), []
    for row in qpos:
        at_random(model, data, rng)
        row[:] = data.qpos
        want.append(scene.poses(data)[0])
    got = scene.poses(qpos=qpos)
    assert got.shape == (300, known + 1, 7)
    np.testing.assert_allclose(got[..., :3], np.array(want)[..., :3], atol=1e-13)
    aligned = np.abs((got[..., 3:] * np.array(want)[..., 3:]).sum(axis=-1))  # q and -q are the same rotation
    np.testing.assert_allclose(aligned, 1, atol=1e-13)
    assert scene.poses(qpos=qpos[17:18]).tobytes() == got[17:18].tobytes()
    out = scene.poses(qpos=qpos, others=np.array([[1.0, 2, 3, 0, 1, 0, 0]]))
    assert scene.poses(qpos=qpos[::-1], out=out) is out
    assert (out[:, :known] == got[::-1, :known]).all() and (out[:, known] == [1, 2, 3, 0, 1, 0, 0]).all()
    with pytest.raises(cl.ArrayError, match="out"):
        scene.poses(qpos=qpos, out=out[:, :1])
    with pytest.raises(cl.OptionError, match="qpos"):
        scene.poses(data, qpos=qpos)
    with pytest.raises(cl.ArrayError, match="qpos"):
        scene.poses(qpos=qpos[:, 1:])


def test_poses_of_added_bodies(engine: cl.Engine) -> None:
    """Bodies added to the scene stand at the origin, or where ``others`` says, in one world or in each."""
    model, data = compiled()
    scene = from_model(model)
    known = len(scene.bodies)
    at_random(model, data, np.random.default_rng(4))
    alone = scene.poses(data)
    wall = scene.add(scene.library.halfspace(), name="wall")
    scene.all_pairs()
    poses = scene.poses([data, data])
    assert wall == known and poses.shape == (2, known + 1, 7)
    assert (poses[:, :known] == alone).all() and (poses[:, wall] == [0, 0, 0, 1, 0, 0, 0]).all()
    low = np.array([[0, 0, -9, 1.0, 0, 0, 0]])
    worlds = np.stack([low, low])
    worlds[1, 0, 2] -= 2
    assert (scene.poses([data, data], others=low)[:, wall] == low).all()
    both = scene.poses([data, data], others=worlds)
    assert (both[:, wall] == worlds[:, 0]).all()
    r = engine.rollout(scene, worlds=2, precision="double")(both, quat="wxyz")
    # All but the floor: two half-spaces have no distance.
    bounded = [p for p, (i, j) in enumerate(scene.pairs) if j == wall and model.geom_type[scene.geom_ids[i][0]] != 0]
    assert len(bounded) == known - 1
    np.testing.assert_allclose(r.distance[1, bounded] - r.distance[0, bounded], 2, atol=1e-9)
    with pytest.raises(cl.ArrayError, match=r"others.*\[1, 7\] or \[2, 1, 7\]"):
        scene.poses([data, data], others=low[0])


def test_margins_and_meshes() -> None:
    model, _ = compiled()
    knob = next(i for i, s in enumerate(from_model(model, margin="add").library) if s.name == "knob")
    assert from_model(model, margin="add").library[knob].margin == 0.02
    assert from_model(model).library[knob].margin == 0
    model, _ = compiled(MODEL.replace('mesh="wedge"', 'mesh="dart"'))
    with pytest.raises(cl.FileError, match=r"mesh 'dart' of geom 'block'.*not convex.*concave"):
        from_model(model)
    assert len(from_model(model, concave="hull").library) == len(from_model(compiled()[0]).library)


def test_planes_do_not_collide() -> None:
    """MuJoCo has no contacts of two planes, also not of an explicit pair; nor has the scene that pair."""
    text = MODEL.replace('type="box" size=".05 .05 .05"', 'type="sphere" size=".05"')
    text = text.replace("<worldbody>", '<worldbody><geom name="roof" type="plane" size="0 0 1" pos="0 0 -1"/>')
    text = text.replace("<contact>", '<contact><pair geom1="floor" geom2="roof"/><pair geom1="floor" geom2="wall"/>')
    model, data = compiled(text)
    scene = from_model(model)
    planes = {i for i, g in enumerate(scene.geom_ids) if model.geom_type[g[0]] == 0}
    assert len(planes) == 2 and not [p for p in scene.pairs if set(p) <= planes]
    floor, wall = (
        next(i for i, g in enumerate(scene.geom_ids) if model.geom(name).id in g) for name in ("floor", "wall")
    )
    assert (min(floor, wall), max(floor, wall)) in scene.pairs
    mujoco.mj_forward(model, data)
    assert not [c for c in data.contact if all(model.geom_type[g] == 0 for g in c.geom)]


def test_hfields_are_refused_by_name() -> None:
    text = MODEL.replace("<asset>", '<asset><hfield name="hills" nrow="4" ncol="4" size="1 1 1 .1"/>')
    text = text.replace("<worldbody>", '<worldbody><geom name="ground" type="hfield" hfield="hills"/>')
    with pytest.raises(cl.ShapeError, match=r"'ground'.*hfield"):
        from_model(compiled(text)[0])


def test_omitted_geoms() -> None:
    """What no shape stands for is left out if it is named, and listed; a name that the model lacks is an error."""
    text = MODEL.replace("<asset>", '<asset><hfield name="hills" nrow="4" ncol="4" size="1 1 1 .1"/>')
    text = text.replace("<worldbody>", '<worldbody><geom name="ground" type="hfield" hfield="hills"/>')
    model = compiled(text)[0]
    scene, want = from_model(model, omit=["ground"]), from_model(compiled()[0])
    assert scene.omitted == ["ground"] and want.omitted == []
    assert [b.name for b in scene.bodies] == [b.name for b in want.bodies] and scene.pairs == want.pairs
    with pytest.raises(cl.OptionError, match="'grond' is neither a geom nor a flex"):
        from_model(model, omit=["ground", "grond"])
    with pytest.raises(cl.OptionError, match="text"):
        from_model(model, omit="ground")


FLEX = """<flexcomp name="cloth" type="grid" count="4 4 1" spacing=".1 .1 .1" pos="0 0 .5" radius=".02" dim="2">
  <edge equality="true"/><contact selfcollide="none" CONTACT/></flexcomp>"""


def test_flexes_are_refused_by_name() -> None:
    """MuJoCo collides flexes; a scene that lacked them would show their contacts as free."""
    text = MODEL.replace("</worldbody>", FLEX.replace("CONTACT", "") + "</worldbody>")
    model, data = compiled(text)
    data.qpos[:] = model.qpos0
    mujoco.mj_forward(model, data)
    assert any(max(c.flex) >= 0 for c in data.contact)
    with pytest.raises(cl.ShapeError, match=r"flex 0 \('cloth'\).*omit=\('cloth',\)"):
        from_model(model)
    assert from_model(model, omit=("cloth",)).omitted == ["cloth"]
    inert = FLEX.replace("CONTACT", 'contype="0" conaffinity="0"')
    assert from_model(compiled(MODEL.replace("</worldbody>", inert + "</worldbody>"))[0]).omitted == []


@pytest.mark.parametrize("count", [9, 40])  # MuJoCo looks at all vertices of a mesh of fewer than 10
def test_hulls_of_few_vertices(engine: cl.Engine, count: int) -> None:
    """A mesh with maxhullvert is the hull that MuJoCo collides, by distances from a small ball around it."""
    rng = np.random.default_rng(7)
    points = rng.normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    text = " ".join(f"{x:.9f}" for x in points.ravel())
    model, data = compiled(
        f'''<mujoco><asset><mesh name="stone" vertex="{text}" maxhullvert="6" inertia="convex"/></asset><worldbody>
        <geom name="probe" type="sphere" size=".01" pos="3 0 0"/>
        <body><freejoint/><geom name="stone" type="mesh" mesh="stone"/></body>
        </worldbody></mujoco>'''
    )
    scene = from_model(model)
    stone: Any = scene.library[scene.library.index("stone")].parameters["vertices"]
    assert len(stone) == (count if count < 10 else 6)
    roll = engine.rollout(scene, worlds=1, precision="double")
    for direction in rng.normal(size=(50, 3)):
        model.geom("probe").pos[:] = 3 * direction / np.linalg.norm(direction)
        mujoco.mj_kinematics(model, data)
        probe = next(i for i, g in enumerate(scene.geom_ids) if g == [model.geom("probe").id])
        poses = scene.poses(data)
        poses[0, probe, :3] = model.geom("probe").pos - [3, 0, 0]  # the scene has it at its place in the file
        distance = roll(poses, quat="wxyz").distance[0, 0]
        assert abs(distance - mujoco.mj_geomDistance(model, data, 0, 1, 50.0, None)) < 1e-5


def test_geoms_of_one_mesh_share_a_shape() -> None:
    """Memory does not grow with the number of geoms of a mesh."""
    balls = "".join(f'<body pos="0 0 {k}"><freejoint/><geom type="mesh" mesh="wedge"/></body>' for k in range(3, 23))
    text = MODEL.replace("</worldbody>", balls + "</worldbody>")
    scene, before = from_model(compiled(text)[0]), from_model(compiled()[0])
    assert len(scene.bodies) == len(before.bodies) + 20 and len(scene.library) == len(before.library)


def test_contact_jacobian(engine: cl.Engine) -> None:
    """Rows times velocities are the velocities of B at the points relative to A, as mj_objectVelocity has them; a body
    that was added to the scene stands still."""
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody>
      <body pos="0 0 0.1"><joint type="hinge" axis="0 1 0"/><geom type="box" size="0.5 0.5 0.1"/></body>
      <body pos="0.1 0.2 0.29" euler="0 0 20"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
    </worldbody></mujoco>""")
    scene = from_model(model)
    scene.add(scene.library.sphere(0.2), name="fixed")
    scene.pairs = [(0, 1), (2, 1), (0, 2)]
    data = mujoco.MjData(model)
    data.qvel[:] = np.random.default_rng(0).normal(size=model.nv)
    mujoco.mj_forward(model, data)
    poses = scene.poses(data, others=[[0.1, 0.2, 0.55, 1, 0, 0, 0]])
    found = engine.scene_contacts(scene, poses, max_gap=0.01)
    assert set(found.pair.tolist()) == {0, 1}
    rows = scene.contact_jacobian(data, found)
    assert rows.shape == (len(found), 3, model.nv)
    np.testing.assert_allclose(rows[:, 2] @ data.qvel, ((rows @ data.qvel) * [0, 0, 1]).sum(axis=1))
    for k, (pair, point, normal) in enumerate(zip(found.pair, found.position, found.normal, strict=True)):
        speed = np.zeros(3)
        for body, sign in zip(scene.pairs[pair], (-1, 1), strict=True):
            if body < 2:
                moved, at = np.zeros(6), scene.body_ids[body]
                mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, at, moved, 0)
                speed += sign * (moved[3:] + np.cross(moved[:3], point - data.xpos[at]))
        got = rows[k] @ data.qvel
        np.testing.assert_allclose(got[2], normal @ speed, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(got), np.linalg.norm(speed), atol=1e-12)
