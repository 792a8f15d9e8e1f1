"""Solo-12 held standing by gradients of its torques, from ten perturbed starts at once.

The robot starts with a tilted base and moving joints. Every 10 ms the torques of its twelve joints are improved by five
gradients of a cost over the next 20 ms, through all steps and contacts: the mean square of e + 60 ms·v, of how far the
configuration is from standing and the velocity. Without torques the robot collapses.

pip install pin example-robot-data
python examples/solo_stand.py --out solo-stand.svg
"""

from __future__ import annotations

import argparse
from importlib.metadata import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from clearance.pinocchio import Step

DT, AHEAD, APPLIED, GRADIENTS = 2.5e-3, 8, 4, 5  # seconds; steps of a plan, those that are made of it; improvements
LEAD = 0.06  # seconds
# The weights of e + LEAD·v: the base counts most, meters more than radians.
WEIGHT = np.array([5.0, 5.0, 30.0] + [2.0] * 3 + [0.2] * 12)


class Run(NamedTuple):
    """The levels of the base over the ground, and the errors ‖e‖ of the joints and of the orientation of the base, with
    torques and without, [steps + 1, starts] each."""

    held: tuple[Any, Any]
    free: tuple[Any, Any]


def solo() -> tuple[Any, Any, Any]:
    """The model, its geometry without pairs of links, and a configuration in which it stands on the ground."""
    listed = files("example-robot-data") or []
    urdf = next(Path(str(p.locate())) for p in listed if str(p).endswith("robots/solo12.urdf")).resolve()
    model = pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
    geometry = pin.buildGeomFromUrdf(model, str(urdf), pin.COLLISION, package_dirs=[str(urdf.parents[4])])
    pin.loadReferenceConfigurations(model, str(urdf.parents[1] / "srdf" / "solo.srdf"))
    q = np.array(model.referenceConfigurations["standing"])
    r = Step(model, geometry, max_gap=0.1)(q, np.zeros(model.nv))
    q[2] -= r.gap[r.pair >= 0].min()
    return model, geometry, q


def away(model: Any, rest: Any, q: Any) -> tuple[Any, Any]:
    """How far configurations [W,nq] are from rest, [W,nv], and the derivatives [W,nv,nv] of that by their tangents."""
    e = np.array([pin.difference(model, rest, x) for x in q])
    return e, np.array([pin.dDifference(model, rest, x, pin.ARG1) for x in q])


def planned(step: Step, rest: Any, q: Any, v: Any, torque: Any) -> tuple[Any, Any]:
    """The cost [W] of constant torques [W,12] over a plan, and its gradient."""
    starts, made = len(q), []
    cost = np.zeros(starts)
    tau = np.concatenate([np.zeros((starts, 6)), torque], axis=1)
    for _ in range(AHEAD):
        r = step(q, v, tau)
        r.raise_if_failed()
        q, v = r.q, r.v
        e, by_q = away(step.model, rest, q)
        error = e + LEAD * v
        cost += (WEIGHT * error**2).sum(axis=1) / AHEAD
        made.append((r, 2 / AHEAD * WEIGHT * error, by_q))
    gradient = np.zeros_like(torque)
    q_bar, v_bar = np.zeros((2, starts, 18))
    for r, bar, by_q in reversed(made):
        g = r.vjp(q=q_bar + np.einsum("wij,wi->wj", by_q, bar), v=v_bar + LEAD * bar)
        q_bar, v_bar = g.q, g.v
        gradient += g.tau[:, 6:]
    return cost, gradient


def stand(starts: int = 10, seconds: float = 0.5, seed: int = 0) -> Run:
    model, geometry, rest = solo()
    step = Step(model, geometry, DT, friction=0.8)
    rng = np.random.default_rng(seed)
    tilt = rng.normal(size=(starts, 18)) * np.array([0, 0, 0] + [0.03] * 2 + [0.1] + [0.05] * 12)
    first = np.array([pin.integrate(model, rest, t) for t in tilt])
    found = Step(model, geometry, DT, max_gap=0.1)(first, np.zeros((starts, 18)))
    first[:, 2] -= np.where(found.pair >= 0, found.gap, np.inf).min(axis=1)  # onto the ground
    speed = 0.2 * rng.normal(size=(starts, 18))
    runs = []
    for held in (True, False):
        q, v, torque = first.copy(), speed.copy(), np.zeros((starts, 12))
        mean, square, count = np.zeros_like(torque), np.zeros_like(torque), 0
        track = [(q[:, 2], np.linalg.norm(away(model, rest, q)[0][:, 3:], axis=1))]
        for k in range(round(seconds / DT)):
            for _ in range(GRADIENTS if held and k % APPLIED == 0 else 0):
                _, gradient = planned(step, rest, q, v, torque)
                count += 1
                mean, square = 0.7 * mean + 0.3 * gradient, 0.9 * square + 0.1 * gradient**2
                scaled = mean / (1 - 0.7**count) / (np.sqrt(square / (1 - 0.9**count)) + 1e-12)
                torque = np.clip(torque - 0.1 * scaled, -2.5, 2.5)  # N·m
            r = step(q, v, np.concatenate([np.zeros((starts, 6)), torque], axis=1))
            r.raise_if_failed()
            q, v = np.array(r.q), np.array(r.v)
            track.append((q[:, 2], np.linalg.norm(away(model, rest, q)[0][:, 3:], axis=1)))
        runs.append((np.array([t[0] for t in track]), np.array([t[1] for t in track])))
    return Run(*runs)


def draw(run: Run, out: str) -> None:
    """The base over the ground, and the angles that are left, with torques and without."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), constrained_layout=True)
    time = DT * np.arange(len(run.held[0]))
    titles = "base over the ground (m)", "angles of base and joints from standing (rad)"
    for k, title in enumerate(titles):
        axes[k].plot(time, run.free[k], color="tab:gray", lw=0.8)
        axes[k].plot(time, run.held[k], color="tab:blue", lw=0.8)
        axes[k].set(title=title, xlabel="time (s); blue: held, gray: without torques")
    axes[1].set_ylim(0, 2)
    figure.savefig(out, metadata={"Date": None} if out.endswith(".svg") else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--out", help="a picture to write")
    arguments = parser.parse_args()
    run = stand(arguments.starts, arguments.seconds)
    print("start: base over the ground first, at the end, without torques; angles left at the end")
    for k in range(arguments.starts):
        levels = f"{run.held[0][0, k]:.3f} m, {run.held[0][-1, k]:.3f} m, {run.free[0][-1, k]:.3f} m"
        print(f"{k}: {levels}; {run.held[1][-1, k]:.3f} rad")
    if arguments.out:
        draw(run, arguments.out)


if __name__ == "__main__":
    main()
