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
from ._poses import Given, check_homogeneous
from ._result import to_torch

_TO_WXYZ: Final = (3, 0, 1, 2)
_TAILS: Final[tuple[tuple[int, ...], ...]] = ((), (), (3,), (3,), (4,), (4,))
_TYPES: Final = (*[np.dtype(np.int32)] * 2, *[np.dtype(np.float64)] * 4)


def pair_columns(a: Any, b: Any, poses: Given, copy: bool) -> tuple[tuple[int, ...], list[Array]]:
    """The leading axes of the rows, and the arrays of these N rows: a, b [N], pos_a, pos_b [N,3], quat_a, quat_b [N,4]
    ("wxyz").

    The leading axes are those of the poses that have most of them. An argument without them is that of all rows, and
    one with the last of several, such as a [N] beside positions [B,T,N,3], is repeated along the others; so are axes of
    length 1 of an argument that has several.
    """
    pos_a, quat_a, pos_b, quat_b = poses.values
    named = poses.names
    names = ("a", "b", named[0], named[2], named[1], named[3])
    values = [a, b, pos_a, pos_b, quat_a, quat_b]
    for i, value in enumerate(values):
        if type(value) is not np.ndarray:
            values[i] = host(names[i], value, copy)
    first = values[0]
    if poses.order == "wxyz" and first.ndim == 1:  # what fits as it is, in little time
        rows = len(first)
        shapes = ((rows,), (rows,), (rows, 3), (rows, 3), (rows, 4), (rows, 4))
        for value, shape, dtype in zip(values, shapes, _TYPES, strict=True):
            if value.shape != shape or value.dtype is not dtype or not value.flags.carray:
                break
        else:
            return (rows,), values
    if poses.order == "xyzw":
        values[4:] = [_of_xyzw(name, v, copy) for name, v in zip(names[4:], values[4:], strict=True)]
    lead, of = leading(values, names)
    given = poses.tails
    tails = ((), (), given[0], given[2], given[1], given[3])
    for i, value in enumerate(values):
        values[i] = _batched(names[i], value, _TYPES[i], _TAILS[i], tails[i], lead, of, copy)
    return lead, values


def leading(values: Sequence[Array], names: Sequence[str]) -> tuple[tuple[int, ...], str]:
    """The leading axes of the rows of six arrays, and the name of the first one that has them."""
    axes = [len(lead_of(v, t)) for v, t in zip(values, _TAILS, strict=True)]
    most = max(axes[2:]) or max(axes[:2])
    if most == 0:
        return (1,), ""
    first = axes.index(most, 2 if most > 1 and most in axes[2:] else 0)  # by the poses, where there are several
    lead = values[first].shape[:most]
    for value, n in zip(values, axes, strict=True):
        own = value.shape[:n]
        if 1 < n <= most and all(i == j or 1 in (i, j) for i, j in zip(own, lead[most - n :], strict=True)):
            lead = np.broadcast_shapes(lead, own)
    return lead, names[first]


def repeated(own: tuple[int, ...], lead: tuple[int, ...]) -> bool:
    """Whether an array with the leading axes ``own`` is repeated along the axes of the rows."""
    last = lead[len(lead) - len(own) :]
    return own == last or (len(own) == len(last) > 1 and all(i in (1, j) for i, j in zip(own, last, strict=True)))


def _batched(
    name: str,
    value: Array,
    dtype: Any,
    tail: tuple[int, ...],
    given: tuple[int, ...],
    lead: tuple[int, ...],
    of: str,
    copy: bool,
) -> Array:
    """An argument as the array of N rows [N, *tail]. Its last axes were ``given`` when the caller passed it."""
    own = value.shape[: max(value.ndim - len(tail), 0)]
    fits = value.shape[len(own) :] == tail
    if own != lead and fits and repeated(own, lead):
        if not copy:
            raise CopyError(name, "is one for all rows, which takes a copy, and copy=False")
        value = np.ascontiguousarray(np.broadcast_to(value, (*lead, *tail)))
    elif value.shape != (*lead, *tail):
        shape = [*own, *given] if fits else list(value.shape)
        want = ", ".join(map(str, (*lead, *given)))
        if lead[1:]:
            few = ", ".join(map(str, (*lead[1:], *given)))
            want += f"], whose leading axes are those of {of}, or [{few}"
        raise ArrayError(name, f"has the shape {shape}, want [{want}]")
    return fit(name, value, dtype, (*lead[1:], *tail), lead[0], copy).reshape(math.prod(lead), *tail)


def _of_xyzw(name: str, array: Array, copy: bool) -> Array:
    if array.shape[-1:] != (4,):
        return array  # which is refused with its shape
    if not copy:
        raise CopyError(name, 'is in the order "xyzw", which takes a copy, and copy=False')
    return reordered(array, _TO_WXYZ)


def transforms(matrices: Any) -> tuple[Any, Any]:
    """Positions [..., 3] and quaternions [..., 4], "wxyz", of homogeneous matrices [..., 4, 4]:

    ``eng.distance(lib, a, b, *cl.transforms(Ta), *cl.transforms(Tb), quat="wxyz")``

    A matrix whose rotation is none gives NaN, and so an invalid row; one whose last row is not (0, 0, 0, 1), as that
    of a transposed matrix, raises :class:`ArrayError`.
    """
    array = host("matrices", matrices, True)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise ArrayError("matrices", f"has the shape {list(array.shape)}, want [..., 4, 4]")
    check_homogeneous("matrices", array)
    array = array.astype(np.float64)
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
    attachments: dict[int, Any] = field(default_factory=dict)  # of attached bodies, see Scene.attach
    _left_out: list[tuple[int, int]] = field(default_factory=list)  # pairs that attachments leave out

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
