"""Throws of examples/throw.py: flat cubes, cubes that tumble, and smoothed gradients of these.

The cost is the square of the distance from the target to where the cube lies. "flat" cubes land on four corners, bounce
and slide: the landing point is a continuous function of the velocity, and descent along the derivative of the discrete
run ends on the target. "tumbling" cubes are thrown with a spin. Which corner lands first, and so where the cube ends,
jumps, and the derivative between jumps says nothing of them. There the cost is smoothed: the gradient is that of its
mean over velocities with noise, from samples alone (0th order), and the best throw seen is kept.

python lab/python/throws.py throw.svg
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import throw as example


def slope(velocity: Any, spin: Any, target: Any) -> tuple[Any, Any]:
    """The distances from the targets, and the gradients [W,3] of their squares."""
    run = example.throw(velocity, spin, tape=True)
    off = run.position[-1, :, 0, :2] - target
    cotangent = np.pad(2 * off, [(0, 0), (0, 1)])[None, :, None]
    return np.linalg.norm(off, axis=1), run.vjp(position=cotangent).velocity[:, 0]


def smooth_slope(velocity: Any, spin: Any, target: Any, rng: Any, noise: float) -> tuple[Any, Any]:
    """The same of the mean over velocities with noise, in m/s, from 16 pairs of samples z and -z."""
    z = rng.normal(size=(16, *velocity.shape))
    tried = np.concatenate([velocity[None], velocity + noise * z, velocity - noise * z])
    run = example.throw(tried.reshape(-1, 3), np.tile(spin, (len(tried), 1)))
    distance = np.linalg.norm(run.position[-1, :, 0, :2].reshape(len(tried), -1, 2) - target, axis=2)
    rise = distance[1:17] ** 2 - distance[17:] ** 2
    return distance[0], np.mean(rise[..., None] * z, axis=0) / (2 * noise)


def descend(how: str, iterations: int = 120, throws: int = 10, seed: int = 0) -> Any:
    """Distances [iterations + 1, throws]: Adam for "flat", "tumbling" or "tumbling, smoothed" cubes."""
    rng, smoothed = np.random.default_rng(seed), how.endswith("smoothed")
    target = np.stack([rng.uniform(0.8, 1.6, throws), rng.uniform(-0.5, 0.5, throws)], axis=1)
    velocity = rng.uniform([1, -0.3, 0], [2, 0.3, 2], (throws, 3))
    spin = np.zeros((throws, 3)) if how == "flat" else rng.normal(0, 5, (throws, 3))
    mean, square = np.zeros_like(velocity), np.zeros_like(velocity)
    distances: list[Any] = []
    for k in range(iterations + 1):
        rate = 0.1 * 0.01 ** (k / iterations)
        if smoothed:
            d, g = smooth_slope(velocity, spin, target, rng, 2 * rate)
        else:
            d, g = slope(velocity, spin, target)
        distances.append(np.minimum(d, distances[-1]) if smoothed and distances else d)
        mean, square = 0.8 * mean + 0.2 * g, 0.95 * square + 0.05 * g * g
        velocity = velocity - rate * mean / (1 - 0.8 ** (k + 1)) / (np.sqrt(square / (1 - 0.95 ** (k + 1))) + 1e-9)
    return np.array(distances)


def main(out: str = "") -> None:
    found = {how: descend(how) for how in ("flat", "tumbling", "tumbling, smoothed")}
    for how, d in found.items():
        print(f"{how}: median distance {np.median(d[0]):.2f} m to {np.median(d[-1]):.1e} m, worst {d[-1].max():.1e} m")
    if out:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True, constrained_layout=True)
        for ax, (how, d) in zip(axes, found.items(), strict=True):
            ax.semilogy(d, lw=0.8)
            ax.set(title=how, xlabel="iteration", ylabel="distance from the target (m)")
        figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)


if __name__ == "__main__":
    main(*sys.argv[1:])
