"""Forward kinematics of the native library, against that of NumPy by levels of the tree.

A frame is what a joint moves; links that fixed joints alone connect to it have a constant pose in it. All frames of a
level, which are equally many joints below the root, are computed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest

import clearance as cl
from clearance import _kinematics, _native
from clearance._arrays import Array
from clearance._kinematics import Moved, Plan

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


WIDTH = {"fixed": 0, "revolute": 1, "prismatic": 1, "ball": 4, "free": 7}


def units(rng: np.random.Generator, *shape: int) -> Any:
    v = rng.normal(size=shape)
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def poses_of(rng: np.random.Generator, *shape: int) -> Any:
    return np.concatenate([rng.normal(size=(*shape, 3)), units(rng, *shape, 4)], axis=-1)


def tree(rng: np.random.Generator, frames: int, kinds: tuple[str, ...] = tuple(WIDTH)) -> tuple[list[Moved], int]:
    """Joints, some with rotations and axes along those of the frame, each below any frame before it."""
    moved, dof = list[Moved](), 0
    for i in range(frames):
        kind = kinds[rng.integers(len(kinds))]
        rotation = np.array([[1, 0, 0, 0], [0.5**0.5, 0.5**0.5, 0, 0], units(rng, 4)][i % 3], np.float64)
        axis = np.array([0, 0, 1.0]) if i % 2 else units(rng, 3)
        position = rng.normal(size=3) * (i % 4 > 0)
        values = rng.normal(size=2)
        moved.append(Moved(kind, int(rng.integers(i + 1)), position, rotation, axis, dof, *map(float, values)))
        dof += WIDTH[kind]
    return moved, dof


@pytest.mark.parametrize("worlds", [0, 1, 33])
@pytest.mark.parametrize("base", ["none", "one", "each"])
def test_random_trees(worlds: int, base: str) -> None:
    """Poses of random trees, of frames and of places within them; those of other bodies stay as they are."""
    rng = np.random.default_rng(worlds)
    for frames in range(12):
        moved, dof = tree(rng, frames)
        count = int(rng.integers(1, 6))
        at = rng.integers(frames + 1, size=count).tolist()
        within = poses_of(rng, count)
        within[::2] = [0, 0, 0, 1, 0, 0, 0]
        q, root = rng.normal(size=(worlds, dof)), None
        if base != "none":
            root = poses_of(rng, worlds) if base == "each" else poses_of(rng)
        got, want = np.full((2, worlds, count + 1, 7), -5.0)
        Plan(moved).write(got, q, root, at, within)
        Levels(moved).write(want, q, root, at, within)
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-13)
        assert (got[:, count:] == -5).all()


def test_bits_of_a_configuration() -> None:
    """Those of a configuration alone, in whichever part of an array it stands."""
    rng = np.random.default_rng(1)
    moved, dof = tree(rng, 30)
    q, at, within = rng.normal(size=(500, dof)), list(range(31)), poses_of(rng, 31)
    every, plan = np.empty((500, 31, 7)), Plan(moved)
    plan.write(every, q, None, at, within)
    one = np.empty((1, 31, 7))
    for w in range(0, 500, 7):
        plan.write(one, q[w : w + 1], None, at, within)
        assert (one[0] == every[w]).all(), w


def test_not_finite() -> None:
    """A configuration that is not finite has poses with NaN, as have quaternions of length 0; others are good."""
    moved, dof = tree(np.random.default_rng(2), 4, ("revolute", "prismatic", "ball"))
    q = np.random.default_rng(3).normal(size=(4, dof))
    q[1, 0], q[3, 0] = np.nan, np.inf
    got, at = np.empty((4, 1, 7)), [1]
    Plan(moved).write(got, q, None, at, np.tile([0, 0, 0, 1.0, 0, 0, 0], (1, 1)))
    assert np.isfinite(got).all(axis=(1, 2)).tolist() == [True, False, True, False]
    ball = [Moved("ball", 0, np.zeros(3), np.array([1.0, 0, 0, 0]), np.zeros(3), 0)]
    Plan(ball).write(got, np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0], [np.nan, 0, 0, 1]]), None, at, REST)
    assert np.isfinite(got).all(axis=(1, 2)).tolist() == [True, False, True, False]


REST = np.array([[0, 0, 0, 1.0, 0, 0, 0]])


def test_arrays_with_gaps() -> None:
    """Poses are written to arrays that are not contiguous, too."""
    moved, dof = tree(np.random.default_rng(4), 3)
    q = np.random.default_rng(5).normal(size=(9, dof))
    plain, wide = np.zeros((9, 2, 7)), np.zeros((9, 4, 7))
    for out in (plain, wide[:, ::2]):
        Plan(moved).write(out, q, None, [3], REST)
    assert (wide[:, ::2] == plain).all() and plain.any() and not wide[:, 1::2].any()


def test_interrupt_by_a_count_of_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many configurations are several calls, between which Python looks for signals: none has more frames than said."""
    moved, dof = tree(np.random.default_rng(6), 9)
    q = np.random.default_rng(7).normal(size=(1000, dof))
    whole, parts = np.empty((2, 1000, 1, 7))
    Plan(moved).write(whole, q, None, [9], REST)
    calls: list[int] = []
    own = _native.named

    def counted(arrays: Any) -> Any:
        calls.append(int(arrays["worlds"][0]))
        return own(arrays)

    monkeypatch.setattr(_kinematics, "named", counted)
    monkeypatch.setattr(_kinematics, "_CALL", 330)
    Plan(moved).write(parts, q, None, [9], REST)
    assert sum(calls) == 1000 and max(calls) * 11 <= 330 and (whole == parts).all()


def test_faults() -> None:
    """What does not fit is refused by the library itself."""
    hinge = [Moved("revolute", 0, np.zeros(3), np.array([1.0, 0, 0, 0]), np.array([0, 0, 1.0]), 3)]
    out = np.empty((2, 1, 7))
    with pytest.raises(cl.OptionError, match="reads 1 numbers from 3 on, a configuration has 3"):
        Plan(hinge).write(out, np.zeros((2, 3)), None, [1], REST)
    with pytest.raises(cl.OptionError, match="frame 2 of 2"):
        Plan(hinge).write(out, np.zeros((2, 4)), None, [2], REST)
    with pytest.raises(cl.OptionError, match="overlap"):
        Plan(hinge).write(out, out.reshape(2, 7), None, [1], REST)
