"""Certified clearance in the info of a Gymnasium environment: how near the torso of Ant comes to the ground.

ClearanceVectorInfo adds the distances of named pairs, as proved intervals, to what 16 environments return: a reward may
use `lower`, and a termination `hit`, which is true unless contact is ruled out. Actions are random. The picture
gym_env.png has the state in which the torso is nearest to the ground.

python examples/gym_env.py   (needs gymnasium and mujoco)
"""

from typing import Any

import gymnasium as gym
import numpy as np

from clearance.gymnasium import ClearanceVectorInfo
from clearance.mujoco import from_model

if __name__ == "__main__":
    plain: Any = gym.make_vec("Ant-v5", num_envs=16, vectorization_mode="sync")
    envs = ClearanceVectorInfo(plain, pairs=[("torso", "world")])
    _, info = envs.reset(seed=0)
    envs.action_space.seed(0)
    least, hits = np.inf, 0
    for _ in range(200):
        _, _, _, _, info = envs.step(envs.action_space.sample())
        lower = info["clearance"]["lower"][:, 0]
        hits += info["clearance"]["hit"].sum()
        if lower.min() < least:
            least, env = lower.min(), plain.envs[np.argmin(lower)].unwrapped
            at = env.data.qpos.copy()
    from_model(env.model).picture(at, size=(640, 400), path="gym_env.png")
    print(
        f"In 3,200 steps the torso is proved to stay {least:.3f} m above the ground; {hits} steps may have a contact."
    )
