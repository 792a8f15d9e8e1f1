"""Contact problems by their Delassus matrices: this project's solver beside ADMM and PGS of Pinocchio.

python lab/python/contact_solvers.py

Random mechanisms of N velocities and C contacts, one after the other on one core, in CPU time. All solvers get G, g and
μ; the residual is the natural map of the NCP, computed here, relative to that without impulses. It needs pin.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

from clearance import contact

SIZES = ((18, 4), (38, 8), (60, 20), (18, 16))  # the last one has more rows than velocities
WORLDS = 200
MU = 0.5


def problems(n: int, c: int, worlds: int) -> tuple[Any, Any]:
    """Delassus matrices and velocities of random mechanisms that move towards their contacts."""
    rng = np.random.default_rng(n + c)
    root = rng.normal(size=(worlds, n, n))
    mass = root @ np.swapaxes(root, 1, 2) / n + 0.3 * np.eye(n)
    rows = rng.normal(size=(worlds, 3 * c, n)) / np.sqrt(n)
    matrix = rows @ np.linalg.solve(mass, np.swapaxes(rows, 1, 2))
    # The velocity enters every contact, so that there is one that leaves them all: the problem has a solution.
    free = np.einsum("wij,wj->wi", rows, rng.normal(size=(worlds, n)))
    return 0.5 * (matrix + np.swapaxes(matrix, 1, 2)), free.reshape(worlds, c, 3)


def cone(x: Any) -> Any:
    """The points of the cones of friction that are nearest to x [..., 3]."""
    t = np.linalg.norm(x[..., :2], axis=-1)
    n = np.maximum((MU * t + x[..., 2]) / (1 + MU * MU), 0)
    n = np.where(t <= MU * x[..., 2], x[..., 2], n)
    k = np.where(t <= MU * x[..., 2], 1, MU * n / np.where(t > 0, t, 1))
    return np.concatenate([x[..., :2] * k[..., None], n[..., None]], -1)


def residuals(matrix: Any, free: Any, impulse: Any) -> Any:
    """The largest residual of the NCP of each world, relative to the largest one without impulses."""
    w, c, _ = free.shape
    h = np.einsum("wii->wi", matrix).reshape(w, c, 3).sum(-1)[..., None]

    def natural(x: Any) -> Any:
        u = (matrix @ x.reshape(w, 3 * c, 1)).reshape(w, c, 3) + free
        u[..., 2] += MU * np.linalg.norm(u[..., :2], axis=-1)
        return np.linalg.norm(h * (x - cone(x - u / h)), axis=-1).max(1)

    scale = natural(np.zeros_like(free))
    return natural(impulse) / np.where(scale > 0, scale, 1)


def of_pinocchio(kind: str, tolerance: float) -> Callable[[Any, Any], Any]:
    """A solver of Pinocchio, with its defaults but for the tolerances and a limit of 10,000 iterations."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")
    settings = getattr(pin, f"{kind}SolverSettings")()
    settings.max_iterations = 10_000
    for name in ("absolute_complementarity_tol", "absolute_feasibility_tol"):
        setattr(settings, name, tolerance)
    for name in ("relative_complementarity_tol", "relative_feasibility_tol"):
        setattr(settings, name, tolerance)

    def solve(matrix: Any, free: Any) -> Any:
        w, c, _ = free.shape
        solver = getattr(pin, f"{kind}ConstraintSolver")(3 * c)
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for _ in range(c):
            point = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
            point.setFriction(MU)
            models.append(pin.ConstraintModel(point))
            datas.append(models[-1].createData())
        given = [(np.asfortranarray(g), v.reshape(-1).copy()) for g, v in zip(matrix, free, strict=True)]
        results = [getattr(pin, f"{kind}SolverResult")() for _ in given]
        since = time.process_time()
        for (g, v), result in zip(given, results, strict=True):
            solver.solve(pin.DelassusOperatorDense(g), v, models, datas, settings, result)
        seconds = time.process_time() - since
        return np.array([r.retrieveConstraintImpulses() for r in results]).reshape(free.shape), seconds / w

    return solve


def ours(tolerance: float) -> Callable[[Any, Any], Any]:
    def solve(matrix: Any, free: Any) -> Any:
        w, c, _ = free.shape
        mu = np.full((w, c), MU)
        contact.solve_delassus(matrix, free, mu, tolerance=tolerance, workers=1)
        since = time.process_time()
        s = contact.solve_delassus(matrix, free, mu, tolerance=tolerance, workers=1)
        return s.impulse, (time.process_time() - since) / w

    return solve


def main() -> None:
    print("| velocities | contacts | solver | tolerance | µs | solved | residual, median | worst |")
    print("|---|---|---|---|---|---|---|---|")
    for n, c in SIZES:
        matrix, free = problems(n, c, WORLDS)
        for tolerance in (1e-6, 1e-10):
            for name, solve in (
                ("this project", ours(tolerance)),
                ("ADMM", of_pinocchio("ADMM", tolerance)),
                ("PGS", of_pinocchio("PGS", tolerance)),
            ):
                impulse, seconds = solve(matrix, free)
                r = residuals(matrix, free, impulse)
                share = np.mean(r <= 100 * tolerance)
                print(
                    f"| {n} | {c} | {name} | {tolerance:g} | {1e6 * seconds:.0f} "
                    f"| {share:.1%} | {np.median(r):.1e} | {r.max():.1e} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
