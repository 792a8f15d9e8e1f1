"""Poses moved by twists: the steps of a descent, whose gradients by poses are twists in world axes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ._arrays import host, reordered
from ._errors import ArrayError
from ._kinematics import product
from ._options import ArrayLike, Order, check_quat


def move_poses(
    position: ArrayLike, rotation: ArrayLike, twist: ArrayLike, *, quat: Order | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Positions [...,3] and unit quaternions [...,4] of poses that are moved by twists [...,6].

    A twist is a translation in metres and a rotation vector in radians about the position, both in world axes, as
    gradients of :meth:`Result.vjp` have them: a step of gradient descent is
    ``move_poses(position, rotation, -rate * gradient, quat="wxyz")``. Quaternions need not be unit; leading axes
    broadcast.
    """
    check_quat(quat)
    arrays = []
    for name, value, width in (("position", position, 3), ("rotation", rotation, 4), ("twist", twist, 6)):
        array = host(name, value, True)
        if array.dtype.kind not in "fiu" or array.ndim < 1 or array.shape[-1] != width:
            raise ArrayError(name, f"is {array.dtype} of the shape {list(array.shape)}, want numbers [..., {width}]")
        arrays.append(array.astype(np.float64))
    p, q, t = arrays
    if quat == "xyzw":
        q = reordered(q, (3, 0, 1, 2))
    size = np.linalg.norm(q, axis=-1, keepdims=True)
    for name, array in (("position", p), ("rotation", np.where(size > 0, q, np.nan)), ("twist", t)):
        faults = np.argwhere(~np.isfinite(array))
        if len(faults):
            raise ArrayError(name, f"the row {faults[0][:-1].tolist()} has numbers that are not finite, or is 0")
    half = 0.5 * np.linalg.norm(t[..., 3:], axis=-1, keepdims=True)
    # sin(x)/x of half of the angle, which numpy has of multiples of π.
    step = np.concatenate([np.cos(half), 0.5 * np.sinc(half / np.pi) * t[..., 3:]], axis=-1)
    q = product(*np.broadcast_arrays(step, q / size))
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return p + t[..., :3], reordered(q, (1, 2, 3, 0)) if quat == "xyzw" else q
