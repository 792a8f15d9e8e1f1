"""Poses moved by twists: against rotation matrices, small and large angles, both orders, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clearance as cl


def matrix(q: Any) -> Any:
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def test_rotations_follow_rodrigues() -> None:
    """A rotation vector rotates by Rodrigues' formula in world axes, from 1e-12 to 3 radians, in either order."""
    rng = np.random.default_rng(0)
    pos, quat = rng.normal(size=(20, 3)), rng.normal(size=(20, 4))
    twist = rng.normal(size=(20, 6)) * np.logspace(-12, 0, 20)[:, None]
    twist[-1, 3:] *= 3 / np.linalg.norm(twist[-1, 3:])
    at, rotated = cl.move_poses(pos, quat, twist, quat="wxyz")
    np.testing.assert_array_equal(at, pos + twist[:, :3])
    for q, t, got in zip(quat, twist[:, 3:], rotated, strict=True):
        angle = np.linalg.norm(t)
        k = np.cross(np.eye(3), t / angle)
        want = (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k) @ matrix(q)
        np.testing.assert_allclose(matrix(got), want, atol=1e-14)
    _, other = cl.move_poses(pos, quat[:, [1, 2, 3, 0]], twist, quat="xyzw")
    np.testing.assert_allclose(other, rotated[:, [1, 2, 3, 0]], atol=1e-16)


def test_descent_by_a_gradient(engine: cl.Engine) -> None:
    """A small step along the gradient changes a distance by its square, as the first order says."""
    lib = cl.Library()
    a, b = lib.ellipsoid([0.3, 0.2, 0.1]), lib.box([0.1, 0.2, 0.3], margin=0.02)
    other = np.array([0.5, 0.4, 0.3]), np.array([0.9, 0.1, -0.2, 0.4])
    pose = np.zeros((1, 3)), np.array([[1.0, 0.2, 0.3, 0.1]])
    ask: Any = {"quat": "wxyz", "precision": "double", "tolerance": 1e-12, "grad": True}
    r = engine.distance(lib, a, b, *pose, *other, **ask)
    g = r.vjp(distance=np.ones(1))[:, :6]
    moved = engine.distance(lib, a, b, *cl.move_poses(*pose, 1e-6 * g, quat="wxyz"), *other, **ask)
    np.testing.assert_allclose((moved.distance - r.distance) / 1e-6, np.sum(g * g, axis=1), rtol=1e-4)


def test_leading_axes_broadcast() -> None:
    at, rotated = cl.move_poses([0, 0, 1], [1, 0, 0, 0], np.zeros((4, 5, 6)), quat="wxyz")
    assert at.shape == (4, 5, 3) and rotated.shape == (4, 5, 4)
    assert (at == [0, 0, 1]).all() and (rotated == [1, 0, 0, 0]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": np.zeros(4)}, "position"),
        ({"rotation": np.zeros(4)}, "rotation: the row"),
        ({"twist": np.full(6, np.nan)}, "twist: the row"),
        ({"twist": np.zeros((2, 5))}, "twist"),
        ({"quat": "wzyx"}, "quat"),
    ],
)
def test_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "position": np.zeros(3),
        "rotation": [1, 0, 0, 0],
        "twist": np.zeros(6),
        "quat": "wxyz",
    } | change
    with pytest.raises(cl.ClearanceError, match=message):
        cl.move_poses(**given)
