"""Checks of options and of the places for results."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, get_args

import numpy as np

from ._arrays import Array, check_gradient, is_torch
from ._errors import ArrayError, ClearanceError, OptionError

if TYPE_CHECKING:
    from ._result import Result

INT32: Final = (1 << 31) - 1
INT64: Final = (1 << 63) - 1

Precision = Literal["single", "double"]
Method = Literal["auto", "gjk", "nesterov", "polyak", "rtr"]
Derivative = Literal["exact", "gumbel", "gaussian", "zeroth"]
Order = Literal["wxyz", "xyzw"]
Rotation = Literal["wxyz", "xyzw", "matrix"]


class MethodOptions(TypedDict, total=False):
    """How pairs are solved; None is the default of each. See :meth:`Engine.distance`."""

    method: Method
    precision: Precision | None
    tolerance: float | None
    max_iterations: int | None


class SolverOptions(MethodOptions, total=False):
    """Options of every query."""

    columns: Iterable[str] | None


class InputOptions(TypedDict, total=False):
    """Options of lists of pairs and of their derivatives."""

    copy: bool
    warm_start: Any
    derivative: Derivative
    epsilon: float | None
    samples: int | None
    rings: int | None
    seed: int


class PairOptions(SolverOptions, InputOptions, total=False):
    """Options of queries of lists of pairs."""

    out: Result | Mapping[str, Any] | None
    grad: bool


class DistanceOptions(PairOptions, total=False):
    """Options of distances of pairs."""

    max_distance: float | None


class GrowthOptions(PairOptions, total=False):
    """Options of growth distances of pairs."""

    max_factor: float | None


class QueryOptions(PairOptions, total=False):
    """Options of any query of pairs by name."""

    cut_off: float | None


class ProductOptions(MethodOptions, InputOptions, total=False):
    """Options of products with the derivatives of any query of pairs."""

    cut_off: float | None


class DerivativeOptions(TypedDict, total=False):
    """Options of products with derivatives; None and what is not named is the option of the query."""

    derivative: Derivative | None
    epsilon: float | None
    samples: int | None
    rings: int | None
    seed: int | None


def interval(option: str, value: Any) -> tuple[float, float] | None:
    """Two finite numbers, the lower one first, or None."""
    if value is None:
        return None
    try:
        low, high = value
    except (TypeError, ValueError) as e:
        raise OptionError(f"{option}: {value!r}, want two numbers, the lower one first") from e
    found = real(option, low), real(option, high)
    if not found[0] <= found[1]:
        raise OptionError(f"{option}: {value!r}, want two numbers, the lower one first")
    return found


def check_names(what: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise OptionError for an option that is not known, with the nearest one that is."""
    for name in options:
        if name not in known:
            import difflib  # which is no part of an ordinary start

            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OptionError(f"{name}: no option of {what}, which has {', '.join(known)}{hint}")


def real(option: str, value: Any, least: float = -math.inf, above: bool = False) -> float:
    """A finite number of at least ``least``, or above it."""
    if type(value) is not float:
        if isinstance(value, (bool, str, bytes)):
            raise OptionError(f"{option}: {value!r}, want a number")
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError) as e:
            raise OptionError(f"{option}: {value!r}, want a number") from e
    number: float = value
    if not math.isfinite(number) or number < least or (above and number == least):
        bound = "" if least == -math.inf else f" above {least:g}" if above else f" of at least {least:g}"
        raise OptionError(f"{option}: {number:g}, want a finite number{bound}")
    return number


def text(option: str, value: Any) -> str:
    """A text, which a C interface ends at the first zero byte."""
    if not isinstance(value, str) or "\0" in value:
        raise OptionError(f"{option}: {value!r}, want a text without zero bytes")
    return value


def path_bytes(what: str, path: Any, error: type[ClearanceError] = OptionError) -> bytes:
    """The path of a file as the C interface takes it."""
    try:
        name = os.fsencode(path)
    except TypeError as e:
        raise error(f"{what}: {path!r}, want a path") from e
    if b"\0" in name or not name:
        raise error(f"{what}: {path!r} is no path of a file")
    return name


def whole(option: str, value: Any, least: int = 0, most: int = INT32) -> int:
    """An integer within bounds: ctypes would keep its low bits."""
    try:
        number = operator.index(value)
    except TypeError as e:
        raise OptionError(f"{option}: {value!r}, want a whole number") from e
    if isinstance(value, bool) or not least <= number <= most:
        raise OptionError(f"{option}: {value!r}, want a whole number from {least} to {most}")
    return number


def flag(option: str, value: Any) -> bool:
    """True or False: any other value, such as the text "no", would count as one of them."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise OptionError(f"{option}: {value!r}, want True or False")
    return bool(value)


def one_of(option: str, value: Any, choices: Sequence[str]) -> Any:
    """A value that is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option}: {value!r}, want one of {', '.join(choices)}")
    return value


def check_quat(quat: Any) -> None:
    """Raise OptionError for what is no order of the quaternions of poses."""
    if not isinstance(quat, str) or quat not in get_args(Order):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')


def names_of(columns: Iterable[str]) -> list[str]:
    """A list of columns, at least the status."""
    if isinstance(columns, str):
        raise OptionError(f"columns: {columns!r} is a text, want a list of names, such as ({columns!r},)")
    try:
        names = list(columns)
    except TypeError as e:
        raise OptionError(f"columns: {columns!r}, want a list of names") from e
    return names if names else ["status"]


def check_out(out: Any, columns: Iterable[str], always: str = "status") -> None:
    """Raise OptionError for arrays by name that no column of the result would fill."""
    if isinstance(out, Mapping):
        known = list(columns)
        for name in out:
            if name not in known:
                raise OptionError(f"out: {name!r} is no column of this result, which has {', '.join(known)}")
    elif out is not None and not hasattr(out, always):
        raise OptionError(f"out: a {type(out).__name__}, want a former result, or arrays by name")


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
    check_gradient(name, value)
    if is_torch(value):
        if value.device.type != "cpu":
            raise ArrayError(name, f"lies on the device {value.device}, want memory of the host")
        tensor: Array = value.detach().numpy()
        return tensor
    array = np.asarray(value)
    if not np.shares_memory(array, np.asarray(value)):
        raise ArrayError(name, f"is a {type(value).__name__}, want an array")
    return array
