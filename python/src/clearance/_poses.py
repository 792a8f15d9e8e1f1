"""Poses as callers have them: matrices, pairs of position and rotation, objects, positions with quaternions.

Every form becomes positions [..., 3] and quaternions [..., 4]. Quaternions are taken as they are, so that their bits do
not depend on the form; rotation matrices are converted, and how far the result is off is kept (:class:`Converted`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from ._arrays import Array, host, reordered, torch_device
from ._errors import ArrayError, ClearanceError, CopyError, OptionError
from ._kinematics import converted
from ._options import Order, PoseArray, order_of, with_order

ORDERS: Final = ("wxyz", "xyzw", "matrix")

_FOUR: Final = ("pos_a", "quat_a", "pos_b", "quat_b")
_TWO: Final = ("pose_a", "pose_b")
FORMS: Final = "[..., 4, 4], [..., 7], a pair (position, rotation), or objects with rotation and translation"

_TO_WXYZ: Final = (3, 0, 1, 2)


@dataclass(frozen=True, eq=False)
class Converted:
    """Rotation matrices that were converted to quaternions.

    ``error`` bounds the Frobenius norm of the difference of each from the matrix of its quaternion. ``bad`` are those
    that are no rotations, by their place among all of them along the axes ``lead``.
    """

    error: float
    lead: tuple[int, ...]
    bad: dict[int, Array]

    def reason(self, row: int, lead: tuple[int, ...]) -> str | None:
        """What is wrong with the matrix of a row of the axes ``lead``, along which the matrices may be repeated."""
        at = np.unravel_index(row, lead)[len(lead) - len(self.lead) :] if self.lead else ()
        place = [i if n > 1 else 0 for i, n in zip(at, self.lead, strict=True)]
        matrix = self.bad.get(int(np.ravel_multi_index(place, self.lead)) if self.lead else 0)
        return None if matrix is None else _fault(matrix)


def _fault(m: Array) -> str:
    """Why a matrix [3,3] is no rotation, with row and column."""
    if not np.isfinite(m).all():
        i, j = np.argwhere(~np.isfinite(m))[0]
        return f"the rotation has {m[i, j]} in row {i}, column {j}"
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(m @ m.T - np.eye(3))
    i, j = np.unravel_index(np.argmax(off), off.shape)
    if not off[i, j] <= 1e-3:
        return (
            f"the rotation R is none: R·Rᵀ differs from the identity by {off[i, j]:.3g} in row {i}, column {j}, want "
            "1e-3 at most"
        )
    return f"the rotation has the determinant {np.linalg.det(m):.3g}: it is a reflection"


@dataclass(frozen=True, eq=False)
class About:
    """What a result has to know of the poses that it is about: the arguments that they came in, in the order of pos_a,
    quat_a, pos_b, quat_b, and the matrices of both sides."""

    names: tuple[str, str, str, str] = _FOUR
    converted: tuple[Converted | None, Converted | None] = (None, None)

    @property
    def error(self) -> float:
        """How far matrices are from those of their quaternions, see :class:`Converted`; 0 without matrices."""
        return max((t.error for t in self.converted if t is not None), default=0.0)

    def named(self, error: tuple[str, int, str], lead: tuple[int, ...]) -> tuple[str, int, str]:
        """An invalid row by the arguments of the caller: argument, row, reason. Rows have the axes ``lead``."""
        name, row, reason = error
        if name not in _FOUR:
            return error
        own = self.converted[_FOUR.index(name) // 2]
        found = None if own is None or name not in ("quat_a", "quat_b") else own.reason(row, lead)
        return self.names[_FOUR.index(name)], row, found or reason


class Given(NamedTuple):
    """The poses of both sides of pairs, as arrays."""

    values: tuple[Any, Any, Any, Any]  # pos_a, quat_a, pos_b, quat_b
    order: str  # of the quaternions in values
    stated: str  # in which gradients are: that of the caller, or "matrix", which has no gradients
    names: tuple[str, str, str, str] = _FOUR  # in errors
    tails: tuple[tuple[int, ...], ...] = ((3,), (4,), (3,), (4,))  # of the arguments as they were given, for errors
    device: Any = None  # of PyTorch
    converted: tuple[Converted | None, Converted | None] = (None, None)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the four arrays."""
        return tuple(np.shape(x) for x in self.values)

    @property
    def about(self) -> About | None:
        """What the result has to know, None if all is as its names say."""
        return None if self.names is _FOUR and self.converted == (None, None) else About(self.names, self.converted)


def read(poses: Sequence[Any], named: Mapping[str, Any], quat: Any, copy: bool) -> Given:
    """The poses of a call: pos_a, quat_a, pos_b, quat_b, or pose_a, pose_b. ``named`` are arguments of the call by
    name, of which some may be poses."""
    if named:
        poses = placed(poses, named)
    if len(poses) == 4:
        if quat is None:
            raise TypeError('quat is missing: "wxyz", "xyzw" or "matrix" beside pos_a, quat_a, pos_b and quat_b')
        return _of_four(tuple(poses), quat, copy)
    if len(poses) != 2:
        raise TypeError(f"{len(poses)} arguments are poses, want pose_a, pose_b, or pos_a, quat_a, pos_b, quat_b")
    if quat is not None and quat not in ORDERS:
        raise OptionError(f'quat: {quat!r}, want "wxyz", "xyzw", or none beside matrices and objects')
    a, b = (_side(name, value, quat, copy) for name, value in zip(_TWO, poses, strict=True))
    plain = a.converted is None and b.converted is None
    order = a.order if a.order == b.order else "wxyz"
    if a.order != b.order:
        a, b = a.wxyz(copy), b.wxyz(copy)
    return Given(
        (a.position, a.rotation, b.position, b.rotation),
        order,
        order if plain else "matrix",
        (*a.names, *b.names),
        (*a.tails, *b.tails),
        a.device if a.device is not None else b.device,
        (a.converted, b.converted),
    )


def placed(poses: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
    """Poses by position and by keyword, in their order."""
    found = {name: named[name] for name in (*_FOUR, *_TWO) if name in named}
    if not found:
        return poses
    for names in (_TWO, _FOUR):
        if set(found) <= set(names):
            rest = names[len(poses) :]
            missing = [n for n in rest if n not in found]
            if len(rest) == len(found) and not missing:
                return (*poses, *(found[n] for n in rest))
    raise TypeError(
        f"{len(poses)} arguments and {', '.join(found)} are poses, want pose_a, pose_b, or pos_a, quat_a, pos_b, quat_b"
    )


def check_order(quat: Any) -> None:
    """Raise OptionError for what is no order of quaternions."""
    if quat not in ORDERS:
        raise OptionError(f'quat: {quat!r}, want "wxyz", "xyzw" or "matrix"')


def _of_four(values: tuple[Any, ...], quat: Any, copy: bool) -> Given:
    """The four arrays of both sides."""
    check_order(quat)
    pos_a, quat_a, pos_b, quat_b = values
    device = torch_device(pos_a, pos_b)
    if quat != "matrix":
        return Given((pos_a, quat_a, pos_b, quat_b), quat, quat, device=device)
    found = [_of_rotations(name, value, copy) for name, value in (("quat_a", quat_a), ("quat_b", quat_b))]
    (first, of_a), (second, of_b) = found
    tails = ((3,), (3, 3), (3,), (3, 3))
    return Given((pos_a, first, pos_b, second), "wxyz", "matrix", tails=tails, device=device, converted=(of_a, of_b))


def _of_rotations(name: str, value: Any, copy: bool) -> tuple[Array, Converted]:
    """Quaternions, "wxyz", of rotation matrices [..., 3, 3]."""
    if not copy:
        raise CopyError(name, "is of rotation matrices, which are converted, and copy=False")
    array = host(name, value, copy)
    if array.ndim < 2 or array.shape[-2:] != (3, 3):
        raise ArrayError(name, f'has the shape {list(array.shape)}, want [N, 3, 3] or [3, 3] with quat="matrix"')
    return _rotations(name, array)


def _rotations(name: str, array: Array) -> tuple[Array, Converted]:
    if array.dtype.kind not in "fiu":
        raise ArrayError(name, f"is {array.dtype}, want real numbers")
    array = array.astype(np.float64, copy=False)
    q, error = converted(array)
    bad = np.flatnonzero(np.isnan(q[..., 0]).ravel())
    flat = array.reshape(-1, 3, 3)
    return q, Converted(error, array.shape[:-2], {int(i): flat[i].copy() for i in bad})


@dataclass(frozen=True, eq=False)
class _Side:
    """The poses of one side of pairs: positions [..., 3], and quaternions [..., 4] of an order."""

    position: Any
    rotation: Any
    order: str
    names: tuple[str, str]
    tails: tuple[tuple[int, ...], tuple[int, ...]]
    device: Any = None
    converted: Converted | None = None

    def wxyz(self, copy: bool) -> _Side:
        """The side with quaternions in the order "wxyz"."""
        if self.order == "wxyz":
            return self
        rotation = host(self.names[1], self.rotation, copy)
        if rotation.shape[-1:] == (4,):  # else it is refused with its shape
            rotation = reordered(rotation, _TO_WXYZ)
        return _Side(self.position, rotation, "wxyz", self.names, self.tails, self.device, self.converted)


def _side(name: str, value: Any, quat: Any, copy: bool) -> _Side:
    """One side, in any form."""
    if is_pair(value):
        return _of_pair(name, value, quat, copy)
    if _has_rotation(value):
        return _of_pair(name, _parts(name, value), quat, copy)
    if is_list(value):
        found = _of_list(name, value, quat, copy)
        if found is not None:
            return found
    array = host(name, value, copy)
    if array.shape[-2:] == (4, 4):
        return _of_matrices(name, array, torch_device(value), copy)
    if array.shape[-1:] != (7,):
        raise ArrayError(name, f"has the shape {list(array.shape)}, want {FORMS}")
    order = _known_order(name, quat, value)
    return _Side(array[..., :3], array[..., 3:], order, (name, name), ((7,), (7,)), torch_device(value))


def single(name: str, value: Any) -> Array:
    """One pose in any form, as 7 numbers: position, and quaternion in the order "wxyz", which numbers have."""
    side = _side(name, value, "wxyz", True).wxyz(True)
    position, rotation = (np.asarray(v, np.float64) for v in (side.position, side.rotation))
    if position.shape != (3,) or rotation.shape != (4,):
        raise ArrayError(name, f"has the shape {list(_shape(value) or ())}, want one pose: [7], [4, 4], or a pair")
    return np.concatenate([position, rotation])


def _known_order(name: str, quat: Any, value: Any = None) -> str:
    """The order of the quaternions of an argument, which has to be known."""
    if isinstance(value, PoseArray) and value.order is not None:
        return order_of(quat, value)
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw", the order of the quaternions of {name}')
    return str(quat)


def _of_matrices(name: str, array: Array, device: Any, copy: bool) -> _Side:
    """Homogeneous matrices [..., 4, 4]."""
    if not copy:
        raise CopyError(name, "is of matrices, which are converted, and copy=False")
    check_homogeneous(name, array)
    q, found = _rotations(name, array[..., :3, :3])
    position = np.ascontiguousarray(array[..., :3, 3])
    return _Side(position, q, "wxyz", (name, name), ((4, 4), (4, 4)), device, found)


def check_homogeneous(name: str, array: Array) -> None:
    """Raise ArrayError for matrices [..., 4, 4] whose last row is not (0, 0, 0, 1), as that of a transposed matrix."""
    if array.dtype.kind not in "fiu":
        raise ArrayError(name, f"is {array.dtype}, want real numbers")
    wrong = ~(np.abs(array[..., 3, :] - np.array([0.0, 0, 0, 1])) <= 1e-9).all(axis=-1).ravel()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        last = array.reshape(-1, 4, 4)[row, 3].astype(np.float64).tolist()
        raise ArrayError(name, f"the last row is {last}, want [0, 0, 0, 1]", row)


def is_pair(value: Any) -> bool:
    """Whether a value is a pair of position and rotation: a tuple, of which neither is a pose by itself."""
    if type(value) is not tuple or len(value) != 2:
        return False
    if any((isinstance(v, tuple) and len(v) == 2) or _has_rotation(v) for v in value):
        return False
    shape = _shape(value[0])
    return (shape is not None and shape[-1:] == (3,)) or hasattr(value[1], "as_matrix")


def _shape(value: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(value))
    except Exception:  # of the value, which may convert itself
        return None


def _has_rotation(value: Any) -> bool:
    return hasattr(value, "rotation") and hasattr(value, "translation")


def _of_pair(name: str, pair: tuple[Any, Any], quat: Any, copy: bool) -> _Side:
    """A pair of positions [..., 3], and quaternions [..., 4] or rotation matrices [..., 3, 3] or objects that have
    them."""
    position, rotation = pair
    names = f"{name}.position", f"{name}.rotation"
    device = torch_device(position, rotation)
    if hasattr(rotation, "as_quat") and hasattr(rotation, "as_matrix"):  # scipy's, which has x, y, z, w
        rotation = reordered(np.asarray(rotation.as_quat(), np.float64), _TO_WXYZ)
        return _Side(position, rotation, "wxyz", names, ((3,), (4,)), device)
    if hasattr(rotation, "as_matrix"):
        rotation = rotation.as_matrix()
    array = host(names[1], rotation, copy)
    if array.shape[-2:] == (3, 3):
        if not copy:
            raise CopyError(name, "is of rotation matrices, which are converted, and copy=False")
        q, found = _rotations(names[1], array)
        return _Side(position, q, "wxyz", names, ((3,), (3, 3)), device, found)
    if array.shape[-1:] != (4,):
        raise ArrayError(
            names[1], f"has the shape {list(array.shape)}, want quaternions [..., 4] or matrices [..., 3, 3]"
        )
    return _Side(position, array, _known_order(name, quat), names, ((3,), (4,)), device)


def _called(value: Any) -> Any:
    return value() if callable(value) and not hasattr(value, "as_matrix") else value


def _parts(name: str, pose: Any) -> tuple[Any, Any]:
    """Position and rotation matrix of an object: attributes, or methods without arguments."""
    try:
        if hasattr(pose, "as_matrix"):  # without the rounding of a quaternion between
            matrix = np.asarray(pose.as_matrix())
            if matrix.shape[-2:] == (4, 4):
                return matrix[..., :3, 3], matrix[..., :3, :3]
        position, rotation = _called(pose.translation), _called(pose.rotation)
        for method in ("as_matrix", "matrix"):
            if hasattr(rotation, method):
                return position, getattr(rotation, method)()
        return position, rotation
    except ClearanceError:
        raise
    except Exception as e:  # of the object
        raise ArrayError(name, f"is a {type(pose).__name__} without a rotation and a translation: {e}") from e


def is_list(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == object and value.ndim > 0
    return isinstance(value, (list, tuple))


def _of_list(name: str, value: Any, quat: Any, copy: bool) -> _Side | None:
    """Nested lists of objects, of pairs, and of matrices; None for those of numbers and of arrays alone."""
    leaf, axes = value, 0
    while is_list(leaf) and not is_pair(leaf):
        if not len(leaf):
            return None
        leaf, axes = leaf[0], axes + 1
    if not (is_pair(leaf) or _has_rotation(leaf)):
        return None
    shape: list[int] = []
    items: list[Any] = [value]
    for _ in range(axes):
        size, inner = len(items[0]), []
        for i, item in enumerate(items):
            if not is_list(item) or len(item) != size:
                raise ArrayError(name, f"is a nested list of unequal lengths, want {size} poses as in the first", i)
            inner += list(item)
        shape.append(size)
        items = inner
    if not copy:
        raise CopyError(name, "is a list of poses, which are copied, and copy=False")
    parts: list[tuple[Array, Array]] = []
    for i, item in enumerate(items):
        if not (is_pair(item) or _has_rotation(item)):
            raise ArrayError(
                name, f"is a {type(item).__name__}, want a pose like the first one, a {type(items[0]).__name__}", i
            )
        place, rotation = item if is_pair(item) else _parts(name, item)
        if hasattr(rotation, "as_matrix"):
            rotation = rotation.as_matrix()
        parts.append((host(name, place, True), host(name, rotation, True)))
    columns: list[Array] = []
    for k in (0, 1):
        for i, part in enumerate(parts):
            if part[k].shape != parts[0][k].shape:
                what = ("position", "rotation")[k]
                raise ArrayError(
                    name,
                    f"has a {what} of the shape {list(part[k].shape)}, and the first one of {list(parts[0][k].shape)}",
                    i,
                )
        column = np.array([p[k] for p in parts])
        columns.append(column.reshape(*shape, *column.shape[1:]))
    return _of_pair(name, (columns[0], columns[1]), quat, copy)


def seven(name: str, value: Any, quat: Any, copy: bool = True) -> tuple[Any, Order | None, float]:
    """Poses of bodies as [..., 7] with the order of their quaternions, and how far matrices are off (see
    :class:`Converted`). What is such an array already is returned as it is."""
    if isinstance(value, np.ndarray) and value.dtype != object and value.shape[-1:] == (7,):
        return value, quat, 0.0
    side = _of_list(name, value, quat, copy) if is_list(value) and not is_pair(value) else None
    if side is None:
        if not (is_pair(value) or _has_rotation(value) or (_shape(value) or ())[-2:] == (4, 4)):
            return value, quat, 0.0
        side = _side(name, value, quat, copy)
    if quat not in (None, *ORDERS[:2]):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')
    position, rotation = host(side.names[0], side.position, copy), host(side.names[1], side.rotation, copy)
    if position.shape[-1:] != (3,) or position.shape[:-1] != rotation.shape[:-1]:
        raise ArrayError(
            name, f"has positions of the shape {list(position.shape)} and rotations of {list(rotation.shape)}"
        )
    if not copy:
        raise CopyError(name, "is of positions and rotations, which are joined, and copy=False")
    joined = np.concatenate([position, rotation], axis=-1)
    order: Any = side.order
    error = 0.0 if side.converted is None else side.converted.error
    if side.device is not None:
        from ._result import to_torch

        tensor = to_torch(joined, side.device)
        tensor.rotation_error = error
        return tensor, order, error
    known = with_order(joined, order)
    known.rotation_error = error
    return known, order, error


def about_bodies(poses: Any) -> About | None:
    """What a result has to know of poses of bodies that :func:`seven` has made."""
    error: float = getattr(poses, "rotation_error", 0.0)
    return About(converted=(Converted(error, (), {}), None)) if error else None
