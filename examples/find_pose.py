"""The pose of an object is found from points at which a probe touched it, by derivatives of witnesses.

A ball probes an ellipsoid from 12 known places, and the nearest points of the object are measured. Gauss-Newton finds
its pose from 50 starts up to 2 cm and 20 degrees away: the columns of the Jacobian are derivatives of the points by the
twist of the object. The picture find_pose.png has the residuals.

python examples/find_pose.py
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import clearance as cl

POSITION, ROTATION = np.array([0.01, -0.02, 0.015]), np.array([0.8, 0.2, -0.3, 0.48])  # not unit: it is scaled


def find(engine: cl.Engine, starts: int = 50, iterations: int = 8) -> tuple[Any, Any, Any]:
    """The sums of squares [iterations + 1, starts] in m², and the positions and rotations that were found."""
    rng, lib = np.random.default_rng(2), cl.Library()
    ball, ellipsoid = lib.sphere(0.01), lib.ellipsoid([0.04, 0.06, 0.09])
    toward = rng.normal(size=(12, 3))
    probes = 0.15 * toward / np.linalg.norm(toward, axis=1, keepdims=True)

    def touch(pos: Any, quat: Any) -> tuple[Any, Any]:
        """The nearest points [S,36], and their derivatives [S,36,6] by the twist of the object."""
        s = len(pos)
        r = engine.distance(
            lib, ball, ellipsoid, np.tile(probes, (s, 1)), [1.0, 0, 0, 0], pos.repeat(12, 0), quat.repeat(12, 0),
            quat="wxyz", precision="double", columns=["witness_b", "d_witness_b"],
        )  # fmt: skip
        return r.witness_b.reshape(s, 36), r.d_witness_b[:, :, 6:].reshape(s, 36, 6)

    measured, _ = touch(POSITION[None], ROTATION[None])
    pos, quat, costs = POSITION, ROTATION, []
    axis = rng.normal(size=(starts, 3))
    angle = np.deg2rad(20) * rng.random((starts, 1)) * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    step = np.concatenate([rng.uniform(-0.02, 0.02, (starts, 3)), angle], axis=1)
    for _ in range(iterations + 1):
        pos, quat = cl.move_poses(pos, quat, step, quat="wxyz")
        points, jacobian = touch(pos, quat)
        costs.append(np.sum((points - measured) ** 2, axis=1))
        step = -np.einsum("sij,sj->si", np.linalg.pinv(jacobian), points - measured)
    return np.array(costs), pos, quat


if __name__ == "__main__":
    costs, pos, quat = find(cl.Engine())
    plt.semilogy(costs)
    plt.gca().set(xlabel="iteration", ylabel="sum of squares (m²)")
    plt.savefig("find_pose.png")
    print(f"From {len(pos)} starts the position is found within {np.abs(pos - POSITION).max():.1e} m.")
