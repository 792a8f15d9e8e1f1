"""Checks of options and of the places for results."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from ._arrays import Array, is_torch
from ._errors import ArrayError, OptionError

INT32: Final = (1 << 31) - 1
INT64: Final = (1 << 63) - 1


def whole(option: str, value: Any, least: int = 0, most: int = INT32) -> int:
    """An integer within bounds: ctypes would keep its low bits."""
    try:
        number = operator.index(value)
    except TypeError as e:
        raise OptionError(f"{option}: {value!r}, want a whole number") from e
    if isinstance(value, bool) or not least <= number <= most:
        raise OptionError(f"{option}: {value!r}, want a whole number from {least} to {most}")
    return number


def one_of(option: str, value: Any, choices: list[str]) -> Any:
    """A value that is one of the choices."""
    if value not in choices:
        raise OptionError(f"{option}: {value!r}, want one of {', '.join(choices)}")
    return value


def names_of(columns: Iterable[str]) -> list[str]:
    """A list of columns, at least the status."""
    if isinstance(columns, str):
        raise OptionError(f"columns: {columns!r} is a text, want a list of names, such as ({columns!r},)")
    names = list(columns)
    return names if names else ["status"]


def check_out(out: Any, columns: Iterable[str]) -> None:
    """Raise OptionError for arrays by name that no column of the result would fill."""
    if isinstance(out, Mapping):
        known = list(columns)
        for name in out:
            if name not in known:
                raise OptionError(f"out: {name!r} is no column of this result, which has {', '.join(known)}")


def given(out: Any, name: str) -> Any:
    """The place for a column, None if the caller gave none."""
    if out is None:
        return None
    return out.get(name) if isinstance(out, Mapping) else getattr(out, name, None)


def place(out: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """The array of a column: that of the caller, which must fit as it is, or a new one."""
    value = given(out, name)
    if value is None:
        return np.empty(shape, dtype)
    name, dtype = f"out.{name}", np.dtype(dtype)
    array: Array = value if type(value) is np.ndarray else _memory_of(name, value)
    flags = array.flags
    if array.shape != shape or array.dtype != dtype:
        raise ArrayError(name, f"is {array.dtype} {list(array.shape)}, want {dtype} {list(shape)}")
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        raise ArrayError(name, "want an array that is C-contiguous, aligned and writable")
    return array


def _memory_of(name: str, value: Any) -> Array:
    """The array of the memory of a value, which must not be copied."""
    if is_torch(value):
        if value.device.type != "cpu":
            raise ArrayError(name, f"lies on the device {value.device}, want memory of the host")
        tensor: Array = value.detach().numpy()
        return tensor
    array = np.asarray(value)
    if not np.shares_memory(array, np.asarray(value)):
        raise ArrayError(name, f"is a {type(value).__name__}, want an array")
    return array
