"""Bodies: unions of convex parts, and their table in the native library."""

from __future__ import annotations

import ctypes
import json
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as nat
from ._arrays import Array, address, take
from ._errors import FileError, OptionError, ShapeError
from ._options import INT32, path_bytes, whole
from ._pairs import Pairs

if TYPE_CHECKING:
    from ._library import Library
    from ._shapes import Vector


@dataclass(frozen=True, eq=False)
class Part:
    """A convex part of a body: a shape of the library at a pose in the frame of the body, with friction and restitution
    of its own if it states them, for simulations."""

    shape: int
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (1.0, 0.0, 0.0, 0.0)  # quaternion (w, x, y, z)
    friction: float | None = None
    restitution: float | None = None

    def __post_init__(self) -> None:
        whole("shape of a part", self.shape, -INT32)
        for name, count in (("position", 3), ("rotation", 4)):
            value = getattr(self, name)
            if np.shape(value) != (count,) or not all(map(_is_real, value)):
                raise ShapeError(f"{name} of a part: {value!r}, want {count} numbers")
        for name in ("friction", "restitution"):
            value = getattr(self, name)
            if value is not None and not _is_real(value):
                raise OptionError(f"{name} of a part: {value!r}, want a number")


def _is_real(value: Any) -> bool:
    """Whether a value is a number, finite or not: what is not finite is refused with the body and the part."""
    return isinstance(value, numbers.Real) or (hasattr(value, "dtype") and value.dtype.kind in "fiu")


@dataclass(frozen=True, eq=False)
class Body:
    """A union of convex parts that move together.

    ``physics`` is what the body states for simulations: mass or density, inertia (6 numbers), center_of_mass, friction,
    restitution, fixed, as in shapes.json; :class:`clearance.contact.Simulation` reads it.
    """

    parts: tuple[Part, ...]
    name: str = ""
    physics: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def records(self) -> bytes:
        """The parts as the native library reads them."""
        records = (nat.Part * len(self.parts))()
        for record, p in zip(records, self.parts, strict=True):
            record.shape = whole("shape of a part", p.shape, -INT32)
            record.pose = (ctypes.c_double * 7)(*p.position, *p.rotation)
        return bytes(records)


@dataclass(frozen=True)
class Surface:
    """What two bodies of a scene state of their contacts, or one part of either (None: all parts), in place of what
    both state for themselves. Of several that name a pair the last one counts."""

    a: int
    b: int
    friction: float | None = None
    restitution: float | None = None
    part_a: int | None = None
    part_b: int | None = None

    def __post_init__(self) -> None:
        for name in ("a", "b", "part_a", "part_b"):
            value = getattr(self, name)
            if value is not None:
                whole(f"{name} of a surface", value)
        for name in ("friction", "restitution"):
            value = getattr(self, name)
            if value is not None and not _is_real(value):
                raise OptionError(f"{name} of a surface: {value!r}, want a number")


class Table:
    """The bodies of a scene in the native library."""

    def __init__(self, library: Library, bodies: Sequence[Body]) -> None:
        n = nat.native()
        for i, b in enumerate(bodies):
            if not isinstance(b, Body):
                raise OptionError(f"bodies[{i}]: {b!r}, want a Body; scene.add makes one")
        joined = b"".join([b.records for b in bodies]) or bytes(ctypes.sizeof(nat.Part))
        records = (nat.Part * (len(joined) // ctypes.sizeof(nat.Part))).from_buffer_copy(joined)
        first = np.concatenate([[0], np.cumsum([len(b.parts) for b in bodies])]).astype(np.int32)
        names = (ctypes.c_char_p * max(len(bodies), 1))(*(b.name.encode() or None for b in bodies))
        number, error = ctypes.c_uint64(), nat.Error()
        handle = library._open()  # which lives until the call has ended
        code = n.bodies_new(handle.number, records, address(first), len(bodies), names, number, error)
        if code == nat.ARGUMENT:
            raise ShapeError(error.message.decode())
        n.raise_for(code, error)
        self.number: int = number.value

    def __del__(self) -> None:
        if getattr(self, "number", 0) and nat.usable():
            nat.native().bodies_free(self.number, None)


@dataclass(frozen=True, eq=False)
class Listed:
    """What shapes.json states besides shapes: bodies, and pairs of them if it has some."""

    bodies: tuple[Body, ...]
    pairs: tuple[tuple[int, int], ...] | None = None
    surfaces: tuple[Surface, ...] = ()

    def save(self, library: Library, path: str | os.PathLike[str]) -> None:
        """Write shapes.json with the bodies and pairs."""
        n, error = nat.native(), nat.Error()
        table = Table(library, self.bodies)  # which lives until the call has ended
        physics = [_physics(b) for b in self.bodies]
        if any(physics):
            n.raise_for(n.bodies_physics(table.number, _json("physics of a body", physics), error), error)
        if self.surfaces:
            listed = [_stated(s, a=s.a, part_a=_end(s.part_a), b=s.b, part_b=_end(s.part_b)) for s in self.surfaces]
            n.raise_for(n.bodies_surfaces(table.number, _json("surfaces", listed), error), error)
        first, second = pair_arrays("pairs", self.pairs or ())
        count = -1 if self.pairs is None else len(self.pairs)
        places = address(first), address(second), count
        code = n.scene_write(table.number, *places, path_bytes("path", path, FileError), error)
        if code == nat.ARGUMENT:
            raise OptionError(f"pairs: {error.message.decode()}")
        n.raise_for(code, error)


def read_listed(path: str | os.PathLike[str]) -> tuple[int, Listed | None]:
    """The handle of the library of a shapes.json, which the caller frees, and what the file lists besides shapes."""
    n, number, error = nat.native(), ctypes.c_uint64(), nat.Error()
    table = Table.__new__(Table)
    bodies = ctypes.c_uint64()
    n.raise_for(n.scene_read(os.fsencode(path), number, bodies, error), error)
    table.number = bodies.value
    about: dict[str, Any] = json.loads(n.text(n.bodies_describe, table.number))
    surfaces = tuple(_surface(s) for s in about.get("surfaces", ()))
    if not about["listed"] and about["pairs"] is None and not surfaces:
        return number.value, None
    made = tuple(_made(b) for b in about["bodies"])
    pairs = None if about["pairs"] is None else tuple((i, j) for i, j in about["pairs"])
    return number.value, Listed(made, pairs, surfaces)


def _plain(physics: Mapping[str, Any]) -> dict[str, Any]:
    """Physics with arrays as lists."""
    return {k: np.asarray(v).tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in physics.items()}


def _json(what: str, value: Any) -> bytes:
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError) as e:
        raise OptionError(f"{what}: {e}") from e


def _stated(of: Part | Surface, **fields: Any) -> dict[str, Any]:
    """Fields, and friction and restitution where they are stated."""
    own = {name: getattr(of, name) for name in ("friction", "restitution")}
    return fields | {name: float(v) for name, v in own.items() if v is not None}


def _end(part: int | None) -> int:
    return -1 if part is None else int(part)


def _physics(body: Body) -> dict[str, Any]:
    """What a body and its parts state."""
    parts = [_stated(p) for p in body.parts]
    return _plain(body.physics) | ({"parts": parts} if any(parts) else {})


def _made(about: dict[str, Any]) -> Body:
    physics = dict(about.get("physics", {}))
    stated = physics.pop("parts", [{}] * len(about["parts"]))
    return Body(tuple(map(_part, about["parts"], stated)), about["name"], physics)


def _surface(about: dict[str, Any]) -> Surface:
    ends = [None if about[key] < 0 else about[key] for key in ("part_a", "part_b")]
    return Surface(about["a"], about["b"], about.get("friction"), about.get("restitution"), *ends)


def _part(numbers: list[float], stated: dict[str, float]) -> Part:
    return Part(int(numbers[0]), tuple(numbers[1:4]), tuple(numbers[4:]), **stated)


def listed_pairs(name: str, pairs: Any) -> list[tuple[int, int]]:
    """Pairs of bodies as a list, each of two indices."""
    if isinstance(pairs, Pairs):
        return list(pairs)
    try:
        listed = [tuple(p) for p in pairs]
    except TypeError as e:
        raise OptionError(f"{name}: {pairs!r:.60}, want pairs of two bodies") from e
    for p in listed:
        if len(p) != 2 or not all(isinstance(i, (int, np.integer)) for i in p):
            raise OptionError(f"{name}: {p!r}, want pairs of two bodies")
    return listed


def pair_arrays(name: str, pairs: Iterable[tuple[int, int]]) -> tuple[Array, Array]:
    """Pairs of bodies as two int32 arrays [P]."""
    if isinstance(pairs, Pairs):
        array = pairs.array()
    else:
        listed = listed_pairs(name, pairs)
        given: Array = np.array(listed).reshape(-1, 2) if listed else np.zeros((0, 2), np.int32)
        array = take(name, given, np.int32, (2,), None, True)
    return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])
