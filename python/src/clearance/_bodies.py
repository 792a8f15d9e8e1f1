"""Bodies: unions of convex parts, and their table in the native library."""

from __future__ import annotations

import ctypes
import json
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as nat
from ._arrays import Array, address, take
from ._errors import FileError, OptionError, ShapeError
from ._options import INT32, path_bytes, whole

if TYPE_CHECKING:
    from ._library import Library
    from ._shapes import Vector


@dataclass(frozen=True, eq=False)
class Part:
    """A convex part of a body: a shape of the library at a pose in the frame of the body."""

    shape: int
    position: Vector = (0.0, 0.0, 0.0)
    rotation: Vector = (1.0, 0.0, 0.0, 0.0)  # quaternion (w, x, y, z)

    def __post_init__(self) -> None:
        whole("shape of a part", self.shape, -INT32)
        for name, count in (("position", 3), ("rotation", 4)):
            value = getattr(self, name)
            if np.shape(value) != (count,) or not all(map(_is_real, value)):
                raise ShapeError(f"{name} of a part: {value!r}, want {count} numbers")


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


class Table:
    """The bodies of a scene in the native library."""

    def __init__(self, library: Library, bodies: Sequence[Body]) -> None:
        n = nat.native()
        for i, b in enumerate(bodies):
            if not isinstance(b, Body):
                raise OptionError(f"bodies[{i}]: {b!r}, want a Body; scene.add makes one")
        parts = [p for b in bodies for p in b.parts]
        records = (nat.Part * max(len(parts), 1))()
        for record, p in zip(records, parts, strict=False):
            record.shape = whole("shape of a part", p.shape, -INT32)
            record.pose = (ctypes.c_double * 7)(*p.position, *p.rotation)
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

    def save(self, library: Library, path: str | os.PathLike[str]) -> None:
        """Write shapes.json with the bodies and pairs."""
        n, error = nat.native(), nat.Error()
        table = Table(library, self.bodies)  # which lives until the call has ended
        if any(b.physics for b in self.bodies):
            try:
                text = json.dumps([_plain(b.physics) for b in self.bodies], allow_nan=False)
            except (TypeError, ValueError) as e:
                raise OptionError(f"physics of a body: {e}") from e
            code = n.bodies_physics(table.number, text.encode(), error)
            n.raise_for(code, error)
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
    if not about["listed"] and about["pairs"] is None:
        return number.value, None
    made = tuple(Body(tuple(_part(p) for p in b["parts"]), b["name"], b.get("physics", {})) for b in about["bodies"])
    pairs = None if about["pairs"] is None else tuple((i, j) for i, j in about["pairs"])
    return number.value, Listed(made, pairs)


def _plain(physics: Mapping[str, Any]) -> dict[str, Any]:
    """Physics with arrays as lists."""
    return {k: np.asarray(v).tolist() if isinstance(v, (np.ndarray, np.generic)) else v for k, v in physics.items()}


def _part(numbers: list[float]) -> Part:
    return Part(int(numbers[0]), tuple(numbers[1:4]), tuple(numbers[4:]))


def listed_pairs(name: str, pairs: Any) -> list[tuple[int, int]]:
    """Pairs of bodies as a list, each of two indices."""
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
    listed = listed_pairs(name, pairs)
    given: Array = np.array(listed).reshape(-1, 2) if listed else np.zeros((0, 2), np.int32)
    array = take(name, given, np.int32, (2,), None, True)
    return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])
