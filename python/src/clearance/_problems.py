"""Contact problems of rigid bodies in batches, and their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, host, take
from ._contact_derivatives import Problem, ProblemGradient
from ._errors import ArrayError, OptionError, RowError
from ._native import named, numbers
from ._options import ArrayLike, Bools, Floats, Ints, flag, one_of, real, text, whole
from ._result import Report, report_of

Model = Literal["ncp", "ccp"]

MODELS: Final = list(get_args(Model))

STATUSES: Final = ("solved", "undecided", "invalid")

# Columns of a solution with a number for each world.
_RESIDUALS: Final = ("residual", "scale", "primal", "dual", "complementarity", "bound")


def raise_first(failed: Array, names: Sequence[str], status: Array, report: Report, what: str) -> None:
    """Raise RowError if a world has no answer."""
    if not failed.any():
        return
    message = f"{np.count_nonzero(failed)} {what} without an answer"
    error = report.error
    if error is not None:
        array, row, reason = error
        raise RowError(f"{message}; first invalid: {reason}", array, row, reason)
    at = int(np.flatnonzero(failed.ravel())[0])
    reason = names[int(status.ravel()[at])]
    raise RowError(f"{message}; first: status[{at}]: {reason}", "status", at, reason)


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The answers of W contact problems.

    ``impulse`` [W,C,3] is λ in the frame of each contact (t1, t2, n) in N·s, and acts on body b. ``velocity`` [W,B,6]
    is the velocity of each center of mass and the angular velocity. ``residual`` and ``scale`` [W], both in m/s, are
    those of the contact with the largest ratio of both: h·‖λ - Π_K(λ - (c + Γ)/h)‖ with the trace h of its block of G,
    and the largest residual of its island without impulses. A world is solved if residual ≤ tolerance·scale.
    ``primal``, ``dual``, ``complementarity`` [W] are ε_p in N·s, ε_d in m/s, ε_c in J, which decide nothing. All are
    computed anew from the impulses. They bound no error of the velocity: the ncp may have several solutions. ``bound``
    [W] is a proved bound of the error of the velocities of all contacts under the ccp, in m/s (∞ where bodies jam), and
    NaN unless it was asked for. ``status`` [W] is 0 (solved), 1 (undecided: the best impulses found) or 2 (invalid).
    """

    impulse: Floats
    velocity: Floats
    residual: Floats
    scale: Floats
    primal: Floats
    dual: Floats
    complementarity: Floats
    bound: Floats
    sweeps: Ints
    steps: Ints
    status: Ints
    record: nat.Report
    _problem: Problem | None = None

    @property
    def report(self) -> Report:
        """What became of the call: the first invalid world and its fault, the time."""
        return report_of(self.record)

    def vjp(self, *, velocity: ArrayLike | None = None, impulse: ArrayLike | None = None) -> ProblemGradient:
        """The gradients of a function with respect to all that the problems are made from, of its gradients with
        respect to ``velocity`` [W,B,6] and ``impulse`` [W,C,3] (in the frames of the contacts); None is zero.

        Derivatives are those of the contacts as they are, open, sticking or sliding, of a problem that is solved
        exactly: ask for a small ``tolerance``. Of redundant contacts (four corners of a box) velocities have
        derivatives where all of them stick, impulses the least change; where they slide the world is one_of_many,
        unless its contacts have a normal ``compliance``, which makes impulses unique.
        """
        return self._derived().vjp(velocity, impulse)

    @property
    def smoothness(self) -> Ints:
        """What the derivatives of each world are worth, [W]: see :class:`ProblemGradient`."""
        return self._derived().about.smoothness

    @property
    def smooth(self) -> Bools:
        """Worlds [W] whose derivatives hold in a neighborhood of the problem, to weight losses with."""
        return self._derived().about.smooth

    @property
    def margin(self) -> Floats:
        """How far each world is from the nearest change of a mode, [W]: see :class:`ProblemGradient`."""
        return self._derived().about.margin

    def _derived(self) -> Problem:
        if self._problem is None:
            raise OptionError("derivatives need the problems: solve them with grad=True")
        return self._problem

    @property
    def ok(self) -> Array:
        """Worlds that are solved to the tolerance."""
        solved: Array = self.status == 0
        return solved

    @property
    def failed(self) -> Array:
        """Worlds that are undecided or invalid."""
        return ~self.ok

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if a world has no answer; it names world and, if it is invalid, body or contact."""
        raise_first(self.failed, STATUSES, self.status, self.report, "worlds")

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.status == i):,} {name}" for i, name in enumerate(STATUSES))
        return f"Solution of {len(self.status):,} worlds: {counts}"


def _array(name: str, value: Any, dtype: Any, shape: tuple[int, ...]) -> Array:
    """An array of a shape of the rows of worlds."""
    return take(name, value, dtype, shape[1:], shape[0], True)


def simd_array(name: str | None) -> dict[str, Array | None]:
    """The option of that name."""
    return {"simd": None if name is None else np.frombuffer(text("simd", name).encode(), np.uint8)}


def solve(
    mass: ArrayLike,
    inertia: ArrayLike,
    velocity: ArrayLike,
    count: ArrayLike,
    body_a: ArrayLike,
    body_b: ArrayLike,
    arm_a: ArrayLike,
    arm_b: ArrayLike,
    frame: ArrayLike,
    friction: ArrayLike,
    target: ArrayLike | None = None,
    compliance: ArrayLike | None = None,
    *,
    model: Model = "ncp",
    tolerance: float = 1e-6,
    warm: ArrayLike | None = None,
    bound: bool = False,
    relaxation: float = 1.3,
    max_sweeps: int = 60,
    max_steps: int = 400,
    workers: int | None = None,
    simd: str | None = None,
    grad: bool = False,
) -> Solution:
    """Solve the contact problems of W worlds of B bodies and up to C contacts.

    mass [W,B] (inf: not moved by impulses, and no body), inertia [W,B,6] about the center of mass (xx, yy, zz, xy, xz,
    yz), velocity [W,B,6] without contact impulses (linear, angular), count int [W] of the contacts of each world.
    Contact i lies between body_a and body_b int [W,C] (-1: the world) at the arms arm_a, arm_b [W,C,3] from their
    centers of mass, with frame [W,C,3,3], whose rows are t1, t2 and the normal n from a to b, and friction [W,C].
    target [W,C] is the normal velocity asked for, compliance [W,C,2] of tangential axes and normal in 1/kg, warm
    [W,C,3] impulses to start from, in N·s in the frames of the contacts. SI units.

    ``model`` is Coulomb's law with Signorini's condition ("ncp") or its convex relaxation ("ccp"). ``tolerance`` limits
    the residual of each contact relative to the speed scale of its island, and has no unit (see :class:`Solution`).
    ``bound`` asks for the error bound of the ccp. ``simd`` names the kernels, as in :class:`Simulation`. ``grad=True``
    keeps a copy of the problems, for :meth:`Solution.vjp`. A world keeps its bits whatever worlds are beside it.
    """
    keep, code = flag("grad", grad), MODELS.index(one_of("model", model, MODELS))
    m = host("mass", mass, True)
    f = host("friction", friction, True)
    if m.ndim != 2:
        raise ArrayError("mass", f"has the shape {list(m.shape)}, want [W, B]")
    worlds, bodies = m.shape
    if f.ndim != 2:
        raise ArrayError("friction", f"has the shape {list(f.shape)}, want [{worlds}, C]")
    c = f.shape[1]
    arrays: dict[str, Array | None] = {
        "mass": _array("mass", m, np.float64, (worlds, bodies)),
        "inertia": _array("inertia", inertia, np.float64, (worlds, bodies, 6)),
        "velocity": _array("velocity", velocity, np.float64, (worlds, bodies, 6)),
        "count": _array("count", count, np.int32, (worlds,)),
        "body_a": _array("body_a", body_a, np.int32, (worlds, c)),
        "body_b": _array("body_b", body_b, np.int32, (worlds, c)),
        "arm_a": _array("arm_a", arm_a, np.float64, (worlds, c, 3)),
        "arm_b": _array("arm_b", arm_b, np.float64, (worlds, c, 3)),
        "frame": _array("frame", frame, np.float64, (worlds, c, 3, 3)),
        "friction": _array("friction", f, np.float64, (worlds, c)),
    }
    for name, value, tail in (("target", target, ()), ("compliance", compliance, (2,)), ("warm", warm, (3,))):
        if value is not None:
            arrays[name] = _array(name, value, np.float64, (worlds, c, *tail))
    out: dict[str, Array] = {
        "impulse": np.zeros((worlds, c, 3)),
        "solved_velocity": np.zeros((worlds, bodies, 6)),
        **{name: np.zeros(worlds) for name in _RESIDUALS},
        **{name: np.zeros(worlds, np.int32) for name in ("sweeps", "steps")},
        "status": np.zeros(worlds, np.uint8),
    }
    options = numbers(
        worlds=worlds,
        bodies=bodies,
        contacts=c,
        model=code,
        tolerance=real("tolerance", tolerance, 0, above=True),
        relaxation=real("relaxation", relaxation, 0, above=True),
        max_sweeps=whole("max_sweeps", max_sweeps) or -1,
        max_steps=whole("max_steps", max_steps) or -1,
        bound_wanted=int(flag("bound", bound)),
        workers=0 if workers is None else whole("workers", workers, 1),
    )
    options |= simd_array(simd)
    n = nat.native()
    given = named({**arrays, **out, **options})

    def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
        return cast(int, n.contact_solve(given, len(given), ms, job, report, error))

    report = _jobs.run(submit, (arrays, out, options, given))
    problem = Problem.of(arrays, out, code, workers or 0) if keep else None
    velocities = out.pop("solved_velocity")
    return Solution(velocity=velocities, record=report, _problem=problem, **out)
