"""Libraries of shapes: what the rows of a query refer to by index."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from . import _native as nat
from ._arrays import address, check_gradient, take
from ._bodies import Listed, read_listed
from ._errors import FileError, NotFoundError, OptionError, ShapeError
from ._options import path_bytes, text, whole
from ._shapes import ATTRIBUTES, KINDS, Attributed, Attributes, Vector

Points = Sequence[Sequence[float]] | NDArray[Any]

# The least and the largest value of parameters, as the native library has them: 0 is refused but for those of _OR_ZERO.
_SIZE: Final = (1e-9, 1e9)
_RANGES: Final[dict[str, tuple[float, float]]] = {
    **dict.fromkeys(("radius", "half_length", "radius_bottom", "radius_top", "half_extents", "semi_axes"), _SIZE),
    "exponents": (0.01, 1.99),
    "sharpness": (2.0625, 1000),
    "flatness": (1e-6, 100),
}
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


def _numbers(kind: str, name: str, value: Any, width: int, is_list: bool) -> Any:
    """A parameter, checked for its shape, its range and for numbers that are not finite."""
    check_gradient(f"{kind}: {name}", value)
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


def _stated(kind: str, attributes: Attributes) -> dict[str, Any]:
    """The attributes that are not None, checked as parameters are."""
    unknown = sorted(set(attributes) - set(ATTRIBUTES))
    if unknown:
        raise TypeError(f"{kind}: unknown argument {unknown[0]!r}; attributes are {', '.join(ATTRIBUTES)}")
    return {
        name: _numbers(kind, name, value, ATTRIBUTES[name], False)
        for name, value in attributes.items()
        if value is not None
    }


class Library:
    """A table of shapes. Methods that add a shape return its index.

    A library is plain Python data until an engine uses it: it may be pickled, and made before a fork. Lengths are in
    metres. Every shape takes ``margin``, the radius of a ball that is added to it, ``name``, and attributes, among
    them ``center``, the point about which the query growth scales it (in its own frame; by default that of its kind).

    Numbers are checked at once. What takes the native library, such as whether points have an extent, is checked at the
    first use. Both raise :class:`ShapeError`.
    """

    def __init__(self) -> None:
        self._shapes: list[Shape] = []
        self._lock = threading.Lock()
        self._handle: _Handle | None = None
        self._listed: Listed | None = None  # the bodies of the file that the library was read from

    # -- shapes -------------------------------------------------------------------------------------------------------

    def sphere(self, radius: float, *, margin: float = 0.0, name: str = "", **attributes: Unpack[Attributes]) -> int:
        """A ball about the origin."""
        return self.add("sphere", {"radius": radius}, margin=margin, name=name, **attributes)

    def capsule(
        self,
        radius: float,
        half_length: float,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A segment along local z of length ``2 * half_length``, and a ball."""
        return self.add(
            "capsule", {"radius": radius, "half_length": half_length}, margin=margin, name=name, **attributes
        )

    def cylinder(
        self,
        radius: float,
        half_length: float,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A cylinder along local z."""
        return self.add(
            "cylinder", {"radius": radius, "half_length": half_length}, margin=margin, name=name, **attributes
        )

    def cone(
        self,
        radius: float,
        half_length: float,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A cone along local z: the apex at ``+half_length``, the base at ``-half_length``."""
        return self.add("cone", {"radius": radius, "half_length": half_length}, margin=margin, name=name, **attributes)

    def frustum(
        self,
        radius_bottom: float,
        radius_top: float,
        half_length: float,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A truncated cone along local z."""
        parameters = {"radius_bottom": radius_bottom, "radius_top": radius_top, "half_length": half_length}
        return self.add("frustum", parameters, margin=margin, name=name, **attributes)

    def box(
        self, half_extents: Vector, *, margin: float = 0.0, name: str = "", **attributes: Unpack[Attributes]
    ) -> int:
        """A box of three half-extents about the origin."""
        return self.add("box", {"half_extents": half_extents}, margin=margin, name=name, **attributes)

    def ellipsoid(
        self, semi_axes: Vector, *, margin: float = 0.0, name: str = "", **attributes: Unpack[Attributes]
    ) -> int:
        """An ellipsoid of three semi-axes about the origin."""
        return self.add("ellipsoid", {"semi_axes": semi_axes}, margin=margin, name=name, **attributes)

    def superquadric(
        self,
        semi_axes: Vector,
        exponents: Vector,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A superquadric of three semi-axes and two exponents."""
        parameters = {"semi_axes": semi_axes, "exponents": exponents}
        return self.add("superquadric", parameters, margin=margin, name=name, **attributes)

    def smooth_hull(
        self,
        vertices: Points,
        sharpness: float,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A smooth convex body about vertices [N,3]; the greater the sharpness, the closer to their hull."""
        parameters: dict[str, Any] = {"vertices": vertices, "sharpness": sharpness}
        center = attributes.pop("center", None)
        parameters["center"] = (0.0, 0.0, 0.0) if center is None else center
        return self.add("smooth_hull", parameters, margin=margin, name=name, **attributes)

    def smooth_revolution(
        self,
        profile: Points,
        sharpness: float,
        flatness: float,
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A smooth solid of revolution about local z, of a profile [N,2] of (r, z)."""
        parameters = {"profile": profile, "sharpness": sharpness, "flatness": flatness}
        return self.add("smooth_revolution", parameters, margin=margin, name=name, **attributes)

    def convex(self, vertices: Points, *, margin: float = 0.0, name: str = "", **attributes: Unpack[Attributes]) -> int:
        """The convex hull of points [N,3]; one point, a segment and a flat polygon are hulls, too.

        There may be more points than the 65,535 vertices that a hull may have.
        """
        return self.add("convex", {"vertices": vertices}, margin=margin, name=name, **attributes)

    def halfspace(self, *, margin: float = 0.0, name: str = "", **attributes: Unpack[Attributes]) -> int:
        """All points below local z = 0."""
        return self.add("halfspace", {}, margin=margin, name=name, **attributes)

    def mesh(
        self,
        path: str | os.PathLike[str],
        *,
        concave: Literal["raise", "hull", "coacd"] = "raise",
        tolerance: float | None = None,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """The convex hull of a mesh file (OBJ, STL, PLY; its own unit).

        A mesh is convex if its surface lies nowhere deeper below its hull than ``tolerance`` times its size, the
        diagonal of its bounding box (default: than the rounding of numbers in the file explains). ``dent`` of the shape
        is that depth, ``library[i].dent``: answers are those of the hull. Parts of published decompositions are often
        convex to 0.03 only.

        A mesh that is not convex raises :class:`FileError`, one of several parts :class:`ShapeError`;
        ``concave="hull"`` takes the hull of all its vertices instead. Parts make a body, not a shape:
        :meth:`mesh_parts` keeps them, and those of a decomposition (``concave="coacd"``), which is refused here unless
        it has one part alone.
        """
        from ._decompose import mesh_shapes

        shapes = mesh_shapes(path, concave, tolerance)
        if len(shapes) != 1:
            how = ', concave="coacd"' if concave == "coacd" else ""
            raise ShapeError(
                f"{os.fspath(path)} has {len(shapes)} parts, which are no single shape but a body: "
                f"scene.add(*lib.mesh_parts(path{how})), or concave='hull' for the hull of all"
            )
        return self._append(replace(shapes[0], attributes=_stated("convex", attributes)), margin, name)

    def mesh_parts(
        self,
        path: str | os.PathLike[str],
        *,
        concave: Literal["raise", "coacd"] = "raise",
        tolerance: float | None = None,
        margin: float = 0.0,
    ) -> list[int]:
        """Every part of a mesh file as a convex shape: its groups or solids, and the connected components of one that
        is not convex. A part that is not convex raises FileError. ``tolerance`` is that of :meth:`mesh`.

        ``concave="coacd"`` takes the parts that :func:`clearance.decompose` finds if one is not convex, which may last
        minutes: its command writes them to a file once.
        """
        from ._decompose import mesh_shapes

        return [self._append(s, margin, s.name) for s in mesh_shapes(path, concave, tolerance)]

    def add(
        self,
        kind: str,
        parameters: dict[str, Any],
        *,
        margin: float = 0.0,
        name: str = "",
        **attributes: Unpack[Attributes],
    ) -> int:
        """A shape of any kind, with its parameters by name."""
        if not isinstance(kind, str) or kind not in KINDS:
            raise ShapeError(f"unknown kind {kind!r}, want one of {', '.join(KINDS)}")
        if not isinstance(parameters, dict):
            raise ShapeError(f"{kind}: parameters {parameters!r}, want a dictionary of {[p[0] for p in KINDS[kind]]}")
        wanted = [p[0] for p in KINDS[kind]]
        if set(parameters) != set(wanted):
            raise ShapeError(f"{kind}: parameters {sorted(parameters)}, want {wanted}")
        values = {p[0]: _numbers(kind, p[0], parameters[p[0]], p[1], p[2]) for p in KINDS[kind]}
        ball = _numbers(kind, "margin", margin, 1, False)
        if ball < 0:
            raise ShapeError(f"{kind}: margin = {ball:g}, want at least 0")
        return self._append(Shape(kind, values, ball, name, _stated(kind, attributes)), 0.0, name)

    def _append(self, shape: Shape, margin: float, name: str) -> int:
        text("name", name)
        if margin:
            margin = _numbers(shape.kind, "margin", margin, 1, False)
            if margin < 0:
                raise ShapeError(f"{shape.kind}: margin = {margin:g}, want at least 0")
        shape = replace(shape, margin=shape.margin + margin, name=name or shape.name)
        with self._lock:
            self._shapes.append(shape)
            self._handle = None
            return len(self._shapes) - 1

    # -- files --------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Library:
        """Read shapes.json. An error names the file, the shape and the parameter. Bodies and pairs of the file are kept
        for :meth:`save`; :meth:`Scene.load` reads them."""
        path_bytes("shapes", path, FileError)
        number, listed = read_listed(path)
        library = Library()
        library._shapes, library._listed = _shapes_in(number), listed
        return library

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write shapes.json, which :meth:`load` reads back bit for bit, but for rotations of bodies, which are
        normalized. Bodies and pairs are those of the file that the library was read from, if it lists some."""
        if self._listed is not None:
            self._listed.save(self, path)
            return
        n, error = nat.native(), nat.Error()
        handle = self._open()  # which lives until the call has ended
        n.raise_for(n.library_write(handle.number, path_bytes("shapes", path, FileError), error), error)

    # -- contents -----------------------------------------------------------------------------------------------------

    def support(self, index: int, directions: Any) -> NDArray[np.float64]:
        """Support points [N,3] of a shape, margin included, for directions [N,3], in the frame of the shape."""
        n, error = nat.native(), nat.Error()
        d = take("directions", directions, np.float64, (3,), None, True)
        points = np.empty_like(d)
        handle = self._open()  # which lives until the call has ended
        place = whole("shape", index), len(d), address(d), address(points)
        n.raise_for(n.library_support(handle.number, *place, error), error)
        return points

    def __len__(self) -> int:
        return len(self._shapes)

    def __getitem__(self, index: int) -> Shape:
        try:
            return self._shapes[index]
        except (IndexError, TypeError) as e:
            have = f"the library has {len(self._shapes)} shapes; index(name) finds one by its name"
            raise NotFoundError(f"shape {index!r}: {have}") from e

    def __iter__(self) -> Iterator[Shape]:
        return iter(self._shapes)

    def index(self, name: str) -> int:
        """The index of the only shape of a name."""
        found = [i for i, s in enumerate(self._shapes) if s.name == name]
        if len(found) != 1:
            raise NotFoundError(f"{len(found)} shapes have the name {name!r}")
        return found[0]

    def __repr__(self) -> str:
        count: dict[str, int] = {}
        for s in self._shapes:
            count[s.kind] = count.get(s.kind, 0) + 1
        return f"Library of {len(self._shapes)} shapes: " + (", ".join(f"{n} {k}" for k, n in count.items()) or "empty")

    def __getstate__(self) -> tuple[list[Shape], Listed | None]:
        return self._shapes, self._listed

    def __setstate__(self, state: tuple[list[Shape], Listed | None]) -> None:
        self.__init__()  # type: ignore[misc]
        self._shapes, self._listed = state

    def _open(self) -> _Handle:
        """The shapes in the native library, made at the first use after a change."""
        n = nat.native()
        handle = self._handle
        if handle is not None:
            return handle
        with self._lock:
            if self._handle is None:
                self._handle = _new(n, self._shapes)
            return self._handle


class _Handle:
    """A library handle, given back with its last user."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        if nat.usable():
            nat.native().library_free(self.number, None)


def _new(n: nat.Native, shapes: list[Shape]) -> _Handle:
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
        record.attribute_count, record.attributes = len(stated), ctypes.addressof(stated)
        record.name = shape.name.encode() if shape.name else None
    number, error = ctypes.c_uint64(), nat.Error()
    code = n.library_new(records, len(shapes), number, error)
    if code == nat.ARGUMENT:
        raise ShapeError(error.message.decode())
    n.raise_for(code, error)
    return _Handle(number.value)


def read_mesh(path: str | os.PathLike[str], whole: bool, tolerance: float | None = None) -> list[Shape]:
    """The parts of a mesh file as convex shapes, with their dents, or the hull of the whole; a part that is not convex
    to the tolerance is an error."""
    limit = -1.0 if tolerance is None else float(tolerance)
    if tolerance is not None and not 0 <= limit <= 1:
        raise OptionError(f"tolerance: {tolerance!r}, want 0 to 1, relative to the size of a part, or None")
    n, number, error = nat.native(), ctypes.c_uint64(), nat.Error()
    dents = np.full(1 << 12, np.nan)
    while True:
        place = number, address(dents), dents.size
        n.raise_for(n.library_mesh(os.fsencode(path), int(whole), limit, *place, error), error)
        shapes = _shapes_in(number.value)
        if len(shapes) <= dents.size:
            return [replace(s, dent=float(d)) for s, d in zip(shapes, dents, strict=False)]
        dents = np.full(len(shapes), np.nan)


def _shapes_in(number: int) -> list[Shape]:
    """The shapes of a library by its handle, which is given back."""
    n, handle = nat.native(), _Handle(number)
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
        parameters[parameter] = _numbers(kind, parameter, value, width, is_list)
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
            found[name] = _numbers(kind, name, value if width > 1 else value[0], width, False)
    return found
