"""Forward kinematics of the native library, against that of NumPy by levels of the tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from levels import Levels

import clearance as cl
from clearance import _kinematics, _native
from clearance._kinematics import Moved, Plan

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
