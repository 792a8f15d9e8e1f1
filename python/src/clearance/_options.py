"""Options of calls: their names and types, how they are checked, and the order of quaternions."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    cast,
    get_args,
)

import numpy as np
from numpy.typing import NDArray

from ._arrays import Array, check_gradient, is_torch, reordered
from ._errors import ArrayError, ClearanceError, CopyError, FileError, OptionError

if TYPE_CHECKING:
    from ._result import Result


class HasArray(Protocol):
    """An array of NumPy, JAX or PyTorch, a series of a data frame."""

    def __array__(self) -> Any: ...


class HasDlpack(Protocol):
    """An array that is exchanged by DLPack, such as one of CuPy."""

    def __dlpack_device__(self) -> Any: ...


class HasInterface(Protocol):
    """An object that describes its memory as NumPy does."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


# What arguments of numbers take. The depth of nested sequences is bounded: a text is a sequence of texts, so a
# recursive alias would have it as an array.
_Item: TypeAlias = float | HasArray | HasDlpack | HasInterface
_One: TypeAlias = _Item | Sequence[_Item]
_Two: TypeAlias = _Item | Sequence[_One]
_Three: TypeAlias = _Item | Sequence[_Two]
_Four: TypeAlias = _Item | Sequence[_Three]
ArrayLike: TypeAlias = _Item | Sequence[_Four]


class HasRotation(Protocol):
    """A pose with the attributes (or methods) ``rotation`` and ``translation``: pin.SE3, scipy's RigidTransform."""

    @property
    def rotation(self) -> Any: ...
    @property
    def translation(self) -> Any: ...


class HasMatrix(Protocol):
    """A rotation that gives its matrix, as scipy's Rotation does."""

    def as_matrix(self) -> Any: ...


# What an argument of poses takes: matrices [..., 4, 4], positions with quaternions [..., 7], a pair of position and
# rotation, an object, and nested sequences of all these.
_Pose: TypeAlias = ArrayLike | HasRotation | tuple[ArrayLike, ArrayLike | HasMatrix]
_Poses: TypeAlias = _Pose | Sequence[_Pose]
PoseLike: TypeAlias = _Poses | Sequence[_Poses]

# Columns of results. Those that may be None, because they were not requested, are "| Any" in place of "| None": what
# the caller has requested needs no check for None, and any other use of an array is still seen. Answers of poses that
# are tensors of PyTorch are tensors, which typing.cast says.
Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Bools: TypeAlias = NDArray[np.bool_]

Backend = Literal["auto", "cpu", "ref", "vulkan", "vulkan:0", "vulkan:1", "vulkan:2", "vulkan:3"]


INT32: Final = (1 << 31) - 1
INT64: Final = (1 << 63) - 1

Precision = Literal["single", "double"]
Method = Literal["auto", "gjk", "nesterov", "polyak", "rtr"]
Derivative = Literal["exact", "gumbel", "gaussian", "zeroth"]
Order = Literal["wxyz", "xyzw"]
Rotation = Literal["wxyz", "xyzw", "matrix"]


class MethodOptions(TypedDict, total=False):
    """How pairs are solved; None is the default of each. See :meth:`Engine.distance`."""

    method: Method
    precision: Precision | None
    tolerance: float | None
    max_iterations: int | None


class SolverOptions(MethodOptions, total=False):
    """Options of every query."""

    columns: Iterable[str] | None


class DerivativeOptions(TypedDict, total=False):
    """Options of derivatives; None is the default, in products with those of an answer the option of its query."""

    derivative: Derivative | None
    epsilon: float | None
    samples: int | None
    rings: int | None
    seed: int | None


class InputOptions(DerivativeOptions, total=False):
    """Options of lists of pairs and of their derivatives."""

    copy: bool
    warm_start: Any


class PoseOptions(TypedDict, total=False):
    """Poses of pairs by name, in place of those by position: pose_a and pose_b, or the other four."""

    pose_a: PoseLike
    pose_b: PoseLike
    pos_a: ArrayLike
    quat_a: ArrayLike
    pos_b: ArrayLike
    quat_b: ArrayLike


class PairOptions(PoseOptions, SolverOptions, InputOptions, total=False):
    """Options of queries of lists of pairs."""

    out: Result | Mapping[str, Any] | None
    grad: bool


class DistanceOptions(PairOptions, total=False):
    """Options of distances of pairs."""

    max_distance: float | None


class GrowthOptions(PairOptions, total=False):
    """Options of growth distances of pairs."""

    max_factor: float | None


class QueryOptions(PairOptions, total=False):
    """Options of any query of pairs by name."""

    cut_off: float | None


class ProductOptions(PoseOptions, MethodOptions, InputOptions, total=False):
    """Options of products with the derivatives of any query of pairs."""

    cut_off: float | None


class GraphOptions(PoseOptions, MethodOptions, DerivativeOptions, total=False):
    """Options of distances in a graph of JAX."""

    max_distance: float | None


class SweepGraphOptions(TypedDict, total=False):
    """Options of times of contact in a graph of PyTorch or JAX; see :meth:`Engine.sweep`."""

    bodies: Any
    max_distance: float | None
    time_tolerance: float | None
    tolerance: float | None
    max_evaluations: int | None
    reduce: Literal["world"] | None


class SolveGraphOptions(TypedDict, total=False):
    """Options of contact problems in a graph of PyTorch or JAX; see :func:`clearance.contact.solve`."""

    model: Literal["ncp", "ccp"]
    tolerance: float
    relaxation: float
    max_sweeps: int
    max_steps: int
    workers: int | None
    simd: str | None


class Values(TypedDict, total=False):
    """Numbers of a simulation that a run in a graph is differentiable in; see :meth:`Simulation.replace`."""

    mass: Any
    inertia: Any
    friction: Any
    restitution: Any
    gravity: Any
    parts_pose: Any


# The defaults of options that are not None.
_DEFAULTS: Final[dict[str, Any]] = {"method": "auto", "derivative": "exact", "copy": True, "grad": False}


@cache
def defaults(kind: Any) -> dict[str, Any]:
    """The options of a class with their defaults. The caller does not change them."""
    return {name: _DEFAULTS.get(name) for name in kind.__annotations__}


def filled(what: str, kind: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call, with the defaults of those that it does not give."""
    known = defaults(kind)
    if not known.keys() >= options.keys():
        check_names(what, options, list(known))
    return {**known, **options}


def interval(option: str, value: Any) -> tuple[float, float] | None:
    """Two finite numbers, the lower one first, or None."""
    if value is None:
        return None
    try:
        low, high = value
    except (TypeError, ValueError) as e:
        raise OptionError(f"{option}: {value!r}, want two numbers, the lower one first") from e
    found = real(option, low), real(option, high)
    if not found[0] <= found[1]:
        raise OptionError(f"{option}: {value!r}, want two numbers, the lower one first")
    return found


def check_names(what: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise OptionError for an option that is not known, with the nearest one that is."""
    for name in options:
        if name not in known:
            import difflib  # which is no part of an ordinary start

            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OptionError(f"{name}: no option of {what}, which has {', '.join(known)}{hint}")


def real(option: str, value: Any, least: float = -math.inf, above: bool = False) -> float:
    """A finite number of at least ``least``, or above it."""
    if type(value) is not float:
        if isinstance(value, (bool, str, bytes)):
            raise OptionError(f"{option}: {value!r}, want a number")
        try:
            value = float(value)
        except (TypeError, ValueError, OverflowError) as e:
            raise OptionError(f"{option}: {value!r}, want a number") from e
    number: float = value
    if not math.isfinite(number) or number < least or (above and number == least):
        bound = "" if least == -math.inf else f" above {least:g}" if above else f" of at least {least:g}"
        raise OptionError(f"{option}: {number:g}, want a finite number{bound}")
    return number


def text(option: str, value: Any) -> str:
    """A text, which a C interface ends at the first zero byte."""
    if not isinstance(value, str) or "\0" in value:
        raise OptionError(f"{option}: {value!r}, want a text without zero bytes")
    return value


def path_bytes(what: str, path: Any, error: type[ClearanceError] = OptionError) -> bytes:
    """The path of a file as the C interface takes it."""
    try:
        name = os.fsencode(path)
    except TypeError as e:
        raise error(f"{what}: {path!r}, want a path") from e
    if b"\0" in name or not name:
        raise error(f"{what}: {path!r} is no path of a file")
    return name


def whole(option: str, value: Any, least: int = 0, most: int = INT32) -> int:
    """An integer within bounds: ctypes would keep its low bits."""
    try:
        number = operator.index(value)
    except TypeError as e:
        raise OptionError(f"{option}: {value!r}, want a whole number") from e
    if isinstance(value, bool) or not least <= number <= most:
        raise OptionError(f"{option}: {value!r}, want a whole number from {least} to {most}")
    return number


def flag(option: str, value: Any) -> bool:
    """True or False: any other value, such as the text "no", would count as one of them."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise OptionError(f"{option}: {value!r}, want True or False")
    return bool(value)


def one_of(option: str, value: Any, choices: Sequence[str]) -> Any:
    """A value that is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{option}: {value!r}, want one of {', '.join(choices)}")
    return value


def check_quat(quat: Any) -> None:
    """Raise OptionError for what is no order of the quaternions of poses."""
    if not isinstance(quat, str) or quat not in get_args(Order):
        raise OptionError(f'quat: {quat!r}, want "wxyz" or "xyzw"')


def names_of(columns: Iterable[str]) -> list[str]:
    """A list of columns, at least the status."""
    if isinstance(columns, str):
        raise OptionError(f"columns: {columns!r} is a text, want a list of names, such as ({columns!r},)")
    try:
        names = list(columns)
    except TypeError as e:
        raise OptionError(f"columns: {columns!r}, want a list of names") from e
    return names if names else ["status"]


def check_out(out: Any, columns: Iterable[str], always: str = "status") -> None:
    """Raise OptionError for arrays by name that no column of the result would fill."""
    if isinstance(out, Mapping):
        known = list(columns)
        for name in out:
            if name not in known:
                raise OptionError(f"out: {name!r} is no column of this result, which has {', '.join(known)}")
    elif out is not None and not hasattr(out, always):
        raise OptionError(f"out: a {type(out).__name__}, want a former result, or arrays by name")


def given(out: Any, name: str) -> Any:
    """The place for a column, None if the caller gave none."""
    if out is None:
        return None
    return out.get(name) if isinstance(out, Mapping) else getattr(out, name, None)


def place(out: Any, name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """The array of a column: that of the caller, which must fit as it is, or a new one."""
    value = given(out, name)
    if value is None:
        return np.empty(shape, dtype)
    name, dtype = f"out.{name}", np.dtype(dtype)
    array: Array = value if type(value) is np.ndarray else _memory_of(name, value)
    flags = array.flags
    if array.shape != shape or array.dtype != dtype:
        raise ArrayError(name, f"is {array.dtype} {list(array.shape)}, want {dtype} {list(shape)}")
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        raise ArrayError(name, "want an array that is C-contiguous, aligned and writable")
    return array


def _memory_of(name: str, value: Any) -> Array:
    """The array of the memory of a value, which must not be copied."""
    check_gradient(name, value)
    if is_torch(value):
        if value.device.type != "cpu":
            raise ArrayError(name, f"lies on the device {value.device}, want memory of the host")
        tensor: Array = value.detach().numpy()
        return tensor
    array = np.asarray(value)
    if not np.shares_memory(array, np.asarray(value)):
        raise ArrayError(name, f"is a {type(value).__name__}, want an array")
    return array


_POSE: Final = 7


class PoseArray(np.ndarray[Any, np.dtype[Any]]):
    """Poses [..., 7] whose quaternions have a known order, ``order``.

    A copy, a reshape that keeps the last axis, and a part by leading axes know it too. What is computed from the array
    in any other way does not (``order`` is None), since its last axis may be another one.
    """

    order: Order | None
    rotation_error: float = 0.0  # of matrices that the poses were converted from, see Report

    def __array_finalize__(self, obj: Any) -> None:
        self.order = None

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        if self.order is not None and isinstance(part, PoseArray) and _leading(key, self.ndim):
            part.order = self.order
        return part

    def copy(self, order: Any = "C") -> Self:
        return self._known(super().copy(order))

    def __copy__(self) -> Self:
        return self._known(super().__copy__())

    def __deepcopy__(self, memo: dict[int, Any] | None) -> Self:
        return self._known(super().__deepcopy__(memo))

    def reshape(self, *shape: Any, **options: Any) -> Self:
        reshaped = super().reshape(*shape, **options)
        kept = self.shape[-1:] == reshaped.shape[-1:] == (_POSE,) and options.get("order", "C") == "C"
        return self._known(reshaped) if kept else cast(Self, reshaped)

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return with_order, (np.asarray(self), self.order)

    def _known(self, other: Any) -> Self:
        other.order = self.order
        return cast(Self, other)


def _leading(key: Any, axes: int) -> bool:
    """Whether an index of an array of so many axes leaves the last one alone."""
    indices = key if isinstance(key, tuple) else (key,)
    if indices and indices[-1] is Ellipsis:
        indices = indices[:-1]
    used = 0
    for k in indices:
        if k is Ellipsis:  # what follows is about the last axes
            return False
        k = np.asarray(k) if isinstance(k, list) else k
        used += 0 if k is None else k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else 1
    return used < axes


def with_order(poses: Any, order: Order | None) -> PoseArray:
    """An array as one that knows the order of its quaternions: itself if it is a PoseArray, else a view."""
    array = poses if isinstance(poses, PoseArray) else poses.view(PoseArray)
    array.order = order
    return array


def order_of(quat: Any, poses: Any) -> Order:
    """The order of the quaternions of poses: that which the caller states, or that which they know."""
    known = poses.order if isinstance(poses, PoseArray) else None
    if quat is None and known is not None:
        return known
    check_quat(quat)
    if known is not None and quat != known:
        raise OptionError(f"quat: {quat!r}, and the poses were made in the order {known!r}; np.array(poses) forgets it")
    return cast(Order, quat)


def to_wxyz(poses: Array, quat: str, copy: bool = True) -> Array:
    """Poses [..., 7] in the order "wxyz"."""
    if quat == "wxyz":
        return poses
    if not copy:
        raise CopyError("poses", 'have the order "xyzw", which takes a copy, and copy=False')
    return reordered(poses, (0, 1, 2, 6, 3, 4, 5))


def sampled_limits(names: Sequence[str], sliding: Sequence[bool], limits: Any, slides: Any = None) -> Array:
    """The ranges [N,2] to sample N joints in: their limits where both are finite, else [-π, π] for joints that rotate
    and ``slides``, a lower and an upper value in metres, for those that slide.

    A joint whose limits are in the wrong order, or that slides and has no limits where ``slides`` is None, is refused
    by name.
    """
    ranges = np.array(limits, np.float64).reshape(-1, 2)
    within = interval("slides", slides)
    for i, name in enumerate(names):
        low, high = ranges[i]
        if not low <= high:
            raise OptionError(f"joint {name!r} has the limits [{low}, {high}]")
        if np.isfinite(ranges[i]).all():
            continue
        if not sliding[i]:
            ranges[i] = -np.pi, np.pi
        elif within is None:
            raise OptionError(
                f"joint {name!r} slides and has no limits to sample within: slides=(low, high), in metres, gives some"
            )
        else:
            ranges[i] = within
    return ranges


def not_onto(out: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise FileError if a file to be written is one of the inputs, by whatever name, or lies in the folder of one,
    which could not be read with it."""
    for path in inputs:
        place = Path(out).resolve()
        folder = Path(path).resolve()
        if folder.is_dir() and folder in place.parents and place.relative_to(folder).parts[0][0] not in "._":
            raise FileError(f"{os.fspath(out)} lies in the folder {os.fspath(path)}: give the output another place")
        try:
            same = Path(out).samefile(path)
        except OSError:  # one of them does not exist, or opening it says why not
            continue
        if same:
            raise FileError(f"{os.fspath(out)} is the input {os.fspath(path)}: give the output another name")
