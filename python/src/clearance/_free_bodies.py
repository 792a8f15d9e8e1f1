"""Free rigid bodies of models, for simulations, and those of URDF files."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ._arrays import Array
from ._bodies import Body, Part
from ._decompose import concavity
from ._errors import FileError, OptionError
from ._kinematics import product, rotated
from ._library import Library
from ._mesh_files import MeshFiles
from ._meshes import UP_AXES, UpAxis
from ._options import flag, one_of
from ._urdf_xml import Robot, read
from ._xml import Given, Notes, Readable, Source


@dataclass(frozen=True, eq=False, repr=False)
class FreeBodies:
    """M free bodies of a model, at its first state.

    ``mass`` [M] is in kg, inf for bodies that do not move, ``center`` [M,3] the center of mass in the frame of the
    body, ``inertia`` [M,6] about it (xx, yy, zz, xy, xz, yz) in the axes of the body. ``position`` [M,3] and
    ``rotation`` [M,4] ("wxyz") are the poses of the model. ``options`` are those of
    :class:`clearance.contact.Simulation` that the model states; ``clearance.contact.Simulation.of(bodies)`` takes all
    of them. ``omitted`` names what of the model was left out as asked.
    ``notes`` says what of URDF files was read otherwise than it stands there.
    """

    library: Library
    bodies: list[Body]
    mass: Array
    center: Array
    inertia: Array
    position: Array
    rotation: Array
    options: dict[str, Any]
    omitted: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"FreeBodies: {', '.join(b.name or '-' for b in self.bodies)}"


class Rigid:
    """The parts and masses of a body, in its frame."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.mass, self.first, self.second = 0.0, np.zeros(3), np.zeros((3, 3))

    def add_part(self, shape: int, position: Array, rotation: Array, part: Part) -> None:
        """A part of a link at a pose in the frame of the body."""
        at = position + rotated(rotation, np.asarray(part.position, np.float64))
        axes = product(rotation, np.asarray(part.rotation, np.float64))
        self.parts.append(Part(shape, tuple(at), tuple(axes)))

    def add_mass(self, mass: float, center: Array, inertia: Array) -> None:
        """A mass with its inertia [3,3] about its center, in the axes of the body."""
        self.mass += mass
        self.first += mass * center
        self.second += inertia + mass * (center @ center * np.eye(3) - np.outer(center, center))

    def column(self) -> tuple[float, Array, Array]:
        """Mass, center and inertia [6] about it."""
        c = self.first / self.mass if self.mass else np.zeros(3)
        i = self.second - self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        return self.mass, c, np.array([i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]])


def _matrix(q: Array) -> Array:
    """The rotation matrix of a unit quaternion."""
    columns: Array = np.stack([rotated(q, e) for e in np.eye(3)], axis=1)
    return columns


def rotated_inertia(q: Array, inertia: Array) -> Array:
    m = _matrix(q)
    about: Array = m @ inertia @ m.T
    return about


def free_bodies(
    library: Library,
    bodies: list[Body],
    columns: list[Any],
    poses: list[Array],
    options: dict[str, Any],
    omitted: Collection[str] = (),
) -> FreeBodies:
    """Bodies by mass, center and inertia (columns) and poses [7] of each."""
    pose = np.array(poses).reshape(-1, 7)
    return FreeBodies(
        library,
        bodies,
        np.array([c[0] for c in columns]),
        np.array([c[1] for c in columns]).reshape(-1, 3),
        np.array([c[2] for c in columns]).reshape(-1, 6),
        pose[:, :3].copy(),
        pose[:, 3:].copy(),
        options,
        list(omitted),
    )


def from_urdf(
    sources: Given | Sequence[Given],
    *,
    concave: Literal["raise", "hull", "coacd"] = "raise",
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    omit: Collection[str] = (),
    strict: bool = False,
    up_axis: UpAxis = "ignore",
    inertia: Literal["file", "shapes"] = "file",
) -> FreeBodies:
    """Free bodies of URDF files, one of each: its links, which fixed joints may connect, with their masses.

    A joint that moves is refused by name, and so is a file without a mass. A body of mass 0 does not move, as in
    PyBullet. An inertia that is not positive definite is refused: ``inertia="shapes"`` takes center of mass and inertia
    of all bodies from their shapes, of a uniform density that gives the mass of the file. The poses are the origin. The
    other options are those of :func:`clearance.urdf.load`.
    """
    if inertia not in ("file", "shapes"):
        raise OptionError(f'inertia: {inertia!r}, want "file" or "shapes"')
    from .urdf import scene_of

    every = [sources] if isinstance(sources, (str, os.PathLike, bytes, Readable)) else list(sources)
    notes = Notes(flag("strict", strict))
    up_axis = one_of("up_axis", up_axis, UP_AXES)
    library, bodies, columns = Library(), list[Body](), list[tuple[float, Array, Array]]()
    for given in every:
        source = Source.of(given, "urdf")
        robot = read(source, omit, notes, masses=True)
        meshes = MeshFiles(source.folder, packages or {}, library, notes, concavity(concave), None, 0.0, up_axis)
        scene = scene_of(robot, meshes)
        if scene.joint_names:
            raise OptionError(f"{source.name}: joint {scene.joint_names[0]!r} moves: simulations have no joints")
        links = scene.forward(np.zeros((1, 0)))[0]
        rigid = Rigid()
        for body, link in zip(scene.bodies, scene.body_links, strict=True):
            for part in body.parts:
                rigid.add_part(part.shape, links[link, :3], links[link, 3:], part)
        if not rigid.parts:
            raise FileError(f"{source.name}: no link has collision geometry")
        bodies.append(Body(tuple(rigid.parts), scene.link_names[0]))
        columns.append(_weighed(source.name, robot, links, rigid, inertia == "shapes", library, bodies[-1], notes))
    rest = np.array([0.0, 0, 0, 1, 0, 0, 0])
    made = free_bodies(library, bodies, columns, [rest] * len(bodies), {})
    return replace(made, notes=notes.lines)


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
        return np.inf, np.zeros(3), np.zeros(6)
    if by_shapes:
        from .contact import mass_properties

        mass, centers, moments = mass_properties(library, [body])
        return rigid.mass, centers[0], moments[0] * (rigid.mass / mass[0])
    found = rigid.column()
    xx, yy, zz, xy, xz, yz = found[2]
    least, *_, most = np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).tolist()
    # Eigenvalues of a symmetric matrix are known to some units of roundoff of the largest one.
    if not least > 64 * np.finfo(np.float64).eps * max(most, 0.0):
        where = min((k for _, k in every), key=lambda k: float(np.linalg.eigvalsh(k.inertia)[0])).where
        what = f"the least principal moment of inertia of the body is {least:g} kg m² of {most:g}, want it above 0"
        by = 'clearance.contact.mass_properties has that of its shapes, and inertia="shapes" takes it'
        raise FileError(f"{where}: {what}; {by}")
    return found


__all__ = ["FreeBodies", "from_urdf"]
