"""Free rigid bodies of models, for simulations, and those of URDF files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ._arrays import Array
from ._bodies import Body, Part
from ._errors import FileError, OptionError
from ._kinematics import product, rotated
from ._library import Library
from ._srdf import parse


@dataclass(frozen=True, eq=False, repr=False)
class FreeBodies:
    """M free bodies of a model, at its first state.

    ``mass`` [M] is in kg, inf for bodies that do not move, ``center`` [M,3] the center of mass in the frame of the
    body, ``inertia`` [M,6] about it (xx, yy, zz, xy, xz, yz) in the axes of the body. ``position`` [M,3] and
    ``rotation`` [M,4] ("wxyz") are the poses of the model. ``options`` are those of
    :class:`clearance.contact.Simulation` that the model states; ``clearance.contact.Simulation.of(bodies)`` takes all
    of them. ``omitted`` names what of the model was left out as asked.
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
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    concave: Literal["raise", "hull", "coacd"] = "raise",
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    omit: Collection[str] = (),
) -> FreeBodies:
    """Free bodies of URDF files, one of each: its links, which fixed joints may connect, with their masses.

    A joint that moves is refused by name, and so is a file without a mass. The poses are the origin.
    """
    module = importlib.import_module(".urdf", __package__)
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    library, bodies, columns = Library(), [], []
    for path in given:
        scene = module.load(path, concave=concave, packages=packages, omit=omit)
        if scene.joint_names:
            raise OptionError(f"{os.fspath(path)}: joint {scene.joint_names[0]!r} moves: simulations have no joints")
        links = scene.forward(np.zeros((1, 0)))[0]
        rigid = Rigid()
        first = len(library)
        library._shapes += list(scene.library)
        for body, link in zip(scene.bodies, scene.body_links, strict=True):
            for part in body.parts:
                rigid.add_part(first + part.shape, links[link, :3], links[link, 3:], part)
        for link, mass, center, inertia in _inertials(os.fspath(path), scene.link_names):
            position, rotation = links[link, :3], links[link, 3:]
            rigid.add_mass(mass, position + rotated(rotation, center), rotated_inertia(rotation, inertia))
        if not rigid.parts:
            raise FileError(f"{os.fspath(path)}: no link has collision geometry")
        if not rigid.mass:
            raise FileError(f"{os.fspath(path)}: no link has a mass; give <inertial> to one")
        columns.append(rigid.column())
        bodies.append(Body(tuple(rigid.parts), scene.link_names[0]))
    rest = np.array([0.0, 0, 0, 1, 0, 0, 0])
    return free_bodies(library, bodies, columns, [rest] * len(bodies), {})


def _inertials(path: str, names: Sequence[str]) -> list[tuple[int, float, Array, Array]]:
    """The link, mass, center of mass and inertia [3,3] about it, in the axes of the link, of every <inertial>."""
    found = []
    for link in parse(path).findall("link"):
        for inertial in link.findall("inertial"):
            where = f"{path}, line {inertial.sourceline}: <inertial> of link {link.get('name')!r}"
            mass, tensor, origin = (inertial.find(name) for name in ("mass", "inertia", "origin"))
            if mass is None or tensor is None:
                raise FileError(f"{where} lacks <mass> or <inertia>")
            try:
                xx, yy, zz, xy, xz, yz = (float(tensor.get(f"i{c}", "0")) for c in ("xx", "yy", "zz", "xy", "xz", "yz"))
                center = np.array([float(x) for x in _of(origin, "xyz").split()])
                axes = np.array([float(x) for x in _of(origin, "rpy").split()])
                value = float(mass.get("value", "nan"))
            except ValueError as e:
                raise FileError(f"{where}: {e}") from e
            if center.shape != (3,) or axes.shape != (3,) or not value >= 0:
                raise FileError(f"{where}: mass {value}, xyz {center.tolist()}, rpy {axes.tolist()}")
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            found.append((names.index(link.get("name")), value, center, rotated_inertia(_of_rpy(axes), inertia)))
    return found


def _of(origin: Any, name: str) -> str:
    return "0 0 0" if origin is None else str(origin.get(name, "0 0 0"))


def _of_rpy(rpy: Array) -> Array:
    """The quaternion of fixed-axis angles about x, then y, then z."""
    half = rpy / 2
    x, y, z = (np.concatenate([[np.cos(h)], np.sin(h) * e]) for h, e in zip(half, np.eye(3), strict=True))
    return product(z, product(y, x))


__all__ = ["FreeBodies", "from_urdf"]
