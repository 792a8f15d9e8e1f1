"""A call of the package as one operation of PyTorch's autograd: its outputs, and the product with its derivative."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ._errors import OptionError

try:
    torch: Any = importlib.import_module("torch")
except ImportError as e:
    raise ImportError("clearance.torch needs PyTorch: pip install torch") from e

# Gradients of the inputs, of cotangents of the outputs: arrays or tensors, None for zero.
Pull = Callable[[Sequence[Any]], Sequence[Any]]


def tensor(value: Any) -> Any:
    """A tensor of what an input may be: one of integers, or of NumPy, becomes one of real numbers in float64."""
    if not isinstance(value, torch.Tensor):
        value = torch.as_tensor(np.asarray(value))
        return value if value.is_floating_point() else value.to(torch.float64)
    return value


def reals(name: str, value: Any) -> Any:
    """A tensor of an input that gradients are taken of, which has to be of real numbers."""
    if isinstance(value, torch.Tensor) and not value.is_floating_point():
        raise OptionError(f"{name}: is {value.dtype}, want real numbers: integers have no derivative")
    return tensor(value)


def host(value: Any) -> Any:
    """A tensor in memory that the library reads, without its graph."""
    return value.detach().cpu().numpy()


def operation(inputs: Sequence[Any], outputs: Sequence[Any], pull: Pull, what: str) -> tuple[Any, ...]:
    """The outputs as functions of the inputs, all of them tensors. ``what`` names them where second derivatives are
    refused."""
    got: Any = _Outputs.apply(*inputs, tuple(outputs), pull, what)
    return tuple(got)


def _forward(ctx: Any, *args: Any) -> Any:
    *inputs, outputs, pull, what = args
    ctx.save_for_backward(*inputs)
    ctx.pull, ctx.what = pull, what
    return tuple(o.clone() for o in outputs)


def _backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
    return (*_Gradient.apply(ctx.pull, ctx.what, len(ctx.saved_tensors), *ctx.saved_tensors, *cotangents), *[None] * 3)


def _gradient(ctx: Any, pull: Pull, what: str, count: int, *args: Any) -> Any:
    ctx.what = what
    found = pull(args[count:])
    return tuple(
        torch.zeros_like(x) if g is None else torch.as_tensor(g).to(device=x.device, dtype=x.dtype).reshape(x.shape)
        for g, x in zip(found, args[:count], strict=True)
    )


def _second(ctx: Any, *cotangents: Any) -> Any:
    raise OptionError(
        f"clearance.torch has no second derivatives of {ctx.what}: no gradient of a gradient, no gradgradcheck"
    )


def function(name: str, forward: Any, backward: Any) -> Any:
    """A class of autograd, made by type(), as checkers of types that lack PyTorch know no base of a class statement."""
    return type(
        name, (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )


_Outputs: Final[Any] = function("Outputs", _forward, _backward)
_Gradient: Final[Any] = function("Gradient", _gradient, _second)
