"""Derivatives of the rows of rollouts with respect to the poses of the bodies, or to coordinates of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from . import _native as nat
from ._arrays import Array, address, take
from ._bodies import Body
from ._derivatives import KEPT, PARTS, Answered, Posed, Submit, own_query, quaternion_velocity
from ._errors import OptionError
from ._kinematics import Moved, Plan, crossed, product, rotated
from ._result import UNDECIDED, Tangent, host_array

if TYPE_CHECKING:
    from ._engine import Engine
    from ._result import SceneResult


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


@dataclass(frozen=True, eq=False)
class Rows:
    """Which bodies the rows of a step are about."""

    lead: tuple[int, ...]  # of the rows R: [W,P], [W] or [N]
    world: Array  # [R]
    places: Array  # [R,2], -1 if that is not known
    shapes: Array  # [R,2] the shapes that attain the answer, -1 if none was solved
    local: Array  # [R,2,7] their poses in the frames of the bodies


def of_shapes(lead: tuple[int, ...], worlds: int, shapes: Array, first: Array, second: Array) -> Rows:
    """The rows of a rollout of shapes, with the leading axes of the rows."""
    places = np.tile(np.stack([first, second], axis=1), (worlds, 1))
    count = len(places)
    local = np.tile(np.array([0, 0, 0, 1.0, 0, 0, 0]), (count, 2, 1))
    world = np.repeat(np.arange(worlds), len(first))
    return Rows(lead, world, places, shapes[places], local)


def of_scene(result: SceneResult, bodies: Sequence[Body], worlds: int) -> Rows:
    """The rows of a rollout of a scene, of its bodies."""
    asked = result._asked
    lead = tuple(result.status.shape)
    if result.body_a is not None:
        places = np.stack([host_array(result.body_a), host_array(result.body_b)], axis=-1).reshape(-1, 2)
        world = np.arange(worlds) if result.offsets is None else host_array(result.world)
    elif result.pair is not None:
        pair = host_array(result.pair).ravel()
        places = np.full((len(pair), 2), -1)
        places[pair >= 0] = asked.pairs[pair[pair >= 0]]
        world = np.arange(worlds)
    else:
        places = np.tile(asked.pairs, (worlds, 1))
        world = np.repeat(np.arange(worlds), len(asked.pairs))
    parts = [p for b in bodies for p in b.parts]
    starts = np.concatenate([[0], np.cumsum([len(b.parts) for b in bodies])]).astype(np.int64)
    own = np.stack([host_array(result.part_a), host_array(result.part_b)], axis=-1).reshape(-1, 2)
    known: Array = np.all((places >= 0) & (own >= 0), axis=1)
    body = np.full(places.shape, -1)
    for side in (0, 1):
        at = places[known, side]
        body[known, side] = asked.bodies[at] if asked.bodies.ndim == 1 else asked.bodies[world[known], at]
    known &= np.all(body >= 0, axis=1)
    shapes = np.full(places.shape, -1)
    local = np.tile(np.array([0, 0, 0, 1.0, 0, 0, 0]), (len(places), 2, 1))
    if known.any():
        which = starts[body[known]] + own[known]
        shapes[known] = np.array([p.shape for p in parts])[which]
        local[known] = np.array([[*p.position, *p.rotation] for p in parts], np.float64)[which]
    return Rows(lead, world, places, shapes, local)


def solved(about: Rows) -> Array:
    """The rows [R] whose answer is that of two shapes."""
    known: Array = np.all(about.shapes >= 0, axis=1)
    return known


def by_poses(of: Posed, poses: Array, twists: Array) -> Array:
    """The gradient with respect to poses [...,7], in the form of the query, of that with respect to twists [...,6]."""
    rotation = of._rotation(twists[..., 3:].reshape(-1, 3), poses[..., 3:].reshape(-1, 4))
    return np.concatenate([twists[..., :3], rotation.reshape(*twists.shape[:-1], 4)], axis=-1)


@dataclass(frozen=True, eq=False)
class Step(Posed):
    """A step of a rollout that products with derivatives answer by themselves."""

    number: int  # of the rollout
    poses: Array  # [*batch,M,7], "wxyz"

    @property
    def gradients(self) -> tuple[int, ...]:
        return (*self.poses.shape[:-1], 6)

    def vjp(self, cotangents: tuple[Any, ...], wrt: str, options: Mapping[str, Any]) -> Any:
        wanted, twists = self.wants(wrt), self.twists(cotangents, options)
        return self._like(twists if wanted == "twists" else by_poses(self, self.poses, twists))

    def call(self, query: nat.Query, record: nat.Derivatives) -> tuple[Submit, Any]:
        n, number = self.engine._native, self.number
        at = address(self.poses)

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.rollout_multiply(number, query, at, record, ms, job, report, error))

        return submit, self.poses


@dataclass(frozen=True, eq=False)
class SceneAnswered(Answered):
    """The rows of a step with their answers."""

    about: Rows
    poses: Array  # [*batch,M,7], "wxyz"; W worlds
    at: Array  # [R,2,3], positions of the parts relative to their bodies, world axes

    @staticmethod
    def step(
        engine: Engine,
        query: nat.Query,
        poses: Array,
        about: Rows,
        columns: Mapping[str, Array],
        order: str,
        device: Any,
    ) -> SceneAnswered:
        """The rows of a step. Arrays are copied: those of callers change, and columns are theirs if they gave them."""
        own = own_query(engine, query, columns)
        poses = poses.copy()
        known = solved(about)
        places = np.where(known[:, None], about.places, 0)
        bodies = poses.reshape(-1, *poses.shape[-2:])[about.world[:, None], places]  # [R,2,7]
        size = np.linalg.norm(bodies[..., 3:], axis=-1, keepdims=True)
        rotation = np.divide(bodies[..., 3:], size, out=np.full(bodies[..., 3:].shape, np.nan), where=size > 0)
        local = about.local
        at = rotated(rotation, local[..., :3])
        parts = bodies[..., :3] + at, product(rotation, local[..., 3:])
        shapes = np.where(known[:, None], about.shapes, 0).astype(np.int32)
        arrays = [shapes[:, 0], shapes[:, 1], parts[0][:, 0], parts[0][:, 1], parts[1][:, 0], parts[1][:, 1]]
        flat = {k: columns[k].reshape(len(known), *columns[k].shape[len(about.lead) :]).copy() for k in KEPT}
        flat["status"][~known] = UNDECIDED
        contiguous = tuple(map(np.ascontiguousarray, arrays))
        return SceneAnswered(engine, own, contiguous, order, (), device, about.lead, flat, about, poses, at)

    def by_row(self, cotangents: Array, options: Mapping[str, Any]) -> Array:
        """Gradients of rows [R,2,6] with respect to the twists of their bodies, of cotangents [R,10]."""
        twists = self.gradient(cotangents, options).reshape(-1, 2, 6)
        # A part moves with v + ω×at.
        twists[..., 3:] += np.cross(np.nan_to_num(self.at), twists[..., :3])
        return twists

    def to_bodies(self, twists: Array) -> Array:
        """Gradients of rows [R,2,6] added by their bodies, in the order of the rows: [*batch,M,6]."""
        every = np.zeros((*self.poses.shape[:-1], 6))
        total = every.reshape(-1, *every.shape[-2:])
        known = solved(self.about)
        world = np.repeat(self.about.world[known], 2)
        np.add.at(total, (world, self.about.places[known].ravel()), twists[known].reshape(-1, 6))
        return every

    def vjp(self, cotangents: tuple[Any, ...], wrt: str, options: Mapping[str, Any]) -> Any:
        wanted = self.wants(wrt)
        twists = self.to_bodies(self.by_row(self.cotangents(cotangents), options))
        return self._like(twists if wanted == "twists" else by_poses(self, self.poses, twists))

    def jvp(self, twists: Any, changes: tuple[Any, ...], options: Mapping[str, Any]) -> Tangent:
        if twists is None or any(c is not None for c in changes):
            raise OptionError("jvp: rollouts want the twists [W,M,6] of the bodies")
        *batch, places, _ = self.poses.shape
        given = take("twists", twists, np.float64, (*batch[1:], places, 6), batch[0], True).reshape(-1, places, 6)
        known = solved(self.about)
        along = given[self.about.world[:, None], np.where(known[:, None], self.about.places, 0)].copy()
        along[..., :3] += np.cross(along[..., 3:], np.nan_to_num(self.at))
        along[~known] = 0
        return self.tangent(along.reshape(-1, 12), options)

    def ones(self) -> Array:
        """The cotangents [R,10] of the distance of each row."""
        given = np.zeros((self.rows, PARTS[-1][2]))
        given[:, 0] = 1
        return given


def by_coordinates(result: SceneResult, motion: Motion, options: Mapping[str, Any]) -> Array:
    """The gradients of the distances of the rows of a step with respect to the coordinates of each world: [...,C]."""
    answered: SceneAnswered = result._answered
    about = answered.about
    twists = answered.by_row(answered.ones(), options)
    known = solved(about)
    places = np.where(known[:, None], about.places, 0)
    poses = answered.poses.reshape(-1, *answered.poses.shape[-2:])
    origins = np.nan_to_num(poses[about.world[:, None], places, :3])
    return motion.rows(twists, origins, about.world, places).reshape(*about.lead, motion.coordinates)
