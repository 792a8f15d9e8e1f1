"""A call of the package as one operator of torch.library, in graphs that torch.compile makes.

An operator takes tensors and plain values alone: the call (:class:`clearance._calls.Call`) is a number, which is found
while the graph is traced and is a constant of it. PyTorch guards by the identity of the objects that the call was made
of: with another simulation the function is compiled anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ._calls import Call, call_of, frozen, kept, number_of, product
from ._contact_derivatives import PARAMETERS
from ._engine import Engine
from ._errors import OptionError
from ._graph_contact import NAMES, STATE, WHOLE, SolveCall, StepsCall, tails_of
from ._graph_sweeps import SweepCall
from ._graph_torch import host, torch
from ._options import SweepGraphOptions, check_names, defaults
from ._scene import Scene

# By value, since dynamo makes no tensors of what NumPy calls its types.
_TYPES: Final = {"uint8": torch.uint8, "int32": torch.int32, "float32": torch.float32, "float64": torch.float64}


class Masks(NamedTuple):
    """What the steps of a compiled graph are worth, in tensors [T,W]: status and smoothness (uint8, as those of
    contact.Trajectory and contact.RunGradient: 0 is smooth), and margin."""

    status: Any
    smoothness: Any
    margin: Any


class SolvedMasks(NamedTuple):
    """What the solutions of a compiled graph are worth, in tensors [W]: status and smoothness (uint8, as those of
    contact.Solution and contact.ProblemGradient: 0 is smooth), and margin."""

    status: Any
    smoothness: Any
    margin: Any


class ContactMasks(NamedTuple):
    """What the times of a compiled graph are worth, in tensors of their shape: state (uint8, as SweepResult.state) and
    smoothness (uint8, as SweepResult.time_smoothness: 1 has a derivative)."""

    state: Any
    smoothness: Any


def _outputs(call: Call, tensors: Sequence[Any]) -> list[Any]:
    like = tensors[call.whole]
    name = "float64" if like.dtype == torch.float64 else "float32"
    return [
        torch.empty(tuple(shape), dtype=_TYPES[t], device=like.device)
        for shape, t in call.outputs([tuple(x.shape) for x in tensors], name)
    ]


def _forward(args: Any, call: int) -> Any:
    out = call_of(call).forward(*map(host, args))
    like = args[call_of(call).whole]
    return [torch.from_numpy(np.ascontiguousarray(x)).to(like.device) for x in out]


def _inputs(call: Call, args: Sequence[Any]) -> Sequence[Any]:
    """The arguments that a product has gradients of."""
    return args[call.whole : len(args) - call.smooth - len(call.saved)]


def _pull(args: Any, call: int) -> Any:
    found = call_of(call)
    got = product(found, [host(x) for x in args])
    inputs = _inputs(found, args)
    return [torch.from_numpy(np.array(g)).to(device=x.device, dtype=x.dtype) for g, x in zip(got, inputs, strict=True)]


def _fake_pull(args: Any, call: int) -> Any:
    return [torch.empty(tuple(x.shape), dtype=x.dtype, device=x.device) for x in _inputs(call_of(call), args)]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    args, ctx.call = inputs
    call = call_of(ctx.call)
    ctx.like = [(x.shape, x.dtype, x.device) for x in output[: call.smooth]]
    ctx.save_for_backward(*args, *(output[i] for i in call.saved))


def _backward(ctx: Any, cotangents: Any) -> Any:
    call = call_of(ctx.call)
    bars = [
        torch.zeros(shape, dtype=dtype, device=device) if c is None else c
        for c, (shape, dtype, device) in zip(cotangents[: call.smooth], ctx.like, strict=True)
    ]
    return [*[None] * call.whole, *_product([*ctx.saved_tensors, *bars], ctx.call)], None


def _second(ctx: Any, cotangents: Any) -> Any:
    raise OptionError("clearance.torch has no second derivatives: no gradient of a gradient, no gradgradcheck")


_SCHEMA: Final = "(Tensor[] args, int call) -> Tensor[]"
_operator: Final[Any] = torch.library.custom_op("clearance::call", _forward, mutates_args=(), schema=_SCHEMA)
_operator.register_fake(lambda args, call: _outputs(call_of(call), args))
_operator.register_autograd(_backward, setup_context=_keep)
_product: Final[Any] = torch.library.custom_op("clearance::call_vjp", _pull, mutates_args=(), schema=_SCHEMA)
_product.register_fake(_fake_pull)
_product.register_autograd(_second, setup_context=lambda ctx, inputs, output: None)


_SWEEPS: Final = tuple(defaults(SweepGraphOptions))
_constant: Final[Any] = torch._dynamo.assume_constant_result
_solves: Final[dict[Any, SolveCall]] = {}  # by their options


def _number_of_solve(options: tuple[Any, ...]) -> int:
    given = dict(options)
    return number_of(_solves.setdefault(frozen(given), SolveCall(given)))


def _number_of_steps(sim: Any, quat: Any, steps: int, names: Any, tails: Any, impacts: Any) -> int:
    key = (quat, steps, names, tails, True, impacts)
    return number_of(kept(sim, key, lambda: StepsCall(sim, *key)))


def _number_of_sweep(engine: Any, scene: Any, quat: Any, options: tuple[Any, ...]) -> int:
    given, pairs = dict(options), len(scene.pairs)
    key = ("sweep", scene, quat, frozen(given), pairs, "float64")
    return number_of(kept(engine, key, lambda: SweepCall(engine, scene, quat, given, pairs, "float64")))


# What these return is a constant of the graph, guarded by their arguments.
_solve_number, _steps_number, _sweep_number = map(_constant, (_number_of_solve, _number_of_steps, _number_of_sweep))


def _full(values: dict[str, Any], tails: dict[str, Any]) -> list[Any]:
    """Tensors of one real type with the same leading axes."""
    leads, real = [], torch.float32
    for name, x in values.items():
        tail = tails[name]
        if x.ndim < len(tail) or tuple(x.shape[x.ndim - len(tail) :]) != tail:
            raise OptionError(f"{name}: has the shape {list(x.shape)}, want [{', '.join(map(str, ('...', *tail)))}]")
        if x.is_floating_point() == (name in WHOLE):
            raise OptionError(f"{name}: is {x.dtype}, want {'integers' if name in WHOLE else 'real numbers'}")
        leads.append(x.shape[: x.ndim - len(tail)])
        if name not in WHOLE:
            real = torch.promote_types(real, x.dtype)
    lead = torch.broadcast_shapes(*leads)
    return [
        x.to(torch.int32 if name in WHOLE else real).expand((*lead, *tails[name])).contiguous()
        for name, x in values.items()
    ]


def solved(values: dict[str, Any], options: dict[str, Any]) -> tuple[Any, Any, SolvedMasks]:
    """Velocity and impulse of contact problems in a graph."""
    given = {name: torch.as_tensor(x) for name, x in values.items() if x is not None}
    bodies, contacts = given["mass"].shape[-1], given["friction"].shape[-1]
    tails: dict[str, Any] = {"count": (), "body_a": (contacts,), "body_b": (contacts,)}
    for name, (axis, tail) in PARAMETERS.items():
        tails[name] = (bodies if axis == "bodies" else contacts, *tail)
    for name in ("target", "compliance"):
        if name not in given:
            given[name] = torch.zeros(tails[name], dtype=given["mass"].dtype, device=given["mass"].device)
    full = _full({name: given[name] for name in NAMES}, tails)
    out = _operator(full, _solve_number(tuple(options.items())))
    return out[0], out[1], SolvedMasks(out[2], out[3], out[4].detach())


def stepped(
    sim: Any, state: Sequence[Any], force: Any, steps: int, quat: Any, impacts: Any, values: dict[str, Any]
) -> tuple[list[Any], Masks]:
    """All states of a run in a graph, with the axes [T,W,M]."""
    given = {name: torch.as_tensor(x) for name, x in zip(STATE, state, strict=False)}
    each = False
    if force is not None:
        given["force"] = torch.as_tensor(force)
        each = given["force"].ndim > given["position"].ndim
        if each:
            given["force"] = given["force"].movedim(0, 1)
    for name, value in values.items():
        if value is not None:
            given[name] = torch.as_tensor(value)
    tails = tails_of(sim, steps, each)
    full = _full(given, tails)
    names = tuple(given)
    number = _steps_number(sim, quat, steps, names, tuple(tails[name] for name in names), impacts)
    out = [x.movedim(1, 0) for x in _operator(full, number)]
    return out[:4], Masks(out[4], out[5], out[6].detach())


def timed(engine: Engine, scene: Scene, poses: Any, quat: Any, options: dict[str, Any]) -> tuple[Any, ContactMasks]:
    """The times of first contacts in a graph."""
    check_names("clearance.torch", options, _SWEEPS)
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')
    number = _sweep_number(engine, scene, quat, tuple(options.items()))
    out = _operator([torch.as_tensor(poses).contiguous()], number)
    return out[0], ContactMasks(out[1], out[2])
