"""What coordinates of a configuration do to bodies: the columns of the Jacobians of a tree, and products with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ._arrays import Array
from ._forward import Moved, Plan
from ._gradient import quaternion_velocity
from ._kinematics import crossed, product, rotated


@dataclass(frozen=True, eq=False)
class Motion:
    """C columns of W configurations. A column is a motion of some bodies by a change of one coordinate: a rotation with
    the angular velocity ``axis`` about ``anchor``, or a translation with the velocity ``axis``. World axes, metres."""

    coordinates: int  # of a configuration
    index: Array  # [C] the coordinate of a column
    slides: Array  # [C] whether it is a translation
    axis: Array  # [W,C,3]
    anchor: Array  # [W,C,3]
    moves: Array  # [C,M] whether it moves a body

    @staticmethod
    def of(plan: Plan, q: Array, base: Array | None, bodies: Sequence[int], count: int) -> Motion:
        """What configurations [W,C] do to the first of ``count`` bodies, which belong to frames of a plan."""
        poses = np.empty((len(q), plan.count, 7))
        plan.write(poses, q, base, range(plan.count), np.tile([0, 0, 0, 1.0, 0, 0, 0], (plan.count, 1)))
        columns: list[_Column] = []
        inside = np.eye(plan.count, dtype=bool)  # [above, below]
        for i, m in enumerate(plan.moved, 1):
            if m.kind != "free":
                inside[:, i] |= inside[:, m.above]
            columns += _columns(i, m, poses, q)
        moves = np.zeros((len(columns), count), bool)
        axis, anchor = np.empty((2, len(q), len(columns), 3))
        for c, column in enumerate(columns):
            moves[c, : len(bodies)] = inside[column.frame, list(bodies)]
            axis[:, c], anchor[:, c] = column.axis, column.anchor
        index = np.array([c.coordinate for c in columns], np.int64)
        return Motion(q.shape[1], index, np.array([c.slides for c in columns], bool), axis, anchor, moves)

    @cached_property
    def screws(self) -> Array:
        """What force and torque about the origin of the world are multiplied by: [W,C,6]. Of a rotation about a point p
        along a these are p×a and a, since a·(t - p×f) = a·t + f·(p×a); of a translation a and 0."""
        spin, slide = ~self.slides[:, None], self.slides[:, None]
        moment = np.where(slide, self.axis, crossed(self.anchor, self.axis))
        return np.concatenate([moment, np.where(spin, self.axis, 0.0)], axis=-1)

    def gradient(self, bodies: Array, origins: Array) -> Array:
        """The gradient [W,coordinates] of that with respect to twists [W,M,6] of bodies with the origins [W,M,3]."""
        forces = np.einsum("cm,wmk->wck", self.moves.astype(np.float64), _about_world(bodies, origins))
        return self._sum(np.einsum("wck,wck->wc", self.screws, forces))

    def rows(self, twists: Array, origins: Array, world: Array, places: Array) -> Array:
        """Gradients [R,coordinates] of rows, each of a world, of their gradients [R,2,6] with respect to the twists of
        two bodies, at places [R,2], with the origins [R,2,3]."""
        total = np.zeros((len(twists), self.coordinates))
        forces, screws, moves = _about_world(twists, origins), self.screws[world], self.moves.T
        for side in (0, 1):
            part = np.einsum("rck,rk->rc", screws, forces[:, side])
            total += self._sum(np.where(moves[places[:, side]], part, 0.0))
        return total

    def _sum(self, columns: Array) -> Array:
        """Columns [R,C] added by their coordinates, in their order."""
        total = np.zeros((len(columns), self.coordinates))
        for c, k in enumerate(self.index):
            total[:, k] += columns[:, c]
        return total


class _Column(NamedTuple):
    """What a coordinate does to a frame."""

    frame: int
    coordinate: int
    slides: bool
    axis: Array  # [W,3]
    anchor: Array  # [W,3]


def _columns(frame: int, m: Moved, poses: Array, q: Array) -> list[_Column]:
    """The columns of what moves a frame."""
    above = poses[:, m.above]
    anchor, rotation = above[:, :3] + rotated(above[:, 3:], m.position), product(above[:, 3:], m.rotation)
    if m.kind in ("revolute", "prismatic"):
        axis = rotated(rotation, np.broadcast_to(m.multiplier * m.axis, anchor.shape))
        return [_Column(frame, m.index, m.kind == "prismatic", axis, anchor)]
    first, columns = m.index, list[_Column]()
    if m.kind == "free":  # a pose in the world
        anchor, rotation = poses[:, frame, :3], np.tile([1.0, 0, 0, 0], (len(q), 1))
        columns = [
            _Column(frame, first + k, True, np.broadcast_to(np.eye(3)[k], anchor.shape), anchor) for k in range(3)
        ]
        first += 3
    given = q[:, first : first + 4]
    for k in range(4):
        change = np.broadcast_to(np.eye(4)[k], given.shape)
        spin = rotated(rotation, quaternion_velocity(change, given))
        columns.append(_Column(frame, first + k, False, spin, anchor))
    return columns


def _about_world(twists: Array, origins: Array) -> Array:
    """Gradients with respect to twists of bodies as such with respect to twists about the origin of the world."""
    force = twists[..., :3]
    return np.concatenate([force, twists[..., 3:] + crossed(origins, force)], axis=-1)
