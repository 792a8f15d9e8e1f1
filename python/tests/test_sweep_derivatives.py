"""Derivatives of times of first contact: closed forms, differences, and names where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clearance as cl


def balls() -> cl.Scene:
    """Two balls of radius 0.5."""
    scene = cl.Scene()
    ball = scene.library.sphere(0.5)
    for _ in range(2):
        scene.add(ball)
    scene.all_pairs()
    return scene


def along_x(*ways: tuple[float, ...]) -> Any:
    """Poses [W,T,2,7] of a ball at the origin and another with these x at the way points."""
    poses = np.zeros((len(ways), len(ways[0]), 2, 7))
    poses[..., 3] = 1
    poses[..., 1, 0] = ways
    return poses


def test_closed_form(engine: cl.Engine) -> None:
    """Of x0 and x1 at the times 0 and 1: t = (x0 - 1)/(x0 - x1), so ∂t/∂x0 = (1 - t)/(x0 - x1), ∂t/∂x1 = t/(x0 - x1);
    the other ball has the opposite."""
    x0, x1 = 4.0, -1.0
    r = engine.sweep(balls(), along_x((x0, x1)), quat="wxyz", grad=True)
    t = (x0 - 1) / (x0 - x1)
    assert r.differentiable.tolist() == [[True]] and abs(r.time[0, 0] - t) < 1e-12
    g = r.vjp(time=3.0)
    want = np.zeros((1, 2, 2, 6))
    want[0, :, 1, 0] = 3 * np.array([1 - t, t]) / (x0 - x1)
    want[0, :, 0] = -want[0, :, 1]
    np.testing.assert_allclose(g, want, atol=1e-12)


def test_names(engine: cl.Engine) -> None:
    """Where the time is not differentiable it is said by name, and weights of these rows, NaN too, count nothing."""
    scene = balls()
    poses = along_x((9, 5, 2), (3, 1, -1), (0.5, 0, 0), (3, 2, -1), (3, 2, -1), (3, 2, -1))
    poses[4, 0, 1, 0] = np.nan
    poses[5, 2:, 0, 3:] = 0, 0, 0, 1  # half a revolution
    poses[3, :, 1, 1] = 1.0  # passes at the distance 0
    r = engine.sweep(scene, poses, quat="wxyz", grad=True)
    names = r.time_smoothness_names[:, 0].tolist()
    assert names == ["none", "way point", "way point", "grazing", "none", "half revolution"]
    assert not r.differentiable.any()
    assert not r.vjp(time=np.full((6, 1), np.nan)).any()
    boxes = cl.Scene()
    for _ in range(2):
        boxes.add(boxes.library.box([0.5, 0.5, 0.5]))
    boxes.all_pairs()
    flat = engine.sweep(boxes, along_x((3, -1)), quat="wxyz", grad=True)
    assert flat.time_smoothness_names.tolist() == [["not unique"]] and not flat.vjp(time=1.0).any()
    with pytest.raises(cl.OptionError, match="grad=True"):
        engine.sweep(scene, poses, quat="wxyz").vjp(time=1.0)
    with pytest.raises(cl.OptionError, match="wrt"):
        r.vjp(time=1.0, wrt="matrix")  # type: ignore[arg-type]
    with pytest.raises(cl.ArrayError, match="time"):
        r.vjp(time=np.ones(6))


def moving(seed: int, worlds: int) -> tuple[cl.Scene, Any]:
    """Three bodies of two parts each that fly towards each other, tumbling, through three way points."""
    rng = np.random.default_rng(seed)
    scene = cl.Scene()
    lib = scene.library
    kinds = [lib.box([0.2, 0.3, 0.4]), lib.ellipsoid([0.2, 0.3, 0.5]), lib.convex(rng.normal(0, 0.3, (20, 3)))]
    for shape in kinds:
        other = cl.Part(kinds[1], position=rng.normal(0, 0.3, 3))
        scene.add(cl.Part(shape), other)
    scene.all_pairs()
    poses = np.zeros((worlds, 3, 3, 7))
    away = np.array([[1.0, 0, 0], [-0.5, 0.9, 0], [-0.5, -0.9, 0]])
    for k in range(3):
        poses[:, k, :, :3] = 1.5 * (1 - k) * away + rng.normal(0, 0.5, (worlds, 3, 3))
    poses[..., 3:] = rng.normal(size=(worlds, 1, 3, 4)) + 0.5 * rng.normal(size=(worlds, 3, 3, 4))
    return scene, poses


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_differences(engine: cl.Engine, order: Any) -> None:
    """Central differences of the times, along random changes of the poses; quaternions are not unit. The error of a
    difference of times to 1e-9 over 2e-5 is 1e-4."""
    scene, poses = moving(1, 40)
    asked: dict[str, Any] = {"quat": order, "grad": True}
    r = engine.sweep(scene, poses, **asked)
    assert 20 < r.differentiable.sum() < r.state.size
    rng, h = np.random.default_rng(2), 1e-5
    weights = rng.normal(size=r.state.shape)
    g = r.vjp(time=weights, wrt="poses")
    assert g.shape == poses.shape and np.isfinite(g).all()
    for _ in range(4):
        change = rng.normal(size=poses.shape)
        ahead, behind = (engine.sweep(scene, poses + s * h * change, **asked) for s in (1, -1))
        kept = r.differentiable & ahead.differentiable & behind.differentiable
        kept &= (r.part_a == ahead.part_a) & (r.part_b == ahead.part_b)
        kept &= (r.part_a == behind.part_a) & (r.part_b == behind.part_b)
        assert kept.sum() > 0.9 * r.differentiable.sum()
        masked = np.where(kept, weights, 0)
        want = (masked * (np.where(kept, ahead.time - behind.time, 0))).sum(axis=1) / (2 * h)
        got = (r.vjp(time=masked, wrt="poses") * change).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


def test_selections(engine: cl.Engine) -> None:
    """Rows of all pairs and of worlds have the gradients of the same rows of a list of pairs."""
    scene, poses = moving(3, 30)
    asked: dict[str, Any] = {"quat": "wxyz", "grad": True}
    rows = engine.sweep(scene, poses, **asked)
    weights = np.where(rows.differentiable, np.arange(rows.state.size).reshape(rows.state.shape) + 1.0, 0)
    whole = rows.vjp(time=weights)
    found = engine.sweep(scene, poses, pairs="all", **asked)
    at = [scene.pairs.index((a, b)) for a, b in zip(found.body_a.tolist(), found.body_b.tolist(), strict=True)]
    assert np.array_equal(found.vjp(time=weights[found.world, at]), whole)
    worlds = engine.sweep(scene, poses, reduce="world", **asked)
    everything = engine.sweep(scene, poses, reduce="world", pairs="all", **asked)
    first = np.zeros_like(weights)
    contact = worlds.pair >= 0
    first[contact, worlds.pair[contact]] = 1
    want = rows.vjp(time=first)
    assert worlds.differentiable.sum() > 15
    assert np.array_equal(worlds.vjp(time=1.0), want) and np.array_equal(everything.vjp(time=1.0), want)
    # Several leading axes, and bodies of each world.
    batch = poses.reshape(5, 6, *poses.shape[1:])
    places = np.tile(np.arange(3, dtype=np.int32), (30, 1))
    again = engine.sweep(scene, batch, bodies=places, **asked)
    assert np.array_equal(again.vjp(time=weights.reshape(5, 6, 3)), whole.reshape(5, 6, *whole.shape[1:]))
    one = cl.Engine("cpu", workers=1).sweep(scene, poses, **asked)
    assert np.array_equal(one.vjp(time=weights), whole)
