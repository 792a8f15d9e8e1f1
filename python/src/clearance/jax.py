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

The engine runs on the host. On the CPU it is a foreign function of XLA (``jax.ffi``), on other devices JAX calls it
back (``jax.pure_callback``); under ``vmap`` it is called once.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

from ._calls import frozen, kept
from ._derivatives import OPTIONS
from ._engine import Engine
from ._errors import OptionError
from ._graph_pairs import NAMES, TAILS, PairCall
from ._graph_sweeps import SweepCall
from ._jax_contact import Solved, solve
from ._jax_graph import graph, jax, jnp
from ._jax_poses import sides
from ._jax_steps import State, run, step
from ._library import Library
from ._options import GraphOptions, Order, PoseOptions, SweepGraphOptions, check_names, defaults
from ._scene import Scene


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
    *poses: Any,
    quat: Order | None = None,
    **options: Unpack[GraphOptions],
) -> Any:
    """The signed distances of pairs, differentiable in the poses.

    a, b: integers [...]. ``poses`` are pos_a, quat_a, pos_b, quat_b: positions [...,3] and quaternions [...,4], which
    need not be unit; or pose_a and pose_b, as matrices [...,4,4], pairs (position, rotation) or positions with
    quaternions [...,7]. Gradients of matrices are those of their quaternions by the entries, in which a step has to
    stay on rotations. Leading axes are broadcast against each other; there may be none, for ``vmap``. The type of the
    answers is that of the poses, float32 unless JAX has 64 bits enabled; the engine computes with ``precision``
    "double" unless said otherwise. Further options are ``max_distance``, ``method``, ``tolerance`` and
    ``max_iterations`` of :meth:`Engine.distance`, and ``derivative`` with its options, which say which gradient is
    taken. Rows without an answer are NaN with a zero gradient. There is no second derivative and no forward mode, which
    JAX refuses.
    """
    return answers(engine, library, a, b, *poses, quat=quat, **options).distance


def answers(
    engine: Engine,
    library: Library,
    a: Any,
    b: Any,
    *poses: Any,
    quat: Order | None = None,
    **options: Unpack[GraphOptions],
) -> Answers:
    """Distances, normals and witnesses of pairs, differentiable in the poses. See :func:`distance`."""
    check_names("clearance.jax", options, list(defaults(GraphOptions)))
    (pos_a, quat_a, pos_b, quat_b), order = sides(poses, options, quat)
    given: dict[str, Any] = {"precision": "double"}
    given |= {name: value for name, value in options.items() if name not in PoseOptions.__annotations__}
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
    about = {k: v for k, v in given.items() if k in OPTIONS}
    key = ("distance", library, order, frozen(given))
    call = kept(engine, key, lambda: PairCall(engine, library, order, given, about))
    return Answers(*graph(call, *full))


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
    wide, pairs = "float64" if jax.config.jax_enable_x64 else "float32", len(scene.pairs)
    key = ("sweep", scene, quat, frozen(options), pairs, wide)
    call = kept(engine, key, lambda: SweepCall(engine, scene, quat, dict(options), pairs, wide))
    return ContactTimes(*graph(call, way))


__all__ = ["Answers", "ContactTimes", "Solved", "State", "answers", "contact_time", "distance", "run", "solve", "step"]
