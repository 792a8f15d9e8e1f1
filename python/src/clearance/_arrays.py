"""Arrays of callers as NumPy arrays of the memory that they already have.

What fits is used as it is: the type of the elements, native byte order, C-contiguous, aligned. What does not fit is
copied once, or refused if the caller said ``copy=False``. Arrays may be read-only.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ._errors import ArrayError, CopyError

Array = NDArray[Any]

_CPU_DEVICES: Final = (1, 3, 11, 13)  # kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged of DLPack


def is_torch(value: object) -> bool:
    """Whether a value is a tensor of PyTorch, without importing it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def host(name: str, value: Any, copy: bool) -> Array:
    """A value as a NumPy array: of its own memory if that is possible."""
    if type(value) is np.ndarray:
        return value
    if is_torch(value):
        return _torch_host(name, value, copy)
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
    try:
        return np.asarray(value)
    except ValueError as e:
        raise ArrayError(name, str(e)) from e


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
    array = host(name, value, copy)
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
        if kind not in "iu":
            raise ArrayError(name, f"is {array.dtype}, want integers")
        limits = np.iinfo(want)
        bad = (array < limits.min) | (array > limits.max)
        if bad.any():
            row = _bad_row(array, bad)
            raise ArrayError(name, f"{array[row]} is not an index", row)
    elif kind not in "fiu":
        raise ArrayError(name, f"is {array.dtype}, want real numbers")
    return np.require(array, dtype=want, requirements=["C", "A"])


_TO_WXYZ: Final = (3, 0, 1, 2)


def reordered(array: Array, order: tuple[int, ...]) -> Array:
    """A C-contiguous copy with the numbers of the last axis in another order."""
    return np.ascontiguousarray(np.take(array, order, axis=-1))


def rotations(name: str, value: Any, order: str, rows: int | None, copy: bool) -> Array:
    """Quaternions [N,4] in the order (w, x, y, z). Those in the order "xyzw" take a copy."""
    array = take(name, value, np.float64, (4,), rows, copy)
    if order == "wxyz":
        return array
    if not copy:
        raise CopyError(name, 'is in the order "xyzw", which takes a copy, and copy=False')
    return reordered(array, _TO_WXYZ)


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
