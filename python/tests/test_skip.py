"""Proposals of pairs to skip: their counts are those of the samples, and they promise no more than these show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clearance as cl


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
