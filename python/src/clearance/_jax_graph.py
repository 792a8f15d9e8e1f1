"""A call of the package as one function of JAX: a primitive with a rule for ``vmap``, and its derivative.

On the CPU compiled programs call a foreign function (``jax.ffi``), which knows the call by its number: programs have no
object of Python in them, and are compiled once for a call and the shapes of its arguments. On other devices, which have
no memory that the library reads, JAX calls the host back (``jax.pure_callback``).
"""

from __future__ import annotations

import importlib
from typing import Any, Final

import numpy as np

from . import _jax_ffi
from ._arrays import Array
from ._calls import Call, call_of, number_of, product

try:
    jax: Any = importlib.import_module("jax")
except ImportError as e:
    raise ImportError("clearance.jax needs JAX: pip install jax") from e

jnp: Final[Any] = jax.numpy
_mlir: Final[Any] = importlib.import_module("jax.interpreters.mlir")
_batching: Final[Any] = importlib.import_module("jax.interpreters.batching")


def _answer(number: int, backward: bool, args: list[Array]) -> tuple[Array, ...]:
    call = call_of(number)
    return product(call, args) if backward else call.forward(*args)


# XLA holds a pointer to this function as long as the process lives.
_handler: Final[Any] = _jax_ffi.handler(_answer)
jax.ffi.register_ffi_target(_jax_ffi.NAME, jax.ffi.pycapsule(_handler), platform="cpu")


def _outputs(call: Call, backward: bool, args: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Shapes and types of the outputs of the primitive."""
    if not backward:
        return call.outputs([x.shape for x in args], args[call.whole].dtype)
    count = len(args) - len(call.saved) - call.smooth
    return [(x.shape, x.dtype) for x in args[call.whole : count]]


def _abstract(*args: Any, call: Call, backward: bool) -> Any:
    return [jax.core.ShapedArray(shape, np.dtype(t)) for shape, t in _outputs(call, backward, args)]


def _now(*args: Any, call: Call, backward: bool) -> Any:
    """The outputs of arrays that are there: nothing is compiled."""
    arrays = list(map(np.asarray, args))
    got = product(call, arrays) if backward else call.forward(*arrays)
    return [jnp.asarray(x, t) for x, (_, t) in zip(got, _outputs(call, backward, args), strict=True)]


def _batched(args: Any, axes: Any, *, call: Call, backward: bool) -> Any:
    """The rule for ``vmap``: one more leading axis, in one call of the engine."""
    size = next(x.shape[d] for x, d in zip(args, axes, strict=True) if d is not None)
    full = [
        jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
        for x, d in zip(args, axes, strict=True)
    ]
    out = _host.bind(*full, call=call, backward=backward)
    return out, [0] * len(out)


def _lowered(ctx: Any, *args: Any, call: Call, backward: bool) -> Any:
    """The foreign call; the program keeps the engine that it calls."""
    ctx.module_context.add_keepalive(call)
    attributes = {_jax_ffi.CALL: np.int64(number_of(call)), _jax_ffi.BACKWARD: np.int64(backward)}
    return jax.ffi.ffi_lowering(_jax_ffi.NAME)(ctx, *args, **attributes)


def _called_back(*args: Any, call: Call, backward: bool) -> Any:
    shapes = [jax.ShapeDtypeStruct(shape, t) for shape, t in _outputs(call, backward, args)]

    def answer(*arrays: Any) -> Any:
        return product(call, arrays) if backward else call.forward(*arrays)

    return jax.pure_callback(answer, shapes, *args, vmap_method="broadcast_all")


_host: Final[Any] = importlib.import_module("jax.extend.core").Primitive("clearance")
_host.multiple_results = True
_host.def_abstract_eval(_abstract)
_host.def_impl(_now)
_batching.primitive_batchers[_host] = _batched
_mlir.register_lowering(_host, _mlir.lower_fun(_called_back, multiple_results=True))
_mlir.register_lowering(_host, _lowered, platform="cpu")


def _plain(call: Call, *args: Any) -> tuple[Any, ...]:
    return tuple(_host.bind(*args, call=call, backward=False)[: call.shown])


def _forward(call: Call, *args: Any) -> tuple[tuple[Any, ...], Any]:
    out = _host.bind(*args, call=call, backward=False)
    return tuple(out[: call.shown]), (args, tuple(out[i] for i in call.saved))


def _backward(call: Call, saved: Any, cotangents: Any) -> tuple[Any, ...]:
    args, kept = saved
    got = _host.bind(*args, *kept, *cotangents[: call.smooth], call=call, backward=True)
    return (*[None] * call.whole, *got)


graph: Final[Any] = jax.custom_vjp(_plain, nondiff_argnums=(0,))
graph.defvjp(_forward, _backward)
