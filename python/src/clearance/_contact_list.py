"""Contacts of steps, and the surfaces that they have."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from . import _native as nat
from ._arrays import Array
from ._bodies import Body, Surface
from ._errors import OptionError
from ._named import named, numbers
from ._options import real
from ._types import Floats, Ints

# Rules of combination, by their codes.
RULES: Final = ["standard", "geometric_mean", "mean", "minimum", "maximum", "product"]


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """N contacts of a step, world after world.

    ``world``, ``body_a``, ``body_b``, ``part_a``, ``part_b`` [N] are indices; the ground is the body behind the last
    one. ``position`` [N,3] in metres and ``gap`` [N], an upper bound of the gap along the normal, are those before the
    step, or before the part of the step that the contact belongs to; the gap is NaN where the points came near later.
    ``normal`` [N,3] points from a to b. ``impulse`` [N,3] in N·s acts on b, and its opposite on a. Vectors are in world
    axes. ``id`` [N] uint64 names the point of its pair of parts, and lasts as long as the features that meet.
    """

    world: Ints
    body_a: Ints
    body_b: Ints
    part_a: Ints
    part_b: Ints
    position: Floats
    normal: Floats
    impulse: Floats
    gap: Floats
    id: Ints

    def __len__(self) -> int:
        return len(self.world)

    def __repr__(self) -> str:
        return f"Contacts of {len(np.unique(self.world)):,} worlds: {len(self):,}"

    def _rows(self, rows: slice) -> Contacts:
        return Contacts(*(getattr(self, f.name)[rows] for f in fields(self)))


def fetch(simulation: int, recorded: bool) -> tuple[Contacts, Array]:
    """The contacts of the last step of a native simulation, or of the recorded steps of a run, and their records."""
    n, error, found = nat.native(), nat.Error(), ctypes.c_int64()
    options = numbers(recorded=int(recorded))
    given = named(options)
    n.raise_for(n.simulation_contacts(simulation, given, len(given), found, error), error)
    count = found.value
    out: dict[str, Array] = {
        **{name: np.zeros(count, np.int32) for name in ("world", "body_a", "body_b", "part_a", "part_b", "record")},
        **{name: np.zeros((count, 3)) for name in ("position", "normal", "impulse")},
        "gap": np.zeros(count),
        "id": np.zeros(count, np.uint64),
    }
    given = named({**options, **out})
    n.raise_for(n.simulation_contacts(simulation, given, len(given), found, error), error)
    record = out.pop("record")
    return Contacts(**out), record


class Recorded:
    """The contacts of the recorded steps of a run."""

    def __init__(self, step: Array, contacts: Contacts, record: Array) -> None:
        self._first = np.searchsorted(record, np.arange(len(step) + 1))
        self._contacts, self._at = contacts, {int(s): i for i, s in enumerate(step)}

    def record(self, step: int) -> int:
        """The record of a step."""
        if step not in self._at:
            known = f"{min(self._at)} to {max(self._at)}" if self._at else "none"
            raise OptionError(f"step: {step!r} was not recorded; recorded steps are {known}, see Trajectory.step")
        return self._at[step]

    def of(self, step: int) -> Contacts:
        """The contacts of a step."""
        k = self.record(step)
        return self._contacts._rows(slice(int(self._first[k]), int(self._first[k + 1])))


def surface_arrays(
    name: str, column: Array, bodies: Sequence[Body], own: bool, surfaces: Iterable[Surface], m: int
) -> dict[str, Array | None]:
    """The arrays of the values of parts and pairs of a property, friction or restitution, of M bodies. own: the ground,
    body M, has a value of its own; else its contacts have those of the other body."""
    parts = [
        (i, j, float(v))
        for i, b in enumerate(bodies)
        for j, p in enumerate(b.parts)
        if (v := getattr(p, name)) is not None
    ]
    pairs: list[tuple[int, int, int, int, float]] = []
    if len(bodies) > m and not own:
        pairs += [(i, -1, m, -1, float(v)) for i, v in enumerate(column[:m])]
        pairs += [(i, j, m, -1, v) for i, j, v in parts]
    for s in surfaces:
        if not isinstance(s, Surface):
            raise OptionError(f"surfaces: {s!r}, want Surface")
        value: Any = getattr(s, name)
        if value is not None:
            ends = [-1 if p is None else p for p in (s.part_a, s.part_b)]
            pairs.append((s.a, ends[0], s.b, ends[1], real(f"{name} of a surface", value)))
    out: dict[str, Array | None] = {}
    for key, rows in (("part", parts), ("pair", pairs)):
        if rows:
            out[f"{name}_{key}s"] = np.array([r[:-1] for r in rows], np.int32)
            out[f"{name}_{key}_values"] = np.array([r[-1] for r in rows], np.float64)
    return out
