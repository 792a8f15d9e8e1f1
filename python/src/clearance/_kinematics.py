"""Forward kinematics of trees of joints, for many configurations at once: the native library writes the poses.

A frame is what a joint moves; links that fixed joints alone connect to it have a constant pose in it. Every pose is
computed from its own configuration by the same operations, so that its bits do not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from . import _native as nat
from ._arrays import Array, host, in_parts
from ._errors import ArrayError, FileError
from ._native import named, numbers
from ._options import PoseArray, with_order

if TYPE_CHECKING:
    from ._urdf_xml import JointElement, Link

_MOVING: Final = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint of a tree. Its value is ``multiplier`` times entry ``index`` of the configuration, plus ``offset``."""

    kind: str
    parent: int  # link
    child: int
    position: Array  # of the joint in the frame of the parent, [3]
    rotation: Array  # [4]
    axis: Array  # unit, in the frame of the joint
    index: int = -1
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(eq=False)
class Tree:
    """Links that joints connect to a tree."""

    links: int = 0
    root: int = 0
    joints: list[Joint] = field(default_factory=list)  # a joint follows those above it
    names: list[str] = field(default_factory=list)  # of the entries of a configuration
    kinds: list[str] = field(default_factory=list)
    limits: list[tuple[float, float]] = field(default_factory=list)

    @staticmethod
    def of(links: Sequence[Link], joints: Sequence[JointElement]) -> Tree:
        """The tree of the joints of a file, which is checked to be one."""
        _unique("links", links)
        _unique("joints", joints)
        number = {link.name: i for i, link in enumerate(links)}
        tree = Tree(len(links))
        above: dict[int, JointElement] = {}
        for j in joints:
            _check(j, number)
            child = number[j.child]
            if child in above:
                others = f"joints {above[child].name!r} and {j.name!r}"
                raise FileError(f"{j.where}: link {j.child!r} is the child of {others}")
            above[child] = j
            if j.type in _MOVING and j.mimic is None:
                tree.names.append(j.name)
                tree.kinds.append(j.type)
                tree.limits.append(_limits(j))
        roots = [i for i in range(len(links)) if i not in above]
        if len(roots) != 1:
            where = links[roots[1] if roots else 0].where
            raise FileError(f"{where}: {len(roots)} links have no parent, want one: {[links[i].name for i in roots]}")
        tree.root = roots[0]
        by_name = {j.name: j for j in joints}
        index = {name: i for i, name in enumerate(tree.names)}
        below: dict[int, list[JointElement]] = {}
        for j in joints:
            below.setdefault(number[j.parent], []).append(j)
        level = [tree.root]
        while level:  # links that are equally far from the root
            ready = [j for link in level for j in below.get(link, ())]
            tree.joints += [_joint(j, number, by_name, index) for j in ready]
            level = [number[j.child] for j in ready]
        if len(tree.joints) < len(joints):
            placed = {j.child for j in tree.joints}
            lost = next(j for j in joints if number[j.child] not in placed)
            raise FileError(f"{lost.where} is in a cycle of joints")
        return tree

    @cached_property
    def plan(self) -> tuple[Plan, list[int], Array]:
        """The frames that joints move, and of each link its frame and its pose [L,7] in that."""
        moved: list[Moved] = []
        frame, within = [0] * self.links, np.tile([0, 0, 0, 1.0, 0, 0, 0], (self.links, 1))
        for j in self.joints:  # a joint follows those above it
            above = within[j.parent]
            position, rotation = above[:3] + rotated(above[3:], j.position), product(above[3:], j.rotation)
            if j.index < 0:
                frame[j.child], within[j.child] = frame[j.parent], np.concatenate([position, rotation])
                continue
            kind = "prismatic" if j.kind == "prismatic" else "revolute"
            moved.append(Moved(kind, frame[j.parent], position, rotation, j.axis, j.index, j.multiplier, j.offset))
            frame[j.child] = len(moved)
        return Plan(moved), frame, within

    def write(self, out: Array, q: Array, base: Array | None, links: Sequence[int]) -> None:
        """Write poses out[:, :len(links)] of links, of configurations [W,dof]."""
        plan, frame, within = self.plan
        plan.write(out, q, base, [frame[i] for i in links], within[list(links)])

    def adjacent(self) -> tuple[Array, list[tuple[int, int]]]:
        """The group [L] of each link: links that fixed joints alone connect have the same. And the pairs of links that
        a joint connects."""
        group = np.arange(self.links)
        for j in self.joints:  # a joint follows those above it
            if j.kind == "fixed":
                group[j.child] = group[j.parent]
        return group, [(j.parent, j.child) for j in self.joints]


def _joint(j: JointElement, number: dict[str, int], by_name: dict[str, JointElement], index: dict[str, int]) -> Joint:
    """A joint of a file. ``index`` has the entries of a configuration by the names of their joints."""
    place = number[j.parent], number[j.child], j.position, j.rotation
    if j.type == "fixed":
        return Joint(j.type, *place, j.axis)
    multiplier, offset, seen, source = 1.0, 0.0, {j.name}, j
    while source.mimic is not None:
        name, factor, added = source.mimic
        if name not in by_name or by_name[name].type not in _MOVING or name in seen:
            raise FileError(f"{source.where} mimics {name!r}, want another joint that moves")
        # multiplier * (factor * q + added) + offset
        offset += multiplier * added
        multiplier *= factor
        source = by_name[name]
        seen.add(source.name)
    return Joint(j.type, *place, j.axis / np.linalg.norm(j.axis), index[source.name], multiplier, offset)


def _unique(what: str, elements: Sequence[Link] | Sequence[JointElement]) -> None:
    seen = set[str]()
    for e in elements:
        if e.name in seen:
            count = sum(other.name == e.name for other in elements)
            raise FileError(f"{e.where}: {count} {what} have the name {e.name!r}")
        seen.add(e.name)


def _check(j: JointElement, number: dict[str, int]) -> None:
    if j.type in ("floating", "planar"):
        raise FileError(
            f"{j.where} is {j.type}, which has no single value; want revolute, continuous, prismatic or fixed"
        )
    if j.type not in (*_MOVING, "fixed"):
        raise FileError(f"{j.where} is of type {j.type!r}, want revolute, continuous, prismatic or fixed")
    for name in (j.parent, j.child):
        if name not in number:
            raise FileError(f"{j.where} names the link {name!r}, which the file does not have")
    if j.type != "fixed" and not j.axis.any():
        raise FileError(f"{j.where} has the axis {j.axis.tolist()}, want three numbers that are not all 0")


def _limits(j: JointElement) -> tuple[float, float]:
    return (-np.inf, np.inf) if j.type == "continuous" or j.limit is None else j.limit


def of_rpy(rpy: Array) -> Array:
    """The quaternion of fixed-axis angles about x, then y, then z."""
    half = rpy / 2
    x, y, z = (np.concatenate([[np.cos(h)], np.sin(h) * e]) for h, e in zip(half, np.eye(3), strict=True))
    return product(z, product(y, x))


def product(q: Array, r: Array) -> Array:
    """Products of quaternions [..., 4] in the order (w, x, y, z)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    s, a, b, c = np.moveaxis(r, -1, 0)
    return np.stack(
        [
            w * s - x * a - y * b - z * c,
            w * a + x * s + y * c - z * b,
            w * b - x * c + y * s + z * a,
            w * c + x * b - y * a + z * s,
        ],
        axis=-1,
    )


def rotated(q: Array, v: Array) -> Array:
    """Vectors [..., 3] rotated by unit quaternions [..., 4]."""
    t = 2 * crossed(q[..., 1:], v)
    moved: Array = v + q[..., :1] * t + crossed(q[..., 1:], t)
    return moved


def crossed(u: Array, v: Array) -> Array:
    """Cross products of vectors [..., 3], by the operations of those of NumPy."""
    a, b, c = u[..., 0], u[..., 1], u[..., 2]
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)


def unit(q: Any) -> Array:
    """A quaternion [4] scaled to unit length."""
    scaled: Array = np.array(q, np.float64) / np.linalg.norm(q)
    return scaled


def normalized(poses: Array) -> Array:
    """Poses [..., 7], "wxyz", with unit quaternions. One that is 0 or not finite gives NaN, and so an invalid row."""
    unit = poses.copy()
    q = unit[..., 3:]
    size = np.abs(q).max(axis=-1, keepdims=True)
    # Divided by the largest number first, so that no square overflows and the sum is not 0.
    q /= np.where((size > 0) & np.isfinite(size), size, np.nan)
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return unit


def given_poses(name: str, value: Any, lead: tuple[int, ...], inner: tuple[int, ...]) -> Array:
    """An argument that is poses of one world, [*inner, 7], or those of each, [*lead, *inner, 7], as [W, *inner, 7]."""
    array = host(name, value, True)
    if array.dtype.kind not in "fiu":
        raise ArrayError(name, f"is {array.dtype}, want real numbers")
    array = array.astype(np.float64)
    if array.shape == (*inner, 7):
        return array
    if array.shape != (*lead, *inner, 7):
        one, every = (", ".join(map(str, shape)) for shape in ((*inner, 7), (*lead, *inner, 7)))
        raise ArrayError(name, f"has the shape {list(array.shape)}, want [{one}] or [{every}]")
    return array.reshape(-1, *inner, 7)


def with_others(lead: tuple[int, ...], known: int, others: Any, count: int, out: Any = None) -> tuple[PoseArray, Array]:
    """An array [*lead,M,7] for the poses of ``known`` bodies of a model, "wxyz", with those of ``count`` others after
    them: at the origin by default, or with ``out`` those that it has. And its worlds as one axis, in the same memory.
    """
    shape = (*lead, known + count, 7)
    if out is None:
        every = np.empty(shape)
        every[..., known:, :] = [0, 0, 0, 1.0, 0, 0, 0]
    else:
        every = out
        if not (isinstance(out, np.ndarray) and out.dtype == np.float64 and out.shape == shape and out.flags.writeable):
            raise ArrayError("out", f"want a writable array of float64 [{', '.join(map(str, shape))}]")
        if len(lead) > 1 and not out.flags.c_contiguous:
            raise ArrayError("out", "want an array that is C-contiguous where it has several leading axes")
    worlds = np.asarray(every).reshape(math.prod(lead), *shape[-2:])
    if others is not None:
        worlds[:, known:] = given_poses("others", others, lead, (count,))
    return with_order(every, "wxyz"), worlds


def quaternions(matrices: Array) -> Array:
    """The quaternions of :func:`converted`."""
    return converted(matrices)[0]


# What of the error of :func:`converted` may be rounding: the entries of the matrix of a quaternion are off by 16 units
# in the last place of 1 at most (ten for its products and sums, six for a length that is 1 to three), the norm of nine
# of them by 48; the rest covers that of the differences and of the norm.
_ROUNDING: Final = 64 * 2.0**-53


def converted(matrices: Array) -> tuple[Array, float]:
    """Unit quaternions (w, x, y, z) [..., 4] of rotation matrices [..., 3, 3], float64, and how far they are off.

    Of the four formulas of Shepperd's method, that with the largest divisor is taken for each matrix, so that rounding
    stays at a few units. A matrix that is no rotation gives NaN, and so an invalid row: one with a NaN, a reflection,
    or one whose product with its transpose differs from the identity by more than 1e-3.

    The number bounds the Frobenius norm of the difference of each matrix that is one from that of its quaternion: a
    point at the distance r of the origin moves by r times it at most.
    """
    lead = matrices.shape[:-2]
    flat = matrices.reshape(-1, 9)
    q: Array = np.empty((len(flat), 4))
    errors: list[float] = [0.0]

    def convert(part: slice) -> None:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # of what is no rotation
            # Columns, in which each operation is one of many rows.
            xx, xy, xz, yx, yy, yz, zx, zy, zz = m = np.ascontiguousarray(flat[part].T)
            # 4 w², 4 x², 4 y², 4 z², and row i of the products 4 q_i q_j
            squares = 1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz
            w_x, w_y, w_z = zy - yz, xz - zx, yx - xy
            x_y, x_z, y_z = xy + yx, xz + zx, yz + zy
            rows = (
                (squares[0], w_x, w_y, w_z),
                (w_x, squares[1], x_y, x_z),
                (w_y, x_y, squares[2], y_z),
                (w_z, x_z, y_z, squares[3]),
            )
            most, chosen = squares[0], list(rows[0])
            for square, row in zip(squares[1:], rows[1:], strict=True):
                more = square > most
                most = np.where(more, square, most)
                chosen = [np.where(more, new, old) for new, old in zip(row, chosen, strict=True)]
            w, x, y, z = chosen
            size = np.sqrt(w * w + x * x + y * y + z * z)
            w, x, y, z = w / size, x / size, y / size, z / size
            off = np.zeros_like(w)  # of the product with the transpose from the identity
            for i in range(3):
                for j in range(i, 3):
                    dot = m[3 * i] * m[3 * j] + m[3 * i + 1] * m[3 * j + 1] + m[3 * i + 2] * m[3 * j + 2]
                    off = np.maximum(off, np.abs(dot - (i == j)))
            determinant = xx * (yy * zz - yz * zy) - xy * (yx * zz - yz * zx) + xz * (yx * zy - yy * zx)
            good = (off <= 1e-3) & (determinant > 0)
            apart = (
                *(xx - (1 - 2 * (y * y + z * z)), yy - (1 - 2 * (x * x + z * z)), zz - (1 - 2 * (x * x + y * y))),
                *(xy - 2 * (x * y - w * z), yx - 2 * (x * y + w * z), xz - 2 * (x * z + w * y)),
                *(zx - 2 * (x * z - w * y), yz - 2 * (y * z - w * x), zy - 2 * (y * z + w * x)),
            )
            squared = np.zeros_like(w)
            for d in apart:
                squared += d * d
        errors.append(float(np.sqrt(squared[good].max(initial=0))))
        for k, column in enumerate((w, x, y, z)):
            q[part, k] = np.where(good, column, np.nan)

    if len(flat):
        in_parts(flat.shape, convert)
    return q.reshape(*lead, 4), max(errors) + _ROUNDING


# The codes of kinds in the native library.
_KINDS: Final = ("fixed", "revolute", "prismatic", "ball", "free")

# Frames of configurations of a call: some milliseconds, after which Python looks for signals.
_CALL: Final = 1 << 18


@dataclass(frozen=True, eq=False)
class Moved:
    """What moves a frame: ``kind`` is revolute, prismatic, ball, free or fixed.

    The frame is that of ``above``, moved by ``position`` [3] and ``rotation`` [4], and then by the joint: about or
    along ``axis`` [3] by ``multiplier`` times entry ``index`` of a configuration, plus ``offset``; by the quaternion
    that begins there (ball); or it has the pose that does (free), whatever the frame above.
    """

    kind: str
    above: int
    position: Array
    rotation: Array
    axis: Array
    index: int = -1
    multiplier: float = 1.0
    offset: float = 0.0


class Plan:
    """Frames of which frame 0 is the root; frame i is that of ``moved[i - 1]``, and follows those above."""

    def __init__(self, moved: Sequence[Moved]) -> None:
        self.moved, self.count = list(moved), len(moved) + 1
        self._joints: dict[str, Array | None] = {
            "kind": np.array([_KINDS.index(m.kind) for m in moved], np.uint8),
            "above": np.array([m.above for m in moved], np.int32),
            "index": np.array([m.index for m in moved], np.int32),
            "place": np.array([[*m.position, *m.rotation] for m in moved], np.float64),
            "axis": np.array([m.axis for m in moved], np.float64),
            "multiplier": np.array([m.multiplier for m in moved], np.float64),
            "offset": np.array([m.offset for m in moved], np.float64),
        }

    def write(self, out: Array, q: Array, base: Array | None, frames: Sequence[int], within: Array) -> None:
        """Write poses out[:, :P] of configurations q [W,dof]: place k has the pose within[k] [7] in frame frames[k].

        Quaternions have unit length. ``base`` is the pose of the root, [7] or [W,7].
        """
        if not (out.flags.c_contiguous and out.flags.aligned):
            compact = np.empty((len(out), len(frames), 7))
            self.write(compact, q, base, frames, within)
            out[:, : len(frames)] = compact
            return
        native = nat.native()
        each = base is not None and base.ndim == 2 and len(base) > 1
        fixed = self._joints | {"frame": np.array(frames, np.int32), "within": np.ascontiguousarray(within)}
        fixed |= numbers(joints=len(self.moved), places=len(frames), coordinates=q.shape[1], bodies=out.shape[1])
        step = max(1, _CALL // (self.count + len(frames)))
        for lo in range(0, len(q), step):
            hi = min(lo + step, len(q))
            root = base if base is None or not each else base[lo:hi]
            arrays = fixed | {"values": q[lo:hi], "poses": out[lo:hi], **numbers(worlds=hi - lo)}
            arrays["base"] = None if root is None else np.ascontiguousarray(root)
            given, error = named(arrays), nat.Error()
            native.raise_for(native.forward(given, len(given), error), error)
