"""States of MuJoCo Warp, of which docs/trainers.md says that arrays of Warp are taken as they are.

Warp is no requirement of the tests: its kernels are compiled for tens of seconds. docs/trainers.md itself runs in
test_pages.py.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

MODEL = """<mujoco><worldbody><geom type="plane" size="1 1 0.1"/>
<body name="arm" pos="0 0 0.5"><joint axis="0 1 0"/>
  <geom type="capsule" fromto="0.05 0 0 0.4 0 0" size="0.03"/></body>
<body name="ball" pos="0.3 0 0.2"><freejoint/><geom type="sphere" size="0.05"/></body></worldbody></mujoco>"""


def test_states_of_mujoco_warp(engine: Any) -> None:
    mujoco = pytest.importorskip("mujoco")
    pytest.importorskip("warp", reason="warp is not installed: pip install warp-lang mujoco-mjx to run this test")
    mjwarp = importlib.import_module("mujoco.mjx.third_party.mujoco_warp")
    from clearance.mujoco import from_model

    model = mujoco.MjModel.from_xml_string(MODEL)
    scene = from_model(model)
    data, on_device = mjwarp.make_data(model, nworld=8), mjwarp.put_model(model)
    q = np.tile(model.qpos0, (8, 1)).astype(np.float32)
    q[:, 0], q[:, 4:] = np.linspace(0, 1, 8), [0.5, 0.5, -0.5, 0.5]
    data.qpos.assign(q)
    mjwarp.kinematics(on_device, data)
    poses = scene.poses(qpos=data.qpos.numpy())
    # Its kinematics are in float32; positions are below 1.
    assert np.allclose(scene.poses(xpos=data.xpos, xquat=data.xquat), poses, atol=1e-6)
    with engine.rollout(scene, worlds=8) as roll:
        r, same = roll(poses), roll(scene.poses(xpos=data.xpos, xquat=data.xquat))
    assert r.ok.all() and np.abs(r.distance - same.distance).max() < 1e-5
