"""Three problems that gradients of answers solve, each for many starts at once:

grasp        two fingertips close on an ellipsoid along a line through both contacts, by distances and normals
path         a body leaves clutter: way points of a path are pushed apart from obstacles, by distances
identify     the pose of an object is found from points at which a probe touched it, by witnesses

python examples/gradients.py --out gradients.svg
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

import clearance as cl


class Run(NamedTuple):
    """The costs [iterations + 1, starts] of a problem, and what was found."""

    cost: Any
    found: Any


def rotated(q: Any, v: Any) -> Any:
    """Vectors [..., 3] rotated by unit quaternions [..., 4], "wxyz"."""
    t = 2 * np.cross(q[..., 1:], v)
    return v + q[..., :1] * t + np.cross(q[..., 1:], t)


def moved(pos: Any, quat: Any, twist: Any) -> tuple[Any, Any]:
    """Poses moved by twists [..., 6] in world axes."""
    angle = np.linalg.norm(twist[..., 3:], axis=-1, keepdims=True)
    axis = np.divide(twist[..., 3:], angle, out=np.zeros_like(twist[..., 3:]), where=angle > 0)
    w, u = np.cos(angle / 2), np.sin(angle / 2) * axis
    s, v = quat[..., :1], quat[..., 1:]
    spun = np.concatenate(
        [w * s - np.sum(u * v, axis=-1, keepdims=True), w * v + s * u + np.cross(u, v)], axis=-1
    )  # fmt: skip
    return pos + twist[..., :3], spun / np.linalg.norm(spun, axis=-1, keepdims=True)


def grasp(engine: cl.Engine, starts: int = 50, iterations: int = 1600, seed: int = 0) -> Run:
    """Fingertips of radius 1 cm at ±width from the middle of a gripper. Both distances are to be 0, and both normals
    along the line a from one tip to the other: the cost is d1² + d2² + (1 cm)²·(|n1 + a|² + |n2 - a|²). The tips act
    on the gripper as forces do."""
    rng = np.random.default_rng(seed)
    lib = cl.Library()
    tip, object_ = lib.sphere(0.01), lib.ellipsoid([0.03, 0.05, 0.08])
    quat = rng.normal(size=(starts, 4))
    quat /= np.linalg.norm(quat, axis=1, keepdims=True)
    pos, width = rng.normal(0, 0.01, (starts, 3)), np.full(starts, 0.11)
    sides = np.array([1.0, -1.0])
    still = np.tile([1.0, 0, 0, 0], (2 * starts, 1))
    mean, square, costs = np.zeros((starts, 7)), np.zeros((starts, 7)), []
    scale = np.array([1.0, 1, 1, 20, 20, 20, 1])  # a radian is worth 5 cm
    for k in range(iterations + 1):
        arm = rotated(quat[:, None], sides[:, None] * width[:, None, None] * np.array([1.0, 0, 0]))  # [S,2,3]
        at = (pos[:, None] + arm).reshape(-1, 3)
        r = engine.distance(
            lib, tip, object_, at, still, np.zeros(3), still[0], quat="wxyz", precision="double", grad=True
        )
        d, n = r.distance.reshape(starts, 2), r.normal.reshape(starts, 2, 3)
        along = rotated(quat, np.array([1.0, 0, 0]))
        askew = n + sides[:, None] * along[:, None]
        costs.append(np.sum(d * d, axis=1) + 1e-4 * np.sum(askew * askew, axis=(1, 2)))
        if k == iterations:
            break
        force = r.vjp(distance=2 * d.ravel(), normal=2e-4 * askew.reshape(-1, 3))[:, :3].reshape(starts, 2, 3)
        spin = np.cross(arm, force).sum(axis=1) + np.cross(along, 2e-4 * np.sum(sides[:, None] * askew, axis=1))
        gradient = np.concatenate(
            [force.sum(axis=1), spin,
             np.sum(sides[:, None] * force * along[:, None], axis=(1, 2))[:, None]], axis=1
        )  # fmt: skip
        # Adam, with lengths of centimetres: the rate falls to a thousandth.
        gradient = gradient * scale
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient * gradient
        step = -4e-3 * 1e-3 ** (k / iterations) * scale * mean / (1 - 0.9 ** (k + 1))
        step /= np.sqrt(square / (1 - 0.99 ** (k + 1))) + 1e-12
        pos, quat = moved(pos, quat, step[:, :6])
        width = width + step[:, 6]
    return Run(np.array(costs), (pos, quat, width))


def path(engine: cl.Engine, points: int = 24, iterations: int = 400, seed: int = 1) -> Run:
    """A box with round edges goes from one side of clutter to the other. The cost is the sum of the squares of the
    steps, and of what its clearance lacks of 3 cm at each way point; the straight line goes through obstacles."""
    rng = np.random.default_rng(seed)
    lib = cl.Library()
    body = lib.box([0.06, 0.04, 0.03], margin=0.01)
    obstacles = [lib.ellipsoid(rng.uniform(0.05, 0.12, 3)) for _ in range(14)]
    places = rng.uniform([-0.6, -0.25, -0.25], [0.6, 0.25, 0.25], (len(obstacles), 3))
    spun = rng.normal(size=(len(obstacles), 4))
    way = np.linspace([-1.0, 0, 0], [1.0, 0, 0], points)
    way[1:-1, 1:] += rng.normal(0, 1e-3, (points - 2, 2))  # off the axis of symmetry
    b = np.tile(np.array(obstacles, np.int32), points)
    mean, square, costs, first = np.zeros_like(way), np.zeros_like(way), [], None
    for k in range(iterations + 1):
        r = engine.distance(
            lib, np.full(len(b), body, np.int32), b, np.repeat(way, len(obstacles), axis=0), [1.0, 0, 0, 0],
            np.tile(places, (points, 1)), np.tile(spun, (points, 1)), quat="wxyz", precision="double", grad=True,
        )  # fmt: skip
        least = r.distance.reshape(points, -1).min(axis=1)
        if first is None:
            first = way.copy(), least
        lack = np.maximum(0.03 - r.distance, 0)
        steps = np.diff(way, axis=0)
        costs.append(np.sum(steps * steps) + 10 * np.sum(lack * lack))
        if k == iterations:
            break
        gradient = r.vjp(distance=-20 * lack)[:, :3].reshape(points, -1, 3).sum(axis=1)
        gradient[:-1] -= 2 * steps
        gradient[1:] += 2 * steps
        gradient[[0, -1]] = 0
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient * gradient
        rate = 5e-3 * 0.05 ** (k / iterations)
        way = way - rate * mean / (1 - 0.9 ** (k + 1)) / (np.sqrt(square / (1 - 0.99 ** (k + 1))) + 1e-12)
    return Run(np.array(costs)[:, None], (first, (way, least)))


def identify(engine: cl.Engine, starts: int = 50, probes: int = 12, iterations: int = 12, seed: int = 2) -> Run:
    """A ball probes an object from known places, and the nearest points of the object are measured. Gauss-Newton finds
    its pose from these witnesses, with their derivatives as columns, from poses up to 2 cm and 20 degrees away."""
    rng = np.random.default_rng(seed)
    lib = cl.Library()
    ball, object_ = lib.sphere(0.01), lib.ellipsoid([0.04, 0.06, 0.09])
    toward = rng.normal(size=(probes, 3))
    at = 0.15 * toward / np.linalg.norm(toward, axis=1, keepdims=True)
    true_pos, true_quat = np.array([0.01, -0.02, 0.015]), np.array([0.8, 0.2, -0.3, 0.48])
    true_quat /= np.linalg.norm(true_quat)

    def ask(pos: Any, quat: Any) -> cl.Result:
        return engine.distance(
            lib, ball, object_, np.tile(at, (len(pos), 1)), [1.0, 0, 0, 0], np.repeat(pos, probes, axis=0),
            np.repeat(quat, probes, axis=0), quat="wxyz", precision="double", columns=["witness_b", "d_witness_b"],
        )  # fmt: skip

    measured = ask(true_pos[None], true_quat[None]).witness_b
    axis = rng.normal(size=(starts, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    away = np.concatenate([rng.uniform(-0.02, 0.02, (starts, 3)), np.deg2rad(20) * rng.random((starts, 1)) * axis], 1)
    pos, quat = moved(np.tile(true_pos, (starts, 1)), np.tile(true_quat, (starts, 1)), away)
    costs = []
    for k in range(iterations + 1):
        r = ask(pos, quat)
        residual = (r.witness_b.reshape(starts, probes, 3) - measured).reshape(starts, -1)
        costs.append(np.sum(residual * residual, axis=1))
        if k == iterations:
            break
        jacobian = r.d_witness_b.reshape(starts, -1, 12)[:, :, 6:]
        step = np.stack([np.linalg.lstsq(j, -e, rcond=None)[0] for j, e in zip(jacobian, residual, strict=True)])
        pos, quat = moved(pos, quat, step)
    return Run(np.array(costs), (pos - true_pos, quat, true_quat))


def draw(runs: dict[str, Run], out: str) -> None:
    """The costs, median and 10 to 90 % of the starts, and the clearances of the path."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 4, figsize=(15, 3.4), constrained_layout=True)
    names = {
        "grasp": ("Adam, cost of a grasp (m²)", 1e-18), "path": ("Adam, cost of a path (m²)", None),
        "identify": ("Gauss-Newton, witnesses (m²)", 1e-32),
    }  # fmt: skip
    for ax, (name, (title, least)) in zip(axes, names.items(), strict=False):
        cost = runs[name].cost
        low, middle, high = np.quantile(np.maximum(cost, least or 0), [0.1, 0.5, 0.9], axis=1)
        ax.semilogy(middle, color="tab:blue")
        ax.fill_between(np.arange(len(middle)), low, high, color="tab:blue", alpha=0.2, lw=0)
        ax.set(title=title, xlabel="iteration")
    for (way, clearance), label in zip(runs["path"].found, ("before", "after"), strict=True):
        axes[3].plot(way[:, 0], clearance, ".-", label=label, lw=0.8)
    axes[3].axhline(0, color="gray", lw=0.5)
    axes[3].set(title="clearance of the way points (m)", xlabel="x (m)")
    axes[3].legend(fontsize=7)
    figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="a picture to write")
    arguments = parser.parse_args()
    engine = cl.Engine()
    runs = {"grasp": grasp(engine), "path": path(engine), "identify": identify(engine)}
    for name in ("grasp", "identify"):
        first, last = runs[name].cost[0], runs[name].cost[-1]
        print(f"{name}: cost {np.median(first):.1e} to {np.median(last):.1e} m² (medians of {len(last)} starts)")
    (_, before), (_, after) = runs["path"].found
    print(f"path: least clearance {before.min():.3f} m before, {after.min():.3f} m after")
    if arguments.out:
        draw(runs, arguments.out)


if __name__ == "__main__":
    main()
