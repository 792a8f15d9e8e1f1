"""Clearance in the info of Gymnasium environments: compared with MuJoCo's own distances, and with each other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import clearance as cl

pytest.importorskip("gymnasium", reason="gymnasium is not installed: pip install gymnasium to run this test")
mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed: pip install mujoco to run this test")

import gymnasium as gym  # noqa: E402

from clearance.gymnasium import ClearanceInfo, ClearanceVectorInfo, MujocoState  # noqa: E402

MODEL = """<mujoco><option timestep="0.01"/><worldbody>
<geom name="floor" type="plane" size="1 1 0.1"/>
<body name="arm" pos="0 0 0.3"><joint name="shoulder" axis="0 1 0"/>
  <geom name="link" type="capsule" fromto="0.05 0 0 0.4 0 0" size="0.03"/></body>
<body name="ball" pos="0.2 0 0.6"><freejoint/><geom name="ball" type="sphere" size="0.05"/></body>
<body name="hand" mocap="true" pos="-0.5 0 0.5"><geom name="hand" type="box" size="0.05 0.05 0.05"/></body>
</worldbody><actuator><motor joint="shoulder"/></actuator></mujoco>"""
ROWS = [("floor", "link"), ("floor", "ball"), ("link", "ball"), ("link", "hand"), ("ball", "hand")]


class Arm(gym.Env[Any, Any]):
    """An arm under a falling ball, and a hand that the environment moves; an episode is eight steps."""

    def __init__(self) -> None:
        self.model = mujoco.MjModel.from_xml_string(MODEL)
        self.data = mujoco.MjData(self.model)
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (self.model.nq,), np.float64)
        self.action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
        self.count = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[0] = self.np_random.uniform(-0.3, 0.3)
        self.count = 0
        return self.data.qpos.copy(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.data.ctrl[:] = action
        self.data.mocap_pos[0, 0] += 0.01
        mujoco.mj_step(self.model, self.data, nstep=4)
        self.count += 1
        return self.data.qpos.copy(), 0.0, False, self.count == 8, {}


def truth(qpos: Any, mocap: Any) -> Any:
    """The distances of MuJoCo [5], at a state."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qpos[:], data.mocap_pos[0] = qpos, mocap
    mujoco.mj_kinematics(model, data)
    geoms = [[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, n) for n in pair] for pair in ROWS]
    return np.array([mujoco.mj_geomDistance(model, data, a, b, 10, None) for a, b in geoms])


@pytest.fixture
def names() -> list[tuple[str, str]]:
    world = {"floor": "world", "link": "arm"}
    return [(world.get(a, a), world.get(b, b)) for a, b in ROWS]


@pytest.fixture
def env() -> Iterator[Any]:
    wrapped = ClearanceInfo(Arm())
    yield wrapped
    wrapped.close()


def test_bounds_contain_the_distances_of_mujoco(env: Any, names: Any) -> None:
    assert env.pairs == names
    _, info = env.reset(seed=3)
    least = np.inf
    for step in range(9):
        c = info["clearance"]
        want = truth(env.unwrapped.data.qpos, env.unwrapped.data.mocap_pos[0])
        # MuJoCo's distance of a capsule and a box ends at a tolerance of 1e-6; the others are formulas.
        assert (c["lower"] <= want + 2e-6).all() and (want - 2e-6 <= c["upper"]).all(), step
        assert (c["upper"] - c["lower"] < 1e-5).all() and c["valid"].all() and c["failed"] == ()
        assert (c["contact"] == c["hit"]).all() and (c["hit"] == (want <= 0)).all()
        least = min(least, want.min())
        _, _, _, _, info = env.step(np.ones(1, np.float32))
    assert least < 0  # the ball has met the arm


def test_rows_that_fail_are_masked_and_named(env: Any) -> None:
    env.reset(seed=3)
    env.unwrapped.data.qpos[1] = np.nan
    c = env.clearance()
    bad = ["ball" in pair for pair in env.pairs]
    assert c["valid"].tolist() == [not b for b in bad] and c["hit"][bad].all() and not c["contact"][bad].any()
    assert (c["lower"][bad] == -np.inf).all() and (c["upper"][bad] == np.inf).all()
    assert c["failed"] == ("world - ball: invalid", "arm - ball: invalid", "ball - hand: invalid")


def test_pairs_are_chosen_by_name() -> None:
    cases: Any = (
        ([("ball", "arm")], [("arm", "ball")]),
        ([("ball", 0), ("hand", "world"), (0, "ball")], [("world", "ball"), ("world", "hand")]),
        ("all", 6),
    )
    for pairs, want in cases:
        env = ClearanceInfo(Arm(), pairs=pairs, max_distance=0.2)
        assert env.pairs == want or len(env.pairs) == want
        lower = env.reset(seed=0)[1]["clearance"]["lower"]
        assert lower.shape == (len(env.pairs),) and np.isfinite(lower).all()
        env.close()
    mistakes: Any = (
        ([("cup", "arm")], "no body 'cup'"),
        ("every", "want None"),
        (["ball"], "pairs of names"),
        ([("arm", "arm")], "two bodies"),
        ([], "collides none"),
        ([("arm", 9)], "no body 9"),
    )
    for wrong, message in mistakes:
        with pytest.raises(cl.ClearanceError, match=message):
            ClearanceInfo(Arm(), pairs=wrong)
    with pytest.raises(cl.OptionError, match="no MuJoCo model and data"):
        ClearanceInfo(gym.make("CartPole-v1"))


def test_a_model_that_changes_has_a_new_scene(env: Any) -> None:
    before = env.reset(seed=1)[1]["clearance"]["lower"]
    env.unwrapped.model.geom_size[mujoco.mj_name2id(env.unwrapped.model, mujoco.mjtObj.mjOBJ_GEOM, "ball"), 0] = 0.1
    after = env.clearance()["lower"]
    ball = ["ball" in pair for pair in env.pairs]
    assert np.allclose(before - after, np.where(ball, 0.05, 0), atol=2e-6)  # two bounds of single precision


def vector(kind: Any, wrap: Any = None, **options: Any) -> Any:
    make = Arm if wrap is None else partial(wrapped_arm, wrap)
    return kind([make] * 3, **options)


def wrapped_arm(wrap: Any) -> Any:
    return wrap(Arm())


def columns_are_the_same(one: Any, other: Any) -> None:
    for name, column in one.items():
        if not name.startswith("_"):
            assert (np.asarray(column) == np.asarray(other[name])).all(), name


def test_vectors_have_the_answers_of_their_environments() -> None:
    """One call for all worlds has the bits of a call for each."""
    each = vector(gym.vector.SyncVectorEnv, ClearanceInfo)
    once = ClearanceVectorInfo(vector(gym.vector.SyncVectorEnv))
    stated = ClearanceVectorInfo(
        vector(gym.vector.SyncVectorEnv, MujocoState, autoreset_mode=gym.vector.AutoresetMode.SAME_STEP),
    )
    infos = [e.reset(seed=[4, 5, 6])[1]["clearance"] for e in (each, once, stated)]
    assert infos[1]["lower"].shape == (3, 5) and len(set(infos[1]["lower"][:, 0])) == 3
    columns_are_the_same(infos[1], infos[0])
    columns_are_the_same(infos[1], infos[2])
    for step in range(8):
        infos = [e.step(np.full((3, 1), 0.5, np.float32))[4] for e in (each, once, stated)]
        columns_are_the_same(infos[1]["clearance"], infos[0]["clearance"])
        if step < 7:
            columns_are_the_same(infos[1]["clearance"], infos[2]["clearance"])
    # The last state of the episode, where it is reset in the same step.
    final = infos[2]["final_info"]
    assert final["_clearance"].all()
    columns_are_the_same(final["clearance"], infos[1]["clearance"])
    assert (infos[2]["clearance"]["lower"] != final["clearance"]["lower"]).any()
    changed = once._envs[1].unwrapped.model
    changed.geom_pos[1, 0] += 0.1
    with pytest.raises(cl.OptionError, match="model of environment 1 has another geom_pos"):
        once.step(np.zeros((3, 1), np.float32))
    for e in (each, once, stated):
        e.close()


def test_environments_in_other_processes() -> None:
    """States cross the processes; one call answers for all."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    far = vector(gym.vector.AsyncVectorEnv, MujocoState, context="spawn")
    near = ClearanceVectorInfo(vector(gym.vector.SyncVectorEnv))
    with pytest.raises(cl.OptionError, match="in other processes"):
        ClearanceVectorInfo(far)
    there = ClearanceVectorInfo(far, model=model)
    columns_are_the_same(near.reset(seed=7)[1]["clearance"], there.reset(seed=7)[1]["clearance"])
    action = np.full((3, 1), -0.5, np.float32)
    columns_are_the_same(near.step(action)[4]["clearance"], there.step(action)[4]["clearance"])
    there.close()
    near.close()
    plain = ClearanceVectorInfo(vector(gym.vector.SyncVectorEnv), model=model)
    plain._envs = []  # as of a vector whose environments cannot be reached
    with pytest.raises(cl.OptionError, match="no 'mujoco_state' of environment 0"):
        plain.reset(seed=0)
    plain.close()
