"""Two fingertips close on an ellipsoid along a line through both contacts, by gradients of distances and normals.

Fingertips of radius 1 cm are at ±width from the middle of a gripper, along a of its frame. Both distances are to be 0,
and both normals along the line: the cost is d1² + d2² + (1 cm)²·(|n1 + a|² + |n2 - a|²), and Adam moves 50 grippers.
Gradients at the tips act on the gripper as forces do. The picture close_fingers.png has the costs.

python examples/close_fingers.py
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import clearance as cl

SIDES, SCALE = np.array([1.0, -1.0]), np.array([1.0, 1, 1, 20, 20, 20, 1])  # a radian is worth 5 cm


def close(engine: cl.Engine, starts: int = 50, iterations: int = 1600) -> tuple[Any, Any, Any, Any]:
    """The costs [iterations + 1, starts] in m², and the positions, lines a and widths that were found."""
    rng, lib = np.random.default_rng(0), cl.Library()
    tip, ellipsoid = lib.sphere(0.01), lib.ellipsoid([0.03, 0.05, 0.08])
    quat, pos, width = rng.normal(size=(starts, 4)), rng.normal(0, 0.01, (starts, 3)), np.full(starts, 0.11)
    mean, square, costs, level = np.zeros((starts, 7)), np.zeros((starts, 7)), [], [1.0, 0, 0, 0]
    for k in range(iterations + 1):
        w, x, y, z = quat.T / np.linalg.norm(quat, axis=1)
        along = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
        arm = SIDES[:, None] * (width[:, None] * along)[:, None]  # [S,2,3]
        at = (pos[:, None] + arm).reshape(-1, 3)
        r = engine.distance(
            lib, tip, ellipsoid, at, level, np.zeros(3), level, quat="wxyz", precision="double", grad=True
        )
        d, askew = r.distance.reshape(starts, 2), r.normal.reshape(starts, 2, 3) + SIDES[:, None] * along[:, None]
        costs.append(np.sum(d * d, axis=1) + 1e-4 * np.sum(askew * askew, axis=(1, 2)))
        force = r.vjp(distance=2 * d.ravel(), normal=2e-4 * askew.reshape(-1, 3))[:, :3].reshape(starts, 2, 3)
        spin = np.cross(arm, force).sum(axis=1) + np.cross(along, 2e-4 * np.sum(SIDES[:, None] * askew, axis=1))
        wider = np.sum(SIDES[:, None] * force * along[:, None], axis=(1, 2))
        g = SCALE * np.concatenate([force.sum(axis=1), spin, wider[:, None]], axis=1)
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g * g
        scaled = mean / (1 - 0.9 ** (k + 1)) / (np.sqrt(square / (1 - 0.99 ** (k + 1))) + 1e-12)
        if k < iterations:
            step = -4e-3 * 1e-3 ** (k / iterations) * SCALE * scaled
            (pos, quat), width = cl.move_poses(pos, quat, step[:, :6], quat="wxyz"), width + step[:, 6]
    return np.array(costs), pos, along, width


if __name__ == "__main__":
    costs, _, _, width = close(cl.Engine())
    plt.semilogy(np.maximum(costs, 1e-20))
    plt.gca().set(xlabel="iteration", ylabel="cost (m²)")
    plt.savefig("close_fingers.png")
    print(
        f"{len(width)} grippers close along axes: {np.unique(width.round(6))} m wide, costs {costs[-1].max():.0e} m²."
    )
