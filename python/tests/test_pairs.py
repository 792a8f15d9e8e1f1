"""Pairs of bodies behave as the list of tuples that they were."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import clearance as cl
from clearance._pairs import Pairs


def test_pairs_are_a_list() -> None:
    """Random changes leave what they leave of a list, and pairs are found in either order."""
    rng = np.random.default_rng(1)
    for m in range(8):
        pairs, want = Pairs(every=m), [(i, j) for i in range(m) for j in range(i + 1, m)]
        for _ in range(60):
            x, y = (int(v) for v in rng.integers(0, 8, 2))
            at = int(rng.integers(0, len(want) + 1))
            match int(rng.integers(0, 6)):
                case 0:
                    pairs.append((x, y))
                    want.append((x, y))
                case 1:
                    pairs.insert(at, (x, y))
                    want.insert(at, (x, y))
                case 2 if at < len(want):
                    del pairs[at]
                    del want[at]
                case 3 if at < len(want):
                    pairs[at] = want[at] = (x, y)
                case 4:
                    more = [(x, y), (y, x)]
                    pairs += more
                    want += more
                case _:
                    pairs.leave_out([(x, y), (x, y)])
                    want = [p for p in want if set(p) != {x, y}]
            if rng.integers(0, 2):
                assert len(pairs) == len(want) and list(pairs) == want and pairs == want
                assert [pairs[k] for k in range(-1, len(want))][1:] == want if want else not pairs
                assert ((x, y) in pairs) == ((x, y) in want)
                assert pairs.has((x, y)) == any(set(p) == {x, y} for p in want)
                assert pairs[1:3] == want[1:3] and pickle.loads(pickle.dumps(pairs)) == pairs
                assert pairs.array().shape == (len(want), 2)
                assert pairs.__add__([(0, 1)]) == [*want, (0, 1)]


def test_pairs_refuse_what_is_no_pair() -> None:
    pairs = Pairs(every=3)
    wrong: Any
    for wrong in ((0, 1.5), (0, 1, 2), 3, (0, 1 << 31)):
        with pytest.raises(cl.OptionError, match="pairs: "):
            pairs.append(wrong)
        with pytest.raises(cl.OptionError, match="pairs: "):
            pairs[0] = wrong
    assert pairs == [(0, 1), (0, 2), (1, 2)] and repr(pairs) == "[(0, 1), (0, 2), (1, 2)]"
    with pytest.raises(IndexError):
        del pairs[3]
    with pytest.raises(ValueError, match="read-only"):
        pairs.array()[0] = 1


def test_a_pair_of_millions_is_left_out_without_reading_them() -> None:
    """Two million pairs: neither is the array made, nor a list of it."""
    scene = cl.Scene()
    ball = scene.library.sphere(0.1)
    for _ in range(2001):
        scene.add(ball)
    scene.all_pairs(skip=[(2000, 1999)])
    scene.skip([(7, 3)])
    assert isinstance(scene.pairs, Pairs) and scene.pairs._rows is None and scene.pairs._base is None
    assert len(scene.pairs) == 2001 * 2000 // 2 - 2
    first, second = scene.pair_arrays()
    assert (first < second).all() and len(first) == len(scene.pairs)
    assert not ((first == 3) & (second == 7)).any() and ((first == 3) & (second == 8)).sum() == 1
