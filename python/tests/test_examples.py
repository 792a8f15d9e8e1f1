"""The examples and the code of the documents run, and what they rely on holds."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import clearance as cl


def load(name: str, package: str) -> Any:
    """An example as a module, if the package that it needs is installed."""
    pytest.importorskip(package, reason=f"{package} is not installed: pip install {package} to run this test")
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_arm_env(engine: cl.Engine) -> None:
    """Links are joined, episodes end exactly where contact is not ruled out, and restarts stand free or end at once."""
    arm = load("arm_env", "gymnasium")
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
    command = [sys.executable, str(ROOT / "examples/arm_env.py"), "--worlds", "64", "--steps", "5"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert run.returncode == 0 and "arm steps/s" in run.stdout, run.stderr


def test_grasps(engine: cl.Engine, tmp_path: Path) -> None:
    """The verdict of a grasp is the least of its rows; next to the table it is that of a closed form."""
    grasps = load("grasps", "pyarrow")
    library = grasps.make_library(tmp_path)
    grasps.write_grasps(tmp_path / "grasps.parquet", 300)
    report = cl.score_file(tmp_path / "grasps.parquet", tmp_path / "out.parquet", library=library, engine=engine)
    report.raise_if_refuted()
    lower, answered = grasps.verdicts(tmp_path / "out.parquet")
    table = grasps.pq.read_table(tmp_path / "grasps.parquet")
    c = {n: np.array(table.column(n).to_pylist()) for n in table.column_names}
    names = ("shape_a", "shape_b", "position_a", "rotation_a", "position_b", "rotation_b")
    a, b, pos_a, quat_a, pos_b, quat_b = (c[n] for n in names)
    r = engine.distance(library, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz", precision="double")
    np.testing.assert_allclose(lower, r.lower.reshape(-1, 4).min(axis=1), atol=1e-6)
    # The table is a half-space: the clearance of a finger is that of its lowest corner.
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * grasps.FINGER
    w, x, y, z = np.moveaxis(quat_a[1::2], -1, 0)
    row = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], axis=1)
    least = pos_a[1::2, 2] + (row @ corners.T).min(axis=1)
    np.testing.assert_allclose(r.distance[1::2], least, atol=1e-9)
    assert answered.all() and 10 < (lower > grasps.CLEAR).sum() < 290


def test_trajectory(engine: cl.Engine, tmp_path: Path) -> None:
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
    example.draw(steps, motion, str(tmp_path / "t.png"))
    assert (tmp_path / "t.png").stat().st_size > 10_000


def test_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    """The cells of the notebook run one after the other."""
    cells = json.loads((ROOT / "examples/first_steps.ipynb").read_text())["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert not cell["outputs"], "the notebook is stored without outputs"
            if "cl.show" in "".join(cell["source"]) and not (Path(cl.__file__).parent / "viewer.js").exists():
                pytest.skip("the cell that shows rows: the wheel has no viewer, npm was missing when it was built")
            exec("".join(cell["source"]), names)
    assert "worlds are not proved free" in capsys.readouterr().out
    assert names["view"].rows == 20 and "<iframe" in names["view"]._repr_html_()


@pytest.fixture(scope="module")
def problems() -> Any:
    spec = importlib.util.spec_from_file_location("gradients", ROOT / "examples/gradients.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_grasp(engine: cl.Engine, problems: Any) -> None:
    """Every start ends with both tips in contact, along an axis of the ellipsoid, to rounding."""
    run = problems.grasp(engine, starts=12)
    assert (run.cost[0] > 1e-4).all() and (run.cost[-1] < 1e-16).all(), run.cost[-1]
    pos, quat, width = run.found
    along = problems.rotated(quat, np.array([1.0, 0, 0]))
    axis = np.argmax(np.abs(along), axis=1)
    np.testing.assert_allclose(np.abs(along[np.arange(12), axis]), 1, atol=1e-6)
    np.testing.assert_allclose(width, np.array([0.03, 0.05, 0.08])[axis] + 0.01, atol=1e-6)
    np.testing.assert_allclose(pos, 0, atol=1e-6)


def test_path(engine: cl.Engine, problems: Any) -> None:
    """A path through obstacles becomes one with a clearance of about 3 cm."""
    run = problems.path(engine)
    (_, before), (way, after) = run.found
    assert before.min() < -0.03 and after.min() > 0.02, (before, after)
    assert np.abs(way[0] - [-1, 0, 0]).max() == np.abs(way[-1] - [1, 0, 0]).max() == 0


def test_identify(engine: cl.Engine, problems: Any) -> None:
    """The pose is found to rounding from every start, quadratically."""
    run = problems.identify(engine, starts=12)
    assert (run.cost[0] > 1e-5).all() and (run.cost[-1] < 1e-24).all(), run.cost[-1]
    off, quat, true_quat = run.found
    np.testing.assert_allclose(off, 0, atol=1e-11)
    np.testing.assert_allclose(np.abs(quat @ true_quat), 1, atol=1e-12)


def test_mujoco_step(capsys: pytest.CaptureFixture[str]) -> None:
    """The box on the platform moves as both do in closed form."""
    load("mujoco_step", "mujoco").main()
    out = capsys.readouterr().out
    assert "platform 1.000000 m/s, box 1.000000 m/s" in out
    assert "d(box)/d(platform) = 0.833333, want 0.833333; smooth: True" in out


def test_solo_stand() -> None:
    """Solo-12 is held above the ground by gradients, and is falling without torques."""
    stand = load("solo_stand", "pinocchio")
    run = stand.stand(starts=2, seconds=0.1)
    assert (run.held[0][-1] > run.free[0][-1] + 0.01).all()
    assert (run.held[0][-1] > 0.2).all()


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
