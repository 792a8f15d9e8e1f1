"""Contact problems in the graph of PyTorch's autograd."""

from __future__ import annotations

from typing import Any, NamedTuple, Unpack

from . import contact
from ._contact_derivatives import PARAMETERS
from ._errors import OptionError
from ._graph_torch import host, operation, reals, torch
from ._options import SolveGraphOptions, check_names, defaults


class Solved(NamedTuple):
    """The solutions of W contact problems: velocity [W,B,6] and impulse [W,C,3] (in the frames of the contacts), which
    are differentiable; and the whole result, whose ``smooth`` and ``margin`` [W] are masks to weight losses with."""

    velocity: Any
    impulse: Any
    result: contact.Solution


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
    check_names("clearance.torch.solve", options, list(defaults(SolveGraphOptions)))
    given = (mass, inertia, velocity, arm_a, arm_b, frame, friction, target, compliance)
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
