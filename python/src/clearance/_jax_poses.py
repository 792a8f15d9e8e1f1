"""Poses of pairs as arrays of JAX, in the forms that engines take, as functions that JAX differentiates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ._errors import ArrayError, OptionError
from ._jax_graph import jax, jnp
from ._poses import FORMS, is_list, is_pair, placed, seven


def sides(poses: Sequence[Any], named: Mapping[str, Any], quat: Any) -> tuple[tuple[Any, Any, Any, Any], Any]:
    """pos_a, quat_a, pos_b and quat_b, and the order of their quaternions."""
    given = placed(poses, named)
    if len(given) == 4:
        if quat not in ("wxyz", "xyzw"):
            raise OptionError(
                f'quat: {quat!r}, want "wxyz" or "xyzw": rotation matrices [...,3,3] go in a pair (position, rotation)'
            )
        pos_a, quat_a, pos_b, quat_b = given
        return (pos_a, quat_a, pos_b, quat_b), quat
    if len(given) != 2:
        raise TypeError(f"{len(given)} arguments are poses, want pose_a, pose_b, or pos_a, quat_a, pos_b, quat_b")
    (pos_a, quat_a, of_a), (pos_b, quat_b, of_b) = (
        _side(name, value, quat) for name, value in zip(("pose_a", "pose_b"), given, strict=True)
    )
    if of_a != of_b:
        quat_a, quat_b = _wxyz(quat_a, of_a), _wxyz(quat_b, of_b)
        of_a = "wxyz"
    return (pos_a, quat_a, pos_b, quat_b), of_a


def _wxyz(rotation: Any, order: str) -> Any:
    return rotation if order == "wxyz" else rotation[..., jnp.array([3, 0, 1, 2])]


def _side(name: str, value: Any, quat: Any) -> tuple[Any, Any, str]:
    """Positions, quaternions and their order."""
    if is_pair(value) and not hasattr(value[1], "as_matrix"):
        position, rotation = map(jnp.asarray, value)
        if rotation.shape[-2:] == (3, 3):
            return position, quaternions(rotation), "wxyz"
    else:
        order: Any = quat
        if is_list(value) or hasattr(value, "rotation") or is_pair(value):  # without a graph
            value, order, _ = seven(name, value, quat)
        array = jnp.asarray(value)
        if array.shape[-2:] == (4, 4):
            return array[..., :3, 3], quaternions(array[..., :3, :3]), "wxyz"
        if array.shape[-1:] != (7,):
            raise ArrayError(name, f"has the shape {list(array.shape)}, want {FORMS}")
        position, rotation, quat = array[..., :3], array[..., 3:], order or getattr(value, "order", None)
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw", the order of the quaternions of {name}')
    return position, rotation, quat


def _quaternions(matrices: Any) -> Any:
    """Unit quaternions (w, x, y, z) [..., 4] of rotation matrices [..., 3, 3], by the formulas of the package for
    arrays (Shepperd's method). A matrix that is no rotation gives NaN, and so an invalid row."""
    m = matrices if jnp.issubdtype(matrices.dtype, jnp.floating) else matrices.astype(jnp.float32)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = jnp.moveaxis(m.reshape(*m.shape[:-2], 9), -1, 0)
    w_x, w_y, w_z, x_y, x_z, y_z = zy - yz, xz - zx, yx - xy, xy + yx, xz + zx, yz + zy
    w, x, y, z = squares = (1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz)
    rows = ((w, w_x, w_y, w_z), (w_x, x, x_y, x_z), (w_y, x_y, y, y_z), (w_z, x_z, y_z, z))
    products = jnp.stack([jnp.stack(row, -1) for row in rows], -2)
    best = jnp.argmax(jnp.stack(squares, -1), -1)[..., None, None]
    chosen = jnp.take_along_axis(products, best, -2)[..., 0, :]
    q = chosen / jnp.linalg.norm(chosen, axis=-1, keepdims=True)
    off = jnp.abs(m @ jnp.swapaxes(m, -1, -2) - jnp.eye(3, dtype=m.dtype)).max((-2, -1))
    good = (off <= 1e-3) & (jnp.linalg.det(m) > 0)
    return jnp.where(good[..., None], q, jnp.nan)


quaternions: Final[Any] = jax.jit(_quaternions)
