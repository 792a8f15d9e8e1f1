"""Contact problems and time steps as pairs of functions of arrays, see :class:`clearance._calls.Call`."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from . import contact
from ._arrays import Array
from ._calls import Call, Shape
from ._contact_derivatives import PARAMETERS, Problem
from ._options import Order, Values
from ._tape import Impacts, by_parts_pose

WHOLE: Final = ("count", "body_a", "body_b")
NAMES: Final = (*WHOLE, *PARAMETERS)


@dataclass(frozen=True, eq=False)
class SolveCall(Call):
    """Velocity, impulse, status, smoothness, margin and residual of contact problems [...]; of the arguments NAMES."""

    options: dict[str, Any]

    whole: ClassVar[int] = len(WHOLE)
    shown: ClassVar[int] = 5
    smooth: ClassVar[int] = 2
    saved: ClassVar[tuple[int, ...]] = (1, 2, 5)

    def outputs(self, shapes: Sequence[Shape], real: Any) -> list[tuple[Shape, Any]]:
        lead = tuple(shapes[0])
        velocity, impulse = shapes[NAMES.index("velocity")], shapes[NAMES.index("arm_a")]
        return [
            (tuple(velocity), real),
            (tuple(impulse), real),
            (lead, "uint8"),
            (lead, "uint8"),
            (lead, real),
            (lead, real),
        ]

    def solution(self, args: Any) -> tuple[Shape, Any, contact.Solution]:
        """The leading axes, the type of real numbers, and the answer of the worlds in one axis."""
        lead, real = np.shape(args[0]), np.asarray(args[3]).dtype
        given = {name: np.asarray(x) for name, x in zip(NAMES, args, strict=True)}
        rows: dict[str, Any] = {name: x.reshape(-1, *x.shape[len(lead) :]) for name, x in given.items()}
        return lead, real, contact.solve(**rows, **self.options, grad=True)

    def forward(self, *args: Any) -> tuple[Array, ...]:
        lead, real, r = self.solution(args)
        reals = [np.asarray(x, real).reshape(*lead, *x.shape[1:]) for x in (r.velocity, r.impulse)]
        codes = [np.asarray(x, np.uint8).reshape(lead) for x in (r.status, r.smoothness)]
        return (*reals, *codes, *(np.asarray(x, real).reshape(lead) for x in (r.margin, r.residual)))

    def backward(self, args: Sequence[Any], saved: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Array, ...]:
        lead, real = np.shape(args[0]), np.asarray(args[3]).dtype
        if real == np.float64:  # as exact as the solution was
            given = {}
            for name, x in zip((*NAMES, "impulse", "status", "residual"), (*args, *saved), strict=True):
                array = np.asarray(x)
                given[name] = np.ascontiguousarray(array.reshape(-1, *array.shape[len(lead) :]))
            model = contact.MODELS.index(self.options.get("model", "ncp"))
            problem = Problem(given, model, self.options.get("workers") or 0)
        else:
            problem = self.solution(args)[2]._derived()
        velocity, impulse = (np.asarray(x, np.float64).reshape(-1, *np.shape(x)[len(lead) :]) for x in cotangents)
        g = problem.vjp(velocity, impulse, tuple(PARAMETERS))
        parts = (getattr(g, name) for name in PARAMETERS)
        return tuple(np.asarray(x, real).reshape(*lead, *x.shape[1:]) for x in parts)


STATE: Final = ("position", "rotation", "velocity", "spin")
WIDTHS: Final = (3, 4, 3, 3)
VALUES: Final = tuple(Values.__annotations__)


def tails_of(sim: contact.Simulation, steps: int, each: bool) -> dict[str, Shape]:
    """The axes of the arguments of a run behind those of worlds; ``each``: forces are those of each step."""
    m = sim.bodies
    tails: dict[str, Shape] = {name: (m, width) for name, width in zip(STATE, WIDTHS, strict=True)}
    tails["force"] = (steps, m, 6) if each else (m, 6)
    return (
        tails
        | {"mass": (m,), "friction": (m,), "restitution": (m,), "inertia": (m, 6), "gravity": (3,)}
        | {"parts_pose": (sim.parts, 7)}
    )


# A simulation has one state; calls come from threads of JAX and of PyTorch.
_lock: Final = threading.RLock()


@dataclass(frozen=True, eq=False)
class StepsCall(Call):
    """Position, rotation, velocity, spin, status, smoothness and margin of T steps [...,T]; of the state before, and
    the other arguments by their names."""

    sim: contact.Simulation
    order: Order
    steps: int
    names: tuple[str, ...]
    tails: tuple[Shape, ...]
    masks: bool
    impacts: Impacts

    whole: ClassVar[int] = 0
    shown: ClassVar[int] = 7
    smooth: ClassVar[int] = 4
    saved: ClassVar[tuple[int, ...]] = ()

    def outputs(self, shapes: Sequence[Shape], real: Any) -> list[tuple[Shape, Any]]:
        lead, t, m = tuple(shapes[0][:-2]), self.steps, self.sim.bodies
        out: list[tuple[Shape, Any]] = [((*lead, t, m, width), real) for width in WIDTHS]
        return [*out, ((*lead, t), "uint8"), ((*lead, t), "uint8"), ((*lead, t), real)]

    def rows(self, args: Any) -> tuple[Shape, Any, dict[str, Array]]:
        """The leading axes, the type of real numbers, and the arrays [W,...] of the worlds."""
        lead = np.shape(args[0])[: np.ndim(args[0]) - 2]
        arrays = {
            name: np.ascontiguousarray(np.asarray(x, np.float64).reshape(-1, *tail))
            for name, tail, x in zip(self.names, self.tails, args, strict=True)
        }
        return lead, np.asarray(args[0]).dtype, arrays

    def runs(self, arrays: dict[str, Array], tape: bool) -> Iterator[tuple[Array, contact.Trajectory]]:
        """The worlds that share the numbers of a simulation, and their runs."""
        numbers = {name: x for name, x in arrays.items() if name in VALUES}
        w = len(arrays["position"])
        groups = [np.arange(w)]
        if numbers and w:
            every = np.concatenate([x.reshape(w, -1) for x in numbers.values()], axis=1)
            _, which = np.unique(every, axis=0, return_inverse=True)
            groups = [np.flatnonzero(which == k) for k in range(which.max() + 1)]
        for worlds in groups:
            sim = self.sim
            if numbers:
                sim = sim.replace(**{name: x[worlds[0]] for name, x in numbers.items()}, quat=self.order)
            state = [arrays[name][worlds] for name in STATE]
            sim._begin(state, self.order)
            force = arrays.get("force")
            if force is not None:
                force = force[worlds] if force.ndim == 3 else np.ascontiguousarray(force[worlds].swapaxes(0, 1))
            trajectory = sim.run(steps=self.steps, force=force, tape=tape)
            if tape:
                trajectory._taped().begin_with(state[1])
            yield worlds, trajectory

    def forward(self, *args: Any) -> tuple[Array, ...]:
        lead, real, arrays = self.rows(args)
        w, t, m = len(arrays["position"]), self.steps, self.sim.bodies
        out = [np.zeros((w, t, m, width), real) for width in WIDTHS]
        codes, margin = np.zeros((2, w, t), np.uint8), np.zeros((w, t), real)
        with _lock:
            for worlds, trajectory in self.runs(arrays, self.masks):
                for to, name in zip(out, STATE, strict=True):
                    to[worlds] = getattr(trajectory, name).swapaxes(0, 1)
                codes[0, worlds] = trajectory.status.T
                if self.masks:
                    about = trajectory._taped().about
                    codes[1, worlds], margin[worlds] = about.smoothness.T, about.margin.T
        return tuple(x.reshape(*lead, *x.shape[1:]) for x in (*out, *codes, margin))

    def backward(self, args: Sequence[Any], saved: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Array, ...]:
        lead, real, arrays = self.rows(args)
        w = len(arrays["position"])
        given = [np.asarray(x, np.float64).reshape(w, *np.shape(x)[len(lead) :]) for x in cotangents]
        out = {name: np.zeros_like(x) for name, x in arrays.items()}
        with _lock:
            for worlds, trajectory in self.runs(arrays, True):
                bars = {name: x[worlds].swapaxes(0, 1) for name, x in zip(STATE, given, strict=True)}
                g = trajectory._taped().vjp(bars, self.impacts)
                for name, to in out.items():
                    part = getattr(g, name)
                    if name == "parts_pose":
                        part = by_parts_pose(part, arrays[name][worlds], self.order)
                    to[worlds] = part.swapaxes(0, 1) if name == "force" and part.ndim == 4 else part
        return tuple(np.asarray(x, real).reshape(*lead, *x.shape[1:]) for x in out.values())
