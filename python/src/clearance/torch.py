"""Signed distances in the graph of PyTorch's autograd.

import clearance as cl
from clearance.torch import distance

d, result = distance(cl.Engine(), lib, a, b, pos_a, quat_a, pos_b, quat_b, quat="wxyz")
d.sum().backward()  # gradients of pos_a, quat_a, pos_b, quat_b
"""

from __future__ import annotations

import importlib
from typing import Any, Final, Unpack

import numpy as np

from ._engine import Engine
from ._errors import OptionError
from ._gradient import NEEDED, distance_gradient, quaternion_gradient
from ._library import Library
from ._options import DistanceOptions, Order
from ._result import Result

try:
    torch: Any = importlib.import_module("torch")
except ImportError as e:
    raise ImportError("clearance.torch needs PyTorch: pip install torch") from e

_QUATERNION: Final = 4
_POSITION: Final = 3


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
    tensors, positions [N,3] or [3] and quaternions [N,4] or [4], which need not be unit. The gradient is that of
    :func:`clearance.distance_gradient`, which says where it is exact; rows without an answer are NaN with a zero
    gradient. There is no second derivative. Normal and witnesses are constants of the graph.
    """
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw": rotation matrices have no free entries')
    if options.get("out") is not None:
        raise OptionError("out: arrays to fill cannot be part of a graph")
    options.setdefault("precision", "double")
    wanted = tuple(options.get("columns") or ())
    options["columns"] = tuple(dict.fromkeys((*NEEDED, "status", *wanted)))
    tensors = tuple(x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in (pos_a, quat_a, pos_b, quat_b))
    with torch.no_grad():
        p, q, r, s = tensors
        result = engine.distance(library, a, b, p, q, r, s, quat=quat, **options)
    value = _Distance.apply(*tensors, result, quat, options.get("max_distance"))
    return value, result


def _forward(ctx: Any, *args: Any) -> Any:
    tensors, (result, order, limit) = args[:4], args[4:]
    ctx.save_for_backward(*tensors)
    ctx.result, ctx.order, ctx.limit = result, order, limit
    return torch.as_tensor(result.distance).clone()


def _backward(ctx: Any, cotangent: Any) -> tuple[Any, ...]:
    tensors = ctx.saved_tensors
    pos_a, quat_a, pos_b, quat_b = (x.detach().cpu().numpy().astype(np.float64) for x in tensors)
    gradient = distance_gradient(ctx.result, pos_a, pos_b, max_distance=ctx.limit)
    seed = cotangent.detach().cpu().numpy().astype(np.float64)
    # A row of zeros has no gradient, whatever its cotangent is: NaN, if a loss has taken in its distance.
    rows = np.where(gradient.any(axis=1), seed, 0)[:, None] * gradient
    parts = []
    for first, quaternion in ((0, quat_a), (6, quat_b)):
        spin = rows[:, first + 3 : first + 6]
        q = np.broadcast_to(quaternion, (len(rows), _QUATERNION))
        good = np.isfinite(q).all(axis=1) & q.any(axis=1)  # rows with another quaternion are invalid
        rotated = np.zeros((len(rows), _QUATERNION))
        rotated[good] = quaternion_gradient(spin[good], q[good], ctx.order)
        parts += [rows[:, first : first + _POSITION], rotated]
    return (*(_as(part, x) for part, x in zip(parts, tensors, strict=True)), None, None, None)


def _as(gradient: Any, x: Any) -> Any:
    """The gradient of one argument: of all rows together if it is that of all rows."""
    if x.ndim == 1:
        gradient = gradient.sum(axis=0)
    return torch.as_tensor(gradient, dtype=x.dtype, device=x.device)


# Made by type(), as checkers of types that lack PyTorch know no base of a class statement.
_Distance: Final[Any] = type(
    "Distance",
    (torch.autograd.Function,),
    {
        "forward": staticmethod(_forward),
        "backward": staticmethod(torch.autograd.function.once_differentiable(_backward)),
    },
)
