"""Ten cubes are thrown onto ten targets, through bounces and slides: gradient descent on their first velocities.

The cost is the square of the distance from the target to where the cube lies after 1.5 s. A cube that lands flat
bounces and slides to a point that is a continuous function of its velocity, so the derivative of the run leads to the
target. Cubes that tumble need more: see docs/learning.md. The picture throw.png has the paths before and after.

python examples/throw.py
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from clearance import Library, contact

STEPS = 300  # of 5 ms
lib = Library()
cube = lib.box([0.05, 0.05, 0.05])
sim = contact.Simulation(lib, [cube], mass=0.5, friction=0.4, restitution=0.5, compliance=0.0, accept=True)


def throw(velocity: Any, spin: Any = None, every: int = STEPS, tape: bool = False) -> contact.Trajectory:
    """The runs of cubes thrown from 0.5 m above the ground at velocities [W,3]."""
    at, level = np.tile([0, 0, 0.5], (len(velocity), 1, 1)), np.tile([1.0, 0, 0, 0], (len(velocity), 1, 1))
    spin = None if spin is None else spin[:, None]
    return sim.run(at, level, velocity[:, None], spin, steps=STEPS, every=every, quat="wxyz", tape=tape)


def descend(velocity: Any, target: Any, iterations: int = 120) -> tuple[Any, Any]:
    """The velocities [W,3] that Adam finds, and the distances from the targets [iterations + 1, W] on the way."""
    mean, square, distances = np.zeros_like(velocity), np.zeros_like(velocity), []
    for k in range(iterations + 1):
        run = throw(velocity, tape=True)
        off = run.position[-1, :, 0, :2] - target
        distances.append(np.linalg.norm(off, axis=1))
        g = run.vjp(position=np.pad(2 * off, [(0, 0), (0, 1)])[None, :, None]).velocity[:, 0]
        mean, square = 0.8 * mean + 0.2 * g, 0.95 * square + 0.05 * g * g
        scaled = mean / (1 - 0.8 ** (k + 1)) / (np.sqrt(square / (1 - 0.95 ** (k + 1))) + 1e-9)
        velocity = velocity - (0.1 * 0.01 ** (k / iterations) * scaled if k < iterations else 0)
    return velocity, np.array(distances)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    target, first = rng.uniform([0.8, -0.5], [1.6, 0.5], (10, 2)), rng.uniform([1, -0.3, 0], [2, 0.3, 2], (10, 3))
    found, distance = descend(first, target)
    axes: Any = plt.figure(figsize=(7, 4), layout="constrained").add_subplot(projection="3d", box_aspect=(3, 2, 1))
    for velocity, color in ((first, "0.7"), (found, "tab:blue")):
        for path in np.moveaxis(throw(velocity, every=2).position[:, :, 0], 1, 0):
            axes.plot(*path.T, color=color, lw=0.8)
    axes.scatter(*target.T, color="tab:red")
    plt.savefig("throw.png")
    print(
        f"Cubes that missed by {np.median(distance[0]):.2f} m end within {1e3 * distance[-1].max():.1f} mm of targets."
    )
