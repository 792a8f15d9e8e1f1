"""A path through clutter is pushed apart from the obstacles by gradients of distances.

A box with round edges goes from one side to the other. The cost is the sum of the squares of the steps, and of what its
clearance lacks of 3 cm at each way point. The picture clear_path.png has the clearances before and after.

python examples/clear_path.py
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import clearance as cl


def clear(engine: cl.Engine, points: int = 24, iterations: int = 400) -> tuple[Any, Any, Any]:
    """The costs [iterations + 1], the way points [iterations + 1,T,3], and the clearances at these."""
    rng, lib = np.random.default_rng(1), cl.Library()
    body = lib.box([0.06, 0.04, 0.03], margin=0.01)
    obstacles = np.array([lib.ellipsoid(rng.uniform(0.05, 0.12, 3)) for _ in range(14)])
    places, rotated = rng.uniform([-0.6, -0.25, -0.25], [0.6, 0.25, 0.25], (14, 3)), rng.normal(size=(14, 4))
    a, b = np.full(14 * points, body), np.tile(obstacles, points)
    pos_b, quat_b, level = np.tile(places, (points, 1)), np.tile(rotated, (points, 1)), [1.0, 0, 0, 0]
    way = np.linspace([-1.0, 0, 0], [1.0, 0, 0], points)
    way[1:-1, 1:] += rng.normal(0, 1e-3, (points - 2, 2))  # off the axis of symmetry
    mean, square = np.zeros_like(way), np.zeros_like(way)
    costs, ways, clearances = [], [], []
    for k in range(iterations + 1):
        pos_a = np.repeat(way, 14, axis=0)
        r = engine.distance(
            lib, a, b, pos_a, level, pos_b, quat_b, quat="wxyz", precision="double", grad=True
        )  # fmt: skip
        steps, lack = np.diff(way, axis=0), np.maximum(0.03 - r.distance, 0)
        costs.append(np.sum(steps**2) + 10 * np.sum(lack**2))
        ways.append(way)
        clearances.append(r.distance.reshape(points, -1).min(axis=1))
        g = r.vjp(distance=-20 * lack)[:, :3].reshape(points, -1, 3).sum(axis=1)
        g[1:-1] -= 2 * np.diff(steps, axis=0)
        g[[0, -1]] = 0  # the ends stay
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g * g  # of Adam
        scaled = mean / (1 - 0.9 ** (k + 1)) / (np.sqrt(square / (1 - 0.99 ** (k + 1))) + 1e-12)
        way = way - 5e-3 * 0.05 ** (k / iterations) * scaled
    return np.array(costs), np.array(ways), np.array(clearances)


if __name__ == "__main__":
    _, ways, clearances = clear(cl.Engine())
    plt.plot(ways[0, :, 0], clearances[0], ".-", ways[-1, :, 0], clearances[-1], ".-")
    plt.gca().set(xlabel="x (m)", ylabel="clearance before and after (m)")
    plt.savefig("clear_path.png")
    print(f"The least clearance rises from {clearances[0].min():.3f} m to {clearances[-1].min():.3f} m.")
