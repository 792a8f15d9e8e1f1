"""The inputs of queries: lists of pairs; of rollouts and sweeps bodies of a scene, their places, and pairs of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ._arrays import Array, fit, host, is_torch, lead_of, reordered, take
from ._bodies import Body, Surface, pair_arrays
from ._errors import ArrayError, CopyError, OptionError
from ._kinematics import quaternions
from ._library import Library
from ._pairs import Pairs
from ._result import to_torch

ORDERS: Final = ("wxyz", "xyzw", "matrix")

_TO_WXYZ: Final = (3, 0, 1, 2)
_NAMES: Final = ("a", "b", "pos_a", "pos_b", "quat_a", "quat_b")
_TAILS: Final[tuple[tuple[int, ...], ...]] = ((), (), (3,), (3,), (4,), (4,))
_TYPES: Final = (*[np.dtype(np.int32)] * 2, *[np.dtype(np.float64)] * 4)


def pair_columns(
    a: Any, b: Any, pos_a: Any, quat_a: Any, pos_b: Any, quat_b: Any, order: str, copy: bool
) -> tuple[tuple[int, ...], list[Array]]:
    """The leading axes of the rows, and the arrays of these N rows: a, b [N], pos_a, pos_b [N,3], quat_a, quat_b [N,4]
    ("wxyz").

    The leading axes are those of the poses that have most of them. An argument without them is that of all rows, and
    one with the last of several, such as a [N] beside positions [B,T,N,3], is repeated along the others.
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
            return (rows,), values
    if order != "wxyz":
        convert = _of_matrices if order == "matrix" else _of_xyzw
        values[4:] = [convert(name, v, copy) for name, v in zip(_NAMES[4:], values[4:], strict=True)]
    lead, of = leading(values)
    for i, value in enumerate(values):
        values[i] = _batched(_NAMES[i], value, _TYPES[i], _TAILS[i], lead, of, copy)
    return lead, values


def leading(values: Sequence[Array]) -> tuple[tuple[int, ...], str]:
    """The leading axes of the rows of six arrays, and the name of the first one that has them."""
    axes = [len(lead_of(v, t)) for v, t in zip(values, _TAILS, strict=True)]
    most = max(axes[2:]) or max(axes[:2])
    if most == 0:
        return (1,), ""
    first = axes.index(most, 2 if most > 1 and most in axes[2:] else 0)  # by the poses, where there are several
    return values[first].shape[:most], _NAMES[first]


def _batched(
    name: str, value: Array, dtype: Any, tail: tuple[int, ...], lead: tuple[int, ...], of: str, copy: bool
) -> Array:
    """An argument as the array of N rows [N, *tail]."""
    own = value.shape[: max(value.ndim - len(tail), 0)]
    if own != lead and own == lead[len(lead) - len(own) :] and value.shape[len(own) :] == tail:
        if not copy:
            raise CopyError(name, "is one for all rows, which takes a copy, and copy=False")
        value = np.ascontiguousarray(np.broadcast_to(value, (*lead, *tail)))
    elif lead[1:] and value.shape != (*lead, *tail):
        want = ", ".join(map(str, (*lead, *tail)))
        few = ", ".join(map(str, (*lead[1:], *tail)))
        raise ArrayError(
            name, f"has the shape {list(value.shape)}, want [{want}], whose leading axes are those of {of}, or [{few}]"
        )
    return fit(name, value, dtype, (*lead[1:], *tail), lead[0], copy).reshape(math.prod(lead), *tail)


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
    if array.ndim < 2 or array.shape[-2:] != (3, 3):
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


@dataclass(eq=False)
class Bodies:
    """The data of a scene, which engines read; :class:`Scene` makes and changes them."""

    library: Library = field(default_factory=Library)
    bodies: list[Body] = field(default_factory=list)
    pairs: list[tuple[int, int]] | Pairs = field(default_factory=list)
    surfaces: list[Surface] = field(default_factory=list)

    def pair_arrays(self) -> tuple[Array, Array]:
        """The pairs as two int32 arrays [P]."""
        return pair_arrays("pairs", self.pairs)


@dataclass(frozen=True, eq=False)
class RowBodies:
    """What the rows of a rollout are about: the bodies at its places, [M] or [W,M], -1 for none; the pairs of places
    [P,2], None for all pairs."""

    bodies: Array
    pairs: Array | None

    def of_world(self, world: int) -> Array:
        """The bodies of the scene at the places [M] of a world, -1 where none stands."""
        bodies: Array = self.bodies if self.bodies.ndim == 1 else self.bodies[world]
        return bodies


def check_scene(scene: Any) -> None:
    """Raise OptionError for what is no scene."""
    if not isinstance(scene, Bodies):
        raise OptionError(f"scene: a {type(scene).__name__}, want a Scene")


def places_of(scene: Bodies, bodies: Any, worlds: int) -> tuple[Array, bool]:
    """The bodies at the places, [M] or [W,M], and whether they are those of each world."""
    if bodies is None:
        return np.arange(len(scene.bodies), dtype=np.int32), False
    array = host("bodies", bodies, True)
    m = array.shape[-1] if array.ndim else 0
    if array.ndim == 2:
        return take("bodies", array, np.int32, (m,), worlds, True), True
    return take("bodies", array, np.int32, (), m, True), False


def reduction(reduce: str | None) -> int:
    """The code of a reduction."""
    if reduce not in (None, "none", "world"):
        raise OptionError(f'reduce: {reduce!r}, want None or "world"')
    return int(reduce == "world")
