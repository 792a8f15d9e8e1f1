"""A cube is thrown onto a target, through bounces and slides: gradient descent on its first velocity.

The cost is the square of the distance from the target to where the cube lies after 1.5 s. Ten throws, of ten targets
from ten first velocities, are the worlds of one simulation. "flat" cubes land on four corners, bounce and slide: the
landing point is a continuous function of the velocity, and descent along the derivative of the discrete run
(Trajectory.vjp) ends on the target. "tumbling" cubes are thrown with a spin. Which corner lands first, and so where the
cube ends, jumps, and the derivative between jumps says nothing of them. There the cost is smoothed: the gradient is
that of its mean over velocities with noise, from samples alone (0th order), and the best throw seen is kept.

python examples/throw.py --out throw.svg
"""

import argparse
from typing import Any

import numpy as np

from clearance import Library, contact

STEPS = 300  # of 5 ms


class Range:
    """A cube of 10 cm, 0.5 m above the ground."""

    def __init__(self) -> None:
        lib = Library()
        cube = lib.box([0.05, 0.05, 0.05])
        rigid: dict[str, Any] = {"compliance": 0.0, "accept": True}  # in runs with a tape as in those without
        self.sim = contact.Simulation(lib, [cube], mass=0.5, friction=0.4, restitution=0.5, **rigid)

    def throw(self, velocity: Any, spin: Any, tape: bool = False) -> tuple[Any, contact.Trajectory]:
        """Where cubes lie [W,2], and their runs."""
        at, level = np.tile([0, 0, 0.5], (len(velocity), 1, 1)), np.tile([1.0, 0, 0, 0], (len(velocity), 1, 1))
        run = self.sim.run(
            at, level, velocity[:, None], spin[:, None], steps=STEPS, every=STEPS, quat="wxyz", tape=tape
        )
        return run.position[-1, :, 0, :2], run

    def slope(self, velocity: Any, spin: Any, target: Any) -> tuple[Any, Any]:
        """The distances from the targets, and the gradients [W,3] of their squares."""
        at, run = self.throw(velocity, spin, tape=True)
        cotangent = np.zeros((1, len(at), 1, 3))
        cotangent[0, :, 0, :2] = 2 * (at - target)
        return np.linalg.norm(at - target, axis=1), run.vjp(position=cotangent).velocity[:, 0]

    def smooth_slope(self, velocity: Any, spin: Any, target: Any, rng: Any, noise: float) -> tuple[Any, Any]:
        """The same of the mean over velocities with noise, in m/s, from 16 pairs of samples z and -z."""
        z = rng.normal(size=(16, *velocity.shape))
        tried = np.concatenate([velocity[None], velocity + noise * z, velocity - noise * z])
        at, _ = self.throw(tried.reshape(-1, 3), np.tile(spin, (len(tried), 1)))
        distance = np.linalg.norm(at.reshape(len(tried), -1, 2) - target, axis=2)
        rise = distance[1:17] ** 2 - distance[17:] ** 2
        return distance[0], np.mean(rise[..., None] * z, axis=0) / (2 * noise)


def descend(how: str, iterations: int = 120, throws: int = 10, seed: int = 0) -> Any:
    """Distances [iterations + 1, throws]: Adam for "flat", "tumbling" or "tumbling, smoothed" cubes."""
    rng, place, smoothed = np.random.default_rng(seed), Range(), how.endswith("smoothed")
    target = np.stack([rng.uniform(0.8, 1.6, throws), rng.uniform(-0.5, 0.5, throws)], axis=1)
    velocity = rng.uniform([1, -0.3, 0], [2, 0.3, 2], (throws, 3))
    spin = np.zeros((throws, 3)) if how == "flat" else rng.normal(0, 5, (throws, 3))
    mean, square = np.zeros_like(velocity), np.zeros_like(velocity)
    distances: list[Any] = []
    for k in range(iterations + 1):
        rate = 0.1 * 0.01 ** (k / iterations)
        if smoothed:
            d, g = place.smooth_slope(velocity, spin, target, rng, 2 * rate)
        else:
            d, g = place.slope(velocity, spin, target)
        distances.append(np.minimum(d, distances[-1]) if smoothed and distances else d)
        mean, square = 0.8 * mean + 0.2 * g, 0.95 * square + 0.05 * g * g
        velocity = velocity - rate * mean / (1 - 0.8 ** (k + 1)) / (np.sqrt(square / (1 - 0.95 ** (k + 1))) + 1e-9)
    return np.array(distances)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="a picture to write")
    arguments = parser.parse_args()
    found = {how: descend(how) for how in ("flat", "tumbling", "tumbling, smoothed")}
    for how, d in found.items():
        print(f"{how}: median distance {np.median(d[0]):.2f} m to {np.median(d[-1]):.1e} m, worst {d[-1].max():.1e} m")
    if arguments.out:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, constrained_layout=True)
        for ax, (how, d) in zip(axes, found.items(), strict=True):
            ax.semilogy(d, lw=0.8)
            ax.set(title=how, xlabel="iteration", ylabel="distance from the target (m)")
        figure.savefig(arguments.out, metadata={"Date": None} if arguments.out.endswith(".svg") else None)


if __name__ == "__main__":
    main()
