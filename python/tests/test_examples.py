"""The examples and the code of the documents run, and what they rely on holds."""

from __future__ import annotations

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl


def load(name: str, *packages: str, folder: str = "examples") -> Any:
    """An example as a module, if the packages that it needs are installed."""
    for package in packages:
        pytest.importorskip(package, reason=f"{package} is not installed: pip install {package} to run this test")
    spec = importlib.util.spec_from_file_location(name, ROOT / folder / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "name", ["clear_path", "find_pose", "grasps", "gym_env", "identify", "mujoco_step", "throw", "trajectory"]
)
def test_program(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run as it stands, an example prints one sentence of what it found, and writes the picture that it names."""
    for package in (
        "matplotlib",
        *{"grasps": ["pyarrow"], "mujoco_step": ["mujoco"], "gym_env": ["gymnasium", "mujoco"]}.get(name, []),
    ):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install {package} to run this test")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    found = runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    plt.close("all")
    out = capsys.readouterr().out
    assert re.fullmatch(r"[A-Z0-9][^\n]*\.\n", out), out
    assert (tmp_path / f"{name}.png").stat().st_size > 5_000
    number = re.compile(r"-?[\d.,]+(e-?\d+)?")
    said = number.sub("#", (ROOT / "docs/examples.md").read_text())
    assert f"*{number.sub('#', out.strip())}*" in said, "the sentence of docs/examples.md"
    if name == "throw":  # within a millimetre from every start, as it says
        assert (found["distance"][0] > 0.2).all() and (found["distance"][-1] < 1e-3).all(), out
    if name == "mujoco_step":  # as both move in closed form
        assert out == "Both reach 1 m/s: 1.000000 and 1.000000; the derivative is 5/6 = 0.833333: 0.833333.\n"


def test_short() -> None:
    """Each example is under 60 lines, and says which picture it writes."""
    for file in sorted((ROOT / "examples").glob("*.py")):
        text = file.read_text()
        assert text.count("\n") < 60, file
        assert f"{file.stem}.png" in text.split('"""')[1], file


def test_arm_env(engine: cl.Engine) -> None:
    """Links are joined, episodes end exactly where contact is not ruled out, and restarts stand free or end at once."""
    arm = load("arm_worlds", "gymnasium", folder="lab/python")
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
    assert env.metadata["autoreset_mode"] is arm.gym.vector.AutoresetMode.SAME_STEP
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
    pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install gymnasium to run this test")
    command = [sys.executable, str(ROOT / "lab/python/arm_worlds.py"), "--worlds", "64", "--steps", "5"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0 and "arm steps/s" in run.stdout, run.stderr


def test_grasps(engine: cl.Engine, tmp_path: Path) -> None:
    """The clearance of a grasp is the least of its four pairs; next to the table it is that of a closed form."""
    grasps = load("grasps", "pyarrow")
    lower, scene, poses = grasps.score(tmp_path, 300), grasps.make_scene(), grasps.make_poses(300)
    with engine.rollout(scene, worlds=300, precision="double") as roll:
        r = roll(poses, quat="wxyz")
    np.testing.assert_allclose(lower, r.lower.min(axis=1), atol=1e-6)
    # The table is a half-space: the clearance of the gripper is that of the lowest corner of its fingers.
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [0.01, 0.008, 0.04]
    corners = np.concatenate([corners + np.array([side, 0, 0]) for side in (-0.05, 0.05)])
    w, x, y, z = np.moveaxis(poses[:, 0, 3:], -1, 0)
    row = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=1)
    least = poses[:, 0, 2] + (row @ corners.T).min(axis=1)
    np.testing.assert_allclose(r.distance[:, 1], least, atol=1e-9)
    assert 10 < (lower > grasps.CLEAR).sum() < 290


def test_trajectory(engine: cl.Engine) -> None:
    """The steps are free before the first contact that the sweep proves, and agree with it after."""
    example = load("trajectory", "matplotlib")
    joints = np.linspace([0, 0.4, 0.3], [2.2, -0.2, 0.5], 30)
    steps, motion = example.study(engine, joints)
    assert steps.distance.shape == (30, 6) and not steps.failed.any() and not motion.failed.any()
    for p in range(6):
        assert not steps.hit[: int(motion.t0[0, p]) + 1, p].any()
        if motion.hit[0, p]:
            assert steps.hit[:, p].any() and motion.t1[0, p] - motion.t0[0, p] <= 1.1e-6
        else:
            assert (steps.upper[:, p] >= motion.lower[0, p]).all()
    assert motion.hit.any() and not motion.hit.all()


def test_close_fingers(engine: cl.Engine) -> None:
    """Every start ends with both tips in contact, along an axis of the ellipsoid, to rounding."""
    cost, pos, along, width = load("close_fingers", "matplotlib").close(engine, starts=12)
    assert (cost[0] > 1e-4).all() and (cost[-1] < 1e-16).all(), cost[-1]
    axis = np.argmax(np.abs(along), axis=1)
    np.testing.assert_allclose(np.abs(along[np.arange(12), axis]), 1, atol=1e-6)
    np.testing.assert_allclose(width, np.array([0.03, 0.05, 0.08])[axis] + 0.01, atol=1e-6)
    np.testing.assert_allclose(pos, 0, atol=1e-6)


def test_clear_path(engine: cl.Engine) -> None:
    """A path through obstacles becomes one with a clearance of about 3 cm."""
    _, ways, clearances = load("clear_path", "matplotlib").clear(engine)
    assert clearances[0].min() < -0.03 and clearances[-1].min() > 0.02, clearances[[0, -1]]
    assert np.abs(ways[-1, 0] - [-1, 0, 0]).max() == np.abs(ways[-1, -1] - [1, 0, 0]).max() == 0


def test_find_pose(engine: cl.Engine) -> None:
    """The pose is found to rounding from every start, quadratically."""
    example = load("find_pose", "matplotlib")
    cost, pos, quat = example.find(engine, starts=12)
    assert (cost[0] > 1e-5).all() and (cost[-1] < 1e-24).all(), cost[-1]
    np.testing.assert_allclose(pos, np.tile(example.POSITION, (12, 1)), atol=1e-11)
    true = example.ROTATION / np.linalg.norm(example.ROTATION)
    np.testing.assert_allclose(np.abs(quat @ true), 1, atol=1e-12)


def test_solo_stand() -> None:
    """Solo-12 is held above the ground by gradients, and is falling without torques."""
    example = load("solo_stand", "pinocchio", "matplotlib")
    held, free = (example.stand(starts=2, seconds=0.1, gradients=n) for n in (5, 0))
    assert (held[-1] > free[-1] + 0.01).all() and (held[-1] > 0.2).all(), (held[-1], free[-1])


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def test_package_page(capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks of python/README.md, one after the other; what the first prints is what the page says."""
    page = ROOT / "python/README.md"
    names: dict[str, Any] = {}
    for block in blocks(page):
        exec(block, names)
    out = capsys.readouterr().out
    said = re.search(r"    (Result of .*?)\n\n", page.read_text(), re.DOTALL)
    assert said is not None
    mask = re.compile(r"[\d.,e-]*\d")
    assert mask.sub("#", out.split("  columns")[0]) == mask.sub(
        "#", said[1].replace("\n    ", "\n").split("  columns")[0]
    )
    counts = re.findall(r"[\d,]+ separated, [\d,]+ penetrating", said[1])
    assert counts and counts[0] in out
    assert names["r"].hit.tolist() == [[True, True]] and (names["r"].t1 - names["r"].t0 <= 1.1e-6).all()
