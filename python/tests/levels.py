"""Forward kinematics in NumPy, by levels of a tree, which that of the native library is compared with.

A frame is what a joint moves; links that fixed joints alone connect to it have a constant pose in it. All frames of a
level, which are equally many joints below the root, are computed together, from arrays of one number of all
configurations each. Every number is computed from those of its own configuration by the same operations, so that its
bits do not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from clearance._arrays import Array
from clearance._kinematics import Moved

# Configurations at a time: the arrays of a level stay in the cache of a core.
_BLOCK: Final = 4096


class Levels:
    """Frames by levels, of which frame 0 is the root; frame i is that of ``moved[i - 1]``, and follows those above."""

    def __init__(self, moved: Sequence[Moved]) -> None:
        depth = [0]
        for m in moved:
            depth.append(depth[m.above] + 1)
        groups: dict[tuple[int, str], list[int]] = {}
        for i, m in enumerate(moved):
            groups.setdefault((depth[i + 1], m.kind), []).append(i + 1)
        self.moved, self.count = list(moved), len(depth)
        self._levels = [
            _Level(kind, [moved[i - 1] for i in group], group) for (_, kind), group in sorted(groups.items())
        ]

    def write(self, out: Array, q: Array, base: Array | None, frames: Sequence[int], within: Array) -> None:
        """Write poses out[:, :M] of configurations [W,dof]: place k has the pose within[k] [7] in frame frames[k]."""
        plain = [k for k in range(len(frames)) if (within[k] == _REST).all()]
        others = sorted(set(range(len(frames))) - set(plain))
        fixed = [Moved("fixed", frames[k], within[k, :3], within[k, 3:], np.zeros(3)) for k in others]
        last = _Level("fixed", fixed, others) if fixed else None
        for lo in range(0, len(q), _BLOCK):
            hi = min(lo + _BLOCK, len(q))
            values, to = np.ascontiguousarray(q[lo:hi].T), out[lo:hi]
            poses = np.empty((self.count, 7, hi - lo))
            poses[0] = _REST[:, None] if base is None else np.broadcast_to(base, (len(q), 7))[lo:hi].T
            for level in self._levels:
                level.place(poses, values)
            for k in plain:
                to[:, k] = poses[frames[k]].T
            if last is not None:
                for k, pose in zip(others, last.moved(poses, values), strict=True):
                    to[:, k] = pose.T


_REST: Final = np.array([0, 0, 0, 1.0, 0, 0, 0])


class _Level:
    """Frames of one kind of joint of a level."""

    def __init__(self, kind: str, moved: Sequence[Moved], frames: Sequence[int]) -> None:
        self.kind, self.frames = kind, np.array(frames)
        self.above = np.array([m.above for m in moved])
        self.index = np.array([m.index for m in moved])
        self.multiplier = np.array([m.multiplier for m in moved])[:, None]
        self.offset = np.array([m.offset for m in moved])[:, None]
        # Products of the quaternion above with these are linear in it: the position as a quaternion, the rotation, and
        # the rotation times the axis; of a joint that slides, its axis rotated by the rotation.
        factors: list[list[Array]] = [[], [], []]
        for m in moved:
            axis = np.array([0, *m.axis])
            own = [np.array([0, *m.position]), m.rotation, np.zeros(4)]
            if kind == "revolute":
                own[2] = _by(axis) @ m.rotation
            elif kind == "prismatic":
                own[2] = _by(m.rotation * [1, -1, -1, -1]) @ (_by(axis) @ m.rotation)
            for of, factor in zip(factors, own, strict=True):
                of.append(_by(factor))
        self.shift, self.rotation, self.driven = (_terms(np.array(of)) for of in factors)

    def place(self, poses: Array, values: Array) -> None:
        """Write the poses of the frames, among those [frames,7,B], of the values [dof,B] of configurations."""
        poses[self.frames] = self.moved(poses, values)

    def moved(self, poses: Array, values: Array) -> Array:
        """The poses [K,7,B] of the frames."""
        if self.kind == "free":
            own: Array = np.stack([values[i : i + 7] for i in self.index])
            own[:, 3:] = _unit(own[:, 3:])
            return own
        above = poses[self.above]
        q = above[:, 3:]
        shift, rotation, driven = (_combined(terms, q) for terms in (self.shift, self.rotation, self.driven))
        if self.kind in ("revolute", "prismatic"):
            value = self.multiplier * values[self.index] + self.offset
            if self.kind == "revolute":
                half = value / 2
                rotation = _sum(_scaled(np.cos(half), rotation), _scaled(np.sin(half), driven))
            else:
                shift = _sum(shift, _scaled(value, driven))
        elif self.kind == "ball":
            rotation = _product(rotation, _unit(np.stack([values[i : i + 4] for i in self.index])))
        placed: Array = np.empty_like(above)
        for i, part in enumerate(rotation):
            placed[:, 3 + i] = 0 if part is None else part
        for i, terms in enumerate(_ROTATED):
            at = above[:, i]
            for k, of, sign in terms:
                part = shift[k]
                if part is not None:
                    at = at + part * q[:, of] if sign > 0 else at - part * q[:, of]
            placed[:, i] = at
        return placed


# One number of all frames of a level and all configurations [K,B], or None where it is 0 in all of them.
_Part = Array | None

# The vector part of the product of (m, a, b, c) with the conjugate of (w, x, y, z): factors of both, and the sign.
_ROTATED: Final = (
    ((1, 0, 1), (0, 1, -1), (2, 3, -1), (3, 2, 1)),
    ((2, 0, 1), (0, 2, -1), (1, 3, 1), (3, 1, -1)),
    ((3, 0, 1), (0, 3, -1), (1, 2, -1), (2, 1, 1)),
)


def _terms(matrices: Array) -> list[list[tuple[int, Array]]]:
    """Of each row of matrices [K,4,4] the columns whose numbers [K,1] are not 0. Numbers below the rounding of the
    largest one are: those of right angles, which are not exact."""
    kept = np.abs(matrices) > 2.0**-53 * np.abs(matrices).max(axis=(1, 2), keepdims=True)
    matrices = np.where(kept, matrices, 0)
    return [[(j, matrices[:, i, j, None]) for j in range(4) if matrices[:, i, j].any()] for i in range(4)]


def _combined(terms: list[list[tuple[int, Array]]], q: Array) -> list[_Part]:
    """The products of matrices with quaternions [K,4,B]."""
    parts: list[_Part] = []
    for row in terms:
        part: _Part = None
        for j, factor in row:
            more = factor * q[:, j]
            if part is None:
                part = more
            else:
                part += more
        parts.append(part)
    return parts


def _scaled(by: Array, parts: list[_Part]) -> list[_Part]:
    return [None if part is None else by * part for part in parts]


def _sum(first: list[_Part], second: list[_Part]) -> list[_Part]:
    return [b if a is None else a if b is None else a + b for a, b in zip(first, second, strict=True)]


def _by(r: Array) -> Array:
    """The matrix [4,4] of the product with a quaternion (w, x, y, z) from the right."""
    s, a, b, c = r
    return np.array([[s, -a, -b, -c], [a, s, c, -b], [b, -c, s, a], [c, b, -a, s]])


def _product(q: list[_Part], r: Array) -> list[_Part]:
    """Products of quaternions with others [K,4,B]."""
    zero = np.zeros_like(r[:, 0])
    (w, x, y, z), (s, a, b, c) = (zero if part is None else part for part in q), np.moveaxis(r, 1, 0)
    return [
        w * s - x * a - y * b - z * c,
        w * a + x * s + y * c - z * b,
        w * b - x * c + y * s + z * a,
        w * c + x * b - y * a + z * s,
    ]


def _unit(q: Array) -> Array:
    """Quaternions [K,4,B] scaled to unit length, NaN for those of length 0."""
    w, x, y, z = np.moveaxis(q, 1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit: Array = q / np.sqrt(w * w + x * x + y * y + z * z)[:, None]
    return unit
