"""Lists of pairs: the arrays of their rows, and the forms in which callers have poses."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ._arrays import Array, fit, host, is_torch, reordered
from ._errors import ArrayError, CopyError, OptionError
from ._kinematics import quaternions
from ._result import to_torch

ORDERS: Final = ("wxyz", "xyzw", "matrix")

_TO_WXYZ: Final = (3, 0, 1, 2)
_NAMES: Final = ("a", "b", "pos_a", "pos_b", "quat_a", "quat_b")
_TAILS: Final[tuple[tuple[int, ...], ...]] = ((), (), (3,), (3,), (4,), (4,))
_TYPES: Final = (*[np.dtype(np.int32)] * 2, *[np.dtype(np.float64)] * 4)


def pair_columns(
    a: Any, b: Any, pos_a: Any, quat_a: Any, pos_b: Any, quat_b: Any, order: str, copy: bool
) -> tuple[int, list[Array]]:
    """The number of rows N, and their arrays: a, b [N], pos_a, pos_b [N,3], quat_a, quat_b [N,4] ("wxyz").

    An argument without the first axis is that of all rows.
    """
    values = [a, b, pos_a, pos_b, quat_a, quat_b]
    for i, value in enumerate(values):
        if type(value) is not np.ndarray:
            values[i] = host(_NAMES[i], value, copy)
    first = values[0]
    if order == "wxyz" and first.ndim == 1:  # what fits as it is, in little time
        rows = len(first)
        shapes = ((rows,), (rows,), (rows, 3), (rows, 3), (rows, 4), (rows, 4))
        for value, shape, dtype in zip(values, shapes, _TYPES, strict=True):
            if value.shape != shape or value.dtype is not dtype or not value.flags.carray:
                break
        else:
            return rows, values
    if order != "wxyz":
        convert = _of_matrices if order == "matrix" else _of_xyzw
        values[4:] = [convert(name, v, copy) for name, v in zip(_NAMES[4:], values[4:], strict=True)]
    rows = next((len(v) for v, tail in zip(values, _TAILS, strict=True) if v.ndim == 1 + len(tail)), 1)
    for i, value in enumerate(values):
        name, dtype, tail = _NAMES[i], _TYPES[i], _TAILS[i]
        if value.shape == tail:
            if not copy:
                raise CopyError(name, "is one for all rows, which takes a copy, and copy=False")
            value = np.ascontiguousarray(np.broadcast_to(value, (rows, *tail)))
        values[i] = fit(name, value, dtype, tail, rows, copy)
    return rows, values


def check_order(quat: Any) -> None:
    """Raise OptionError for what is no order of quaternions."""
    if quat not in ORDERS:
        raise OptionError(f'quat: {quat!r}, want "wxyz", "xyzw" or "matrix"')


def _of_xyzw(name: str, array: Array, copy: bool) -> Array:
    if array.shape[-1:] != (4,):
        return array  # which fit refuses
    if not copy:
        raise CopyError(name, 'is in the order "xyzw", which takes a copy, and copy=False')
    return reordered(array, _TO_WXYZ)


def _of_matrices(name: str, array: Array, copy: bool) -> Array:
    if not copy:
        raise CopyError(name, "is of rotation matrices, which are converted, and copy=False")
    if array.ndim not in (2, 3) or array.shape[-2:] != (3, 3):
        raise ArrayError(name, f'has the shape {list(array.shape)}, want [N, 3, 3] or [3, 3] with quat="matrix"')
    if array.dtype.kind not in "fiu":
        raise ArrayError(name, f"is {array.dtype}, want real numbers")
    return quaternions(array.astype(np.float64))


def transforms(matrices: Any) -> tuple[Any, Any]:
    """Positions [..., 3] and quaternions [..., 4], "wxyz", of homogeneous matrices [..., 4, 4]:

    ``eng.distance(lib, a, b, *cl.transforms(Ta), *cl.transforms(Tb), quat="wxyz")``

    A matrix whose rotation is none gives NaN, and so an invalid row; one whose last row is not (0, 0, 0, 1), as that
    of a transposed matrix, raises :class:`ArrayError`.
    """
    array = host("matrices", matrices, True)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise ArrayError("matrices", f"has the shape {list(array.shape)}, want [..., 4, 4]")
    if array.dtype.kind not in "fiu":
        raise ArrayError("matrices", f"is {array.dtype}, want real numbers")
    array = array.astype(np.float64)
    wrong = (np.abs(array[..., 3, :] - [0, 0, 0, 1]) > 1e-9).any(axis=-1).ravel()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        last = array.reshape(-1, 4, 4)[row, 3].tolist()
        raise ArrayError("matrices", f"the last row is {last}, want [0, 0, 0, 1]", row)
    position, rotation = np.ascontiguousarray(array[..., :3, 3]), quaternions(array[..., :3, :3])
    if is_torch(matrices):
        return to_torch(position, matrices.device), to_torch(rotation, matrices.device)
    return position, rotation
