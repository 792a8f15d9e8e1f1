"""Contact problems of any mechanism, by mass matrices and Jacobians that other libraries compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, host, take
from ._contact_derivatives import SMOOTHNESSES, cotangent
from ._errors import ArrayError, OptionError
from ._native import named, numbers
from ._options import ArrayLike, Bools, Floats, Ints, flag, one_of, real, whole
from ._problems import MODELS, STATUSES, Model, raise_first
from ._result import Report, report_of

# The gradients in the C interface, with their axes.
_GRADIENTS: Final = ("velocity", "mass", "jacobian", "target", "friction", "compliance", "offset")


@dataclass(frozen=True, eq=False, repr=False)
class SystemGradient:
    """The gradient of a function of the solution of W problems of :func:`solve_system`, in the shapes of its arguments.

    ``mass`` [W,N,N] is by each number as if they were independent: that of a symmetric change dM is the sum of
    mass·dM. The other fields are those of :class:`ProblemGradient`.
    """

    velocity: Floats
    mass: Floats
    jacobian: Floats
    target: Floats
    friction: Floats
    compliance: Floats
    offset: Floats
    smoothness: Ints
    margin: Floats
    nearest: Ints
    adjoint_residual: Floats
    mode: Ints

    @property
    def smooth(self) -> Bools:
        """Worlds [W] whose gradients are those of the solution in a neighborhood, to weight losses with."""
        worlds: Bools = self.smoothness == 0
        return worlds

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.smoothness == i):,} {name}" for i, name in enumerate(SMOOTHNESSES))
        return f"SystemGradient of {len(self.smoothness):,} worlds: {counts}"


@dataclass(frozen=True, eq=False, repr=False)
class SystemSolution:
    """The answers of W problems of :func:`solve_system`: ``impulse`` [W,C,3] along t1, t2 and n, ``velocity`` [W,N],
    and ``residual``, ``scale``, ``primal``, ``dual``, ``complementarity``, ``bound``, ``steps`` and ``status`` [W] as
    those of :class:`Solution`."""

    impulse: Floats
    velocity: Floats
    residual: Floats
    scale: Floats
    primal: Floats
    dual: Floats
    complementarity: Floats
    bound: Floats
    steps: Ints
    status: Ints
    record: nat.Report
    _problem: dict[str, Array]
    _options: dict[str, Array | None]

    @property
    def report(self) -> Report:
        """What became of the call: the first invalid world and its fault, the time."""
        return report_of(self.record)

    @property
    def ok(self) -> Array:
        """Worlds that are solved to the tolerance."""
        solved: Array = self.status == 0
        return solved

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if a world has no answer; it names the first one and, if it is invalid, why."""
        raise_first(~self.ok, STATUSES, self.status, self.report, "worlds")

    def vjp(self, *, velocity: ArrayLike | None = None, impulse: ArrayLike | None = None) -> SystemGradient:
        """The gradients of a function with respect to all that the problems are made from, by its gradients with
        respect to ``velocity`` [W,N] and ``impulse`` [W,C,3]; None is zero. The arrays of the problems must not have
        changed since. See :meth:`Solution.vjp` for what derivatives are worth."""
        if velocity is None and impulse is None:
            raise OptionError("vjp: no cotangent; want velocity or impulse")
        w, n = self.velocity.shape
        c = self.impulse.shape[1]
        given = {"velocity_bar": cotangent("velocity", velocity, (w, n))}
        if impulse is not None:
            given["impulse_bar"] = cotangent("impulse", impulse, (w, c, 3))
        shapes = {
            "velocity": (w, n),
            "mass": (w, n, n),
            "jacobian": (w, c, 3, n),
            "target": (w, c),
            "friction": (w, c),
            "compliance": (w, c, 2),
            "offset": (w, c, 3),
        }
        out: dict[str, Array] = {f"{name}_gradient": np.zeros(shapes[name]) for name in _GRADIENTS}
        _multiply(self, given, out)
        return SystemGradient(**{name.removesuffix("_gradient"): a for name, a in out.items()})

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.status == i):,} {name}" for i, name in enumerate(STATUSES))
        return f"SystemSolution of {len(self.status):,} worlds: {counts}"


def _multiply(s: SystemSolution | DelassusSolution, given: dict[str, Array], out: dict[str, Array]) -> None:
    """Fill the gradients ``out`` of a solution, and its report, by cotangents."""
    w, c = s.impulse.shape[:2]
    out |= {"margin": np.zeros(w), "adjoint_residual": np.zeros(w), "nearest": np.zeros(w, np.int32)}
    out |= {"smoothness": np.zeros(w, np.uint8), "mode": np.zeros((w, c), np.uint8)}
    own = {"impulse": s.impulse, "residual": s.residual, "status": s.status}
    records = named({**s._problem, **own, **given, **out, **s._options})

    def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        return cast(int, nat.native().system_vjp(records, len(records), ms, job, report, error))

    _jobs.run(submit, (s, given, out, records))


def _solve(
    problem: dict[str, Array], start: dict[str, Array], n: tuple[int, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """The fields of the solution of problems whose velocities have the shape n."""
    w, c = problem["friction"].shape
    out: dict[str, Array] = {"impulse": np.zeros((w, c, 3)), "solved_velocity": np.zeros((w, *n))}
    out |= {name: np.zeros(w) for name in ("residual", "scale", "primal", "dual", "complementarity", "bound")}
    out |= {"steps": np.zeros(w, np.int32), "status": np.zeros(w, np.uint8)}
    settings = numbers(
        worlds=w,
        contacts=c,
        model=MODELS.index(one_of("model", options["model"], MODELS)),
        tolerance=real("tolerance", options["tolerance"], 0, above=True),
        max_steps=whole("max_steps", options["max_steps"], 1),
        bound_wanted=int(flag("bound", options["bound"])),
        workers=0 if options["workers"] is None else whole("workers", options["workers"], 1),
        **({} if "delassus" in problem else {"velocities": n[0]}),
    )
    records = named({**problem, **start, **out, **settings})

    def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        return cast(int, nat.native().system_solve(records, len(records), ms, job, report, error))

    report = _jobs.run(submit, (problem, start, out, settings, records))
    return out | {
        "velocity": out.pop("solved_velocity"),
        "record": report,
        "_problem": problem,
        "_options": settings,
    }


def solve_system(
    mass: ArrayLike,
    jacobian: ArrayLike,
    velocity: ArrayLike,
    friction: ArrayLike,
    target: ArrayLike | None = None,
    compliance: ArrayLike | None = None,
    *,
    count: ArrayLike | None = None,
    offset: ArrayLike | None = None,
    warm: ArrayLike | None = None,
    model: Model = "ncp",
    tolerance: float = 1e-6,
    max_steps: int = 400,
    bound: bool = False,
    workers: int | None = None,
) -> SystemSolution:
    """Solve the contact problems of W mechanisms of N velocities with up to C contacts, dense in float64.

    mass [W,N,N] is the mass matrix, symmetric and positive definite, velocity [W,N] the velocity without contact
    impulses. jacobian [W,C,3,N] takes velocities to those of each contact along t1, t2 and n, of its second body
    relative to the first; friction [W,C]. target [W,C] is the normal velocity asked for, compliance [W,C,2] of the
    tangents and the normal, offset [W,C,3] what is added to the velocities Jv of the contacts, as that of a conveyor,
    warm [W,C,3] impulses to start from. count int [W] are the contacts of each world (default: C). Libraries of robots
    compute M and J, as :mod:`clearance.pinocchio` does with Pinocchio.

    ``model``, ``tolerance`` and ``bound`` are those of :func:`solve`; velocities that are joined by a number of M or by
    a contact are an island, and ``max_steps`` limits the factorizations of each.
    """
    v = host("velocity", velocity, True)
    if v.ndim != 2:
        raise ArrayError("velocity", f"has the shape {list(v.shape)}, want [W, N]")
    w, n = v.shape
    f = host("friction", friction, True)
    if f.ndim != 2 or len(f) != w:
        raise ArrayError("friction", f"has the shape {list(f.shape)}, want [{w}, C]")
    c = f.shape[1]
    problem: dict[str, Array] = {
        "mass": take("mass", mass, np.float64, (n, n), w, True),
        "jacobian": take("jacobian", jacobian, np.float64, (c, 3, n), w, True),
        "velocity": take("velocity", v, np.float64, (n,), w, True),
        "friction": take("friction", f, np.float64, (c,), w, True),
        "count": np.full(w, c, np.int32) if count is None else take("count", count, np.int32, (), w, True),
    }
    for name, value, tail in (("target", target, ()), ("compliance", compliance, (2,)), ("offset", offset, (3,))):
        if value is not None:
            problem[name] = take(name, value, np.float64, (c, *tail), w, True)
    start = {} if warm is None else {"warm": take("warm", warm, np.float64, (c, 3), w, True)}
    options = {"model": model, "tolerance": tolerance, "max_steps": max_steps, "bound": bound, "workers": workers}
    return SystemSolution(**_solve(problem, start, (n,), options))


@dataclass(frozen=True, eq=False, repr=False)
class DelassusGradient:
    """The gradient of a function of the solution of W problems of :func:`solve_delassus`, in the shapes of its
    arguments. ``delassus`` is by each number as if they were independent. The other fields are those of
    :class:`ProblemGradient`."""

    delassus: Floats
    free: Floats
    friction: Floats
    target: Floats
    compliance: Floats
    smoothness: Ints
    margin: Floats
    nearest: Ints
    adjoint_residual: Floats
    mode: Ints


@dataclass(frozen=True, eq=False, repr=False)
class DelassusSolution:
    """The answers of W problems of :func:`solve_delassus`: ``impulse`` λ and ``velocity`` Gλ + g [W,C,3], along t1, t2
    and n; ``residual``, ``scale``, ``primal``, ``dual``, ``complementarity``, ``bound``, ``steps`` and ``status`` [W]
    as those of :class:`Solution`."""

    impulse: Floats
    velocity: Floats
    residual: Floats
    scale: Floats
    primal: Floats
    dual: Floats
    complementarity: Floats
    bound: Floats
    steps: Ints
    status: Ints
    record: nat.Report
    _problem: dict[str, Array]
    _options: dict[str, Array | None]

    @property
    def report(self) -> Report:
        """What became of the call: the first invalid world and its fault, the time."""
        return report_of(self.record)

    @property
    def ok(self) -> Array:
        """Worlds that are solved to the tolerance."""
        solved: Array = self.status == 0
        return solved

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if a world has no answer."""
        raise_first(~self.ok, STATUSES, self.status, self.report, "worlds")

    def vjp(self, *, velocity: ArrayLike | None = None, impulse: ArrayLike | None = None) -> DelassusGradient:
        """The gradients of a function by its gradients with respect to ``velocity`` and ``impulse`` [W,C,3]."""
        if velocity is None and impulse is None:
            raise OptionError("vjp: no cotangent; want velocity or impulse")
        w, c = self.impulse.shape[:2]
        given = {"velocity_bar": cotangent("velocity", velocity, (w, c, 3))}
        if impulse is not None:
            given["impulse_bar"] = cotangent("impulse", impulse, (w, c, 3))
        shapes = {"delassus": (w, 3 * c, 3 * c), "offset": (w, c, 3), "friction": (w, c), "target": (w, c)}
        out: dict[str, Array] = {f"{name}_gradient": np.zeros(shape) for name, shape in shapes.items()}
        out["compliance_gradient"] = np.zeros((w, c, 2))
        _multiply(self, given, out)
        fields = {name.removesuffix("_gradient"): a for name, a in out.items()}
        return DelassusGradient(free=fields.pop("offset"), **fields)

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.status == i):,} {name}" for i, name in enumerate(STATUSES))
        return f"DelassusSolution of {len(self.status):,} worlds: {counts}"


def solve_delassus(
    delassus: ArrayLike,
    free: ArrayLike,
    friction: ArrayLike,
    target: ArrayLike | None = None,
    compliance: ArrayLike | None = None,
    *,
    count: ArrayLike | None = None,
    warm: ArrayLike | None = None,
    model: Model = "ncp",
    tolerance: float = 1e-6,
    max_steps: int = 400,
    bound: bool = False,
    workers: int | None = None,
) -> DelassusSolution:
    """Solve W contact problems by their Delassus matrices G = JM⁻¹Jᵀ [W,3C,3C], symmetric and positive semidefinite,
    and the velocities g of the contacts without impulses, ``free`` [W,C,3]: rows t1, t2, n of each contact. Other
    arguments are those of :func:`solve_system`, which solves them with M = 1 and G = JJᵀ."""
    g = host("free", free, True)
    if g.ndim != 3 or g.shape[2] != 3:
        raise ArrayError("free", f"has the shape {list(g.shape)}, want [W, C, 3]")
    w, c = g.shape[:2]
    problem: dict[str, Array] = {
        "delassus": take("delassus", delassus, np.float64, (3 * c, 3 * c), w, True),
        "offset": take("free", g, np.float64, (c, 3), w, True),
        "friction": take("friction", friction, np.float64, (c,), w, True),
        "count": np.full(w, c, np.int32) if count is None else take("count", count, np.int32, (), w, True),
    }
    if target is not None:
        problem["target"] = take("target", target, np.float64, (c,), w, True)
    if compliance is not None:
        problem["compliance"] = take("compliance", compliance, np.float64, (c, 2), w, True)
    start = {} if warm is None else {"warm": take("warm", warm, np.float64, (c, 3), w, True)}
    options = {"model": model, "tolerance": tolerance, "max_steps": max_steps, "bound": bound, "workers": workers}
    return DelassusSolution(**_solve(problem, start, (c, 3), options))
