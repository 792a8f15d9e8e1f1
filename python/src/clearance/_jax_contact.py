"""Contact problems as functions of JAX."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Unpack

from ._calls import frozen
from ._contact_derivatives import PARAMETERS
from ._errors import OptionError
from ._graph_contact import NAMES, WHOLE, SolveCall
from ._jax_graph import graph, jnp
from ._options import SolveGraphOptions, check_names, defaults

_CALLS: Final[dict[Any, SolveCall]] = {}  # by their options


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
    values = {name: jnp.asarray(x) for name, x in zip(NAMES, given, strict=True) if x is not None}
    if not values["mass"].ndim or not values["friction"].ndim:
        raise OptionError("mass, friction: no axis, want [..., B] and [..., C]")
    sizes = {"bodies": values["mass"].shape[-1], "contacts": values["friction"].shape[-1]}
    tails: dict[str, tuple[int, ...]] = {n: (sizes[axis], *tail) for n, (axis, tail) in PARAMETERS.items()}
    tails |= {"count": (), "body_a": (sizes["contacts"],), "body_b": (sizes["contacts"],)}
    for name, x in values.items():
        tail = tails[name]
        if x.ndim < len(tail) or x.shape[x.ndim - len(tail) :] != tail:
            raise OptionError(f"{name}: has the shape {list(x.shape)}, want [{', '.join(map(str, ('...', *tail)))}]")
        if jnp.issubdtype(x.dtype, jnp.integer) != (name in WHOLE):
            want = "integers" if name in WHOLE else "real numbers: integers have no derivative"
            raise OptionError(f"{name}: is {x.dtype}, want {want}")
    lead = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(tails[name])] for name, x in values.items()))
    real = jnp.promote_types(jnp.result_type(*(x for name, x in values.items() if name not in WHOLE)), jnp.float32)
    full = [
        jnp.broadcast_to(values.get(name, jnp.zeros(())), (*lead, *tails[name])).astype(
            jnp.int32 if name in WHOLE else real
        )
        for name in NAMES
    ]
    call = _CALLS.setdefault(frozen(options), SolveCall(dict(options)))
    return Solved(*graph(call, *full))
