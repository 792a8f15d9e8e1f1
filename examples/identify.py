"""The friction and the mass of a cube are identified from a recorded trajectory, by Gauss-Newton.

A cube of 10 cm slides on the ground: for 0.4 s it is pushed with 6 N, then it coasts. 20 positions of the second are
recorded. All rows of the Jacobian come from one product with the derivative of the run: worlds that are alike take one
cotangent each. What MuJoCo's soft contacts give is in docs/learning.md. The picture identify.png has the fits.

python examples/identify.py
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from clearance import Library, contact

STEPS, EVERY, DT = 500, 25, 0.002
TRUE = np.array([0.35, 0.8])  # μ, and m in kg
PUSH = np.zeros((STEPS, 1, 1, 6))
PUSH[:200, ..., 0] = 6


def runs(values: Any, worlds: int = 1, tape: bool = False) -> contact.Trajectory:
    """Worlds that are alike, with these values of μ and m; the cube starts at 1 m/s, as one that sticks says little."""
    lib = Library()
    sim = contact.Simulation(lib, [lib.box([0.05] * 3)], mass=1.0, friction=values[0], dt=DT, compliance=0.0)
    sim = sim.replace(mass=[values[1]])  # at constant inertia, as the derivative has it
    first = [np.tile(x, (worlds, 1, 1)) for x in ([0, 0, 0.05], [1.0, 0, 0, 0], [1.0, 0, 0])]
    return sim.run(*first, steps=STEPS, every=EVERY, force=PUSH.repeat(worlds, 1), quat="wxyz", tape=tape)


def identify(record: Any, start: Any, iterations: int = 8) -> tuple[Any, Any]:
    """The values [iterations + 1, 2] on the way, and the root mean square residual of each in metres."""
    log, n, values, rms = np.log(start), len(record), [], []
    cotangent = np.zeros((n, n, 1, 3))
    cotangent[np.arange(n), np.arange(n), 0, 0] = 1  # of world i the position of record i
    for _ in range(iterations + 1):
        run = runs(np.exp(log), worlds=n, tape=True)
        residual = run.position[:, 0, 0, 0] - record
        values.append(np.exp(log))
        rms.append(np.sqrt(np.mean(residual**2)))
        g = run.vjp(position=cotangent)
        jacobian = np.concatenate([g.friction, g.mass], axis=1) * np.exp(log)
        step = np.linalg.lstsq(jacobian, -residual, rcond=None)[0]
        log = log + step * min(1, 0.5 / np.abs(step).max())
    return np.array(values), np.array(rms)


if __name__ == "__main__":
    record = runs(TRUE).position[:, 0, 0, 0]
    values, _ = identify(record, [0.1, 1.5])
    plt.plot(record, "k.", label="recorded")
    for k in range(4):
        plt.plot(runs(values[k]).position[:, 0, 0, 0], label=f"iteration {k}")
    plt.legend()
    plt.gca().set(xlabel="record, each 50 ms", ylabel="position (m)")
    plt.savefig("identify.png")
    mu, mass = values[-1]
    print(f"The record says μ = {mu:.6f} and m = {mass:.6f} kg; it was made with {TRUE[0]} and {TRUE[1]} kg.")
