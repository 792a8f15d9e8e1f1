"""Time steps of simulations as functions of JAX. Steps are made on the host, which JAX calls back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Unpack

import numpy as np

from . import contact
from ._arrays import Array
from ._errors import OptionError
from ._jax_contact import jax, jnp
from ._options import Order, Values, check_names, one_of, whole
from ._tape import Impacts

_STATE: Final = ("position", "rotation", "velocity", "spin")
_WIDTHS: Final = (3, 4, 3, 3)
_VALUES: Final = tuple(Values.__annotations__)

# A simulation has one state; callbacks come from threads of JAX.
_lock: Final = threading.RLock()


class State(NamedTuple):
    """The state of worlds of M bodies with leading axes [...]: position [...,M,3] and rotation [...,M,4] of the frames
    of the bodies, velocity of the centers of mass and spin [...,M,3]; and of a state that a step returns, masks of the
    step: status (uint8, as that of contact.Trajectory), smoothness (uint8, as that of contact.RunGradient: 0 is smooth)
    and margin, each [...]."""

    position: Any
    rotation: Any
    velocity: Any
    spin: Any
    status: Any = None
    smoothness: Any = None
    margin: Any = None


def step(
    sim: contact.Simulation,
    state: Sequence[Any],
    force: Any = None,
    *,
    quat: Order = "wxyz",
    masks: bool = True,
    impacts: Impacts = "discrete",
    **values: Unpack[Values],
) -> State:
    """Make a step of a simulation from a state, under force [...,M,6]: the state after it as a function of both.

    ``state`` is a :class:`State`, or its first four arrays. See :func:`run`.
    """
    got = run(sim, state, force, steps=1, quat=quat, masks=masks, impacts=impacts, **values)
    axis = got.velocity.ndim - 3
    return State(*(None if x is None else jnp.squeeze(x, axis) for x in got))


def run(
    sim: contact.Simulation,
    state: Sequence[Any],
    force: Any = None,
    *,
    steps: int,
    quat: Order = "wxyz",
    masks: bool = True,
    impacts: Impacts = "discrete",
    **values: Unpack[Values],
) -> State:
    """Make T steps of a simulation from a state: all states, [...,T,M,3] and [...,T,M,4], as a function of the first
    one and the forces, [...,M,6] or [...,T,M,6] for each step.

    Leading axes of the state are worlds, which are broadcast against those of the other arguments; there may be none,
    for ``vmap``. ``mass``, ``friction``, ``restitution`` [...,M], ``inertia`` [...,M,6] and ``gravity`` [...,3] may be
    arrays, too, which replace the simulation's. The masks of the states are [...,T]; to know them takes a backward
    pass, which ``masks=False`` saves. ``impacts`` is that of :meth:`clearance.contact.Trajectory.vjp`. Gradients repeat
    the run with a tape. Gradients of a world-step that has none are zero. There is no second derivative and no forward
    mode, which JAX refuses.
    """
    check_names("clearance.jax.run", values, list(_VALUES))
    whole("steps", steps, 1)
    one_of("impacts", impacts, contact.IMPACTS)
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')
    if len(state) < 4:
        raise OptionError(f"state: {len(state)} arrays, want position, rotation, velocity and spin")
    given = {name: jnp.asarray(x) for name, x in zip(_STATE, state, strict=False)}
    m = sim.bodies
    tails: dict[str, tuple[int, ...]] = {name: (m, width) for name, width in zip(_STATE, _WIDTHS, strict=True)}
    if force is not None:
        given["force"] = jnp.asarray(force)
        each = given["force"].ndim > given["position"].ndim
        tails["force"] = (steps, m, 6) if each else (m, 6)
    for name, value in values.items():
        if value is not None:
            given[name] = jnp.asarray(value)
    tails |= {"mass": (m,), "friction": (m,), "restitution": (m,), "inertia": (m, 6), "gravity": (3,)}
    for name, x in given.items():
        tail = tails[name]
        if x.ndim < len(tail) or x.shape[x.ndim - len(tail) :] != tail:
            raise OptionError(f"{name}: has the shape {list(x.shape)}, want [{', '.join(map(str, ('...', *tail)))}]")
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise OptionError(f"{name}: is {x.dtype}, want real numbers: integers have no derivative")
    lead = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(tails[name])] for name, x in given.items()))
    real = jnp.result_type(*given.values())
    full = [jnp.broadcast_to(x, (*lead, *tails[name])).astype(real) for name, x in given.items()]
    call = _Call(sim, quat, steps, tuple(given), tuple(tails[name] for name in given), masks, impacts)
    got: State = _run(call, *full)
    return got if masks else got._replace(smoothness=None, margin=None)


@dataclass(frozen=True, eq=False)
class _Call:
    """What of a run is no array of JAX."""

    sim: contact.Simulation
    order: Order
    steps: int
    names: tuple[str, ...]
    tails: tuple[tuple[int, ...], ...]
    masks: bool
    impacts: Impacts

    def rows(self, args: Any) -> tuple[tuple[int, ...], Any, dict[str, Array]]:
        """The leading axes, the type of real numbers, and the arrays [W,...] of the worlds."""
        lead = np.shape(args[0])[: np.ndim(args[0]) - 2]
        arrays = {
            name: np.ascontiguousarray(np.asarray(x, np.float64).reshape(-1, *tail))
            for name, tail, x in zip(self.names, self.tails, args, strict=True)
        }
        return lead, np.asarray(args[0]).dtype, arrays

    def runs(self, arrays: dict[str, Array], tape: bool) -> Iterator[tuple[Array, contact.Trajectory]]:
        """The worlds that share the numbers of a simulation, and their runs."""
        numbers = {name: x for name, x in arrays.items() if name in _VALUES}
        w = len(arrays["position"])
        groups = [np.arange(w)]
        if numbers and w:
            every = np.concatenate([x.reshape(w, -1) for x in numbers.values()], axis=1)
            _, which = np.unique(every, axis=0, return_inverse=True)
            groups = [np.flatnonzero(which == k) for k in range(which.max() + 1)]
        for worlds in groups:
            sim = self.sim
            if numbers:
                sim = sim.replace(**{name: x[worlds[0]] for name, x in numbers.items()})
            state = [arrays[name][worlds] for name in _STATE]
            sim._begin(state, self.order)
            force = arrays.get("force")
            if force is not None:
                force = force[worlds] if force.ndim == 3 else np.ascontiguousarray(force[worlds].swapaxes(0, 1))
            trajectory = sim.run(steps=self.steps, force=force, tape=tape)
            if tape:
                trajectory._taped().begin_with(state[1])
            yield worlds, trajectory

    def forward(self, *args: Any) -> tuple[Array, ...]:
        """The numbers of :class:`State`."""
        lead, real, arrays = self.rows(args)
        w, t, m = len(arrays["position"]), self.steps, self.sim.bodies
        out = [np.zeros((w, t, m, width), real) for width in _WIDTHS]
        codes, margin = np.zeros((2, w, t), np.uint8), np.zeros((w, t), real)
        with _lock:
            for worlds, trajectory in self.runs(arrays, self.masks):
                for to, name in zip(out, _STATE, strict=True):
                    to[worlds] = getattr(trajectory, name).swapaxes(0, 1)
                codes[0, worlds] = trajectory.status.T
                if self.masks:
                    about = trajectory._taped().about
                    codes[1, worlds], margin[worlds] = about.smoothness.T, about.margin.T
        return tuple(x.reshape(*lead, *x.shape[1:]) for x in (*out, *codes, margin))

    def backward(self, *args: Any) -> tuple[Array, ...]:
        """Gradients of the arguments."""
        lead, real, arrays = self.rows(args[: len(self.names)])
        w = len(arrays["position"])
        given = [np.asarray(x, np.float64).reshape(w, *np.shape(x)[len(lead) :]) for x in args[len(self.names) :]]
        out = {name: np.zeros_like(x) for name, x in arrays.items()}
        with _lock:
            for worlds, trajectory in self.runs(arrays, True):
                bars = {name: x[worlds].swapaxes(0, 1) for name, x in zip(_STATE, given, strict=True)}
                g = trajectory._taped().vjp(bars, self.impacts)
                for name, to in out.items():
                    part = getattr(g, name)
                    to[worlds] = part.swapaxes(0, 1) if name == "force" and part.ndim == 4 else part
        return tuple(np.asarray(x, real).reshape(*lead, *x.shape[1:]) for x in out.values())


def _run_all(call: _Call, *args: Any) -> State:
    lead, real = args[0].shape[:-2], args[0].dtype
    t, m = call.steps, call.sim.bodies
    shapes = [((*lead, t, m, width), real) for width in _WIDTHS]
    shapes += [((*lead, t), jnp.uint8), ((*lead, t), jnp.uint8), ((*lead, t), real)]
    outputs = tuple(jax.ShapeDtypeStruct(*s) for s in shapes)
    return State(*jax.pure_callback(call.forward, outputs, *args, vmap_method="broadcast_all"))


def _forward(call: _Call, *args: Any) -> tuple[State, Any]:
    return _run_all(call, *args), args


def _backward(call: _Call, saved: Any, cotangents: Any) -> tuple[Any, ...]:
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in saved)
    got: tuple[Any, ...] = jax.pure_callback(
        call.backward, shapes, *saved, *cotangents[:4], vmap_method="broadcast_all"
    )
    return got


_run: Final[Any] = jax.custom_vjp(_run_all, nondiff_argnums=(0,))
_run.defvjp(_forward, _backward)
