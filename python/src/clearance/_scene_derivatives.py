"""Derivatives of the rows of rollouts with respect to the poses of the bodies, or to coordinates of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from . import _native as nat
from ._arrays import Array, address, take
from ._derivatives import ANSWER, KEPT, Posed, Submit, own_query, quaternion_velocity, rotation_gradient
from ._errors import OptionError
from ._kinematics import Moved, Plan, crossed, product, rotated
from ._result import PENETRATING, Tangent, native_results


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
        single = _single(plan.moved, poses)
        columns: list[_Column] = []
        inside = np.eye(plan.count, dtype=bool)  # [above, below]
        for i, m in enumerate(plan.moved, 1):
            if m.kind != "free":
                inside[:, i] |= inside[:, m.above]
            columns += [single[i]] if i in single else _columns(i, m, poses, q)
        moves = np.zeros((len(columns), count), bool)
        axis, anchor = np.empty((2, len(q), len(columns), 3))
        for c, column in enumerate(columns):
            moves[c, : len(bodies)] = inside[column.frame, list(bodies)]
            axis[:, c], anchor[:, c] = column.axis, column.anchor
        index = np.array([c.coordinate for c in columns], np.int32)
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


def _single(moved: Sequence[Moved], poses: Array) -> dict[int, _Column]:
    """The columns of the frames that one coordinate moves, of all of them at once."""
    found = [(i, m) for i, m in enumerate(moved, 1) if m.kind in ("revolute", "prismatic")]
    if not found:
        return {}
    above = poses[:, [m.above for _, m in found]]
    position, rotation = (np.array([getattr(m, name) for _, m in found]) for name in ("position", "rotation"))
    anchor = above[..., :3] + rotated(above[..., 3:], position)
    along = np.array([m.multiplier * m.axis for _, m in found])
    axis = rotated(product(above[..., 3:], np.broadcast_to(rotation, above[..., 3:].shape)), along)
    return {i: _Column(i, m.index, m.kind == "prismatic", axis[:, k], anchor[:, k]) for k, (i, m) in enumerate(found)}


def _columns(frame: int, m: Moved, poses: Array, q: Array) -> list[_Column]:
    """The columns of a frame that a quaternion moves, or a pose."""
    above = poses[:, m.above]
    anchor, rotation = above[:, :3] + rotated(above[:, 3:], m.position), product(above[:, 3:], m.rotation)
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


class Handle:
    """The handle of a rollout. Answers keep it for their derivatives, though the rollout has been closed."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        if nat.usable():
            nat.native().rollout_close(self.number, None)


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a step: nobody else has the arrays."""

    columns: dict[str, Array]  # those of KEPT
    about: dict[str, Array] | None  # what rows of scenes are about, by the names of the C interface


@dataclass(frozen=True, eq=False)
class Step(Posed):
    """A step of a rollout. Products with derivatives answer it by themselves, unless it has its answers."""

    handle: Handle
    poses: Array  # [*batch,M,7], "wxyz"
    answers: Answers | None = None

    @property
    def gradients(self) -> tuple[int, ...]:
        return (*self.poses.shape[:-1], 6)

    def answered(self, columns: Mapping[str, Array], about: Mapping[str, Array] | None) -> Step:
        """The step with its answers. Arrays are copied: those of callers change, and columns may be theirs."""
        own = own_query(self.engine, self.query, columns)
        more = None if about is None else {name: a.copy() for name, a in about.items()}
        answers = Answers({name: columns[name].copy() for name in KEPT}, more)
        return replace(self, query=own, poses=self.poses.copy(), answers=answers)

    def twists(self, cotangents: tuple[Any, ...], options: Mapping[str, Any]) -> Array:
        if self.answers is None:
            return super().twists(cotangents, options)
        given, twists = self.cotangents(cotangents), np.zeros(self.gradients)
        # A row without an answer has no gradient, whatever its cotangent is: NaN, if a loss took in its distance.
        given[self.answers.columns["status"].ravel() > PENETRATING] = 0
        self.run(options, cotangents=given, gradients=twists)
        return twists

    def vjp(self, cotangents: tuple[Any, ...], wrt: str, options: Mapping[str, Any]) -> Any:
        wanted, twists = self.wants(wrt), self.twists(cotangents, options)
        if wanted == "poses":
            spin, q = twists[..., 3:].reshape(-1, 3), self.poses[..., 3:].reshape(-1, 4)
            rotation = rotation_gradient(spin, q, self.order)
            rotation[~spin.any(axis=-1)] = 0  # poses that nobody reads may be no poses
            twists = np.concatenate([twists[..., :3], rotation.reshape(*twists.shape[:-1], 4)], axis=-1)
        return self._like(twists)

    def jvp(self, twists: Any, changes: tuple[Any, ...], options: Mapping[str, Any]) -> Tangent:
        if twists is None or any(c is not None for c in changes):
            raise OptionError("jvp: rollouts want the twists [W,M,6] of the bodies")
        *batch, places, _ = self.poses.shape
        given = take("twists", twists, np.float64, (*batch[1:], places, 6), batch[0], True)
        return self.tangent(given, options)

    def smoothness(self) -> Any:
        """The codes of the smoothness of the derivatives, uint8, of each row."""
        out = np.zeros(self.lead, np.uint8)
        self.run({}, smoothness=out)
        return self._like(out)

    def by_coordinates(self, motion: Motion, options: Mapping[str, Any]) -> Array:
        """The gradients of the distances of the rows with respect to the coordinates of each world: [...,C]."""
        ones = np.zeros((self.rows, ANSWER))
        ones[:, 0] = 1
        out = np.zeros((*self.lead, motion.coordinates))
        columns = {"screws": motion.screws, "moves": motion.moves, "coordinate": motion.index}
        sizes = {"by_row": 1, "columns": len(motion.index), "coordinates": motion.coordinates}
        self.run(options, sizes, cotangents=ones, gradients=out, **columns)
        return out

    def call(self, query: nat.Query, record: nat.Derivatives) -> tuple[Submit, Any]:
        n, number, at = self.engine._native, self.handle.number, address(self.poses)
        results = more = None
        if self.answers is not None:
            results = native_results(self.rows, self.answers.columns)
            if self.answers.about is not None:
                more = nat.More(**{name: address(a) for name, a in self.answers.about.items()})

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.rollout_multiply(number, query, at, results, more, record, ms, job, report, error))

        return submit, (results, more)
