"""Masses, centers of mass and inertias of bodies: of a uniform density, stated by bodies, or given by callers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _native as nat
from ._arrays import Array, host, take
from ._bodies import Body, Part, Table
from ._errors import OptionError
from ._library import Library
from ._options import real


def mass_properties(
    library: Library, bodies: Sequence[int | Part | Body], density: float = 1000.0
) -> tuple[Array, Array, Array]:
    """The mass [M], center of mass [M,3] in the frame of the body, and inertia [M,6] about it, of a uniform density."""
    listed = bodies_of(library, "bodies", bodies)
    table = Table(library, listed)
    out = np.zeros((len(listed), 10))
    for i in range(len(listed)):
        _mass(table, i, real("density", density, 0, above=True), out[i])
    return out[:, 0].copy(), out[:, 1:4].copy(), out[:, 4:].copy()


def masses(
    table: Table, bodies: Sequence[Body], m: int, mass: Any, density: float, inertia: Any, center: Any
) -> dict[str, Array | None]:
    """The columns mass, inertia and center of bodies, of which those from m on do not move."""
    every = len(bodies)
    mass_of, inertias, centers = np.full(every, np.inf), np.zeros((every, 6)), np.zeros((every, 3))
    columns: dict[str, Array | None] = {"mass": mass_of, "inertia": inertias, "center": centers}
    if inertia is None and center is not None:
        raise OptionError("center: an inertia is needed beside a center of mass, which it is about")
    if inertia is not None and mass is None:
        raise OptionError("inertia: it takes a mass")
    if mass is not None:
        mass_of[:m] = body_column("mass", mass, m)
    if inertia is not None:
        inertias[:m] = take("inertia", host("inertia", inertia, True), np.float64, (6,), m, True)
        if center is not None:
            centers[:m] = take("center", host("center", center, True), np.float64, (3,), m, True)
        return columns
    row = np.zeros(10)
    for i, body in enumerate(bodies[:m]):
        stated = body.physics if mass is None else {}
        if mass is None:
            mass_of[i] = np.inf if stated.get("fixed") else stated.get("mass", np.nan)
        if "inertia" in stated:
            inertias[i], centers[i] = stated["inertia"], stated.get("center_of_mass", (0, 0, 0))
            continue
        of_density = mass is None and "mass" not in stated and not stated.get("fixed")
        if not of_density and not 0 < mass_of[i] < np.inf:
            continue  # fixed, or refused with the number of the body
        _mass(table, i, real("density", stated.get("density", density), 0, above=True), row)
        scale = 1.0 if of_density else mass_of[i] / row[0]
        mass_of[i], centers[i], inertias[i] = scale * row[0], row[1:4], scale * row[4:]
    return columns


def body_column(name: str, value: Any, rows: int) -> Array:
    """A number for all bodies, or one for each."""
    array = np.asarray(value)
    if array.ndim == 0:
        array = np.full(rows, array)
    return take(name, array, np.float64, (), rows, True)


def bodies_of(library: Library, name: str, bodies: Sequence[int | Part | Body]) -> list[Body]:
    """The bodies of an argument, of shapes of the library."""
    if not isinstance(library, Library):
        raise OptionError(f"library: a {type(library).__name__}, want a Library")
    if isinstance(bodies, (int, Part, Body)):
        raise OptionError(f"{name}: {bodies!r:.60}, want a list of bodies")
    return [_body_of(b) for b in bodies]


def _body_of(body: int | Part | Body) -> Body:
    """A body, of one part if it is one."""
    if isinstance(body, Body):
        return body
    return Body((body if isinstance(body, Part) else Part(body),))


def _mass(table: Table, index: int, density: float, out: Array) -> None:
    n, error = nat.native(), nat.Error()
    code = n.bodies_mass(table.number, index, density, out.ctypes.data, error)
    n.raise_for(code, error)
