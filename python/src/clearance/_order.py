"""The order of the quaternions of poses: stated by callers, or remembered by arrays that this package made."""

from __future__ import annotations

from typing import Any, Final, Self, SupportsIndex, cast

import numpy as np

from ._arrays import Array, reordered
from ._errors import CopyError, OptionError
from ._options import Order, check_quat

_POSE: Final = 7


class PoseArray(np.ndarray[Any, np.dtype[Any]]):
    """Poses [..., 7] whose quaternions have a known order, ``order``.

    A copy, a reshape that keeps the last axis, and a part by leading axes know it too. What is computed from the array
    in any other way does not (``order`` is None), since its last axis may be another one.
    """

    order: Order | None

    def __array_finalize__(self, obj: Any) -> None:
        self.order = None

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if self.order is not None and isinstance(part, PoseArray) and _leading(key, self.ndim):
            part.order = self.order
        return part

    def copy(self, order: Any = "C") -> Self:
        return self._known(super().copy(order))

    def reshape(self, *shape: Any, **options: Any) -> Self:
        reshaped = super().reshape(*shape, **options)
        kept = self.shape[-1:] == reshaped.shape[-1:] == (_POSE,) and options.get("order", "C") == "C"
        return self._known(reshaped) if kept else cast(Self, reshaped)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return with_order, (np.asarray(self), self.order)

    def _known(self, other: Any) -> Self:
        other.order = self.order
        return cast(Self, other)


def _leading(key: Any, axes: int) -> bool:
    """Whether an index of an array of so many axes leaves the last one alone."""
    indices = key if isinstance(key, tuple) else (key,)
    if indices and indices[-1] is Ellipsis:
        indices = indices[:-1]
    used = 0
    for k in indices:
        if k is Ellipsis:  # what follows is about the last axes
            return False
        k = np.asarray(k) if isinstance(k, list) else k
        used += 0 if k is None else k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else 1
    return used < axes


def with_order(poses: Any, order: Order | None) -> PoseArray:
    """An array as one that knows the order of its quaternions: itself if it is a PoseArray, else a view."""
    array = poses if isinstance(poses, PoseArray) else poses.view(PoseArray)
    array.order = order
    return array


def order_of(quat: Any, poses: Any) -> Order:
    """The order of the quaternions of poses: that which the caller states, or that which they know."""
    known = poses.order if isinstance(poses, PoseArray) else None
    if quat is None and known is not None:
        return known
    check_quat(quat)
    if known is not None and quat != known:
        raise OptionError(f"quat: {quat!r}, and the poses were made in the order {known!r}; np.array(poses) forgets it")
    return cast(Order, quat)


def to_wxyz(poses: Array, quat: str, copy: bool = True) -> Array:
    """Poses [..., 7] in the order "wxyz"."""
    if quat == "wxyz":
        return poses
    if not copy:
        raise CopyError("poses", 'have the order "xyzw", which takes a copy, and copy=False')
    return reordered(poses, (0, 1, 2, 6, 3, 4, 5))
