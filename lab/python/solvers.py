"""Solvers of contact problems beside MuJoCo's and Pinocchio's, on the same contacts.

    pip install mujoco==4.0.0 pin==4.1.0
    batchbench step --scene stack8 --count 64 --steps 100 --every 100 --problems stack8.npz --out states.npz
    python lab/python/solvers.py stack8.npz [more.npz] [--rounds 3] [--note "..."] [--out page.md]

Every solver gets the contacts, masses, free velocities, targets and warm impulses of the file. The residuals of every
answer are computed here from its impulses alone, of Coulomb's law (ncp) and of its convex relaxation (ccp) without
compliance. Times are CPU time of a core a problem, the median of rounds that alternate between the solvers.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from clearance import contact

STEP: Final = 0.005  # Δt of the problems, in seconds
IMPEDANCE: Final = 0.9999  # of MuJoCo's constraints, the largest that it takes
HEADS: Final = (
    "problems",
    "solver",
    "warm, µs",
    "cold, µs",
    "theirs / ours, warm",
    "cold",
    "ncp residual",
    "ccp residual",
    "not converged",
)
MODULES: Final = {"mujoco": "mujoco", "pin": "pinocchio"}  # by the name of the package
WORLDS: Final = 1024
BODIES: Final = ("mass", "inertia", "velocity", "count")
CONTACTS: Final = ("body_a", "body_b", "arm_a", "arm_b", "frame", "friction", "target")

# An answer: the impulses [C,3] in the frames t1, t2, n, and whether the solver says that it has converged.
Answer = tuple[Any, bool]


@dataclass
class Problem:
    """The contact problem of a world, of C contacts and the B bodies that impulses move."""

    mass: Any  # [B]
    inertia: Any  # [B,6]
    velocity: Any  # [B,6] without impulses
    bodies: Any  # [C,2], -1: a body that is not moved
    arms: Any  # [C,2,3]
    frame: Any  # [C,3,3]
    friction: Any  # [C]
    target: Any  # [C]
    warm: Any  # [C,3]

    def __post_init__(self) -> None:
        """Forms J [3C,6B] and M⁻¹, by which residuals are computed."""
        n = len(self.mass)
        self.inverse = np.zeros((6 * n, 6 * n))
        for b, (mass, i) in enumerate(zip(self.mass, self.inertia, strict=True)):
            full = np.array([[i[0], i[3], i[4]], [i[3], i[1], i[5]], [i[4], i[5], i[2]]])
            self.inverse[6 * b : 6 * b + 3, 6 * b : 6 * b + 3] = np.eye(3) / mass
            self.inverse[6 * b + 3 : 6 * b + 6, 6 * b + 3 : 6 * b + 6] = np.linalg.inv(full)
        self.jacobian = np.zeros((3 * len(self.friction), 6 * n))
        for c, (pair, arms, q) in enumerate(zip(self.bodies, self.arms, self.frame, strict=True)):
            for b, arm, sign in zip(pair, arms, (-1, 1), strict=True):
                rows = self.jacobian[3 * c : 3 * c + 3]
                if b >= 0:
                    rows[:, 6 * b : 6 * b + 3] = sign * q
                    rows[:, 6 * b + 3 : 6 * b + 6] = sign * np.cross(arm, q)

    def free(self) -> Any:
        """The relative velocities at the contacts without impulses, less the targets [C,3]."""
        g = (self.jacobian @ self.velocity.ravel()).reshape(-1, 3)
        g[:, 2] -= self.target
        return g

    def residual(self, impulse: Any, law: str) -> float:
        """The largest of ε_p in N·s, ε_d in m/s and ε_c in J."""
        c = self.free() + (self.jacobian @ (self.inverse @ (self.jacobian.T @ impulse.ravel()))).reshape(-1, 3)
        if law == "ncp":
            c[:, 2] += self.friction * np.hypot(c[:, 0], c[:, 1])
        return float(
            max(
                cone_distance(impulse, self.friction).max(),
                dual_distance(c, self.friction).max(),
                np.abs(np.sum(impulse * c, axis=1)).max(),
            )
        )


def cone_distance(x: Any, slope: Any) -> Any:
    """The distance of vectors x [C,3] from the cones |x_T| ≤ slope·x_N."""
    tangent, normal = np.hypot(x[:, 0], x[:, 1]), x[:, 2]
    beside = (tangent - slope * normal) / np.sqrt(1 + slope**2)
    beyond = slope * tangent + normal < 0  # nearest to the apex
    return np.where(beyond, np.hypot(tangent, normal), np.maximum(beside, 0))


def dual_distance(x: Any, friction: Any) -> Any:
    """The distance of vectors x [C,3] from the cones x_N ≥ friction·|x_T|."""
    tangent, normal = np.hypot(x[:, 0], x[:, 1]), x[:, 2]
    beside = (friction * tangent - normal) / np.sqrt(1 + friction**2)
    beyond = tangent + friction * normal < 0
    return np.where(beyond, np.hypot(tangent, normal), np.maximum(beside, 0))


def read(path: Path) -> tuple[list[Problem], dict[str, Any]]:
    """The problems of the last step of a file, as worlds and as columns."""
    with np.load(path) as f:
        last = f["step"] == f["step"].max()
        columns = {k: f[k][last] for k in f.files if f[k].ndim and len(f[k]) == len(last)}
    worlds, bodies = columns["mass"].shape
    for name, tail in (
        ("inertia", (6,)),
        ("velocity", (6,)),
        ("arm_a", (3,)),
        ("arm_b", (3,)),
        ("frame", (3, 3)),
        ("warm", (3,)),
    ):
        columns[name] = columns[name].reshape(worlds, -1, *tail)
    assert not columns["compliance"].any()
    list_of = []
    for w in range(worlds):
        moved = np.flatnonzero(np.isfinite(columns["mass"][w]))
        index = np.full(bodies + 1, -1)
        index[moved] = np.arange(len(moved))
        n = columns["count"][w]
        pairs = np.stack([columns["body_a"][w, :n], columns["body_b"][w, :n]], axis=1)
        arms = np.stack([columns["arm_a"][w, :n], columns["arm_b"][w, :n]], axis=1)
        list_of.append(
            Problem(
                columns["mass"][w, moved],
                columns["inertia"][w, moved],
                columns["velocity"][w, moved],
                index[pairs],
                arms,
                columns["frame"][w, :n],
                columns["friction"][w, :n],
                columns["target"][w, :n],
                columns["warm"][w, :n],
            )
        )
    return list_of, columns


Solver = Callable[[bool], tuple[float, list[Answer]]]


def ours(problems: list[Problem], columns: dict[str, Any], model: Any, tolerance: float) -> Solver:
    """Copies of all worlds, at least WORLDS, in one call by one worker; the time of a problem is a share of it."""
    most, copies = int(columns["count"].max()), -(-WORLDS // len(problems))

    def batch(name: str) -> Any:
        x = columns[name]
        return np.concatenate([x if name in BODIES else x[:, :most]] * copies)

    args, impulses = [batch(k) for k in (*BODIES, *CONTACTS)], batch("warm")

    def solver(warm: bool) -> tuple[float, list[Answer]]:
        start, calls = time.process_time(), 0
        while True:
            s = contact.solve(*args, model=model, tolerance=tolerance, warm=impulses if warm else None, workers=1)
            calls += 1
            if calls >= 3 and time.process_time() - start > 0.3:
                break
        used = (time.process_time() - start) / calls / len(args[0])
        failed = np.asarray(s.failed)
        return used, [(s.impulse[w, : len(p.friction)], not failed[w]) for w, p in enumerate(problems)]

    return solver


def timed(call: Callable[[], None], reset: Callable[[], None], least: float = 0.004) -> float:
    """The CPU time of a call of this thread, without that of the reset before each."""
    total, calls = 0.0, 0
    while calls < 3 or total < least:
        reset()
        start = time.thread_time_ns()
        call()
        total += 1e-9 * (time.thread_time_ns() - start)
        calls += 1
    return total / calls


def one_by_one(problems: list[Problem], prepare: Callable[[Problem, bool], Any]) -> Solver:
    """Each problem by itself: ``prepare`` returns the call, a reset, and the answer of the last call."""

    def solver(warm: bool) -> tuple[float, list[Answer]]:
        used, answers = 0.0, []
        for p in problems:
            call, reset, answer = prepare(p, warm)
            used += timed(call, reset)
            answers.append(answer())
        return used / len(problems), answers

    return solver


def places(p: Problem) -> Any:
    """Positions of the bodies [B,3] by which the arms of each contact end in one point."""
    at = np.full((len(p.mass), 3), np.nan)
    for _ in range(len(p.mass)):
        for (a, b), (arm_a, arm_b) in zip(p.bodies, p.arms, strict=True):
            # The arm of a body that is not moved runs from its own center, which is the origin of all.
            if not np.isnan(at).any():
                return at
            if b >= 0 and np.isnan(at[b, 0]) and (a < 0 or not np.isnan(at[a, 0])):
                at[b] = (at[a] if a >= 0 else 0) + arm_a - arm_b
            elif a >= 0 and np.isnan(at[a, 0]) and (b < 0 or not np.isnan(at[b, 0])):
                at[a] = (at[b] if b >= 0 else 0) + arm_b - arm_a
    return np.nan_to_num(at)


def mujoco_peer(solver: str, tolerance: float = 1e-8, impedance: float = IMPEDANCE) -> Callable[[Problem, bool], Any]:
    mj: Any = importlib.import_module("mujoco")

    def model_of(p: Problem, at: Any, warm: bool) -> Any:
        text = "".join(
            f'<body pos="{x[0]!r} {x[1]!r} {x[2]!r}"><freejoint/><inertial pos="0 0 0" mass="{m!r}" '
            f'fullinertia="{" ".join(repr(float(v)) for v in i)}"/>'
            '<geom type="sphere" size="0.01" contype="0" conaffinity="0"/></body>'
            for x, m, i in zip(at.tolist(), p.mass.tolist(), p.inertia, strict=True)
        )
        flag = "" if warm else '<flag warmstart="disable"/>'
        return mj.MjModel.from_xml_string(
            f'<mujoco><option timestep="{STEP}" gravity="0 0 0" cone="elliptic" solver="{solver}" iterations="1000" '
            f'tolerance="{tolerance}" jacobian="dense">{flag}</option><worldbody>'
            '<geom type="sphere" size="0.01" contype="0" conaffinity="0"/>' + text + "</worldbody></mujoco>"
        )

    def contact_of(p: Problem, at: Any, c: int) -> Any:
        """A contact whose normal velocity ends at the target and whose slip ends at zero, after one step."""
        found = mj.MjContact()
        q = p.frame[c]
        found.geom = p.bodies[c] + 1
        found.geom1, found.geom2 = (int(b) + 1 for b in p.bodies[c])
        found.flex = found.elem = found.vert = (-1, -1)
        a, b = p.bodies[c]
        found.pos = (at[b] + p.arms[c, 1]) if b >= 0 else (at[a] + p.arms[c, 0])
        found.frame = np.concatenate([q[2], q[0], q[1]])
        found.dim, found.dist, found.includemargin, found.exclude = 3, -p.target[c] * STEP, 0, 0
        found.friction = (p.friction[c], p.friction[c], 0.005, 1e-4, 1e-4)
        found.solref = (-impedance / STEP**2, -impedance / STEP)
        found.solimp = (impedance, impedance, 0.001, 0.5, 2)
        return found

    def prepare(p: Problem, warm: bool) -> Any:
        at = places(p)
        m = model_of(p, at, warm)
        d = mj.MjData(m)
        d.qvel[:] = p.velocity.ravel()
        mj.mj_fwdPosition(m, d)
        for c in range(len(p.friction)):
            assert mj.mj_addContact(m, d, contact_of(p, at, c)) == 0
        mj.mj_makeConstraint(m, d)
        mj.mj_island(m, d)
        mj.mj_projectConstraint(m, d)
        mj.mj_fwdVelocity(m, d)
        d.qfrc_applied[:] = d.qfrc_bias  # gyroscopic terms are in the free velocities
        mj.mj_fwdActuation(m, d)
        mj.mj_fwdAcceleration(m, d)
        start = p.inverse @ (p.jacobian.T @ p.warm.ravel()) / STEP

        def reset() -> None:
            d.qacc_warmstart[:] = start

        def answer() -> Answer:
            force = np.array([d.efc_force[k : k + 3] for k in d.contact.efc_address[: d.ncon]])
            steps = int(d.solver_niter[: max(1, d.nisland)].max())
            return force[:, [1, 2, 0]] * STEP, steps < m.opt.iterations

        return (lambda: mj.mj_fwdConstraint(m, d)), reset, answer

    return prepare


def pinocchio_peer(method: str, tolerance: float) -> Callable[[Problem, bool], Any]:
    pin: Any = importlib.import_module("pinocchio")
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "body")

    def prepare(p: Problem, warm: bool) -> Any:
        delassus = pin.DelassusOperatorDense(p.jacobian @ p.inverse @ p.jacobian.T)
        g, first = p.free().ravel(), p.warm.ravel()
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for mu in p.friction:
            point = pin.PointContactConstraintModel(model, 0, pin.SE3.Identity(), 1, pin.SE3.Identity())
            point.setFriction(float(mu))
            models.append(pin.ConstraintModel(point))
            datas.append(models[len(models) - 1].createData())
        settings = getattr(pin, f"{method}SolverSettings")()
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = tolerance
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0
        settings.max_iterations = 1000
        solver = getattr(pin, f"{method}ConstraintSolver")(len(g))
        result = getattr(pin, f"{method}SolverResult")()

        def reset() -> None:
            result.reset()
            if warm:
                result.setConstraintImpulseGuess(first)

        def answer() -> Answer:
            return np.array(result.retrieveConstraintImpulses()).reshape(-1, 3), bool(result.converged)

        return (lambda: solver.solve(delassus, g, models, datas, settings, result)), reset, answer

    return prepare


def candidates(problems: list[Problem], columns: dict[str, Any]) -> dict[str, tuple[Solver, str]]:
    """The solvers by name, each with that of Clearance that it is compared with."""
    found: dict[str, tuple[Solver, str]] = {}
    equal = 1e-6
    for package, module in MODULES.items():
        try:
            importlib.import_module(module)
        except ImportError as e:
            print(f"{package}: {e}: left out")
            continue
        if package == "mujoco":
            for name in ("Newton", "CG", "PGS"):
                found[f"MuJoCo {name}"] = one_by_one(problems, mujoco_peer(name)), OURS_EQUAL
            found["MuJoCo Newton, tolerance 1e-4"] = one_by_one(problems, mujoco_peer("Newton", 1e-4)), OURS_EQUAL
            found["MuJoCo Newton, impedance 0.95"] = one_by_one(problems, mujoco_peer("Newton", 1e-8, 0.95)), ""
            _, answers = found["MuJoCo Newton"][0](True)
            most = equal = max(1e-6, typical(problems, answers, "ccp"))
            while typical(problems, ours(problems, columns, "ccp", equal)(True)[1], "ccp") > most and equal > 1e-6:
                equal /= 2  # a tolerance is relative to a speed scale, this residual a number in N·s, m/s or J
        else:
            for name in ("ADMM", "PGS"):
                found[f"Pinocchio {name}"] = one_by_one(problems, pinocchio_peer(name, 1e-6)), OURS_NCP
    own = {
        OURS_NCP: (ours(problems, columns, "ncp", 1e-6), ""),
        "Clearance, ccp to 1e-6": (ours(problems, columns, "ccp", 1e-6), ""),
        OURS_EQUAL: (ours(problems, columns, "ccp", equal), ""),
    }
    return own | found


def versions() -> list[str]:
    found = []
    for package in MODULES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def typical(problems: list[Problem], answers: list[Answer], law: str) -> float:
    return float(np.median([p.residual(a[0], law) for p, a in zip(problems, answers, strict=True)]))


OURS_NCP: Final = "Clearance, ncp to 1e-6"
OURS_EQUAL: Final = "Clearance, ccp to MuJoCo's residual"


def measured(path: Path, rounds: int) -> list[str]:
    problems, columns = read(path)
    times: dict[tuple[str, bool], list[float]] = {}
    answers: dict[str, list[Answer]] = {}
    solvers = candidates(problems, columns)
    for _ in range(rounds):
        for name, (solver, _) in solvers.items():
            for warm in (False, True):
                used, answers[name] = solver(warm)
                times.setdefault((name, warm), []).append(used)
    rows = []
    contacts = np.mean([len(p.friction) for p in problems])
    for i, (name, (_, beside)) in enumerate(solvers.items()):
        cells = [f"{path.stem}, {contacts:.3g} contacts" if i == 0 else "", name]
        middle = [float(np.median(times[name, warm])) for warm in (True, False)]
        cells += [f"{1e6 * x:.3g}" for x in middle]
        both = zip(middle, (True, False), strict=True)
        cells += [f"{x / float(np.median(times[beside, warm])):.2g}" if beside else "" for x, warm in both]
        cells += [f"{typical(problems, answers[name], law):.1e}" for law in ("ncp", "ccp")]
        cells += [str(sum(not a[1] for a in answers[name]))]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="solvers of contact problems beside MuJoCo's and Pinocchio's")
    parser.add_argument("problems", type=Path, nargs="+", help="files of batchbench step --problems, .npz")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--note", default="", help="a sentence of the page about the machine")
    parser.add_argument("--out", type=Path, help="write the page to a file")
    options = parser.parse_args()
    page = [
        "# Contact solvers beside MuJoCo's and Pinocchio's",
        "",
        f"`lab/python/solvers.py`, {platform.machine()}, one core, medians of {options.rounds} rounds in turns.",
        f"{', '.join(versions()) or 'No peers'}. Problems of steps of {1e3 * STEP:g} ms.",
        "",
        f"| {' | '.join(HEADS)} |",
        "|---|---|" + "--:|" * (len(HEADS) - 2),
    ]
    for path in options.problems:
        page += measured(path, options.rounds)
    page += ["", HOW]
    page += ["", options.note] if options.note else []
    print("\n".join(page))
    if options.out:
        options.out.write_text("\n".join(page) + "\n", encoding="utf-8")


HOW: Final = """\
Every solver has the same contacts, free velocities and targets. Times are CPU time a problem: of Clearance a share of a
call for 1,024 worlds with one worker, its copies of columns and residuals included; of MuJoCo `mj_fwdConstraint` alone,
after `mj_makeConstraint` and `mj_projectConstraint`; of Pinocchio `solve` with a dense Delassus matrix that is given.
Warm solves start from the impulses of the step before, and residuals are of their answers: the median of max(ε_p, ε_d,
ε_c), computed from impulses by this script, without compliance. These are numbers in N·s, m/s and J, by which all
solvers can be compared. What ends a solve of Clearance is its tolerance, 1e-6: the natural residual of every contact in
m/s, relative to the speed scale of its island ([contacts](../../docs/contacts.md)). MuJoCo is compared with Clearance
at the ccp residual of MuJoCo's Newton solver or less (to 1e-6), Pinocchio with the ncp to 1e-6.

What differs:

- MuJoCo solves a convex problem with a compliance of 1e-4 of the diagonal of G, the least that it takes (an impedance
  of 0.9999); `solref` makes its targets those of the file. What this compliance leaves is its ccp residual. It is not
  what MuJoCo is made for: by default the impedance is 0.9 to 0.95, which is faster and softer, see the row. Bodies that
  slide separate at μ times the slip in every ccp, which is its ncp residual, and ours of the ccp.
- Pinocchio solves the ncp, and decides by its own residuals whether it has converged.
- Drake is left out: `pydrake` 1.51.1 has no call that solves given contacts by SAP, and its steps find their own."""


if __name__ == "__main__":
    main()
