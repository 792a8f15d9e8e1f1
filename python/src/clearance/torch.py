"""Answers of pairs in the graph of PyTorch's autograd.

import clearance as cl
from clearance.torch import answers, distance

d, result = distance(cl.Engine(), lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
d.sum().backward()  # gradients of pos_a, quat_a, pos_b, quat_b
r = answers(engine, lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
r.witness_a  # differentiable, too
t, sweep = contact_time(engine, scene, poses, quat="wxyz")  # gradients of the way points
solved = solve(mass, inertia, velocity, count, body_a, body_b, arm_a, arm_b, frame, friction)  # contact problems
state = step(sim, state, force)  # and run(sim, state, forces, steps=100): time steps
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Unpack

from ._engine import Engine
from ._errors import OptionError
from ._graph_torch import operation, reals, torch
from ._library import Library
from ._options import DistanceOptions, Order, PoseOptions, SweepGraphOptions
from ._result import Result
from ._scene import Scene
from ._torch_calls import ContactMasks, Masks, SolvedMasks, timed
from ._torch_contact import Run, Solved, State, run, solve, step
from ._torch_pairs import answers as graph_answers
from ._torch_pairs import compiled
from ._torch_poses import sides
from ._torch_systems import SystemSolved, solve_system


class Answers(NamedTuple):
    """The answers of N pairs: [N], [N,3], [N,3], [N,3], differentiable in the poses; the result, which is not, and is
    None in a compiled or transformed graph; status and smoothness, uint8 [N], to weight losses with in any graph."""

    distance: Any
    normal: Any
    witness_a: Any
    witness_b: Any
    result: Result
    status: Any
    smoothness: Any


def distance(
    engine: Engine,
    library: Library,
    a: Any,
    b: Any,
    *poses: Any,
    quat: Order | None = None,
    **options: Unpack[DistanceOptions],
) -> tuple[Any, Result]:
    """The signed distances of N pairs [N], differentiable in the poses, and the whole result, which is not.

    The arguments are those of :meth:`Engine.distance`; the precision is "double" unless said otherwise. Poses are
    tensors: positions [N,3] or [3] and quaternions [N,4] or [4], which need not be unit, or in place of these four
    pose_a and pose_b, as matrices [N,4,4], pairs (position, rotation) or positions with quaternions [N,7]. Gradients of
    matrices are those of their quaternions by the entries, in which a step has to stay on rotations. ``derivative`` and
    its options say which gradient is taken, and ``result.smoothness`` where it is exact; rows without an answer are NaN
    with a zero gradient. A second derivative raises :class:`OptionError`.

    In torch.compile the call is one operator of the graph, without a break, and under torch.vmap and torch.func.grad
    one batch. The result is None there, and options are those of the solver and of derivatives: ``columns``, ``copy``
    and ``warm_start`` are refused by name.
    """
    r = answers(engine, library, a, b, *poses, quat=quat, **options)
    return r.distance, r.result


def answers(
    engine: Engine,
    library: Library,
    a: Any,
    b: Any,
    *poses: Any,
    quat: Order | None = None,
    **options: Unpack[DistanceOptions],
) -> Answers:
    """Distances, normals and witnesses of N pairs, differentiable in the poses. See :func:`distance`."""
    tensors, order = sides(poses, options, quat)
    if options.get("out") is not None:
        raise OptionError("out: arrays to fill cannot be part of a graph")
    given: dict[str, Any] = {"precision": "double"}
    given |= {name: value for name, value in options.items() if name not in PoseOptions.__annotations__}
    if compiled(*tensors):
        return Answers(*graph_answers(engine, library, (a, b, *tensors), order, given))
    given["grad"] = True
    with torch.no_grad():
        result = engine.distance(library, a, b, *tensors, quat=order, **given)

    def pull(cotangents: Any) -> Any:
        return result.vjp(**dict(zip(_NAMES, cotangents, strict=True)), wrt="poses")

    d, n, a_side, b_side = operation(tensors, [getattr(result, name) for name in _NAMES], pull, "answers")
    return Answers(d, n, a_side, b_side, result, result.status, result.smoothness)


def contact_time(
    engine: Engine, scene: Scene, poses: Any, *, quat: Order | None = None, **options: Unpack[SweepGraphOptions]
) -> tuple[Any, Any]:
    """The times of the first contacts of a scene that moves [W,P], differentiable in the way points, and the result of
    the sweep, which is not.

    The arguments are those of :meth:`Engine.sweep`, poses a tensor [W,T,M,7] whose quaternions need not be unit. A time
    is :attr:`SweepResult.time`; where ``result.differentiable`` is false it is that of the sweep, NaN without a known
    contact, with a zero gradient: weight losses by this mask, with ``torch.where``. In a graph that torch.compile makes
    the second is :class:`ContactMasks`, tensors.
    """
    if torch.compiler.is_compiling():
        return timed(engine, scene, poses, quat, dict(options))
    way = reals("poses", poses)
    with torch.no_grad():
        result = engine.sweep(scene, way, quat=quat, grad=True, **options)
    (time,) = operation(
        [way], [result.time], lambda cotangents: [result.vjp(time=cotangents[0], wrt="poses")], "times of contact"
    )
    return time, result


_NAMES: Final = ("distance", "normal", "witness_a", "witness_b")

__all__ = [
    "Answers",
    "ContactMasks",
    "Masks",
    "Run",
    "Solved",
    "SolvedMasks",
    "State",
    "SystemSolved",
    "answers",
    "contact_time",
    "distance",
    "run",
    "solve",
    "solve_system",
    "step",
]
