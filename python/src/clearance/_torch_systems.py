"""Contact problems of mechanisms in the graph of PyTorch's autograd."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from . import contact
from ._errors import OptionError
from ._graph_torch import host, operation, reals, torch
from ._problems import Model

# The real arguments, which have gradients.
_REALS: Final = ("mass", "jacobian", "velocity", "friction", "target", "compliance", "offset")


class SystemSolved(NamedTuple):
    """The solutions of W problems: velocity [W,N] and impulse [W,C,3], which are differentiable, and the whole result,
    whose ``vjp`` has masks to weight losses with."""

    velocity: Any
    impulse: Any
    result: contact.SystemSolution


def solve_system(
    mass: Any,
    jacobian: Any,
    velocity: Any,
    friction: Any,
    target: Any = None,
    compliance: Any = None,
    *,
    count: Any = None,
    offset: Any = None,
    model: Model = "ncp",
    tolerance: float = 1e-6,
    max_steps: int = 400,
    workers: int | None = None,
) -> SystemSolved:
    """Solve contact problems of mechanisms: the velocities and impulses as functions of all real arguments.

    Arguments and options are those of :func:`clearance.contact.solve_system`, tensors or arrays, in its shapes. The
    gradient of ``mass`` is by each of its numbers as if they were independent: build it symmetric from what is learned.
    A world without a solution has a zero gradient. A second derivative, and torch.compile, raise :class:`OptionError`.
    """
    if torch.compiler.is_compiling():
        raise OptionError("solve_system: torch.compile has no operator of it; call it outside of the compiled function")
    given = dict(zip(_REALS, (mass, jacobian, velocity, friction, target, compliance, offset), strict=True))
    tensors = {name: reals(name, x) for name, x in given.items() if x is not None}
    result = contact.solve_system(
        **{name: host(x) for name, x in tensors.items()},
        count=host(count) if isinstance(count, torch.Tensor) else count,
        model=model,
        tolerance=tolerance,
        max_steps=max_steps,
        workers=workers,
    )
    like = tensors["velocity"]
    outputs = [torch.as_tensor(x).to(device=like.device, dtype=like.dtype) for x in (result.velocity, result.impulse)]

    def pull(cotangents: Any) -> Any:
        of_velocity, of_impulse = map(host, cotangents)
        gradient = result.vjp(velocity=of_velocity, impulse=of_impulse if of_impulse.any() else None)
        return [getattr(gradient, name) for name in tensors]

    v, i = operation(list(tensors.values()), outputs, pull, "contact problems of mechanisms")
    return SystemSolved(v, i, result)
