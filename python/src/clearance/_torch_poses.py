"""Poses of pairs as tensors of PyTorch, in the forms that engines take, with their graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._errors import ArrayError, OptionError
from ._graph_torch import tensor, torch
from ._poses import FORMS, is_pair, placed, seven


def sides(poses: Sequence[Any], named: Mapping[str, Any], quat: Any) -> tuple[tuple[Any, Any, Any, Any], Any]:
    """pos_a, quat_a, pos_b and quat_b as tensors, and the order of their quaternions."""
    given = placed(poses, named)
    if len(given) == 4:
        if quat not in ("wxyz", "xyzw"):
            raise OptionError(
                f'quat: {quat!r}, want "wxyz" or "xyzw": rotation matrices [N,3,3] go in a pair (position, rotation)'
            )
        pos_a, quat_a, pos_b, quat_b = map(tensor, given)
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
    return rotation if order == "wxyz" else rotation[..., [3, 0, 1, 2]]


def _side(name: str, value: Any, quat: Any) -> tuple[Any, Any, str]:
    """Positions, quaternions and their order."""
    if not isinstance(value, torch.Tensor) and not (is_pair(value) and any(isinstance(v, torch.Tensor) for v in value)):
        joined, order, _ = seven(name, value, quat)  # without a graph
        if order not in ("wxyz", "xyzw"):
            raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw", the order of the quaternions of {name}')
        both = tensor(joined)
        return both[..., :3], both[..., 3:], order
    if is_pair(value):
        position, rotation = tensor(value[0]), tensor(value[1])
        if tuple(rotation.shape[-2:]) == (3, 3):
            return position, quaternions(rotation), "wxyz"
    else:
        if tuple(value.shape[-2:]) == (4, 4):
            return value[..., :3, 3], quaternions(value[..., :3, :3]), "wxyz"
        if tuple(value.shape[-1:]) != (7,):
            raise ArrayError(name, f"has the shape {list(value.shape)}, want {FORMS}")
        position, rotation = value[..., :3], value[..., 3:]
    if quat not in ("wxyz", "xyzw"):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw", the order of the quaternions of {name}')
    return position, rotation, quat


def quaternions(matrices: Any) -> Any:
    """Unit quaternions (w, x, y, z) [..., 4] of rotation matrices [..., 3, 3], by the formulas of the package for
    arrays (Shepperd's method). A matrix that is no rotation gives NaN, and so an invalid row."""
    m = matrices if matrices.is_floating_point() else matrices.to(torch.float64)
    flat = m.reshape(*m.shape[:-2], 9)
    xx, xy, xz, yx, yy, yz, zx, zy, zz = flat.unbind(-1)
    w_x, w_y, w_z, x_y, x_z, y_z = zy - yz, xz - zx, yx - xy, xy + yx, xz + zx, yz + zy
    squares = torch.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], -1)
    w, x, y, z = squares.unbind(-1)
    rows = ((w, w_x, w_y, w_z), (w_x, x, x_y, x_z), (w_y, x_y, y, y_z), (w_z, x_z, y_z, z))
    products = torch.stack([torch.stack(row, -1) for row in rows], -2)
    best = squares.argmax(-1)[..., None, None].expand(*squares.shape[:-1], 1, 4)
    chosen = products.gather(-2, best)[..., 0, :]
    q = chosen / chosen.norm(dim=-1, keepdim=True)
    with torch.no_grad():
        off = (m @ m.mT - torch.eye(3, dtype=m.dtype, device=m.device)).abs().amax((-2, -1))
        good = (off <= 1e-3) & (torch.linalg.det(m) > 0)
    return torch.where(good[..., None], q, torch.full_like(q, torch.nan))
