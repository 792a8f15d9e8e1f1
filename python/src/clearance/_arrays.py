"""Arrays of callers as NumPy arrays of the memory that they already have.

What fits is used as it is: the type of the elements, native byte order, C-contiguous, aligned. What does not fit is
copied once, or refused if the caller said ``copy=False``. Arrays may be read-only.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ._errors import ArrayError, ClearanceError, CopyError

Array = NDArray[Any]

_CPU_DEVICES: Final = (1, 3, 11, 13)  # kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged of DLPack


# Numbers that a thread copies at a time, and from how many on several threads do.
_PART: Final = 1 << 17
_MANY: Final = 1 << 19


def in_parts(shape: tuple[int, ...], copy: Callable[[slice], None]) -> None:
    """Call ``copy`` with parts of the first axis of an array, in several threads if it is large.

    NumPy copies without the lock of the interpreter. The exception that is raised is that of the lowest part.
    """
    rows, size = shape[0], int(np.prod(shape))
    if size < _MANY:
        copy(slice(0, rows))
        return
    from concurrent.futures import ThreadPoolExecutor  # which small calls need not wait for

    step = max(1, rows * _PART // size)
    parts = [slice(lo, min(lo + step, rows)) for lo in range(0, rows, step)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(min(cores, len(parts))) as pool:
        for _ in pool.map(copy, parts):
            pass


def is_torch(value: object) -> bool:
    """Whether a value is a tensor of PyTorch, without importing it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def check_gradient(name: str, value: Any) -> None:
    """Raise ArrayError for a tensor whose gradient is asked for: no answer would be part of its graph."""
    if getattr(value, "requires_grad", False) is not True:
        return
    if is_torch(value) and not sys.modules["torch"].is_grad_enabled():
        return
    raise ArrayError(
        name,
        "requires a gradient, which this call would lose silently. clearance.torch.distance keeps it; pass detach() of "
        "the tensor, or call under torch.no_grad(), if none is wanted",
    )


def _check_tracer(name: str, value: Any) -> None:
    """Raise ArrayError for a value of JAX that has no numbers yet, as those within jit, vmap and grad."""
    kind = type(value)
    if kind.__module__.partition(".")[0] == "jax" and kind.__name__.endswith("Tracer"):
        raise ArrayError(
            name,
            f"is a {kind.__name__}, which has no numbers while JAX traces: clearance.jax.distance can be traced; call "
            "others through jax.pure_callback, or outside of jit, vmap and grad",
        )


def host(name: str, value: Any, copy: bool) -> Array:
    """A value as a NumPy array: of its own memory if that is possible."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    check_gradient(name, value)
    if is_torch(value):
        return _torch_host(name, value, copy)
    _check_tracer(name, value)
    try:
        return _foreign(name, value, copy)
    except ClearanceError:
        raise
    except Exception as e:  # of the object, whose conversion may do anything
        raise ArrayError(name, f"is a {type(value).__name__} that is no array: {e}") from e


def _foreign(name: str, value: Any, copy: bool) -> Array:
    """An object that is no array of NumPy or PyTorch, by the protocol that it has."""
    device = getattr(value, "__dlpack_device__", None)
    if device is not None and int(device()[0]) not in _CPU_DEVICES:
        if not copy:
            raise CopyError(name, f"lies on the device {device()}, want memory of the host with copy=False")
        if hasattr(value, "get"):  # CuPy
            return np.asarray(value.get())
        return np.asarray(value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    try:
        return np.asarray(memoryview(value))
    except TypeError:
        pass
    if device is not None:
        return np.from_dlpack(value)
    if hasattr(value, "__array__"):  # which may return the array of the object, or one made for the call
        if not copy:
            raise CopyError(name, f"is a {type(value).__name__}, which may copy by __array__, and copy=False")
        return np.asarray(value)
    if not copy:
        raise CopyError(name, f"is a {type(value).__name__}, want an array with copy=False")
    return np.asarray(value)


def _torch_host(name: str, value: Any, copy: bool) -> Array:
    """A tensor in host memory; one on a device is copied through page-locked memory."""
    value = value.detach()
    if value.device.type == "cpu":
        result: Array = value.numpy()
        return result
    if not copy:
        raise CopyError(name, f"lies on the device {value.device}, want memory of the host with copy=False")
    torch: Any = sys.modules["torch"]
    staging = torch.empty(value.shape, dtype=value.dtype, pin_memory=value.device.type == "cuda")
    staging.copy_(value)
    result = staging.numpy()
    return result


def _bad_row(array: Array, bad: Array) -> int:
    return int(np.flatnonzero(bad.reshape(len(array), -1).any(axis=1))[0])


def take(name: str, value: Any, dtype: Any, tail: tuple[int, ...], rows: int | None, copy: bool) -> Array:
    """The rows of an argument as an array of ``dtype`` [N, *tail], C-contiguous and aligned.

    ``rows`` is N, or None where this argument defines it. Values are not checked here: what is wrong with one row
    costs that row only.
    """
    return fit(name, host(name, value, copy), dtype, tail, rows, copy)


def lead_of(array: Array, tail: tuple[int, ...]) -> tuple[int, ...]:
    """The leading axes of an array [*lead, *tail]; none if its last axes are others."""
    n = max(array.ndim - len(tail), 0)
    return array.shape[:n] if array.shape[n:] == tail else ()


def take_batch(name: str, value: Any, dtype: Any, tail: tuple[int, ...], rows: int, copy: bool) -> Array:
    """:func:`take` of an argument [*lead, *tail], whose leading axes, of which the product is ``rows``, are kept."""
    array = host(name, value, copy)
    lead = lead_of(array, tail)
    if not lead or math.prod(lead) != rows:
        text = ", ".join(map(str, (rows, *tail)))
        several = f", or several leading axes whose product is {rows}"
        raise ArrayError(name, f"has the shape {list(array.shape)}, want [{text}]{several}")
    return fit(name, array, dtype, (*lead[1:], *tail), lead[0], copy)


def take_rows(name: str, value: Any, tail: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """The rows [N, *tail] of an argument of real numbers [*lead, *tail], and its leading axes, one at least."""
    array = host(name, value, True)
    lead = lead_of(array, tail)
    if not lead:
        text = ", ".join(map(str, tail))
        raise ArrayError(name, f"has the shape {list(array.shape)}, want [N, {text}], or [..., {text}]")
    return fit(name, array, np.float64, (*lead[1:], *tail), lead[0], True).reshape(math.prod(lead), *tail), lead


def fit(name: str, array: Array, dtype: Any, tail: tuple[int, ...], rows: int | None, copy: bool) -> Array:
    """:func:`take` of what is an array of NumPy already."""
    want = np.dtype(dtype)
    if array.ndim != 1 + len(tail) or array.shape[1:] != tail or (rows is not None and array.shape[0] != rows):
        text = ", ".join(["N" if rows is None else str(rows), *map(str, tail)])
        raise ArrayError(name, f"has the shape {list(array.shape)}, want [{text}]")
    if array.dtype == want and array.flags.c_contiguous and array.flags.aligned:
        return array
    if not copy:
        why = f"is {array.dtype}, want {want}" if array.dtype != want else "is not contiguous"
        raise CopyError(name, f"{why}, which takes a copy, and copy=False")
    kind = array.dtype.kind
    if want.kind == "i":
        if kind not in "iu" and array.size:  # an empty list is one of float64
            raise ArrayError(name, f"is {array.dtype}, want integers")
    elif kind not in "fiu":
        raise ArrayError(name, f"is {array.dtype}, want real numbers")
    fitting = np.empty(array.shape, want)

    def copy_part(part: slice) -> None:
        values = array[part]
        if want.kind == "i":
            limits = np.iinfo(want)
            bad = (values < limits.min) | (values > limits.max)
            if bad.any():
                row = part.start + _bad_row(values, bad)
                raise ArrayError(name, f"{array[row]} is not an index", row)
        np.copyto(fitting[part], values, casting="unsafe")

    in_parts(array.shape, copy_part)
    return fitting


def reordered(array: Array, order: tuple[int, ...]) -> Array:
    """A C-contiguous copy with the numbers of the last axis in another order."""
    if array.ndim < 2:
        return np.ascontiguousarray(np.take(array, order, axis=-1))
    result = np.empty(array.shape, array.dtype)
    runs: list[tuple[int, int, int]] = []  # of numbers that stay neighbors: where to, from where, how many
    for to, at in enumerate(order):
        if runs and at == runs[-1][1] + runs[-1][2]:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((to, at, 1))

    def copy_part(part: slice) -> None:
        for to, at, n in runs:
            result[part, ..., to : to + n] = array[part, ..., at : at + n]

    in_parts(array.shape, copy_part)
    return result


def address(array: Array | None) -> int | None:
    """Where the elements of an array begin."""
    if array is None or array.size == 0:
        return None
    flags = array.flags
    if not flags.c_contiguous:
        raise AssertionError("an array that is not contiguous has no address")
    if flags.writeable:  # the buffer protocol takes a third of the time of the attribute
        buffer: Any = array  # which NumPy's types do not say before Python 3.12
        return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    return array.ctypes.data


def torch_device(*values: Any) -> Any:
    """The device of the first tensor among the values, None if there is none."""
    for v in values:
        if is_torch(v):
            return v.device
    return None
