"""Contact problems as functions of JAX. The solver runs on the host, which JAX calls back (``jax.pure_callback``)."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Unpack

import numpy as np

from . import contact
from ._arrays import Array
from ._contact_derivatives import PARAMETERS, Problem
from ._errors import OptionError
from ._options import SolveGraphOptions, check_names, defaults

try:
    jax: Any = importlib.import_module("jax")
except ImportError as e:
    raise ImportError("clearance.jax needs JAX: pip install jax") from e

jnp: Final[Any] = jax.numpy

_WHOLE: Final = ("count", "body_a", "body_b")
_NAMES: Final = (*_WHOLE, *PARAMETERS)


class Solved(NamedTuple):
    """The solutions of contact problems, of leading axes [...]: two that are differentiable; what these are worth."""

    velocity: Any  # [...,B,6]
    impulse: Any  # [...,C,3]
    status: Any  # uint8 [...], as that of contact.Solution
    smoothness: Any  # uint8 [...], as that of contact.ProblemGradient: 0 is smooth
    margin: Any  # [...], to the nearest change of a mode


def solve(
    mass: Any,
    inertia: Any,
    velocity: Any,
    count: Any,
    body_a: Any,
    body_b: Any,
    arm_a: Any,
    arm_b: Any,
    frame: Any,
    friction: Any,
    target: Any = None,
    compliance: Any = None,
    **options: Unpack[SolveGraphOptions],
) -> Solved:
    """Solve contact problems: the velocities and impulses as functions of all real arguments.

    Arguments and options are those of :func:`clearance.contact.solve`, with any leading axes [...] in place of [W],
    which are broadcast against each other; there may be none, for ``vmap``. The gradient of ``frame`` is by each of its
    numbers as if they were independent. Weight losses by ``smoothness`` and ``margin``; a world without a solution is
    NaN with a zero gradient. There is no second derivative and no forward mode, which JAX refuses.
    """
    check_names("clearance.jax.solve", options, list(defaults(SolveGraphOptions)))
    given = (count, body_a, body_b, mass, inertia, velocity, arm_a, arm_b, frame, friction, target, compliance)
    values = {name: jnp.asarray(x) for name, x in zip(_NAMES, given, strict=True) if x is not None}
    if not values["mass"].ndim or not values["friction"].ndim:
        raise OptionError("mass, friction: no axis, want [..., B] and [..., C]")
    sizes = {"bodies": values["mass"].shape[-1], "contacts": values["friction"].shape[-1]}
    tails: dict[str, tuple[int, ...]] = {n: (sizes[axis], *tail) for n, (axis, tail) in PARAMETERS.items()}
    tails |= {"count": (), "body_a": (sizes["contacts"],), "body_b": (sizes["contacts"],)}
    for name, x in values.items():
        tail = tails[name]
        if x.ndim < len(tail) or x.shape[x.ndim - len(tail) :] != tail:
            raise OptionError(f"{name}: has the shape {list(x.shape)}, want [{', '.join(map(str, ('...', *tail)))}]")
        if jnp.issubdtype(x.dtype, jnp.integer) != (name in _WHOLE):
            want = "integers" if name in _WHOLE else "real numbers: integers have no derivative"
            raise OptionError(f"{name}: is {x.dtype}, want {want}")
    lead = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(tails[name])] for name, x in values.items()))
    real = jnp.promote_types(jnp.result_type(*(x for name, x in values.items() if name not in _WHOLE)), jnp.float32)
    full = [
        jnp.broadcast_to(values.get(name, jnp.zeros(())), (*lead, *tails[name])).astype(
            jnp.int32 if name in _WHOLE else real
        )
        for name in _NAMES
    ]
    solved: Solved = _solve(_Call(dict(options)), *full)
    return solved


@dataclass(frozen=True, eq=False)
class _Call:
    """What of a call is no array of JAX."""

    options: dict[str, Any]

    def solution(self, args: Any) -> tuple[tuple[int, ...], Any, contact.Solution]:
        """The leading axes, the type of real numbers, and the answer of the worlds in one axis."""
        lead, real = np.shape(args[0]), np.asarray(args[3]).dtype
        given = {name: np.asarray(x) for name, x in zip(_NAMES, args, strict=True)}
        rows: dict[str, Any] = {name: x.reshape(-1, *x.shape[len(lead) :]) for name, x in given.items()}
        return lead, real, contact.solve(**rows, **self.options, grad=True)

    def forward(self, *args: Any) -> tuple[Array, ...]:
        """The numbers of :class:`Solved`, and the residual, which derivatives need."""
        lead, real, r = self.solution(args)
        reals = [np.asarray(x, real).reshape(*lead, *x.shape[1:]) for x in (r.velocity, r.impulse)]
        codes = [np.asarray(x, np.uint8).reshape(lead) for x in (r.status, r.smoothness)]
        return (*reals, *codes, *(np.asarray(x, real).reshape(lead) for x in (r.margin, r.residual)))

    def backward(self, *args: Any) -> tuple[Array, ...]:
        """Gradients of the real arguments."""
        count = len(_NAMES)
        *saved, v, i = args[count:]
        lead, real = np.shape(args[0]), np.asarray(args[3]).dtype
        if real == np.float64:  # as exact as the solution was
            given = {}
            for name, x in zip((*_NAMES, "impulse", "status", "residual"), (*args[:count], *saved), strict=True):
                array = np.asarray(x)
                given[name] = np.ascontiguousarray(array.reshape(-1, *array.shape[len(lead) :]))
            model = contact.MODELS.index(self.options.get("model", "ncp"))
            problem = Problem(given, model, self.options.get("workers") or 0)
        else:
            problem = self.solution(args[:count])[2]._derived()
        velocity, impulse = (np.asarray(x, np.float64).reshape(-1, *np.shape(x)[len(lead) :]) for x in (v, i))
        g = problem.vjp(velocity, impulse, tuple(PARAMETERS))
        parts = (getattr(g, name) for name in PARAMETERS)
        return tuple(np.asarray(x, real).reshape(*lead, *x.shape[1:]) for x in parts)


def _solve_all(call: _Call, *args: Any) -> tuple[Any, ...]:
    lead, real = args[0].shape, args[3].dtype
    velocity, impulse = args[_NAMES.index("velocity")].shape, args[_NAMES.index("arm_a")].shape
    out = [(velocity, real), (impulse, real), (lead, jnp.uint8), (lead, jnp.uint8), (lead, real), (lead, real)]
    shapes = tuple(jax.ShapeDtypeStruct(*s) for s in out)
    results: tuple[Any, ...] = jax.pure_callback(call.forward, shapes, *args, vmap_method="broadcast_all")
    return results


def _plain(call: _Call, *args: Any) -> Solved:
    return Solved(*_solve_all(call, *args)[:5])


def _forward(call: _Call, *args: Any) -> tuple[Solved, Any]:
    *out, residual = _solve_all(call, *args)
    solved = Solved(*out)
    return solved, (args, (solved.impulse, solved.status, residual))


def _backward(call: _Call, saved: Any, cotangents: Any) -> tuple[Any, ...]:
    args, kept = saved
    reals = args[len(_WHOLE) :]
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in reals)
    given = (*args, *kept, cotangents.velocity, cotangents.impulse)
    return (*[None] * len(_WHOLE), *jax.pure_callback(call.backward, shapes, *given, vmap_method="broadcast_all"))


_solve: Final[Any] = jax.custom_vjp(_plain, nondiff_argnums=(0,))
_solve.defvjp(_forward, _backward)
