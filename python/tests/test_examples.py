"""The examples run, and what they rely on holds."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl

gymnasium: Any = pytest.importorskip(
    "gymnasium", reason="gymnasium is not installed: pip install gymnasium to run this test"
)


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_arm_env(engine: cl.Engine) -> None:
    """Links are joined, episodes end exactly where contact is not ruled out, and restarts stand free or end at once."""
    arm = load("arm_env")
    joints = np.random.default_rng(1).uniform(-1, 1, (5, arm.LINKS))
    poses = arm.forward(joints)
    x, y, z = np.moveaxis(poses[..., 4:], -1, 0)
    w = poses[..., 3]
    axis = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=-1)
    tip, base = poses[..., :3] + arm.LENGTH / 2 * axis, poses[..., :3] - arm.LENGTH / 2 * axis
    np.testing.assert_allclose(tip[:, :-1], base[:, 1:], atol=1e-12)
    env = arm.ArmEnv(64, engine)
    observation, _ = env.reset(seed=3)
    ended = 0
    assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    for _ in range(40):
        action = np.clip(observation[:, arm.LINKS : 2 * arm.LINKS], -1, 1)
        observation, reward, terminated, _, info = env.step(action)
        assert (info["clearance"][~terminated] > 0).all() and (info["clearance"][terminated] == 0).all()
        assert np.isfinite(reward).all() and observation.shape == env.observation_space.shape
        ended += int(terminated.sum())
        if terminated.any():
            assert (info["_final_obs"] == terminated).all() and (info["final_obs"][terminated][:, -1] == 0).all()
            assert not observation[terminated][:, : arm.LINKS].any(), "a new episode begins upright"
    assert ended > 0
    env.close()


def test_arm_env_as_a_program() -> None:
    command = [sys.executable, str(ROOT / "examples/arm_env.py"), "--worlds", "64", "--steps", "5"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "arm steps/s" in run.stdout, run.stderr
