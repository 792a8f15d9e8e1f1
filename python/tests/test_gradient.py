"""Gradients of distances: against differences, and of rows without an answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Pairs, every_kind

import clearance as cl
from clearance._derivatives import quaternion_gradient


def smooth() -> cl.Library:
    """Shapes of which every pair has one normal and one pair of witnesses."""
    lib = cl.Library()
    lib.sphere(0.5)
    lib.ellipsoid([0.4, 0.5, 0.6])
    lib.ellipsoid([0.7, 0.3, 0.5], margin=0.05)
    return lib


def answer(engine: cl.Engine, p: Pairs, order: Any = "wxyz", **change: Any) -> cl.Result:
    arrays = [change.get(name, getattr(p, name)) for name in ("a", "b", "pos_a", "quat_a", "pos_b", "quat_b")]
    a, b, pos_a, quat_a, pos_b, quat_b = arrays
    return engine.distance(p.library, a, b, pos_a, quat_a, pos_b, quat_b, quat=order, precision="double")


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_against_differences(engine: cl.Engine, order: str) -> None:
    """Every coordinate of positions and quaternions, which are not unit."""
    p = Pairs(smooth(), 60, spread=1.0)
    gradient = cl.distance_gradient(answer(engine, p, order), p.pos_a, p.pos_b)
    assert gradient.shape == (60, 12)
    want = {
        "pos_a": gradient[:, :3],
        "quat_a": quaternion_gradient(gradient[:, 3:6], p.quat_a, order),
        "pos_b": gradient[:, 6:9],
        "quat_b": quaternion_gradient(gradient[:, 9:], p.quat_b, order),
    }
    h = 1e-5
    for name, rows in want.items():
        for k in range(rows.shape[1]):
            step = np.zeros(rows.shape[1])
            step[k] = h
            ahead = answer(engine, p, order, **{name: getattr(p, name) + step}).distance
            behind = answer(engine, p, order, **{name: getattr(p, name) - step}).distance
            np.testing.assert_allclose(rows[:, k], (ahead - behind) / (2 * h), atol=2e-6, err_msg=f"{name} {k}")


def test_common_motion(engine: cl.Engine) -> None:
    """A motion of both bodies as one leaves every distance as it is."""
    p = Pairs(every_kind(), 300)
    r = answer(engine, p)
    v, omega = np.array([0.3, -1.0, 0.5]), np.array([1.0, 0.2, -0.7])
    twists = np.concatenate(
        [
            v + np.cross(omega, p.pos_a),
            np.tile(omega, (300, 1)),
            v + np.cross(omega, p.pos_b),
            np.tile(omega, (300, 1)),
        ],
        axis=1,
    )
    gradient = cl.distance_gradient(r, p.pos_a, p.pos_b)
    np.testing.assert_allclose(np.sum(gradient * twists, axis=1), 0, atol=1e-9)


def test_rows_without_gradient(engine: cl.Engine) -> None:
    """Invalid rows and those beyond the largest distance are zero, never NaN."""
    p = Pairs(smooth(), 40)
    p.quat_a[3] = 0
    r = answer(engine, p)
    gradient = cl.distance_gradient(r, p.pos_a, p.pos_b)
    assert np.isfinite(gradient).all()
    assert not gradient[3].any() and gradient[np.arange(40) != 3].any(axis=1).all()
    near = engine.distance(*p.arrays(), quat="wxyz", max_distance=1.0, precision="double")
    cut = cl.distance_gradient(near, p.pos_a, p.pos_b, max_distance=1.0)
    far = np.isfinite(r.distance) & (r.distance > 1.001)
    assert far.any() and not cut[far].any()
    kept = r.distance < 0.999
    assert kept.any()
    np.testing.assert_allclose(cut[kept], gradient[kept], atol=1e-9)


def test_refused(engine: cl.Engine) -> None:
    """What cannot be differentiated is an error that says so."""
    p = Pairs(smooth(), 5)
    with pytest.raises(cl.OptionError, match="normal"):
        cl.distance_gradient(engine.distance(*p.arrays(), quat="wxyz", columns=["distance"]), p.pos_a, p.pos_b)
    with pytest.raises(cl.OptionError, match=r"Engine\.distance"):
        cl.distance_gradient(engine.growth(*p.arrays(), quat="wxyz"), p.pos_a, p.pos_b)
    with pytest.raises(cl.ArrayError, match="pos_b"):
        cl.distance_gradient(answer(engine, p), p.pos_a, p.pos_b[:2])


def test_columns(engine: cl.Engine) -> None:
    """Derivatives as columns: alone in closed form, with others of the polished answer; failed rows have zeros."""
    p = Pairs(smooth(), 60, spread=1.0)
    p.quat_a[7] = 0
    pairs = (p.a, p.b, p.pos_a, p.quat_a, p.pos_b, p.quat_b)
    alone = engine.distance(p.library, *pairs, quat="wxyz", precision="double", columns=["d_distance"])
    assert alone.d_distance.shape == (60, 12) and alone.d_distance.dtype == np.float64 and alone.distance is None
    answered = answer(engine, p)
    assert np.allclose(alone.d_distance, cl.distance_gradient(answered, p.pos_a, p.pos_b), rtol=0, atol=1e-12)
    names = ["d_distance", "d_normal", "d_witness_a", "d_witness_b", "curvature", "smoothness"]
    r = engine.distance(p.library, *pairs, quat="wxyz", precision="double", columns=[*names, "normal"])
    assert r.d_normal.shape == r.d_witness_a.shape == r.d_witness_b.shape == (60, 3, 12)
    assert r.curvature.shape == (60, 6) and r.smoothness.dtype == np.uint8
    assert set(r.smoothness_names) == {"none", "smooth"} and r.smoothness_names[7] == "none"
    assert np.allclose(r.d_distance, alone.d_distance, rtol=0, atol=1e-4)
    for name in names:
        assert not getattr(r, name)[7].any()
    # A common rotation about z moves the normal along.
    ok = r.status < 3
    spin = np.zeros((60, 12))
    spin[:, 5] = spin[:, 11] = 1
    spin[:, :3] = np.cross([0, 0, 1], p.pos_a)
    spin[:, 6:9] = np.cross([0, 0, 1], p.pos_b)
    moved = np.einsum("nij,nj->ni", r.d_normal, spin)
    assert np.allclose(moved[ok], np.cross([0, 0, 1], r.normal)[ok], atol=1e-6)


def test_modes(engine: cl.Engine) -> None:
    """Smoothed derivatives depend on the seed and the row alone, and bad options are refused by name."""
    p = Pairs(every_kind(), 40, spread=2.0)
    pairs = (p.a, p.b, p.pos_a, p.quat_a, p.pos_b, p.quat_b)
    columns = ["d_normal", "smoothness"]
    options: Any = {"quat": "wxyz", "columns": columns, "derivative": "gaussian", "samples": 30}
    one = engine.distance(p.library, *pairs, seed=1, **options)
    same = engine.distance(p.library, *pairs, seed=1, **options)
    other = engine.distance(p.library, *pairs, seed=2, **options)
    assert np.array_equal(one.d_normal, same.d_normal) and not np.array_equal(one.d_normal, other.d_normal)
    assert "smoothed" in one.smoothness_names
    for bad in ({"derivative": "second"}, {"epsilon": -1.0}, {"samples": 0}, {"rings": -1}, {"seed": -1}):
        with pytest.raises(cl.OptionError, match=next(iter(bad))):
            engine.distance(p.library, *pairs, **{**options, **bad})
    with pytest.raises(cl.OptionError, match="smoothness"):
        _ = answer(engine, p).smoothness_names
