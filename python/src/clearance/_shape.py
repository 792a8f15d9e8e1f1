"""Shapes: checked parameters, and the records of the native library that hold them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

import numpy as np

from . import _jobs
from . import _native as nat
from ._arrays import address, check_gradient
from ._errors import FileError, OptionError, ShapeError
from ._options import check_names, path_bytes, real
from ._shapes import ATTRIBUTES, KINDS, Attributed, Attributes

# The least and the largest value of parameters, as the native library has them: 0 is refused but for those of _OR_ZERO.
_SIZE: Final = (1e-9, 1e9)
_RANGES: Final[dict[str, tuple[float, float]]] = {
    **dict.fromkeys(("radius", "half_length", "radius_bottom", "radius_top", "half_extents", "semi_axes"), _SIZE),
    "exponents": (0.01, 1.99),
    "sharpness": (2.0625, 1000),
    "flatness": (1e-6, 100),
}
# Limits of the native library.
MAX_VERTICES: Final = 65535
MAX_SHAPES: Final = 1 << 20
_OR_ZERO: Final = (("capsule", "half_length"), ("frustum", "radius_bottom"), ("frustum", "radius_top"))


@dataclass(frozen=True, eq=False)
class Shape(Attributed):
    """A shape of a library. ``parameters`` are those of its kind by name, in metres, in the frame of the shape."""

    kind: str
    parameters: dict[str, Any]
    margin: float = 0.0
    name: str = ""
    attributes: dict[str, Any] = field(default_factory=dict)  # by name, those that are not the default
    dent: float = 0.0  # how far the surface of its mesh lies below this hull at most; NaN if nobody has looked

    def __repr__(self) -> str:
        texts = [f"{name}={_short(value)}" for name, value in self.parameters.items()]
        if self.margin:
            texts.append(f"margin={self.margin:g}")
        texts += [f"{name}={_short(value)}" for name, value in self.attributes.items()]
        if self.name:
            texts.append(f"name={self.name!r}")
        return f"{self.kind}({', '.join(texts)})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"[{len(value)} points]" if value.ndim == 2 else str([float(f"{x:g}") for x in value])
    return f"{value:g}"


def checked(kind: str, name: str, value: Any, width: int, is_list: bool) -> Any:
    """A parameter, checked for its shape, its range and for numbers that are not finite."""
    check_gradient(f"{kind}: {name}", value)
    if isinstance(value, (str, bytes, bool)):  # which NumPy would read as numbers
        raise ShapeError(f"{kind}: {name}: {value!r}, want numbers")
    try:
        array = np.array(value, dtype=np.float64)  # a copy: shapes do not change
    except Exception as e:  # of the value, which may convert itself
        raise ShapeError(f"{kind}: {name}: {e}") from e
    want = (width,) if width > 1 else ()
    if is_list:
        good = array.ndim == 2 and array.shape[1] == width
        text = f"[N,{width}]"
    else:
        good, text = array.shape == want, f"{width} numbers" if width > 1 else "a number"
    if not good:
        raise ShapeError(f"{kind}: {name} has the shape {list(array.shape)}, want {text}")
    if is_list and not len(array):
        raise ShapeError(f"{kind}: {name} are none, want one or more")
    bad = ~np.isfinite(array)
    if bad.any():
        at = [int(i) for i in np.argwhere(bad)[0]]
        raise ShapeError(f"{kind}: {name}{at if at else ''} is not finite")
    if name in _RANGES:
        low, high = _RANGES[name]
        outside = (array < low) | (array > high)
        if (kind, name) in _OR_ZERO:
            outside &= array != 0
        if outside.any():
            at = [int(i) for i in np.argwhere(outside)[0]]
            found = float(array[tuple(at)])
            raise ShapeError(f"{kind}: {name}{at if at else ''} = {found:g}, want {low:g} to {high:g}")
    array.flags.writeable = False
    return array if array.ndim else float(array)


def checked_attributes(kind: str, attributes: Attributes) -> dict[str, Any]:
    """The attributes that are not None, checked as parameters are."""
    check_names(f"a {kind}", attributes, list(ATTRIBUTES))
    return {
        name: checked(kind, name, value, ATTRIBUTES[name], False)
        for name, value in attributes.items()
        if value is not None
    }


def check_size(shape: Shape) -> None:
    """Raise ShapeError for a shape whose size the native library refuses. It is asked where a bound of the size does
    not tell: a library of shapes of ordinary sizes may be made without it."""
    if _ordinary(shape):
        return
    try:
        open_library(nat.native(), [replace(shape, name="", attributes={})])
    except ShapeError as e:
        reason = str(e).removeprefix("shape 0: ").removeprefix(f"{shape.kind}: ")
        raise ShapeError(f"{shape.kind}: {reason}") from e


def _ordinary(shape: Shape) -> bool:
    """Whether a bound of the bounding radius, with the margin, and the extents of points prove the size good."""
    values = shape.parameters
    points = values.get("vertices", values.get("profile"))
    if points is None:
        # Each kind lies in the box of its sizes: their sum is at least its diagonal.
        outer = sum(float(np.sum(v)) for name, v in values.items() if name in _RANGES and _RANGES[name] == _SIZE)
        return bool(outer + shape.margin <= _SIZE[1])
    if not 0 < len(points) < MAX_VERTICES:
        return False
    # The bounding radius of a hull about a point within is at most the diagonal of its box; a smooth body of a
    # sharpness p exceeds its N points by N^(1/p) at most, which is below 300 for p > 2 and N < 2^16.
    span = np.ptp(points, axis=0)
    reach = float(np.abs(points).max()) + float(np.linalg.norm(values.get("center", 0.0)))
    return bool(1e3 * reach + shape.margin <= _SIZE[1] and span.max() >= 1e3 * _SIZE[0])


class Handle(nat.Owner):
    """The handle of a library of so many shapes, given back with its last user."""

    def __init__(self, number: int, count: int = 0) -> None:
        self.number, self.count = number, count

    def __del__(self) -> None:
        if nat.usable():
            nat.native().library_free(self.number, None)


def open_library(n: nat.Native, shapes: Sequence[Shape], before: Handle | None = None) -> Handle:
    """A library of shapes, after those of another one if that is given."""
    records = (nat.Shape * max(len(shapes), 1))()
    keep: list[Any] = []
    for record, shape in zip(records, shapes, strict=False):
        record.kind = n.kinds.index(shape.kind)
        record.margin = shape.margin
        values = [np.ravel(v) for v in shape.parameters.values()]
        for i, v in enumerate(values):
            record.counts[i] = v.size
        flat = np.concatenate(values) if values else np.zeros(0)
        keep.append(flat)
        record.values = address(flat)
        stated = (nat.Attribute * len(shape.attributes))()
        for entry, (name, value) in zip(stated, shape.attributes.items(), strict=True):
            numbers = np.ravel(value)
            entry.code, entry.count, entry.values = n.attributes.index(name), numbers.size, address(numbers)
            keep.append(numbers)
        keep.append(stated)
        record.attribute_count, record.attributes = len(stated), stated
        record.name = shape.name.encode() if shape.name else None

    def submit(number: Any, ms: int, job: Any, error: nat.Error) -> int:
        given = records, len(shapes), ms, number, job, error
        return cast(int, n.library_new(*given) if before is None else n.library_extend(before.number, *given))

    try:
        return Handle(_made(submit, (records, keep)), len(shapes) + (0 if before is None else before.count))
    except OptionError as e:
        raise ShapeError(str(e)) from e


def _made(submit: Callable[[Any, int, Any, nat.Error], int], keep: Any) -> int:
    """The handle of a library that a call makes, which an exception such as that of Ctrl-C ends."""
    number = ctypes.c_uint64()
    try:
        _jobs.run(lambda ms, job, _, error: submit(number, ms, job, error), (keep, number))
    except BaseException:
        if number.value:  # it was made before the job could be cancelled
            Handle(number.value)
        raise
    return number.value


def read_mesh(path: str | os.PathLike[str], whole: bool, tolerance: float | None = None) -> list[Shape]:
    """The parts of a mesh file as convex shapes, with their dents, or the hull of the whole; a part that is not convex
    to the tolerance is an error."""
    limit = -1.0 if tolerance is None else real("tolerance", tolerance, 0)
    if limit > 1:
        raise OptionError(f"tolerance: {tolerance!r}, want 0 to 1, relative to the size of a part, or None")
    n, dents, name = nat.native(), np.full(1 << 12, np.nan), path_bytes("mesh", path, FileError)

    def submit(number: Any, ms: int, job: Any, error: nat.Error) -> int:
        out = number, address(dents), dents.size, job
        return cast(int, n.library_mesh(name, int(whole), limit, ms, *out, error))

    while True:
        shapes = shapes_in(_made(submit, dents))
        if len(shapes) <= dents.size:
            return [replace(s, dent=float(d)) for s, d in zip(shapes, dents, strict=False)]
        dents = np.full(len(shapes), np.nan)


def shapes_in(number: int) -> list[Shape]:
    """The shapes of a library by its handle, which is given back."""
    n, handle = nat.native(), Handle(number)
    return [_shape(n, handle.number, i) for i in range(n.library_count(handle.number))]


def _shape(n: nat.Native, library: int, index: int) -> Shape:
    record, needed, error = nat.Shape(), ctypes.c_int64(), nat.Error()
    name = ctypes.create_string_buffer(1 << 12)
    place = (library, index, record)
    rest = (needed, ctypes.addressof(name), len(name), error)
    n.raise_for(n.library_shape(*place, None, 0, *rest), error)
    flat = np.empty(needed.value)
    n.raise_for(n.library_shape(*place, address(flat), flat.size, *rest), error)
    kind, parameters, at = n.kinds[record.kind], {}, 0
    for i, (parameter, width, is_list) in enumerate(KINDS[kind]):
        part = flat[at : at + record.counts[i]]
        at += record.counts[i]
        value = part.reshape(-1, width) if is_list else part if width > 1 else part[0]
        parameters[parameter] = checked(kind, parameter, value, width, is_list)
    return Shape(kind, parameters, record.margin, name.value.decode(), _attributes(n, library, index, kind))


def _attributes(n: nat.Native, library: int, index: int, kind: str) -> dict[str, Any]:
    """The attributes of a shape that are not the default."""
    found: dict[str, Any] = {}
    needed, error = ctypes.c_int64(), nat.Error()
    for code, name in enumerate(n.attributes):
        width = ATTRIBUTES[name]
        value = np.empty(width)
        n.raise_for(n.library_attribute(library, index, code, address(value), width, needed, error), error)
        if needed.value:
            found[name] = checked(kind, name, value if width > 1 else value[0], width, False)
    return found
