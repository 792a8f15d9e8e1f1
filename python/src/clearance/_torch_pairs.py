"""Answers of pairs as operators of torch.library, which compiled and transformed graphs of PyTorch contain.

An operator takes tensors and plain values alone. So engines and libraries are passed by their numbers, under which they
are found here, and all that the backward pass needs are tensors. The operators have fake tensors, so that torch.compile
traces them without a break in the graph, a formula of autograd, and a rule for torch.vmap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ._derivatives import OPTIONS
from ._engine import engines
from ._errors import ClosedError, OptionError
from ._graph_pairs import NAMES, TAILS, WIDTHS, PairCall
from ._graph_torch import host, torch
from ._library import libraries

# The options of a call, in the order of the operators.
_TYPED: Final = {
    "precision": "str",
    "max_distance": "float?",
    "method": "str?",
    "tolerance": "float?",
    "max_iterations": "int?",
    "derivative": "str?",
    "epsilon": "float?",
    "samples": "int?",
    "rings": "int?",
    "seed": "int?",
}
KNOWN: Final = tuple(_TYPED)
_FIXED: Final = "int engine, int library, str quat, " + ", ".join(f"{t} {name}" for name, t in _TYPED.items())
_POSES: Final = ", ".join(f"Tensor {name}" for name in NAMES)
_ANSWERS: Final = "(" + ", ".join(["Tensor"] * 7) + ")"
_COUNT: Final = 3 + len(_TYPED)  # of arguments that are no tensors


def _call(fixed: Sequence[Any]) -> PairCall:
    """The call of an operator, from its arguments that are no tensors."""
    engine, library, quat, *values = fixed
    if engine not in engines or library not in libraries:
        raise ClosedError("clearance.torch: the engine or the library of a compiled graph is gone")
    options = {name: v for name, v in zip(_TYPED, values, strict=True) if v is not None}
    derivative = {name: v for name, v in options.items() if name in OPTIONS}
    return PairCall(engines[engine], libraries[library], quat, options, derivative)


def _back(arrays: Sequence[Any], like: Any) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(x).to(like.device) for x in arrays)


def _forward(*args: Any) -> Any:
    fixed, tensors = args[:_COUNT], args[_COUNT:]
    return _back(_call(fixed).forward(*map(host, tensors)), tensors[2])


def _fake(*args: Any) -> Any:
    lead, like = args[_COUNT].shape, args[_COUNT + 2]
    reals = [like.new_empty((*lead, *w)) for w in WIDTHS]
    codes = [like.new_empty(lead, dtype=torch.uint8) for _ in range(2)]
    return (*reals, *codes, like.new_empty(lead))


def _pull(*args: Any) -> Any:
    fixed, tensors = args[:_COUNT], args[_COUNT:]
    arrays = [host(x) for x in tensors]
    return _back(_call(fixed).backward(arrays[:6], arrays[6:12], arrays[12:]), tensors[2])


def _fake_pull(*args: Any) -> Any:
    return tuple(torch.empty_like(x, memory_format=torch.contiguous_format) for x in args[_COUNT + 2 : _COUNT + 6])


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.fixed = inputs[:_COUNT]
    ctx.save_for_backward(*inputs[_COUNT:], *output[:5], output[6])


def _backward(ctx: Any, *cotangents: Any) -> Any:
    saved = ctx.saved_tensors
    given = [
        torch.zeros_like(answer) if c is None else c for c, answer in zip(cotangents[:4], saved[6:10], strict=True)
    ]
    gradients = _Product.apply(*ctx.fixed, *saved, *given)
    return (*[None] * (_COUNT + 2), *gradients)


def _batched(count: int, operator: Callable[..., Any]) -> Any:
    """The rule of an operator for torch.vmap: the axis of the batch becomes the first of the leading ones."""

    def rule(info: Any, axes: Any, *args: Any) -> Any:
        tensors = [
            x.movedim(axis, 0) if axis is not None else x.expand(info.batch_size, *x.shape)
            for x, axis in zip(args[_COUNT:], axes[_COUNT:], strict=True)
        ]
        return operator(*args[:_COUNT], *tensors), (0,) * count

    return rule


_operator: Final[Any] = torch.library.custom_op(
    "clearance::answers", _forward, mutates_args=(), schema=f"({_FIXED}, {_POSES}) -> {_ANSWERS}"
)
_operator.register_fake(_fake)
_operator.register_autograd(_backward, setup_context=_keep)
_operator.register_vmap(_batched(7, _operator))
_product: Final[Any] = torch.library.custom_op(
    "clearance::answers_vjp",
    _pull,
    mutates_args=(),
    schema=f"({_FIXED}, {_POSES}, {', '.join(f'Tensor saved_{k}' for k in range(6))}, "
    f"{', '.join(f'Tensor cotangent_{k}' for k in range(4))}) -> (Tensor, Tensor, Tensor, Tensor)",
)
_product.register_fake(_fake_pull)
_product.register_vmap(_batched(4, _product))


def _function(name: str, operator: Callable[..., Any], count: int, keep: Any, backward: Any) -> Any:
    """An operator as torch.func takes it, whose transforms know autograd.Function and no formula of an operator."""

    def forward(*args: Any) -> Any:
        with torch.no_grad():
            return operator(*args)

    methods = {"forward": forward, "setup_context": keep, "backward": backward}
    made: Any = type(name, (torch.autograd.Function,), {n: staticmethod(f) for n, f in methods.items()})
    made.vmap = staticmethod(_batched(count, made.apply))
    return made


def _refused(ctx: Any, *cotangents: Any) -> Any:
    raise OptionError(
        "clearance.torch has no second derivatives of answers: no gradient of a gradient, no gradgradcheck"
    )


_Answers: Final[Any] = _function("PairAnswers", _operator, 7, _keep, _backward)
_Product: Final[Any] = _function("PairProduct", _product, 4, lambda ctx, inputs, output: None, _refused)


def compiled(*values: Any) -> bool:
    """Whether a call is traced by torch.compile, or has tensors that torch.vmap or torch.func.grad wraps."""
    if torch.compiler.is_compiling():
        return True
    wrapped = torch._C._functorch.is_functorch_wrapped_tensor
    return any(isinstance(x, torch.Tensor) and wrapped(x) for x in values)


def answers(engine: Any, library: Any, arrays: Sequence[Any], quat: str, options: dict[str, Any]) -> tuple[Any, ...]:
    """Distance, normal, witness_a, witness_b, None for the result, status and smoothness, in a graph."""
    for name in options:
        if name not in KNOWN and options[name] is not None:
            raise OptionError(f"{name}: no option of a compiled graph, which has {', '.join(KNOWN)}")
    tensors = [torch.as_tensor(x) for x in arrays]
    leads = []
    for name, x, tail in zip(NAMES, tensors, TAILS, strict=True):
        if x.ndim < len(tail) or x.shape[x.ndim - len(tail) :] != tail:
            raise OptionError(f"{name}: has the shape {list(x.shape)}, want [..., {tail[0] if tail else ''}]")
        if not tail and x.is_floating_point():
            raise OptionError(f"{name}: is {x.dtype}, want integers")
        leads.append(x.shape[: x.ndim - len(tail)])
    lead = torch.broadcast_shapes(*leads)
    real = torch.float64 if options["precision"] == "double" else torch.float32
    full = [x.to(real if tail else torch.int32).expand((*lead, *tail)) for x, tail in zip(tensors, TAILS, strict=True)]
    values = [options.get(name) for name in KNOWN]
    call = torch.ops.clearance.answers if torch.compiler.is_compiling() else _Answers.apply
    found = call(engine._key, library._key, quat, *values, *full)
    return (*found[:4], None, *found[4:6])
