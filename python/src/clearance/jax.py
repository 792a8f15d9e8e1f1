"""Answers of pairs as functions of JAX, differentiable in the poses, under jit, vmap and grad.

import clearance as cl
from clearance.jax import distance

@jax.jit
def loss(pos_a):
    d = distance(engine, lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
    return ((d - 0.1) ** 2).sum()

jax.grad(loss)(pos_a)
solved = solve(mass, inertia, velocity, count, body_a, body_b, arm_a, arm_b, frame, friction)  # contact problems
state = step(sim, state, force)  # and run(sim, state, force, steps=100): time steps

The engine runs on the host: JAX calls it back with the poses (``jax.pure_callback``), in batches under ``vmap``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Unpack

import numpy as np

from ._arrays import Array
from ._bodies import Table
from ._derivatives import OPTIONS
from ._engine import Engine
from ._errors import OptionError
from ._graph_pairs import NAMES, TAILS, WIDTHS, PairCall
from ._inputs import places_of
from ._jax_contact import Solved, jax, jnp, solve
from ._jax_steps import State, run, step
from ._library import Library
from ._options import GraphOptions, Order, SweepGraphOptions, check_names, defaults
from ._scene import Scene
from ._sweep_derivatives import Times


class Answers(NamedTuple):
    """The answers of pairs, of leading axes [...]: four that are differentiable in the poses, and two codes."""

    distance: Any  # [...]
    normal: Any  # [...,3]
    witness_a: Any  # [...,3]
    witness_b: Any  # [...,3]
    status: Any  # uint8 [...], as cl.SEPARATED
    smoothness: Any  # uint8 [...], as the column of cl.Result


def distance(
    engine: Engine,
    library: Library,
    a: Any,
    b: Any,
    pos_a: Any,
    quat_a: Any,
    pos_b: Any,
    quat_b: Any,
    *,
    quat: Order,
    **options: Unpack[GraphOptions],
) -> Any:
    """The signed distances of pairs, differentiable in the poses.

    a, b: integers [...]; positions [...,3]; quaternions [...,4], which need not be unit. Leading axes are broadcast
    against each other; there may be none, for ``vmap``. The type of the answers is that of the poses, float32 unless
    JAX has 64 bits enabled; the engine computes with ``precision`` "double" unless said otherwise. Further options are
    ``max_distance``, ``method``, ``tolerance`` and ``max_iterations`` of :meth:`Engine.distance`, and ``derivative``
    with its options, which say which gradient is taken. Rows without an answer are NaN with a zero gradient. There is
    no second derivative and no forward mode, which JAX refuses.
    """
    return answers(engine, library, a, b, pos_a, quat_a, pos_b, quat_b, quat=quat, **options).distance


def answers(
    engine: Engine,
    library: Library,
    a: Any,
    b: Any,
    pos_a: Any,
    quat_a: Any,
    pos_b: Any,
    quat_b: Any,
    *,
    quat: Order,
    **options: Unpack[GraphOptions],
) -> Answers:
    """Distances, normals and witnesses of pairs, differentiable in the poses. See :func:`distance`."""
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw": rotation matrices have no free entries')
    check_names("clearance.jax", options, list(defaults(GraphOptions)))
    values = [jnp.asarray(x) for x in (a, b, pos_a, quat_a, pos_b, quat_b)]
    for name, value, tail in zip(NAMES, values, TAILS, strict=True):
        if value.ndim < len(tail) or value.shape[value.ndim - len(tail) :] != tail:
            raise OptionError(f"{name}: has the shape {list(value.shape)}, want [..., {tail[0] if tail else ''}]")
        if not tail and not jnp.issubdtype(value.dtype, jnp.integer):
            raise OptionError(f"{name}: is {value.dtype}, want integers")
    lead = jnp.broadcast_shapes(*(v.shape[: v.ndim - len(t)] for v, t in zip(values, TAILS, strict=True)))
    real = jnp.promote_types(jnp.result_type(*values[2:]), jnp.float32)
    full = [jnp.broadcast_to(v, (*lead, *t)) for v, t in zip(values, TAILS, strict=True)]
    full = [v.astype(jnp.int32 if i < 2 else real) for i, v in enumerate(full)]
    given: dict[str, Any] = {"precision": "double", **options}
    call = PairCall(engine, library, quat, given, {k: v for k, v in given.items() if k in OPTIONS})
    answered: Answers = _solve(call, *full)
    return answered


def _solve_all(call: PairCall, *args: Any) -> tuple[Any, ...]:
    lead, real = args[0].shape, args[2].dtype
    shapes = [((*lead, *w), real) for w in WIDTHS]
    shapes += [(lead, jnp.uint8), (lead, jnp.uint8), (lead, real)]
    outputs = tuple(jax.ShapeDtypeStruct(*s) for s in shapes)
    results: tuple[Any, ...] = jax.pure_callback(call.forward, outputs, *args, vmap_method="broadcast_all")
    return results


def _plain(call: PairCall, *args: Any) -> Answers:
    return Answers(*_solve_all(call, *args)[:6])


def _forward(call: PairCall, *args: Any) -> tuple[Answers, Any]:
    *out, gap = _solve_all(call, *args)
    return Answers(*out), (args, (*out[:5], gap))


def _backward(call: PairCall, saved: Any, cotangents: Any) -> tuple[Any, ...]:
    args, out = saved
    shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in args[2:])
    gradients = jax.pure_callback(call.backward, shapes, args, out, cotangents[:4], vmap_method="broadcast_all")
    return (None, None, *gradients)


_solve: Final[Any] = jax.custom_vjp(_plain, nondiff_argnums=(0,))
_solve.defvjp(_forward, _backward)


class ContactTimes(NamedTuple):
    """First contacts of a scene that moves: times [...,P], differentiable in the way points, and two codes."""

    time: Any
    state: Any  # uint8 [...,P], as that of SweepResult
    smoothness: Any  # uint8 [...,P], as SweepResult.time_smoothness: 1 has a derivative


def contact_time(
    engine: Engine, scene: Scene, poses: Any, *, quat: Order, **options: Unpack[SweepGraphOptions]
) -> ContactTimes:
    """The times of the first contacts of the pairs of a scene, differentiable in the way points.

    poses: [...,T,M,7] at T way points; quaternions need not be unit. The answers are [...,P], or with
    ``reduce="world"`` [...]; see :meth:`Engine.sweep` and :attr:`SweepResult.time`. Where ``smoothness`` is not 1 the
    gradient is zero.
    """
    check_names("clearance.jax", options, list(defaults(SweepGraphOptions)))
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')
    way = jnp.asarray(poses)
    if way.ndim < 3 or way.shape[-1] != 7 or way.shape[-3] < 2:
        raise OptionError(f"poses: has the shape {list(way.shape)}, want [..., T, M, 7] of 2 way points or more")
    if not jnp.issubdtype(way.dtype, jnp.floating):
        raise OptionError(f"poses: is {way.dtype}, want real numbers: integers have no derivative")
    call = _SweepCall(engine, scene, quat, dict(options), tuple(scene.pairs))
    found: ContactTimes = _sweep(call, way)
    return found


@dataclass(frozen=True, eq=False)
class _SweepCall:
    """What of a sweep is no array of JAX."""

    engine: Engine
    scene: Scene
    order: Any
    options: dict[str, Any]
    pairs: tuple[tuple[int, int], ...]

    @property
    def tail(self) -> tuple[int, ...]:
        """The axes of the rows of a world."""
        return () if self.options.get("reduce") == "world" else (len(self.pairs),)

    def forward(self, poses: Any) -> tuple[Array, ...]:
        """Time, state and smoothness, then the numbers of the motions and rows that derivatives need."""
        array, lead = np.asarray(poses), np.shape(poses)[:-3]
        worlds = np.ascontiguousarray(array.reshape(-1, *array.shape[-3:]), np.float64)
        r = self.engine.sweep(self.scene, worlds, quat=self.order, grad=True, **self.options)
        shape = (*lead, *self.tail)
        time = np.asarray(r.time, array.dtype).reshape(shape)
        columns = (r.state, r.time_smoothness, *[r._derived().rows[name] for name in _ROWS])
        return (time, *(np.asarray(c).reshape(shape) for c in columns))

    def backward(self, poses: Any, *args: Any) -> tuple[Array]:
        """The gradient of the poses."""
        array, lead = np.asarray(poses), np.shape(poses)[:-3]
        worlds = np.ascontiguousarray(array.reshape(-1, *array.shape[-3:]), np.float64)
        if self.order == "xyzw":
            worlds = np.ascontiguousarray(worlds[..., [0, 1, 2, 6, 3, 4, 5]])
        shape = (len(worlds), *self.tail)
        *columns, cotangent = (np.asarray(x).reshape(-1) for x in args)
        names = ("state", *_ROWS)
        types = {"state": np.uint8, "t1": np.float64}
        rows = {
            name: np.ascontiguousarray(c, types.get(name, np.int32)) for name, c in zip(names, columns, strict=True)
        }
        rows["world"] = np.repeat(np.arange(len(worlds), dtype=np.int32), int(np.prod(self.tail, dtype=int)))
        places, _ = places_of(self.scene, self.options.get("bodies"), len(worlds))
        times = Times(
            Table(self.scene.library, self.scene.bodies),
            self.engine._workers,
            places,
            worlds,
            self.order,
            (len(worlds),),
            shape,
            rows,
            None,
        )
        gradient = times.vjp(np.asarray(cotangent, np.float64).reshape(shape), "poses")
        return (np.asarray(gradient, array.dtype).reshape(*lead, *array.shape[-3:]),)


_ROWS: Final = ("place_a", "place_b", "part_a", "part_b", "t1")


def _sweep_all(call: _SweepCall, poses: Any) -> tuple[Any, ...]:
    shape = (*poses.shape[:-3], *call.tail)
    real = jnp.float64 if jax.config.jax_enable_x64 else jnp.float32
    types = [poses.dtype, jnp.uint8, jnp.uint8, *[jnp.int32] * 4, real]
    outputs = tuple(jax.ShapeDtypeStruct(shape, t) for t in types)
    results: tuple[Any, ...] = jax.pure_callback(call.forward, outputs, poses, vmap_method="broadcast_all")
    return results


def _sweep_plain(call: _SweepCall, poses: Any) -> ContactTimes:
    return ContactTimes(*_sweep_all(call, poses)[:3])


def _sweep_forward(call: _SweepCall, poses: Any) -> tuple[ContactTimes, Any]:
    time, state, smoothness, *rows = _sweep_all(call, poses)
    return ContactTimes(time, state, smoothness), (poses, state, *rows)


def _sweep_backward(call: _SweepCall, saved: Any, cotangents: Any) -> tuple[Any, ...]:
    poses = saved[0]
    shapes = (jax.ShapeDtypeStruct(poses.shape, poses.dtype),)
    got: tuple[Any, ...] = jax.pure_callback(
        call.backward, shapes, *saved, cotangents.time, vmap_method="broadcast_all"
    )
    return got


_sweep: Final[Any] = jax.custom_vjp(_sweep_plain, nondiff_argnums=(0,))
_sweep.defvjp(_sweep_forward, _sweep_backward)

__all__ = ["Answers", "ContactTimes", "Solved", "State", "answers", "contact_time", "distance", "run", "solve", "step"]
