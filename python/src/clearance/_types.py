"""Types of arguments and of columns, for type checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray


class HasArray(Protocol):
    """An array of NumPy, JAX or PyTorch, a series of a data frame."""

    def __array__(self) -> Any: ...


class HasDlpack(Protocol):
    """An array that is exchanged by DLPack, such as one of CuPy."""

    def __dlpack_device__(self) -> Any: ...


class HasInterface(Protocol):
    """An object that describes its memory as NumPy does."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


# What arguments of numbers take. The depth of nested sequences is bounded: a text is a sequence of texts, so a
# recursive alias would have it as an array.
_Item: TypeAlias = float | HasArray | HasDlpack | HasInterface
_One: TypeAlias = _Item | Sequence[_Item]
_Two: TypeAlias = _Item | Sequence[_One]
_Three: TypeAlias = _Item | Sequence[_Two]
_Four: TypeAlias = _Item | Sequence[_Three]
ArrayLike: TypeAlias = _Item | Sequence[_Four]

# Columns of results. Those that may be None, because they were not requested, are "| Any" in place of "| None": what
# the caller has requested needs no check for None, and any other use of an array is still seen. Answers of poses that
# are tensors of PyTorch are tensors, which typing.cast says.
Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]

QueryName = Literal["distance", "collide", "penetration", "growth"]
Backend = Literal["auto", "cpu", "ref", "vulkan", "vulkan:0", "vulkan:1", "vulkan:2", "vulkan:3"]
