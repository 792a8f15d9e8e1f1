"""Time steps of simulations as functions of JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

from . import contact
from ._calls import kept
from ._errors import OptionError
from ._graph_contact import STATE, VALUES, StepsCall, tails_of
from ._jax_graph import graph, jnp
from ._options import Order, Values, check_names, one_of, whole
from ._tape import Impacts


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
    for ``vmap``. ``mass``, ``friction``, ``restitution`` [...,M], ``inertia`` [...,M,6], ``gravity`` [...,3] and
    ``parts_pose`` [...,P,7], the poses of the parts in their bodies, may be arrays, too, which replace the
    simulation's (:meth:`clearance.contact.Simulation.replace`). The masks of the states are [...,T]; to know them takes
    a backward pass, which ``masks=False`` saves. ``impacts`` is that of :meth:`clearance.contact.Trajectory.vjp`.
    Gradients repeat the run with a tape. Gradients of a world-step that has none are zero. There is no second
    derivative and no forward mode, which JAX refuses.
    """
    check_names("clearance.jax.run", values, list(VALUES))
    whole("steps", steps, 1)
    one_of("impacts", impacts, contact.IMPACTS)
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')
    if len(state) < 4:
        raise OptionError(f"state: {len(state)} arrays, want position, rotation, velocity and spin")
    given = {name: jnp.asarray(x) for name, x in zip(STATE, state, strict=False)}
    each = False
    if force is not None:
        given["force"] = jnp.asarray(force)
        each = given["force"].ndim > given["position"].ndim
    tails = tails_of(sim, steps, each)
    for name, value in values.items():
        if value is not None:
            given[name] = jnp.asarray(value)
    for name, x in given.items():
        tail = tails[name]
        if x.ndim < len(tail) or x.shape[x.ndim - len(tail) :] != tail:
            raise OptionError(f"{name}: has the shape {list(x.shape)}, want [{', '.join(map(str, ('...', *tail)))}]")
        if not jnp.issubdtype(x.dtype, jnp.floating):
            raise OptionError(f"{name}: is {x.dtype}, want real numbers: integers have no derivative")
    lead = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(tails[name])] for name, x in given.items()))
    real = jnp.result_type(*given.values())
    full = [jnp.broadcast_to(x, (*lead, *tails[name])).astype(real) for name, x in given.items()]
    key = (quat, steps, tuple(given), tuple(tails[name] for name in given), masks, impacts)
    got = State(*graph(kept(sim, key, lambda: StepsCall(sim, *key)), *full))
    return got if masks else got._replace(smoothness=None, margin=None)
