"""Contact problems in the graph of PyTorch's autograd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Unpack

from . import contact
from ._contact_derivatives import PARAMETERS
from ._errors import OptionError
from ._graph_torch import host, operation, reals, torch
from ._options import Order, SolveGraphOptions, Values, check_names, defaults, one_of
from ._tape import Impacts, by_parts_pose
from ._torch_calls import solved, stepped


class Solved(NamedTuple):
    """The solutions of W contact problems: velocity [W,B,6] and impulse [W,C,3] (in the frames of the contacts), which
    are differentiable; and the whole result, whose ``smooth`` and ``margin`` [W] are masks to weight losses with. In a
    graph that torch.compile makes it is :class:`SolvedMasks`, tensors."""

    velocity: Any
    impulse: Any
    result: Any  # contact.Solution


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

    Arguments and options are those of :func:`clearance.contact.solve`, tensors or arrays, in its shapes. The gradient
    of ``frame`` is by each of its numbers as if they were independent: build it from what is learned. A world without a
    solution is NaN with a zero gradient. A second derivative raises :class:`OptionError`.
    """
    check_names("clearance.torch.solve", options, _SOLVES)
    given = (mass, inertia, velocity, arm_a, arm_b, frame, friction, target, compliance)
    if torch.compiler.is_compiling():
        every = {"count": count, "body_a": body_a, "body_b": body_b, **dict(zip(PARAMETERS, given, strict=True))}
        return Solved(*solved(every, dict(options)))
    tensors = {name: reals(name, x) for name, x in zip(PARAMETERS, given, strict=True) if x is not None}
    whole = {"count": count, "body_a": body_a, "body_b": body_b}
    for name, value in whole.items():
        if isinstance(value, torch.Tensor):
            if value.is_floating_point():
                raise OptionError(f"{name}: is {value.dtype}, want integers")
            whole[name] = host(value)
    arrays = {name: host(x) for name, x in tensors.items()}
    result = contact.solve(**arrays, **whole, **options, grad=True)
    like = tensors["velocity"]
    outputs = [torch.as_tensor(x).to(device=like.device, dtype=like.dtype) for x in (result.velocity, result.impulse)]
    names = [name for name in PARAMETERS if name in tensors]

    def pull(cotangents: Any) -> Any:
        of_velocity, of_impulse = map(host, cotangents)
        gradient = result._derived().vjp(of_velocity, of_impulse if of_impulse.any() else None, names)
        return [getattr(gradient, name) for name in names]

    v, i = operation([tensors[name] for name in names], outputs, pull, "contact problems")
    return Solved(v, i, result)


class State(NamedTuple):
    """The state of W worlds of M bodies: position [W,M,3] and rotation [W,M,4] of the frames of the bodies, velocity
    of the centers of mass and spin [W,M,3], in tensors.

    A state that a step returns has besides, which a caller may leave out, ``run``: the trajectory of the step, whose
    ``smooth``, ``margin`` and ``status`` are masks to weight losses with; and ``warm``: the contact impulses that the
    next step starts from. Without these it starts from zero, and takes longer to the same tolerance. In a graph that
    torch.compile makes ``run`` are :class:`Masks`, tensors, and ``warm`` is None.
    """

    position: Any
    rotation: Any
    velocity: Any
    spin: Any
    run: Any = None  # contact.Trajectory
    warm: contact.State | None = None


class Run(NamedTuple):
    """Recorded states of a run: position [R,W,M,3], rotation [R,W,M,4], velocity and spin [R,W,M,3], which are
    differentiable; the trajectory, whose ``smooth`` and ``margin`` [T,W] are masks to weight losses with (in a graph
    that torch.compile makes :class:`Masks` of all steps); and the last recorded state, to go on with."""

    position: Any
    rotation: Any
    velocity: Any
    spin: Any
    trajectory: Any  # contact.Trajectory
    last: State


def step(
    sim: contact.Simulation,
    state: Sequence[Any],
    force: Any = None,
    *,
    quat: Order = "wxyz",
    impacts: Impacts = "discrete",
    **values: Unpack[Values],
) -> State:
    """Make a step of a simulation from a state, under force [W,M,6]: the state after it as a function of both.

    ``state`` is a :class:`State`, or its first four tensors. See :func:`run`.
    """
    return run(sim, state, force, steps=1, quat=quat, impacts=impacts, **values).last


def run(
    sim: contact.Simulation,
    state: Sequence[Any],
    force: Any = None,
    *,
    steps: int,
    every: int = 1,
    quat: Order = "wxyz",
    impacts: Impacts = "discrete",
    **values: Unpack[Values],
) -> Run:
    """Make steps of a simulation from a state: each ``every``-th state as a function of the first one and the forces.

    The arguments are those of :meth:`clearance.contact.Simulation.run`: ``force`` [W,M,6], or [T,W,M,6] for each step;
    quaternions need not be unit. ``mass``, ``friction``, ``restitution`` [M], ``inertia`` [M,6], ``gravity`` [3] and
    ``parts_pose`` [P,7], the poses of the parts in their bodies, body after body, may be tensors as well,
    which replace the simulation's (:meth:`clearance.contact.Simulation.replace`). ``impacts`` is that of
    :meth:`clearance.contact.Trajectory.vjp`. Gradients of a world-step that has none are zero. The simulation is left
    at the last state. A second derivative raises :class:`OptionError`.
    """
    check_names("clearance.torch.run", values, list(Values.__annotations__))
    if torch.compiler.is_compiling() and len(state) >= 4:
        (p, q, v, s), masks = stepped(sim, state[:4], force, steps, quat, impacts, dict(values))
        p, q, v, s = (x[every - 1 :: every] for x in (p, q, v, s))
        return Run(p, q, v, s, masks, State(p[-1], q[-1], v[-1], s[-1], masks, None))
    first = [reals(name, x) for name, x in zip(_STATE, state, strict=False)]
    if len(first) < 4:
        raise OptionError(f"state: {len(first)} tensors, want position, rotation, velocity and spin")
    inputs: dict[str, Any] = dict(zip(_STATE, first, strict=True))
    if force is not None:
        inputs["force"] = reals("force", force)
    numbers = {name: reals(name, x) for name, x in values.items() if x is not None}
    if numbers:
        sim = sim.replace(**{name: host(x) for name, x in numbers.items()}, quat=quat)
    sim._begin([host(x) for x in first], quat, state[5] if len(state) > 5 else None)
    pushed = None if force is None else host(inputs["force"])
    trajectory = sim.run(steps=steps, every=every, force=pushed, tape=True)
    tape = trajectory._taped()
    tape.begin_with(host(first[1]))
    like = first[0]
    arrays = [getattr(trajectory, name) for name in _STATE]
    outputs = [torch.as_tensor(x).to(device=like.device, dtype=like.dtype) for x in arrays]
    inputs |= numbers
    one_of("impacts", impacts, contact.IMPACTS)

    def pull(cotangents: Any) -> Any:
        gradient = tape.vjp(dict(zip(_STATE, map(host, cotangents), strict=True)), impacts)
        found = {name: getattr(gradient, name) for name in inputs}
        if "parts_pose" in found:
            found["parts_pose"] = by_parts_pose(found["parts_pose"], host(numbers["parts_pose"]), quat)
        return [g.sum(axis=0) if name in numbers else g for name, g in found.items()]

    p, q, v, s = operation(list(inputs.values()), outputs, pull, "steps")
    end = (p[-1], q[-1], v[-1], s[-1]) if len(p) else tuple(first)
    return Run(p, q, v, s, trajectory, State(end[0], end[1], end[2], end[3], trajectory, sim.state()))


_SOLVES: Final = tuple(defaults(SolveGraphOptions))
_STATE: Final = ("position", "rotation", "velocity", "spin")
