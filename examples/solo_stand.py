"""Solo-12 held standing by gradients of its torques, from ten perturbed starts at once.

Every 10 ms its torques are improved by five gradients of a cost over the next 20 ms, through steps and contacts: the
mean square of e + 60 ms·v, of how far it is from standing and the velocity. The levels of bases are in solo_stand.png.

python examples/solo_stand.py   (needs pin and example-robot-data)
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pinocchio as pin

from clearance.pinocchio import Step, load

DT, AHEAD, LEAD = 2.5e-3, 8, 0.06  # seconds; steps of a plan; seconds
WEIGHT = np.array([5.0, 5.0, 30.0] + [2.0] * 3 + [0.2] * 12)  # the base counts most, metres more than radians
SOLO = "package://example-robot-data/robots/solo_description/"
model, geometry = load(SOLO + "robots/solo12.urdf", SOLO + "srdf/solo.srdf", free_flyer=True)
geometry.removeAllCollisionPairs()  # but for those with the ground
step, standing = Step(model, geometry, DT), np.array(model.referenceConfigurations["standing"])
standing[2] -= Step(model, geometry, max_gap=0.2)(standing, np.zeros(18)).gap.min()  # onto the ground


def gradient(q: Any, v: Any, torque: Any) -> Any:
    """The gradient [W,12] of the cost of constant torques over a plan."""
    run = step.run(q, v, np.tile(np.pad(torque, [(0, 0), (6, 0)]), (AHEAD, 1, 1)))
    e, slope = np.zeros_like(run.v), np.zeros((*run.v.shape, 18))
    for at in np.ndindex(run.v.shape[:2]):
        e[at] = pin.difference(model, standing, run.q[at])
        slope[at] = pin.dDifference(model, standing, run.q[at], pin.ARG1)
    bar = 2 / AHEAD * WEIGHT * (e + LEAD * run.v)
    return run.vjp(q=np.einsum("twij,twi->twj", slope, bar), v=LEAD * bar).tau[:, :, 6:].sum(axis=0)


def stand(starts: int = 10, seconds: float = 0.5, gradients: int = 5) -> Any:
    """The levels of the base over the ground [T,W] in metres; Adam improves the torques."""
    rng, levels, torque, mean, square = np.random.default_rng(0), [], *np.zeros((3, starts, 12))
    tilt = rng.normal(size=(starts, 18)) * np.array([0, 0, 0] + [0.03] * 2 + [0.1] + [0.05] * 12)
    q: Any = np.array([pin.integrate(model, standing, t) for t in tilt])
    v: Any = 0.2 * rng.normal(size=(starts, 18))
    for k in range(round(seconds / DT)):
        for n in range(gradients * k // 4, gradients * (k // 4 + 1) if k % 4 == 0 else 0):
            g = gradient(q, v, torque)
            mean, square = 0.7 * mean + 0.3 * g, 0.9 * square + 0.1 * g * g
            scaled = mean / (1 - 0.7 ** (n + 1)) / (np.sqrt(square / (1 - 0.9 ** (n + 1))) + 1e-12)
            torque = np.clip(torque - 0.1 * scaled, -2.5, 2.5)  # N·m
        r = step(q, v, np.pad(torque, [(0, 0), (6, 0)]))
        q, v = r.q, r.v
        levels.append(q[:, 2])
    return np.array(levels)


if __name__ == "__main__":
    held, free = stand(), stand(gradients=0)
    plt.plot(np.concatenate([free, held], axis=1))
    plt.savefig("solo_stand.png")
    print(f"Held, bases stay at {held[-1].min():.3f} m or above; without torques they fall to {free[-1].max():.3f} m.")
