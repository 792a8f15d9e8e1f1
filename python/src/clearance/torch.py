"""Answers of pairs in the graph of PyTorch's autograd.

import clearance as cl
from clearance.torch import answers, distance

d, result = distance(cl.Engine(), lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
d.sum().backward()  # gradients of pos_a, quat_a, pos_b, quat_b
r = answers(engine, lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
r.witness_a  # differentiable, too
"""

from __future__ import annotations

import importlib
from typing import Any, Final, NamedTuple, Unpack

from ._engine import Engine
from ._errors import OptionError
from ._library import Library
from ._options import DistanceOptions, Order
from ._result import Result

try:
    torch: Any = importlib.import_module("torch")
except ImportError as e:
    raise ImportError("clearance.torch needs PyTorch: pip install torch") from e


class Answers(NamedTuple):
    """The answers of N pairs: [N], [N,3], [N,3], [N,3], differentiable in the poses; and the result, which is not."""

    distance: Any
    normal: Any
    witness_a: Any
    witness_b: Any
    result: Result


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
    **options: Unpack[DistanceOptions],
) -> tuple[Any, Result]:
    """The signed distances of N pairs [N], differentiable in the poses, and the whole result, which is not.

    The arguments are those of :meth:`Engine.distance`; the precision is "double" unless said otherwise. Poses are
    tensors, positions [N,3] or [3] and quaternions [N,4] or [4], which need not be unit. ``derivative`` and its options
    say which gradient is taken, and ``result.smoothness`` where it is exact; rows without an answer are NaN
    with a zero gradient. A second derivative raises :class:`OptionError`.
    """
    r = answers(engine, library, a, b, pos_a, quat_a, pos_b, quat_b, quat=quat, **options)
    return r.distance, r.result


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
    **options: Unpack[DistanceOptions],
) -> Answers:
    """Distances, normals and witnesses of N pairs, differentiable in the poses. See :func:`distance`."""
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw": rotation matrices have no free entries')
    if options.get("out") is not None:
        raise OptionError("out: arrays to fill cannot be part of a graph")
    options.setdefault("precision", "double")
    options["grad"] = True
    tensors = tuple(x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in (pos_a, quat_a, pos_b, quat_b))
    with torch.no_grad():
        p, q, r, s = tensors
        result = engine.distance(library, a, b, p, q, r, s, quat=quat, **options)
    value, normal, witness_a, witness_b = _Answers.apply(*tensors, result)
    return Answers(value, normal, witness_a, witness_b, result)


def _forward(ctx: Any, *args: Any) -> Any:
    *tensors, result = args
    ctx.save_for_backward(*tensors)
    ctx.result = result
    return tuple(getattr(result, name).clone() for name in ("distance", "normal", "witness_a", "witness_b"))


def _backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
    return (*_Gradient.apply(ctx.result, *ctx.saved_tensors, *cotangents), None)


def _gradient(ctx: Any, result: Any, *args: Any) -> Any:
    tensors, (distance, normal, witness_a, witness_b) = args[:4], args[4:]
    parts = result.vjp(distance=distance, normal=normal, witness_a=witness_a, witness_b=witness_b, wrt="poses")
    return tuple(part.to(x.dtype) for part, x in zip(parts, tensors, strict=True))


def _second(ctx: Any, *cotangents: Any) -> Any:
    raise OptionError(
        "clearance.torch has no second derivatives of answers: no gradient of a gradient, no gradgradcheck"
    )


def _function(name: str, forward: Any, backward: Any) -> Any:
    # Made by type(), as checkers of types that lack PyTorch know no base of a class statement.
    return type(
        name, (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )


_Answers: Final[Any] = _function("Answers", _forward, _backward)
_Gradient: Final[Any] = _function("Gradient", _gradient, _second)
