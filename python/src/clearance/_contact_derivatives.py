"""Derivatives of the solutions of contact problems: gradients of a function of velocities and impulses with respect to
all that the problems are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, host, take
from ._errors import OptionError
from ._native import named, numbers
from ._options import Bools, Floats, Ints

# What the derivative of a world is worth, and what a contact does at the solution.
SMOOTHNESSES: Final = ("smooth", "boundary", "one_of_many", "none")
MODES: Final = ("open", "stick", "slide")

# The parameters of a problem that have gradients, with their axes: bodies or contacts, and numbers of each.
PARAMETERS: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "mass": ("bodies", ()),
    "inertia": ("bodies", (6,)),
    "velocity": ("bodies", (6,)),
    "arm_a": ("contacts", (3,)),
    "arm_b": ("contacts", (3,)),
    "frame": ("contacts", (3, 3)),
    "friction": ("contacts", ()),
    "target": ("contacts", ()),
    "compliance": ("contacts", (2,)),
}


@dataclass(frozen=True, eq=False, repr=False)
class ProblemGradient:
    """The gradient of a function of the solution of W contact problems.

    Arrays have the shapes of the arguments of :func:`solve`, and the units of the function by theirs. ``mass`` and
    ``inertia`` are zero for bodies that impulses do not move; a product of inertia (xy, xz, yz) stands in both halves
    of the matrix. ``frame`` is by each number of t1, t2, n as if they were independent; ``normal`` [W,C,3] follows from
    it, by n, where the frame rotates with n by the least angle. ``friction`` of a contact without friction is from
    above. Gradients beyond ``count`` are zero.

    ``smoothness`` [W] says what they are worth: 0 smooth; 1 boundary, a contact is about to change its mode, and they
    are those of the present modes, from one side; 2 one_of_many, contacts that slide share their load in more than one
    way, and they depend on the way; 3 none, the world has no solution, and they are zero. ``margin`` [W] is how far the
    world is from the nearest change of a mode, that of contact ``nearest`` [W] (-1: none), relative to the speed of its
    island. ``adjoint_residual`` [W] is the relative residual of the linear system. ``mode`` [W,C]: 0 open, 1 stick,
    2 slide.
    """

    velocity: Floats
    mass: Floats
    inertia: Floats
    arm_a: Floats
    arm_b: Floats
    frame: Floats
    normal: Floats
    target: Floats
    friction: Floats
    compliance: Floats
    smoothness: Ints
    margin: Floats
    nearest: Ints
    adjoint_residual: Floats
    mode: Ints

    @property
    def smoothness_names(self) -> Array:
        """The names of ``smoothness``."""
        return np.array(SMOOTHNESSES)[self.smoothness]

    @property
    def mode_names(self) -> Array:
        """The names of ``mode``."""
        return np.array(MODES)[self.mode]

    @property
    def smooth(self) -> Bools:
        """Worlds [W] whose gradients are those of the solution in a neighborhood, to weight losses with."""
        worlds: Bools = self.smoothness == 0
        return worlds

    def __repr__(self) -> str:
        counts = ", ".join(f"{np.count_nonzero(self.smoothness == i):,} {name}" for i, name in enumerate(SMOOTHNESSES))
        return f"ProblemGradient of {len(self.smoothness):,} worlds: {counts}"


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem with its solution. Nobody else has the arrays."""

    arrays: dict[str, Array]  # by their names in the C interface
    model: int
    workers: int

    @staticmethod
    def of(arrays: dict[str, Array | None], out: dict[str, Array], model: int, workers: int) -> Problem:
        """Copies of the arrays of a call of solve."""
        kept = {name: np.array(a) for name, a in arrays.items() if a is not None and name != "warm"}
        kept |= {name: out[name].copy() for name in ("impulse", "residual", "status")}
        return Problem(kept, model, workers)

    @property
    def sizes(self) -> dict[str, int]:
        worlds, bodies = self.arrays["mass"].shape
        return {"worlds": worlds, "bodies": bodies, "contacts": self.arrays["friction"].shape[1]}

    @cached_property
    def about(self) -> ProblemGradient:
        """The gradient of nothing, which says what derivatives are worth."""
        return self.vjp(np.zeros(self.arrays["velocity"].shape), None)

    def vjp(self, velocity: Any, impulse: Any, wanted: Sequence[str] = (*PARAMETERS, "normal")) -> ProblemGradient:
        """See :meth:`Solution.vjp`."""
        if velocity is None and impulse is None:
            raise OptionError("vjp: no cotangent; want velocity or impulse")
        size = self.sizes
        w, b, c = size.values()
        given = {"velocity_bar": cotangent("velocity", velocity, (w, b, 6))}
        if impulse is not None:
            given["impulse_bar"] = cotangent("impulse", impulse, (w, c, 3))
        out: dict[str, Array] = {}
        for name, (axis, tail) in {**PARAMETERS, "normal": ("contacts", (3,))}.items():
            out[f"{name}_gradient"] = np.zeros((w, size[axis], *tail))
        out |= {"margin": np.zeros(w), "adjoint_residual": np.zeros(w), "nearest": np.zeros(w, np.int32)}
        out |= {"smoothness": np.zeros(w, np.uint8), "mode": np.zeros((w, c), np.uint8)}
        asked = {name: a for name, a in out.items() if name.removesuffix("_gradient") in wanted or "_grad" not in name}
        options = numbers(**size, model=self.model, workers=self.workers)
        records = named({**self.arrays, **given, **asked, **options})

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, nat.native().contact_vjp(records, len(records), ms, job, report, error))

        _jobs.run(submit, (self, given, out, options, records))
        return ProblemGradient(**{name.removesuffix("_gradient"): a for name, a in out.items()})


def cotangent(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """A gradient of a function as an array of a shape, zero if it is None."""
    if value is None:
        return np.zeros(shape)
    array = host(name, value, True)
    if array.shape == shape[len(shape) - array.ndim :]:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(take(name, array, np.float64, shape[1:], shape[0], True))
