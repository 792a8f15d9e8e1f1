"""Times of contact solvers along trajectories of robots, cold and warm: figure 16 of "Contact models in robotics".

    PYTHONPATH=python/src CLEARANCE_LIBRARY=FILE python lab/python/robot_solvers.py [--page FILE]

As in the paper, Solo-12 and Talos stand and are perturbed by a force, and a ball drops into the Allegro hand. The
step of clearance.pinocchio moves them; the contact problem of every step, with the compliance of that step, is then
solved to a fixed accuracy by each solver: from zero impulses (cold), and from those of the step before (warm). Of
Clearance a time is the share of a call for all steps, on one thread; of Pinocchio that of a call of the solver alone.
The error is that of the velocity, in m/s and rad/s, against a solution to 1e-11.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import time
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin
import robots
from solvers import timed

from clearance import contact
from clearance.pinocchio import Step, load

STEPS, ACCURACY = 200, 1e-6


def allegro() -> tuple[Step, Any, Any]:
    """The hand with its palm up and a ball of 4 cm and 50 g above it; no ground."""
    model, geometry = load("package://example-robot-data/robots/allegro_hand_description/urdf/allegro_right_hand.urdf")
    links = range(len(geometry.geometryObjects))
    # Its palm is at x > 0 of the base.
    model.gravity.linear = np.array([-9.81, 0, 0])
    ball = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "ball")
    model.appendBodyToJoint(ball, pin.Inertia.FromSphere(0.05, 0.04), pin.SE3.Identity())
    at = geometry.addGeometryObject(pin.GeometryObject("ball", ball, pin.SE3.Identity(), coal.Sphere(0.04)))
    for link in links:
        geometry.addCollisionPair(pin.CollisionPair(link, at))
    q = pin.neutral(model)
    first = model.joints[ball].idx_q
    q[first : first + 3] = [0.12, 0.0, 0.02]
    q[:first] = 0.4  # fingers half closed
    return Step(model, geometry, 2e-3, ground=False), q, "hand"


def trajectory(name: str) -> list[Any]:
    """The problems of all steps that have contacts: mass, Jacobian, velocity, friction, target, compliance, pairs."""
    if name == "Allegro hand":
        step, rest, _ = allegro()
    else:
        step, _, rest = robots.prepared(name)
        step = Step(step.model, robots_geometry(name), 2e-3)
    model, nv, made = step.model, step.model.nv, []
    data = model.createData()
    q, v = rest[None].copy(), np.zeros((1, nv))
    joints = slice(0, 16) if name == "Allegro hand" else slice(6, nv)  # all but the ball, or the base
    at = slice(0, 16) if name == "Allegro hand" else slice(7, model.nq)
    for k in range(STEPS):
        pin.computeAllTerms(model, data, q[0], v[0])
        tau = np.zeros((1, nv))
        back = np.diag(data.M)[joints] * (400 * (rest[at] - q[0, at]) - 40 * v[0, joints])  # at 20 rad/s
        tau[0, joints] = data.nle[joints] + back
        if name == "Solo-12":
            tau = robots.torques(q, v, rest)
        if name != "Allegro hand":
            tau[0, :3] += 0.1 * data.mass[0] * 9.81 * np.sin(0.05 * k) * np.array([1, 0.5, 0])
        r = step(q, v, tau)
        r.raise_if_failed()
        p: Any = r._parts
        if p.count[0]:
            made.append((p.mass[0], p.jacobian[0], p.free[0], p.friction[0], p.target[0], p.compliance[0], r.pair[0]))
        q, v = np.array(r.q), np.array(r.v)
    return made


def warm_starts(problems: list[Any], impulses: list[Any]) -> list[Any]:
    """Impulses of the step before, for contacts of the same pair in the same order; zero for others."""
    out, before = [], dict[tuple[int, int], Any]()
    for p, solved in zip(problems, impulses, strict=True):
        keys, count = [], dict[int, int]()
        for pair in p[6].tolist():
            keys.append((pair, count.get(pair, 0)))
            count[pair] = count.get(pair, 0) + 1
        out.append(np.array([before.get(key, np.zeros(3)) for key in keys]))
        before = dict(zip(keys, solved, strict=True))
    return out


def padded(problems: list[Any], warm: list[Any] | None) -> dict[str, Any]:
    """The arguments of contact.solve_system for all problems at once."""
    most = max(len(p[3]) for p in problems)
    names = ("jacobian", "friction", "target", "compliance")
    out = {n: np.array([np.pad(p[i], [(0, most - len(p[i])), *[(0, 0)] * (p[i].ndim - 1)]) for p in problems])
           for n, i in zip(names, (1, 3, 4, 5), strict=True)}  # fmt: skip
    out |= {"mass": np.array([p[0] for p in problems]), "velocity": np.array([p[2] for p in problems])}
    out["count"] = np.array([len(p[3]) for p in problems], np.int32)
    if warm is not None:
        out["warm"] = np.array([np.pad(x, [(0, most - len(x)), (0, 0)]) for x in warm])
    return out


def pinocchio(
    problems: list[Any], method: str, accuracy: float, warm: list[Any] | None
) -> tuple[list[float], list[Any], int]:
    """Seconds and velocities of each problem by a solver of Pinocchio, and how many did not converge."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    seconds, velocities, lost = [], [], 0
    for k, (mass, jacobian, free, friction, target, compliance, _) in enumerate(problems):
        rows = jacobian.reshape(-1, len(free))
        inverse = np.linalg.solve(mass, rows.T)
        r = np.stack([compliance[:, 0], compliance[:, 0], compliance[:, 1]], axis=1).ravel()
        delassus = pin.DelassusOperatorDense(rows @ inverse + np.diag(r))
        g = (rows @ free).reshape(-1, 3)
        g[:, 2] -= target
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for mu in friction:
            point = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
            point.setFriction(float(mu))
            models.append(pin.ConstraintModel(point))
            datas.append(models[len(models) - 1].createData())
        settings = getattr(pin, f"{method}SolverSettings")()
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = accuracy
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0
        settings.max_iterations = 1000
        solver = getattr(pin, f"{method}ConstraintSolver")(g.size)
        result = getattr(pin, f"{method}SolverResult")()

        def reset(result: Any = result, k: int = k) -> None:
            result.reset()
            if warm is not None:
                result.setConstraintImpulseGuess(warm[k].ravel())

        args = delassus, g.ravel(), models, datas, settings, result
        seconds.append(timed(functools.partial(solver.solve, *args), reset, 0))
        velocities.append(free + inverse @ np.array(result.retrieveConstraintImpulses()).ravel())
        lost += not result.converged
    return seconds, velocities, lost


def measure(name: str) -> list[str]:
    """Rows of the table of one robot."""
    problems = trajectory(name)
    exact = contact.solve_system(**padded(problems, None), tolerance=1e-11, max_steps=4000)
    exact.raise_if_failed()
    impulses = [exact.impulse[k, : len(p[3])] for k, p in enumerate(problems)]
    warm = warm_starts(problems, impulses)
    contacts = statistics.mean(len(p[3]) for p in problems)
    rows = []
    for law in ("ncp", "ccp"):
        cells = []
        for start in (None, warm):
            args, spent = padded(problems, start), []
            for _ in range(7):
                began = time.process_time()
                solved = contact.solve_system(**args, tolerance=ACCURACY, model=law, max_steps=4000, workers=1)
                spent.append((time.process_time() - began) / len(problems))
            lost = int((solved.status != 0).sum())
            off = np.abs(solved.velocity - exact.velocity).max() if law == "ncp" else np.nan
            cells += [f"{1e6 * statistics.median(spent):.3g}", f"{off:.1e}" if law == "ncp" else "", str(lost)]
        rows.append(f"| {name}, {contacts:.1f} contacts | Clearance, {law} to {ACCURACY:.0e} | {' | '.join(cells)} |")
    for method, accuracy in (("ADMM", ACCURACY), ("ADMM", 1e-9), ("PGS", ACCURACY), ("PGS", 1e-9)):
        cells = []
        for start in (None, warm):
            seconds, velocities, lost = pinocchio(problems, method, accuracy, start)
            off = np.abs(np.array(velocities) - exact.velocity).max()
            cells += [f"{1e6 * statistics.mean(seconds):.3g}", f"{off:.1e}", str(lost)]
        rows.append(f"| | Pinocchio {method} to {accuracy:.0e} | {' | '.join(cells)} |")
    return rows


def robots_geometry(name: str) -> Any:
    """The geometry of a robot without the pairs that touch at rest."""
    _, geometry, _ = robots.prepared(name)
    return geometry


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path)
    a = parser.parse_args()
    out = [
        "| trajectory | solver | cold, µs | error | not converged | warm, µs | error | not converged |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in ("Solo-12", "Talos", "Allegro hand"):
        out += measure(name)
    print("\n".join(out))
    if a.page:
        a.page.write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
