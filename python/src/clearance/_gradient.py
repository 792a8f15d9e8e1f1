"""The gradient of signed distances with respect to the poses, in closed form."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ._arrays import Array, take
from ._errors import OptionError
from ._result import PENETRATING, Result, host_array

NEEDED: Final = ("distance", "gap", "normal", "witness_a", "witness_b")


def distance_gradient(result: Result, pos_a: Any, pos_b: Any, *, max_distance: float | None = None) -> Array:
    """The derivative of the signed distance with respect to the twists of both bodies, float64 [N,12].

    ``result`` is that of :meth:`Engine.distance` with the positions ``pos_a``, ``pos_b`` [N,3] (or [3], that of all
    rows). A twist is the velocity of the position and the angular velocity, in world axes; A, then B. With n the normal
    and v the velocity of a witness, the derivative is n·(v_B - v_A).

    It is the gradient where the distance has one. Where it has several normals or several pairs of witnesses (parallel
    faces, two equal depths) it is one of the directional derivatives. It is as exact as normal and witnesses: pass
    precision="double" to the query. Rows without an answer are zero, and so are those beyond ``max_distance``, if the
    query had one: their distance is a bound.
    """
    if type(result) is not Result or result.query != "distance":
        raise OptionError("distance_gradient: want the result of Engine.distance")
    missing = [name for name in NEEDED if getattr(result, name) is None]
    if missing:
        raise OptionError(f"distance_gradient: the result lacks the columns {', '.join(missing)}; request them")
    rows = result.rows
    n, a, b = (host_array(getattr(result, name)).astype(np.float64) for name in NEEDED[2:])
    p, q = (_positions(name, value, rows) for name, value in (("pos_a", pos_a), ("pos_b", pos_b)))
    gradient = np.concatenate([-n, -np.cross(a - p, n), n, np.cross(b - q, n)], axis=1)
    good = host_array(result.status) <= PENETRATING
    if max_distance is not None:
        lower = host_array(result.distance).astype(np.float64) - host_array(result.gap)
        good &= lower <= max_distance
    gradient[~good] = 0
    return gradient


def _positions(name: str, value: Any, rows: int) -> Array:
    array = np.asarray(value)
    if array.ndim == 1:
        array = np.broadcast_to(array, (rows, *array.shape))
    return take(name, array, np.float64, (3,), rows, True)


def quaternion_gradient(gradient: Array, quat: Array, order: str) -> Array:
    """The gradient with respect to quaternions [N,4] that need not be unit, from that for angular velocities [N,3].

    A change dq rotates with ω·dt = 2·vec(dq·q*)/|q|²; changes of the length do not rotate.
    """
    s, u = (quat[:, :1], quat[:, 1:]) if order == "wxyz" else (quat[:, 3:], quat[:, :3])
    k = 2 / np.sum(quat * quat, axis=1, keepdims=True)
    scalar = -k * np.sum(gradient * u, axis=1, keepdims=True)
    vector = k * (s * gradient + np.cross(gradient, u))
    return np.concatenate([scalar, vector] if order == "wxyz" else [vector, scalar], axis=1)


def quaternion_velocity(change: Array, quat: Array) -> Array:
    """The angular velocities [N,3] of changes dq of quaternions [N,4], "wxyz": 2·vec(dq·q*)/|q|²; 0 for zero q."""
    s, u = quat[:, :1], quat[:, 1:]
    size = np.sum(quat * quat, axis=1, keepdims=True)
    k = np.divide(2.0, size, out=np.zeros_like(size), where=(size > 0) & np.isfinite(size))
    spin: Array = k * (s * change[:, 1:] - change[:, :1] * u - np.cross(change[:, 1:], u))
    return spin
