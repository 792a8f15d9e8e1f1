"""A Gymnasium VectorEnv of arms among obstacles, whose reward and termination use certified clearances.

Each world is an arm of four links on a table, with obstacles of its own; the action is the velocity of the joints. The
reward is that of progress to a target configuration, less a penalty where the proved lower bound of the clearance is
small. An episode ends where contact is not ruled out, so that no collision is missed.

    python lab/python/arm_worlds.py --worlds 1024 --steps 100
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space

import clearance as cl

LINKS, LENGTH, RADIUS = 4, 0.3, 0.04  # of the arm; metres
OBSTACLES = 6
SAFE = 0.05  # clearance below which the reward falls, metres
STEP = 0.05  # seconds


def make_scene() -> cl.Scene:
    """An arm of capsules, a table, and obstacles; link k and its neighbours are not asked about."""
    scene = cl.Scene()
    lib = scene.library
    link = lib.capsule(RADIUS, LENGTH / 2)
    block, ball = lib.box([0.08, 0.05, 0.12]), lib.sphere(0.07)
    for k in range(LINKS):
        scene.add(link, name=f"link {k}")
    for k in range(OBSTACLES):
        scene.add(block if k % 2 else ball, name=f"obstacle {k}")
    scene.add(lib.halfspace(), name="table")
    links = range(LINKS)
    scene.pairs = [(a, b) for a in links for b in range(LINKS, LINKS + OBSTACLES)]
    scene.pairs += [(a, LINKS + OBSTACLES) for a in links if a > 0]  # the first one stands on it
    scene.pairs += [(a, b) for a in links for b in links if b > a + 1]
    return scene


def forward(joints: Any) -> Any:
    """Poses of the links [W,LINKS,7], in the order "wxyz", of joint angles [W,LINKS]: a yaw, then pitches."""
    w = len(joints)
    yaw, pitch = joints[:, :1], np.cumsum(joints[:, 1:], axis=1)
    pitch = np.concatenate([np.zeros((w, 1)), pitch], axis=1)
    # The axis of a link, local z, is pitched about y and then yawed about z.
    axis = np.stack(
        [np.sin(pitch) * np.cos(yaw), np.sin(pitch) * np.sin(yaw), np.cos(pitch)],
        axis=-1,
    )
    ends = np.cumsum(LENGTH * axis, axis=1)
    poses = np.empty((w, LINKS, 7))
    poses[..., :3] = ends - LENGTH / 2 * axis + [0, 0, RADIUS]
    cy, sy, cp, sp = (
        np.cos(yaw / 2),
        np.sin(yaw / 2),
        np.cos(pitch / 2),
        np.sin(pitch / 2),
    )
    poses[..., 3:] = np.stack([cy * cp, -sy * sp, cy * sp, sy * cp], axis=-1)
    return poses


class ArmEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """W arms; observations [W, 2·LINKS + 1]: joints, what is left to the target, and the clearance."""

    def __init__(self, worlds: int, engine: cl.Engine, limit: int = 200) -> None:
        self.num_envs, self.limit = worlds, limit
        # An episode that ends begins anew in the same step; its last observation is info["final_obs"].
        self.metadata = {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
        self.single_action_space = gym.spaces.Box(-1, 1, (LINKS,), np.float32)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (2 * LINKS + 1,), np.float32)
        self.action_space = batch_space(self.single_action_space, worlds)
        self.observation_space = batch_space(self.single_observation_space, worlds)
        self.scene = make_scene()
        self.roll = engine.rollout(self.scene, worlds=worlds, reduce="world")
        self.poses = np.zeros((worlds, len(self.scene.bodies), 7))
        self.poses[..., 3] = 1
        self.joints, self.target = np.zeros((worlds, LINKS)), np.zeros((worlds, LINKS))
        self.age = np.zeros(worlds, int)
        self.result: Any = None

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """All arms begin anew, or with options={"reset_mask": mask [W]} those of the mask."""
        super().reset(seed=seed)  # which keeps the generator if there is no seed
        which = (options or {}).get("reset_mask")
        self._restart(np.ones(self.num_envs, bool) if which is None else np.asarray(which, bool))
        self._look()
        return self._observe(), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        before = np.linalg.norm(self.target - self.joints, axis=1)
        self.joints += STEP * np.asarray(actions, np.float64)
        self.age += 1
        self._look()
        left = np.linalg.norm(self.target - self.joints, axis=1)
        clearance = np.maximum(self.result.lower, 0)  # proved: the true clearance is not less
        reward = (before - left) / STEP - np.maximum(0, 1 - clearance / SAFE)
        terminated = self.result.hit.copy()  # contact, or not proved free
        reward[terminated] -= 10
        truncated = ~terminated & (self.age >= self.limit)
        info = {"clearance": clearance, "pair": self.result.pair.copy()}
        done = terminated | truncated
        if done.any():
            info |= {"final_obs": self._observe(), "_final_obs": done}
            self._restart(done)
            self._look()
        return self._observe(), reward, terminated, truncated, info

    def _restart(self, which: Any) -> None:
        """New obstacles around the arm, and a new target; the arm stands upright."""
        n, rng = int(which.sum()), self.np_random
        self.joints[which], self.age[which] = 0, 0
        self.target[which] = rng.uniform(-1, 1, (n, LINKS))
        angle, radius = (
            rng.uniform(-np.pi, np.pi, (n, OBSTACLES)),
            rng.uniform(0.35, 0.9, (n, OBSTACLES)),
        )
        position = [
            radius * np.cos(angle),
            radius * np.sin(angle),
            rng.uniform(0.2, 1.2, (n, OBSTACLES)),
        ]
        obstacles = self.poses[which, LINKS : LINKS + OBSTACLES]
        obstacles[..., :3] = np.stack(position, axis=-1)
        self.poses[which, LINKS : LINKS + OBSTACLES] = obstacles

    def _look(self) -> None:
        self.poses[:, :LINKS] = forward(self.joints)
        self.result = self.roll(self.poses, quat="wxyz", out=self.result, copy=False)

    def _observe(self) -> Any:
        clearance = np.maximum(self.result.lower, 0)[:, None]
        return np.concatenate([self.joints, self.target - self.joints, clearance], axis=1).astype(np.float32)

    def close_extras(self, **kwargs: Any) -> None:
        self.roll.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="steps per second of arms that walk towards their targets")
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    with cl.Engine() as engine:
        env = ArmEnv(options.worlds, engine)
        observation, _ = env.reset(seed=1)
        ended, least = 0, np.inf
        start = time.perf_counter()
        for _ in range(options.steps):
            action = np.clip(observation[:, LINKS : 2 * LINKS], -1, 1)
            observation, _, terminated, _, info = env.step(action)
            ended += int(terminated.sum())
            least = min(least, float(info["clearance"].min()))
        seconds = time.perf_counter() - start
        rate = options.worlds * options.steps / seconds
        pairs = len(env.scene.pairs)
        print(f"{options.worlds} arms, {options.steps} steps of {pairs} pairs: {rate:,.0f} arm steps/s; {ended} ended")
        env.close()


if __name__ == "__main__":
    main()
