"""Free rigid bodies of URDF files, for simulations."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from ._arrays import Array
from ._bodies import Body
from ._errors import FileError, OptionError
from ._free_bodies import (
    FreeBodies,
    Rigid,
    free_bodies,
    mass_properties,
    pair_surfaces,
    rotated_inertia,
    without_friction,
)
from ._kinematics import product, rotated
from ._library import Library
from ._mesh_files import MeshFiles
from ._meshes import UP_AXES, UpAxis, concavity
from ._options import flag, one_of
from ._urdf_fields import SIMULATORS, Stated
from ._urdf_xml import Inertial, Robot, check_omitted, read
from ._xml import Given, Notes, Readable, Source, shortened

_MOVING: Final = frozenset({"revolute", "continuous", "prismatic", "floating", "planar"})
_STILL: Final = (np.inf, np.zeros(3), np.zeros(6))


def from_urdf(
    sources: Given | Sequence[Given],
    *,
    concave: Literal["raise", "hull", "coacd"] = "raise",
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    omit: Collection[str] = (),
    strict: bool = False,
    up_axis: UpAxis = "ignore",
    inertia: Literal["file", "shapes"] = "file",
    friction: Any = None,
) -> FreeBodies:
    """Free bodies of URDF files, one of each: its links, which fixed joints connect, with their masses.

    A joint that moves is refused by name, and so is a file without a mass, and everything else that has an influence on
    the motion of the bodies (docs/urdf.md lists the elements), unless ``omit`` leaves it out, as PARENT/ELEMENT or
    ELEMENT/@ATTRIBUTE of any of the files. What is not known is left out, and ``notes`` say so.

    A body of mass 0 does not move, as in PyBullet, nor does one whose root is the link "world", or which Gazebo's
    ``<static>`` makes so. An inertia that no body has is refused: ``inertia="shapes"`` takes center of
    mass and inertia of all bodies from their shapes, of a uniform density that gives the mass of the file. Friction and
    restitution are those that the files state for Bullet, Gazebo or Drake, with the rule of combination of that
    simulator; ``friction``, a number or one for each body, replaces the frictions of the files. The poses are the
    origin. The other options are those of :func:`clearance.urdf.load`.
    """
    if inertia not in ("file", "shapes"):
        raise OptionError(f'inertia: {inertia!r}, want "file" or "shapes"')
    every = [sources] if isinstance(sources, (str, os.PathLike, bytes, Readable)) else list(sources)
    notes = Notes(flag("strict", strict))
    up_axis = one_of("up_axis", up_axis, UP_AXES)
    concavity(concave)
    given = [Source.of(source, "urdf") for source in every]
    robots = [read(source, omit, notes, masses=True) for source in given]
    check_omitted(omit, {name for robot in robots for name in robot.omitted}, ", ".join(s.name for s in given))
    _refuse(robots, omit)
    library, bodies, columns = Library(), list[Body](), list[tuple[float, Array, Array]]()
    for source, robot in zip(given, robots, strict=True):
        meshes = MeshFiles(source.folder, packages or {}, library, notes, concave, None, 0.0, up_axis)
        body, column = _body(source, robot, meshes, inertia == "shapes", notes)
        bodies.append(body)
        columns.append(column)
    if friction is None:
        options = _rubbing(robots, bodies)
    else:
        options = {"friction": friction, **_bouncing(robots)}
        bodies = [without_friction(b) for b in bodies]
    rest = np.array([0.0, 0, 0, 1, 0, 0, 0])
    return free_bodies(library, bodies, columns, [rest] * len(bodies), options, omit, notes.lines)


def _refuse(robots: list[Robot], omit: Collection[str]) -> None:
    """Raise OptionError for joints that move, and for what else simulations lack."""
    moving = [j for robot in robots for j in robot.joints if j.type in _MOVING]
    if moving:
        names = shortened([f"{j.where} is {j.type}" for j in moving])
        what = 'make it fixed at the place that it shall have (type="fixed"), or give each body that moves its own file'
        raise OptionError(f"{names}: simulations have no joints; {what}")
    lacking: dict[str, list[str]] = {}
    for robot in robots:
        for name, places in robot.refused.items():
            lacking.setdefault(name, []).extend(places)
    if lacking:
        what = "; ".join(shortened(places, 1) for places in lacking.values())
        asked = (*omit, *lacking)
        raise OptionError(f"simulations of rigid bodies lack what the model has: {what}. omit={asked!r} leaves it out")


def _body(
    source: Source, robot: Robot, meshes: MeshFiles, by_shapes: bool, notes: Notes
) -> tuple[Body, tuple[float, Array, Array]]:
    """The body of a file, and its mass, center and inertia."""
    from .urdf import scene_of

    scene = scene_of(robot, meshes)
    links = scene.forward(np.zeros((1, 0)))[0]
    rigid = Rigid()
    for part_of, link in zip(scene.bodies, scene.body_links, strict=True):
        for part in part_of.parts:
            rigid.add_part(part.shape, links[link, :3], links[link, 3:], part)
    if not rigid.parts:
        raise FileError(f"{source.name}: no link has collision geometry")
    body = Body(tuple(rigid.parts), scene.link_names[0])
    still = robot.still
    if not still and scene.link_names[scene.tree.root] == "world":
        still = f"{source.name}: the root is the link 'world'"
    if still:
        notes.take(still, "the body does not move")
        return body, _STILL
    return body, _weighed(source.name, robot, links, rigid, by_shapes, meshes.library, body, notes)


def _weighed(
    path: str, robot: Robot, links: Array, rigid: Rigid, by_shapes: bool, library: Library, body: Body, notes: Notes
) -> tuple[float, Array, Array]:
    """Mass, center and inertia [6] of a robot whose links are at the poses [L,7]."""
    every = [(i, k) for i, link in enumerate(robot.links) for k in link.inertials]
    if not every:
        raise FileError(f"{path}: no link has a mass; give <inertial> to one")
    for i, inertial in every:
        position, rotation = links[i, :3], links[i, 3:]
        axes = product(rotation, inertial.rotation)
        center = position + rotated(rotation, inertial.center)
        rigid.add_mass(inertial.mass, center, rotated_inertia(axes, inertial.inertia))
    if not rigid.mass:
        notes.take(every[0][1].where, "mass 0: the body does not move")
        return _STILL
    if by_shapes:
        mass, centers, moments = mass_properties(library, [body])
        return rigid.mass, centers[0], moments[0] * (rigid.mass / mass[0])
    found = rigid.column()
    xx, yy, zz, xy, xz, yz = found[2]
    least, *_, most = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).tolist()
    half = (xx + yy + zz) / 2
    # Eigenvalues of a symmetric matrix are known to some units of roundoff of the largest one. No principal moment of a
    # body exceeds the sum of the others; the slack is that of simulations.
    if not least > 64 * np.finfo(np.float64).eps * max(most, 0.0):
        what = f"the least principal moment of inertia of the body is {least:g} kg m² of {most:g}, want it above 0"
        where = min((k for _, k in every), key=lambda k: float(np.linalg.eigvalsh(k.inertia)[0])).where
    elif most - half > 1e-9 * half:
        what = f"a principal moment of inertia of the body, {most:g} kg m², exceeds the sum of the others"
        where = max((k for _, k in every), key=_excess).where
    else:
        return found
    by = 'clearance.contact.mass_properties has that of its shapes, and inertia="shapes" takes it'
    raise FileError(f"{where}: {what}; {by}")


def _excess(inertial: Inertial) -> float:
    """By how much the largest principal moment of a link exceeds the sum of the others."""
    return float(2 * np.linalg.eigvalsh(inertial.inertia)[-1] - np.trace(inertial.inertia))


def _stated(robots: list[Robot]) -> list[Stated]:
    return [s for robot in robots for link in robot.links for c in link.collisions for s in c.surfaces]


def _bouncing(robots: list[Robot]) -> dict[str, Any]:
    """The options of restitutions that files state: Bullet's, the only simulator whose extension has some."""
    of_bullet = any(s.restitution is not None for s in _stated(robots))
    return {"restitution_rule": "product"} if of_bullet else {}


def _rubbing(robots: list[Robot], bodies: list[Body]) -> dict[str, Any]:
    """The options of frictions and restitutions that files state, which must all be those of one simulator."""
    by = {s.simulator: s for s in reversed(_stated(robots))}
    if len(by) > 1:
        places = " and ".join(f"of {name} ({s.where})" for name, s in sorted(by.items()))
        ways = " or ".join(f"omit={SIMULATORS[name].elements!r}" for name in sorted(by))
        raise OptionError(
            f"friction: files have that {places}, which combine it by different rules; {ways} leaves one out, "
            "friction= replaces all"
        )
    if not by:
        return {}
    name, _ = by.popitem()
    simulator = SIMULATORS[name]
    options: dict[str, Any] = {"friction": simulator.friction, "friction_rule": simulator.friction_rule}
    options |= _bouncing(robots)
    if name == "Drake":
        own = [np.array([simulator.friction if p.friction is None else p.friction for p in b.parts]) for b in bodies]
        listed = pair_surfaces(
            len(bodies),
            lambda i, j: _harmonic(own[i][:, None], own[j][None]),
            lambda i, j: np.where(own[i][:, None] == own[j][None], own[i][:, None], np.nan),
            (),
        )
        if listed:
            options["surfaces"] = listed
    return options


def _harmonic(a: Array, b: Array) -> Array:
    """Drake's combination of two frictions: 2ab/(a + b), and 0 of two zeros."""
    found: Array = np.where(a == b, a, 2 * a * b / np.where(a + b > 0, a + b, 1))
    return found


__all__ = ["from_urdf"]
