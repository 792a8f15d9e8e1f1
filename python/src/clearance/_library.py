"""Libraries of shapes: what the rows of a query refer to by index."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from . import _jobs
from . import _native as nat
from ._arrays import address, take
from ._bodies import Listed, read_listed
from ._errors import FileError, NotFoundError, ShapeError
from ._meshes import mesh_shapes
from ._options import path_bytes, text, whole
from ._shape import MAX_SHAPES, Handle, Shape, check_size, checked, checked_attributes, open_library, shapes_in
from ._shapes import KINDS, Attributes, Vector

# Products with vertices of one call of the native library, of about a nanosecond each.
_PRODUCTS: Final = 1 << 25

Points = Sequence[Sequence[float]] | NDArray[Any]


_keys: Final = itertools.count(1)
# Libraries by their numbers: operators of graphs know these alone.
libraries: Final[weakref.WeakValueDictionary[int, Library]] = weakref.WeakValueDictionary()


class Library:
    """A table of shapes. Methods that add a shape return its index.

    A library is plain Python data until an engine uses it: it may be pickled, and made before a fork. Lengths are in
    metres. Every shape takes ``margin``, the radius of a ball that is added to it, ``name``, and attributes, among
    them ``center``, the point about which the query growth scales it (in its own frame; by default that of its kind).

    Numbers and sizes are checked at once, unusual sizes by the native library. What always takes that, such as whether
    a center lies within the shape, is checked at the first use. Both raise :class:`ShapeError`.
    """

    def __init__(self) -> None:
        self._key = next(_keys)
        libraries[self._key] = self
        self._shapes: list[Shape] = []
        self._lock = threading.Lock()
        self._handle: Handle | None = None
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

        A mesh that is not convex raises :class:`ConcaveError`, one of several parts :class:`ShapeError`;
        ``concave="hull"`` takes the hull of all its vertices instead. Parts make a body, not a shape:
        :meth:`mesh_parts` keeps them, and those of a decomposition (``concave="coacd"``), which is refused here unless
        it has one part alone.
        """
        shapes = mesh_shapes(path, concave, tolerance)
        if len(shapes) != 1:
            how = ', concave="coacd"' if concave == "coacd" else ""
            raise ShapeError(
                f"{os.fspath(path)} has {len(shapes)} parts, which are no single shape but a body: "
                f"scene.add(*lib.mesh_parts(path{how})), or concave='hull' for the hull of all"
            )
        return self._append(replace(shapes[0], attributes=checked_attributes("convex", attributes)), margin, name)

    def mesh_parts(
        self,
        path: str | os.PathLike[str],
        *,
        concave: Literal["raise", "hull", "coacd"] = "raise",
        tolerance: float | None = None,
        margin: float = 0.0,
    ) -> list[int]:
        """Every part of a mesh file as a convex shape: its groups or solids, and the connected components of one that
        is not convex. A part that is not convex raises :class:`ConcaveError`; ``concave="hull"`` takes the hull of the
        whole. ``tolerance`` is that of :meth:`mesh`.

        ``concave="coacd"`` takes the parts that :func:`clearance.decompose` finds if one is not convex, which may last
        minutes: its command writes them to a file once.
        """
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
        values = {p[0]: checked(kind, p[0], parameters[p[0]], p[1], p[2]) for p in KINDS[kind]}
        ball = checked(kind, "margin", margin, 1, False)
        if ball < 0:
            raise ShapeError(f"{kind}: margin = {ball:g}, want at least 0")
        return self._append(Shape(kind, values, ball, name, checked_attributes(kind, attributes)), 0.0, name)

    def _append(self, shape: Shape, margin: float, name: str) -> int:
        text("name", name)
        if margin:
            margin = checked(shape.kind, "margin", margin, 1, False)
            if margin < 0:
                raise ShapeError(f"{shape.kind}: margin = {margin:g}, want at least 0")
        shape = replace(shape, margin=shape.margin + margin, name=name or shape.name)
        check_size(shape)
        with self._lock:
            if len(self._shapes) == MAX_SHAPES:
                raise ShapeError(f"a library has at most {MAX_SHAPES:,} shapes")
            self._shapes.append(shape)
            return len(self._shapes) - 1

    # -- files --------------------------------------------------------------------------------------------------------

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Library:
        """Read shapes.json. An error names the file, the shape and the parameter. Bodies and pairs of the file are kept
        for :meth:`save`; :meth:`Scene.load` reads them."""
        path_bytes("shapes", path, FileError)
        nat.native()  # which this thread loads

        def read() -> tuple[list[Shape], Listed | None]:
            number, listed = read_listed(path)
            return shapes_in(number), listed

        library = Library()
        library._shapes, library._listed = _jobs.aside(read)
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
        handle = self._open()  # which lives until the calls have ended
        shape = whole("shape", index)
        # A direction may take a product with each vertex. Between calls Ctrl-C is looked at.
        vertices = self[shape].parameters.get("vertices", ()) if shape < len(self) else ()
        block = max(1, _PRODUCTS // max(1, len(vertices)))
        for lo in range(0, len(d), block) or [0]:
            part, to = d[lo : lo + block], points[lo : lo + block]
            n.raise_for(n.library_support(handle.number, shape, len(part), address(part), address(to), error), error)
        return points

    def center(self, index: int) -> NDArray[np.float64]:
        """The point [3] about which growth distances scale a shape, in the frame of the shape."""
        n, error = nat.native(), nat.Error()
        point = np.empty(3)
        handle = self._open()  # which lives until the call has ended
        n.raise_for(n.library_center(handle.number, whole("shape", index), address(point), error), error)
        return point

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

    def _open(self) -> Handle:
        """The shapes in the native library. What it has of those before a change stays: it gets those added since."""
        n = nat.native()
        handle = self._handle
        if handle is not None and handle.count == len(self._shapes):
            return handle
        with self._lock:
            handle = self._handle
            if handle is None or handle.count != len(self._shapes):
                have = 0 if handle is None else handle.count
                self._handle = handle = open_library(n, self._shapes[have:], handle)
            return handle
