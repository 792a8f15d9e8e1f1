"""Derivatives of answers with respect to the poses: closed forms, products, and gradients of positions and quaternions.

The answers of a row are ten numbers: distance, normal, witness_a, witness_b. Twelve numbers are the twists of both
bodies: velocity of the position and angular velocity of A, then of B, in world axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import Array, address, host, take
from ._errors import ClosedError, OptionError
from ._options import DerivativeOptions, check_names, defaults, names_of, one_of
from ._result import PENETRATING, Poses, Result, Tangent, host_array, native_results, to_torch

if TYPE_CHECKING:
    from ._engine import Engine

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


def rotation_gradient(spin: Array, q: Array, order: str) -> Array:
    """The gradient with respect to quaternions of the order, of that for angular velocities; q is "wxyz"."""
    good = np.isfinite(q).all(axis=1) & q.any(axis=1)  # rows with another quaternion are invalid
    gradient = np.zeros_like(q)
    gradient[good] = quaternion_gradient(spin[good], q[good], "wxyz")
    return gradient if order == "wxyz" else gradient[:, [1, 2, 3, 0]]


def poses_of(
    twists: Array,
    rotations: tuple[Array, Array],
    order: str,
    shapes: tuple[tuple[int, ...], ...],
    lead: tuple[int, ...],
) -> list[Array]:
    """Gradients with respect to pos_a, quat_a, pos_b and quat_b, of these shapes and this order of quaternions.

    twists are the gradients of rows with the axes lead, whose rotations are [N,4], "wxyz".
    """
    parts, flat = [], twists.reshape(-1, TWIST)
    for first, q in zip((0, 6), rotations, strict=True):
        parts += [flat[:, first : first + 3], rotation_gradient(flat[:, first + 3 : first + 6], q, order)]
    # The gradient of one pose that several rows have is the sum over these.
    return [_summed(part, shape, lead) for part, shape in zip(parts, shapes, strict=True)]


def _summed(part: Array, shape: tuple[int, ...], lead: tuple[int, ...]) -> Array:
    """Rows of the axes ``lead``, added up to those of a shape that is repeated along them."""
    own = shape[:-1]
    if own == lead:
        return part.reshape(shape)
    if own == lead[len(lead) - len(own) :]:
        added: Array = part.reshape(-1, *shape).sum(axis=0)
        return added
    rows = part.reshape(-1, *lead[len(lead) - len(own) :], shape[-1]).sum(axis=0)
    once = tuple(i for i, n in enumerate(own) if n == 1)
    total: Array = rows.sum(axis=once, keepdims=True)
    return total


ANSWER: Final = 10
TWIST: Final = 12

# The columns of the products, and where their numbers are among those of an answer.
PARTS: Final = (("distance", 0, 1), ("normal", 1, 4), ("witness_a", 4, 7), ("witness_b", 7, 10))
# The columns that derivatives are taken of.
KEPT: Final = (*NEEDED, "status")

Submit = Callable[[int, Any, nat.Report, nat.Error], int]

OPTIONS: Final = tuple(defaults(DerivativeOptions))
_POSES: Final = ("pos_a", "quat_a", "pos_b", "quat_b")
_TAILS: Final = (3, 4, 3, 4)


def with_needed(query: str, n: nat.Native, columns: Iterable[str] | None) -> list[str]:
    """The columns of a query, and those that derivatives need."""
    about = n.queries.get(query)
    if about is not None and not {*KEPT, "smoothness"} <= {*about["available"]}:
        raise OptionError(f"grad: the query {query} has no derivatives")
    chosen = names_of(columns) if columns is not None else [c for c in about["columns"] if c != "bits"] if about else []
    return list(dict.fromkeys((*chosen, *KEPT, "smoothness")))


@dataclass(frozen=True, eq=False)
class Posed:
    """Pairs that products with derivatives answer by themselves."""

    engine: Engine
    query: nat.Query
    arrays: tuple[Array, ...]  # a, b, pos_a, pos_b, quat_a, quat_b; "wxyz"
    order: str  # of the quaternions of the query
    shapes: tuple[tuple[int, ...], ...]  # of pos_a, quat_a, pos_b, quat_b as they were given
    device: Any  # of PyTorch, None for NumPy
    lead: tuple[int, ...]  # the axes of the rows as the caller has them

    @property
    def rows(self) -> int:
        return math.prod(self.lead)

    @property
    def gradients(self) -> tuple[int, ...]:
        """The shape of gradients with respect to twists."""
        return (*self.lead, TWIST)

    def twists(self, cotangents: tuple[Any, ...], options: Mapping[str, Any]) -> Array:
        """The gradient with respect to the twists, of cotangents of the four columns."""
        twists = np.zeros(self.gradients)
        if cotangents[0] is not None and all(c is None for c in cotangents[1:]):
            values = np.ascontiguousarray(self._rows("distance", cotangents[0], ()))
            self.run(options, values=values, gradients=twists)
        else:
            self.run(options, cotangents=self.cotangents(cotangents), gradients=twists)
        return twists

    def vjp(self, cotangents: tuple[Any, ...], wrt: str, options: Mapping[str, Any]) -> Any:
        """See :meth:`Result.vjp`."""
        wanted, twists = self.wants(wrt), self.twists(cotangents, options)
        if wanted == "twists":
            return self._like(twists)
        return Poses(*map(self._like, self.to_poses(twists)))

    def wants(self, wrt: str) -> str:
        """What a gradient is with respect to, which the query must have."""
        if one_of("wrt", wrt, ["twists", "poses"]) == "poses" and self.order == "matrix":
            raise OptionError('quat: "matrix" has no free entries to differentiate by; want twists, or quaternions')
        return wrt

    def cotangents(self, given: tuple[Any, ...]) -> Array:
        """Cotangents [N,10] of those of the four columns, at least one."""
        if all(c is None for c in given):
            raise OptionError("vjp: no cotangent; want distance, normal, witness_a or witness_b")
        numbers = np.zeros((self.rows, ANSWER))
        for (name, first, last), value in zip(PARTS, given, strict=True):
            if value is not None:
                tail = () if last - first == 1 else (3,)
                numbers[:, first:last] = self._rows(name, value, tail).reshape(self.rows, last - first)
        return numbers

    def to_poses(self, twists: Array) -> list[Array]:
        """Gradients with respect to the poses, in the form of the query, of those with respect to the twists."""
        return poses_of(twists, (self.arrays[4], self.arrays[5]), self.order, self.shapes, self.lead)

    def jvp(self, twists: Any, changes: tuple[Any, ...], options: Mapping[str, Any]) -> Tangent:
        """See :meth:`Result.jvp`."""
        if (twists is None) == all(c is None for c in changes):
            raise OptionError("jvp: want either twists or changes of pos_a, quat_a, pos_b, quat_b")
        along = np.zeros((self.rows, TWIST))
        if twists is not None:
            along[:] = self._rows("twists", twists, (TWIST,)).reshape(along.shape)
        else:
            self.wants("poses")
            for k, value in enumerate(changes):
                if value is None:
                    continue
                change = self._rows(_POSES[k], value, (_TAILS[k],)).reshape(-1, _TAILS[k])
                if k % 2:
                    ordered = change if self.order == "wxyz" else change[:, [3, 0, 1, 2]]
                    change = quaternion_velocity(ordered, self.arrays[4 + k // 2])
                along[:, 3 * k : 3 * k + 3] = change
        return self.tangent(along, options)

    def tangent(self, twists: Array, options: Mapping[str, Any]) -> Tangent:
        """The derivative of the answers along twists [N,12]."""
        tangents = np.zeros((self.rows, ANSWER))
        self.run(options, twists=np.ascontiguousarray(twists), tangents=tangents)
        value, *vectors = (tangents[:, i:j].copy() for _, i, j in PARTS)
        return Tangent(self._like(value.reshape(self.lead)), *(self._like(v.reshape(*self.lead, 3)) for v in vectors))

    def run(self, options: Mapping[str, Any], sizes: Mapping[str, int] | None = None, **arrays: Array) -> None:
        """Fill the arrays of a call of the C interface, by their names there, as its sizes are."""
        engine = self.engine
        nat.check_fork()
        if not engine._number:
            raise ClosedError("the engine is closed, which derivatives need")
        query = self._with(options)
        record = nat.Derivatives(self.rows, 0, engine._workers, **(sizes or {}))
        for name, array in arrays.items():
            setattr(record, name, address(array))
        submit, keep = self.call(query, record)
        _jobs.run(submit, (self, arrays, query, record, keep))

    def call(self, query: nat.Query, record: nat.Derivatives) -> tuple[Submit, Any]:
        """The call of the C interface, and what has to live as long as it."""
        n, number = self.engine._native, self.engine._number
        pairs = nat.Pairs(self.rows, *map(address, self.arrays))

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.multiply(number, query, pairs, record, ms, job, report, error))

        return submit, pairs

    def _with(self, options: Mapping[str, Any]) -> nat.Query:
        """The query with options of derivatives in place of its own."""
        given = {name: value for name, value in options.items() if value is not None}
        check_names("derivatives", given, OPTIONS)
        if not given:
            return self.query
        q = copied(self.query)
        mode = self.engine._native.derivatives[q.derivative]
        now: list[Any] = [mode, q.epsilon or None, q.samples or None, q.rings or None, q.seed or None]
        if given.get("derivative") == "exact":  # in place of all that the query has
            now[1:] = [None] * 4
        self.engine._derivative(q, *(given.get(name, value) for name, value in zip(OPTIONS, now, strict=True)))
        return q

    def _rows(self, name: str, value: Any, tail: tuple[int, ...]) -> Array:
        array, lead = host(name, value, True), self.lead
        if array.ndim == len(tail):
            array = np.broadcast_to(array, (*lead, *array.shape))
        return take(name, array, np.float64, (*lead[1:], *tail), lead[0], True)

    def _like(self, array: Array) -> Any:
        return array if self.device is None else to_torch(array, self.device)


@dataclass(frozen=True, eq=False)
class Answered(Posed):
    """Pairs with their answers, which derivatives are taken of. Nobody else has the arrays."""

    columns: dict[str, Array]

    @staticmethod
    def of(
        engine: Engine,
        query: nat.Query,
        arrays: Iterable[Array],
        columns: Mapping[str, Array],
        order: str,
        shapes: tuple[tuple[int, ...], ...],
        device: Any,
        lead: tuple[int, ...],
    ) -> Answered:
        """The pairs of a query and the columns that derivatives need, copied, since callers may change both."""
        own, kept = own_query(engine, query, columns), {name: columns[name].copy() for name in KEPT}
        return Answered(engine, own, tuple(x.copy() for x in arrays), order, shapes, device, lead, kept)

    def smoothness(self) -> Array:
        """The codes of the smoothness of the derivatives, uint8, of each row."""
        out = np.zeros(self.rows, np.uint8)
        self.run({}, smoothness=out)
        return out.reshape(self.lead)

    def twists(self, cotangents: tuple[Any, ...], options: Mapping[str, Any]) -> Array:
        return self.gradient(self.cotangents(cotangents), options)

    def gradient(self, cotangents: Array, options: Mapping[str, Any]) -> Array:
        """The gradient with respect to the twists [N,12], of cotangents [N,10], which it may change."""
        # A row without an answer has no gradient, whatever its cotangent is: NaN, if a loss took in its distance.
        cotangents[self.columns["status"].ravel() > PENETRATING] = 0
        twists = np.zeros((*self.lead, TWIST))
        self.run(options, cotangents=cotangents, gradients=twists)
        return twists

    def call(self, query: nat.Query, record: nat.Derivatives) -> tuple[Submit, Any]:
        n, number = self.engine._native, self.engine._number
        pairs = nat.Pairs(self.rows, *map(address, self.arrays), None)
        results = native_results(self.rows, self.columns)

        def submit(ms: int, job: Any, report: nat.Report, error: nat.Error) -> int:
            return cast(int, n.derive(number, query, pairs, results, record, ms, job, report, error))

        return submit, (pairs, results)


def copied(query: nat.Query) -> nat.Query:
    """A query of the same library, which lives as long as its handle."""
    q = nat.Query.from_buffer_copy(query)
    q.handle = query.handle
    return q


def own_query(engine: Engine, query: nat.Query, columns: Iterable[str]) -> nat.Query:
    """The query of the answers that derivatives are taken of, which must have the columns that they need."""
    missing = [name for name in KEPT if name not in columns]
    if missing:
        raise OptionError(f"grad: the answers lack the columns {', '.join(missing)}; ask for them")
    q = copied(query)
    q.columns = engine._native.column_set(list(KEPT))
    return q
