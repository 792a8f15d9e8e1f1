"""Results: the columns of the rows of a query, and what became of the call."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from . import _native as nat
from ._arrays import Array, address, is_torch
from ._columns import TABLE, Columns
from ._errors import NotFoundError, OptionError, RowError
from ._options import INT64, Bools, DerivativeOptions, Floats, Ints, whole
from ._poses import About

SEPARATED, TOUCHING, PENETRATING, UNDECIDED, INVALID = range(5)
# A rotation error that texts need not mention: some hundred units of rounding.
_ROUNDED: Final = 1e-13

STATUSES: Final = ("separated", "touching", "penetrating", "undecided", "invalid")

# Arguments of the package by the columns of files and row errors.
_ARGUMENTS: Final = {
    "shape_a": "a",
    "shape_b": "b",
    "position_a": "pos_a",
    "position_b": "pos_b",
    "rotation_a": "quat_a",
    "rotation_b": "quat_b",
}


@dataclass(frozen=True, eq=False)
class Later:
    """A column that is computed when it is read first."""

    column: Callable[[], Any]


class _Smoothness:
    """The column of a result, which :class:`Later` may stand for."""

    def __get__(self, result: Any, kind: Any = None) -> Any:
        if result is None:  # the default of the field
            return None
        value = result.__dict__["smoothness"]
        if isinstance(value, Later):
            value = result.__dict__["smoothness"] = value.column()
        return value

    def __set__(self, result: Any, value: Any) -> None:
        result.__dict__["smoothness"] = value


class Poses(NamedTuple):
    """A gradient with respect to the poses of pairs."""

    pos_a: Any
    quat_a: Any
    pos_b: Any
    quat_b: Any


class Tangent(NamedTuple):
    """The derivative of answers along a motion: [N], [N,3], [N,3], [N,3]."""

    distance: Any
    normal: Any
    witness_a: Any
    witness_b: Any


@dataclass(frozen=True)
class Report:
    """What became of a call.

    ``counts`` are the rows by status. ``worst_gap`` is the largest gap of a decided row relative to the scale of the
    tolerance, in row ``worst_row`` (-1 if there is none). ``error`` is the first invalid row: argument, row, reason.

    ``rotation_error`` is 0 for quaternions. Of poses that were given as matrices it bounds the Frobenius norm of the
    difference of each rotation from that of the quaternion that answers are about; rounding alone gives about 1e-14.
    Points at a distance of at most r from the origins of their shapes move by r·rotation_error at most, and so does
    the signed distance for each body.
    """

    rows: int
    done: int
    counts: dict[str, int]
    backend: str
    why: str
    seconds: float
    kernel_seconds: float
    declined: int
    iterations: int
    worst_gap: float
    worst_row: int
    error: tuple[str, int, str] | None
    rotation_error: float = 0.0


def report_of(r: nat.Report, about: About | None = None, lead: tuple[int, ...] = ()) -> Report:
    """What became of a call; ``about`` are its poses and ``lead`` the axes of its rows."""
    error: tuple[str, int, str] | None = None
    if r.error_row >= 0:
        column: str = r.error_column.decode()
        error = (_ARGUMENTS.get(column, column), int(r.error_row), r.error_reason.decode(errors="replace"))
        if about is not None:
            error = about.named(error, lead)
    return Report(
        rows=r.rows,
        done=r.done,
        counts=dict(zip(STATUSES, r.counts, strict=True)),
        backend=r.backend.decode(),
        why=r.why.decode(errors="replace"),
        seconds=r.wall_seconds,
        kernel_seconds=r.kernel_seconds,
        declined=r.declined,
        iterations=r.iterations,
        worst_gap=r.worst_gap,
        worst_row=r.worst_row,
        error=error,
        rotation_error=0.0 if about is None else about.error,
    )


def host_array(column: Any) -> Array:
    """A column as a NumPy array; those of tensors share the memory if it is that of the host."""
    if is_torch(column):
        array: Array = column.cpu().numpy()
        return array
    return np.asarray(column)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Columns):
    """The answers of a query, in the order of the rows: [N], or [W,P] of a rollout.

    Columns that were not requested are None. ``status`` is always present. The true value lies in
    ``distance`` ± ``gap``. ``distance`` is the signed distance in metres, minus the penetration depth of penetrating
    pairs; of the query growth it is the factor. ``normal`` [N,3] points from A to B; ``witness_a`` and ``witness_b``
    [N,3] are the closest or deepest points; all three are in the world frame.

    A failed row (undecided or invalid) never reads as free: ``hit`` is true for it, ``lower`` of an invalid one
    is -inf.

    ``smoothness``, which a query with ``grad=True`` has, says of each row what its derivatives are: see
    ``smoothness_names``. All derivatives of "none" are zero; of "not unique" and "near singular" all but those of
    ``distance`` are. Of a rollout it is computed when it is read first, for which the engine must be open.
    """

    smoothness: Ints | Any = _Smoothness()
    query: str = "distance"
    precision: str = "single"
    _record: nat.Report = field(default_factory=nat.Report)
    _answered: Any = None  # a _derivatives.Answered, or a _scene_derivatives.Step
    _about: About | None = None  # the poses

    @property
    def report(self) -> Report:
        """What became of the call: counts, back end, time."""
        return report_of(self._record, self._about, tuple(self.status.shape))

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(np.prod(self.status.shape))

    def __len__(self) -> int:
        return int(self.status.shape[0])

    @property
    def method_names(self) -> Array:
        """The names of the solvers that ended the rows, of the column ``method``."""
        if self.method is None:
            raise OptionError("method_names: request the column method")
        return np.array(nat.native().solvers)[host_array(self.method)]

    @property
    def smoothness_names(self) -> Array:
        """What the derivatives of the rows are, of the column ``smoothness``."""
        if self.smoothness is None:
            raise OptionError("smoothness_names: request the column smoothness")
        return np.array(nat.native().smoothness)[host_array(self.smoothness)]

    @property
    def ok(self) -> Bools:
        """Rows with an answer."""
        return self.status <= PENETRATING

    @property
    def failed(self) -> Bools:
        """Rows without an answer: undecided or invalid."""
        return self.status >= UNDECIDED

    @property
    def hit(self) -> Bools:
        """Rows that are not proved separated: in contact, or failed. This is the cautious reading."""
        rows: Bools = self.status != SEPARATED
        return rows

    @property
    def lower(self) -> Floats:
        """The lower bound of the true value, float64, rounded down; -inf where nothing is proved."""
        return self._bound(-1)

    @property
    def upper(self) -> Floats:
        """The upper bound of the true value, float64, rounded up; +inf where nothing is proved."""
        return self._bound(1)

    def _bound(self, sign: int) -> Floats:
        if self.distance is None or self.gap is None:
            raise OptionError("bounds need the columns distance and gap; request both")
        end = sign * np.inf
        value = host_array(self.distance).astype(np.float64)
        value += sign * host_array(self.gap).astype(np.float64)
        # The sum may have been rounded to nearest; an infinite distance is that to an absent body.
        value = np.where(np.isinf(value), value, np.nextafter(value, end))
        value[np.isnan(value)] = end
        bound: Floats = _like(value, self.status)
        return bound

    def vjp(
        self,
        *,
        distance: Any = None,
        normal: Any = None,
        witness_a: Any = None,
        witness_b: Any = None,
        wrt: Literal["twists", "poses"] = "twists",
        **options: Unpack[DerivativeOptions],
    ) -> Any:
        """The gradient of a scalar with respect to the poses, of its gradient with respect to the answers.

        ``distance`` [N] (or one number), ``normal``, ``witness_a`` and ``witness_b`` [N,3] (or [3]) are the latter;
        None is zero. The gradient is [N,12]: with respect to the velocity of the position and the angular velocity of
        A, then of B, in world axes. With ``wrt="poses"`` it is :class:`Poses`, each in the form in which the query had
        it: quaternions in its order, which need not be unit, and one pose of all rows has one gradient.

        Options are those of derivatives of the query, in place of which they count: ``derivative`` "exact", "gumbel",
        "gaussian" or "zeroth", with ``epsilon``, ``samples``, ``rings`` and ``seed``.
        """
        return self._derived().vjp((distance, normal, witness_a, witness_b), wrt, options)

    def jvp(
        self,
        twists: Any = None,
        *,
        pos_a: Any = None,
        quat_a: Any = None,
        pos_b: Any = None,
        quat_b: Any = None,
        **options: Unpack[DerivativeOptions],
    ) -> Tangent:
        """The derivative of the answers along a motion of both bodies: the transpose of :meth:`vjp`.

        The motion is ``twists`` [N,12] or changes of positions and quaternions, in the forms of the query; None is
        none.
        """
        tangent: Tangent = self._derived().jvp(twists, (pos_a, quat_a, pos_b, quat_b), options)
        return tangent

    def _derived(self) -> Any:
        if self._answered is None:
            raise OptionError("derivatives need the poses: ask the query of a list of pairs with grad=True")
        return self._answered

    def raise_if_failed(self) -> None:
        """Raise :class:`RowError` if any row has no answer; it names the array, the row and the reason."""
        counts = self._record.counts
        undecided, invalid = int(counts[UNDECIDED]), int(counts[INVALID])
        if not undecided and not invalid:
            return
        message = f"{undecided + invalid} rows without an answer ({undecided} undecided, {invalid} invalid)"
        error = self.report.error
        if error is not None:
            array, row, reason = error
            raise RowError(f"{message}; first invalid: {array}[{row}]: {reason}", array, row, reason)
        row = int(np.flatnonzero(host_array(self.status).ravel() >= UNDECIDED)[0])
        reason = "the bounds stayed wider than the tolerance; try precision='double' or a larger tolerance"
        raise RowError(f"{message}; first: status[{row}]: {reason}", "status", row, reason)

    def __repr__(self) -> str:
        report = self.report
        counts = ", ".join(f"{n:,} {name}" for name, n in report.counts.items() if n or name == "separated")
        shape = "×".join(f"{n:,}" for n in self.status.shape)
        lines = [
            f"Result of {shape} rows: {self.query}, {self.precision} precision, on {report.backend}",
            f"  {counts}",
        ]
        if self.distance is not None and self.rows:
            value = host_array(self.distance)
            if np.isfinite(value).any():
                line = f"  distance {np.nanmin(value):.6g} to {np.nanmax(value):.6g}"
                if report.worst_row >= 0:
                    line += f", gap at most {report.worst_gap:.2g} of the scale"
                lines.append(line)
        if report.rotation_error > _ROUNDED:
            lines.append(f"  the matrices differ from rotations by {report.rotation_error:.2g} at most")
        if report.error is not None:
            lines.append("  first invalid: {}[{}]: {}".format(*report.error))
        present = [n for n in COLUMNS if self.__dict__[n] is not None]
        lines.append(f"  columns {', '.join(present)}")
        return "\n".join(lines)


class OfWorlds:
    """Results whose rows may be those of all pairs, by world."""

    offsets: Ints | Any  # [W+1] where the rows of each world begin, or None

    @property
    def world(self) -> Ints:
        """The world of each row of all pairs, int64 [N]."""
        offsets = self._offsets()
        worlds: Ints = _like(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), self.offsets)
        return worlds

    def of(self, world: int) -> slice:
        """The rows of a world among those of all pairs: ``result.distance[result.of(3)]``."""
        offsets = self._offsets()
        world = whole("world", world, -INT64, INT64)
        if not 0 <= world < len(offsets) - 1:
            raise NotFoundError(f"world {world} of {len(offsets) - 1}")
        return slice(int(offsets[world]), int(offsets[world + 1]))

    def _offsets(self) -> Array:
        if self.offsets is None:
            raise OptionError('the rows are not those of pairs="all": row [w,p] is pair p of world w')
        return host_array(self.offsets)


@dataclass(frozen=True, eq=False, repr=False)
class SceneResult(OfWorlds, Result):
    """The answers of a rollout of a scene: rows are pairs of bodies [W,P], or worlds [W].

    ``part_a``, ``part_b``: the parts of both bodies that attain the least, counted within the body; -1 if none was
    solved.

    Of all pairs: rows [N] are some of the pairs, and a pair without a row is proved separated, and beyond
    ``max_distance`` if there is one. ``body_a`` < ``body_b`` are the places of a row; the rows of world w are
    ``offsets[w]`` to ``offsets[w+1]-1``, in ascending order of both. Of worlds they are the places of the pair that
    attains the least, -1 if that is not known.

    Of worlds: ``pair``, the index of the pair of bodies that attains the least, -1 if that is not known; ``contacts``,
    the pairs proved to be in contact (all of them if ``contacts_complete``); ``failures``, the pairs without an answer;
    ``any``: 0 the world is proved free, 1 a contact is proved, 2 neither. ``hit`` is ``any != 0``.

    A pair with an absent body has the distance +inf. A pair that bounds ruled out is separated, and its lower bound is
    proved.
    """

    part_a: Ints | Any = None
    part_b: Ints | Any = None
    pair: Ints | Any = None
    contacts: Ints | Any = None
    failures: Ints | Any = None
    any: Ints | Any = None
    body_a: Ints | Any = None
    body_b: Ints | Any = None
    offsets: Ints | Any = None
    contacts_complete: bool = True
    _row_bodies: Any = None  # a RowBodies

    @property
    def hit(self) -> Bools:
        """Rows that are not proved separated; worlds that are not proved free."""
        rows: Bools = self.status != SEPARATED if self.any is None else self.any != 0
        return rows


COLUMNS: Final = tuple(c.name for c in TABLE)

_SHAPES: Final = {
    c.name: (c.width // c.inner, c.inner) if c.inner else (c.width,) if c.width > 1 else () for c in TABLE
}
_TYPES: Final = {
    precision: {c.name: np.dtype({"real": real, "bits": "uint64"}.get(c.type, c.type)) for c in TABLE}
    for precision, real in (("single", "float32"), ("double", "float64"))
}

# Codes of the element types in the C interface.
_ELEMENTS: Final = {"float32": 1, "float64": 2, "uint8": 3, "uint16": 4, "uint64": 5}


def column_shape(name: str, rows: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a column of a result of the given rows."""
    if name == "bits":
        n = int(np.prod(rows))
        return ((n + 63) // 64,)
    return (*rows, *_SHAPES[name])


def column_type(name: str, precision: str) -> np.dtype[Any]:
    """The type of a column."""
    return _TYPES[precision][name]


def native_results(rows: int, columns: Mapping[str, Array]) -> nat.Results:
    """The columns of a result as the C interface takes them."""
    records: list[Any] = [(COLUMNS.index(name), _ELEMENTS[c.dtype.name], address(c)) for name, c in columns.items()]
    return nat.Results(rows, len(records), (nat.Column * len(records))(*records))


def _like(array: NDArray[Any], model: Any) -> Any:
    """A NumPy array as what the model is: a NumPy array, or a tensor on its device."""
    return to_torch(array, model.device) if is_torch(model) else array


def to_torch(array: NDArray[Any], device: Any) -> Any:
    """A tensor of the memory of an array; on another device than the CPU it is a copy."""
    torch: Any = sys.modules["torch"]
    if array.dtype in (np.uint16, np.uint64) and not hasattr(torch, "uint64"):
        array = array.astype(np.int32) if array.dtype == np.uint16 else array.view(np.int64)
    tensor = torch.from_numpy(array)
    return tensor if device.type == "cpu" else tensor.to(device)
