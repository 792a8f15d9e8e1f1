"""Calls of the package as pairs of functions of arrays in the host's memory: the answers, and the product with their
derivative. PyTorch and JAX know only shapes and types when they compile; a call tells them those of its outputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Final
from weakref import WeakValueDictionary

import numpy as np

from ._arrays import Array
from ._errors import ClosedError

Shape = tuple[int, ...]

_numbers: Final = itertools.count(1)


class Call:
    """What of a call is no array. Its arguments are arrays: integers first, then real numbers."""

    whole: ClassVar[int]  # arguments of integers, which have no gradient
    shown: ClassVar[int]  # outputs that the caller sees; the others are for the derivative
    smooth: ClassVar[int]  # outputs that have a derivative, which come first
    saved: ClassVar[tuple[int, ...]]  # outputs that the derivative needs

    def outputs(self, shapes: Sequence[Shape], real: Any) -> list[tuple[Shape, Any]]:
        """Shapes and types of the outputs, of the shapes of the arguments and the type of those of real numbers."""
        raise NotImplementedError

    def forward(self, *args: Any) -> tuple[Array, ...]:
        """The outputs."""
        raise NotImplementedError

    def backward(self, args: Sequence[Any], saved: Sequence[Any], cotangents: Sequence[Any]) -> tuple[Array, ...]:
        """Gradients of the arguments of real numbers, of the gradients of the outputs ``smooth``."""
        raise NotImplementedError


_calls: Final[WeakValueDictionary[int, Call]] = WeakValueDictionary()


def number_of(call: Call) -> int:
    """The number by which compiled code names a call, which lives as long as something else refers to it."""
    found: int | None = vars(call).get("number")
    if found is None:
        found = next(_numbers)
        vars(call)["number"] = found
        _calls[found] = call
    return found


def product(call: Call, args: Sequence[Any]) -> tuple[Array, ...]:
    """The gradients of a call, of all that these need in one list."""
    middle, last = len(args) - call.smooth - len(call.saved), len(args) - call.smooth
    return call.backward(args[:middle], args[middle:last], args[last:])


def call_of(number: int) -> Call:
    """The call of a number."""
    found = _calls.get(number)
    if found is None:
        raise ClosedError(f"call {number} of compiled code is gone: its engine or simulation was deleted")
    return found


def kept(owner: Any, key: Hashable, make: Callable[[], Call]) -> Any:
    """The call of a key, which lives as long as its owner: the same one each time, so that nothing is compiled anew."""
    book = vars(owner).get("_graph_calls")
    if book is None or book[0] is not owner:  # those of an object that this one was copied from
        book = (owner, {})
        vars(owner)["_graph_calls"] = book
    calls: dict[Hashable, Call] = book[1]
    if key not in calls:
        calls[key] = make()
    return calls[key]


def frozen(options: Mapping[str, Any]) -> Hashable:
    """Options as the key of a call."""

    def one(value: Any) -> Hashable:
        if value is None or isinstance(value, (bool, int, float, str)):
            return type(value), value
        array = np.asarray(value)
        if array.dtype.hasobject:
            return tuple(map(one, value))
        return array.dtype.str, array.shape, array.tobytes()

    return tuple((name, one(options[name])) for name in sorted(options))
