"""Free rigid bodies of MuJoCo and URDF models, for simulations."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._arrays import Array
from ._bodies import Body, Part
from ._errors import FileError, OptionError
from ._kinematics import product, rotated
from ._library import Library
from ._srdf import parse

_CONJUGATE = np.array([1.0, -1, -1, -1])


@dataclass(frozen=True, eq=False, repr=False)
class FreeBodies:
    """M free bodies of a model, at its first state.

    ``mass`` [M] is in kg, inf for bodies that do not move, ``center`` [M,3] the center of mass in the frame of the
    body, ``inertia`` [M,6] about it (xx, yy, zz, xy, xz, yz) in the axes of the body. ``position`` [M,3] and
    ``rotation`` [M,4] ("wxyz") are the poses of the model. ``options`` are those of
    :class:`clearance.contact.Simulation` that the model states; ``clearance.contact.Simulation.of(bodies)`` takes all
    of them.
    """

    library: Library
    bodies: list[Body]
    mass: Array
    center: Array
    inertia: Array
    position: Array
    rotation: Array
    options: dict[str, Any]

    def __repr__(self) -> str:
        return f"FreeBodies: {', '.join(b.name or '-' for b in self.bodies)}"


class _Rigid:
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


def _rotated_inertia(q: Array, inertia: Array) -> Array:
    m = _matrix(q)
    about: Array = m @ inertia @ m.T
    return about


def from_mujoco(
    model: Any, *, concave: Literal["raise", "hull"] = "raise", omit: Collection[str] = (), friction: Any = None
) -> FreeBodies:
    """The bodies of an ``MjModel`` with free joints, and those that are welded to the world, as one that does not move.

    Other joints are refused by name. Masses, inertias, ``qpos0``, gravity, the time step and the pairs that MuJoCo
    collides are taken over. The friction of a body is the sliding friction of its geoms, which must be one number,
    unless ``friction`` is given; MuJoCo takes the larger one of two geoms, a simulation the geometric mean. ``concave``
    and ``omit`` are those of :func:`clearance.mujoco.from_model`.
    """
    from .mujoco import _name, from_model

    mujoco: Any = sys.modules["mujoco"]
    for j in range(model.njnt):
        if int(model.jnt_type[j]) != int(mujoco.mjtJoint.mjJNT_FREE):
            body = _name(model, "body", int(model.jnt_bodyid[j]))
            raise OptionError(
                f"joint {_name(model, 'jnt', j)!r} of body {body!r} is no free joint: simulations have no joints"
            )
    scene = from_model(model, concave=concave, omit=omit)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    roots = sorted({int(model.body_weldid[b]) for b in range(model.nbody)})
    place = {root: i for i, root in enumerate(roots)}
    rigid = [_Rigid() for _ in roots]
    for b in range(model.nbody):
        root = int(model.body_weldid[b])
        position, rotation = _relative(data, root, b)
        center = position + rotated(rotation, model.body_ipos[b])
        axes = product(rotation, model.body_iquat[b])
        if root:
            rigid[place[root]].add_mass(
                float(model.body_mass[b]), center, _rotated_inertia(axes, np.diag(model.body_inertia[b]))
            )
    members: list[list[int]] = [[] for _ in roots]
    coefficients: list[set[float]] = [set() for _ in roots]
    for i, (b, geoms) in enumerate(zip(scene.body_ids, scene.geom_ids, strict=True)):
        at = place[int(model.body_weldid[b])]
        members[at].append(i)
        coefficients[at] |= {float(model.geom_friction[g, 0]) for g in geoms}
        position, rotation = _relative(data, roots[at], b)
        for part in scene.bodies[i].parts:
            rigid[at].add_part(part.shape, position, rotation, part)
    used = [i for i, r in enumerate(rigid) if r.parts]
    names = [_name(model, "body", roots[i]) for i in used]
    if friction is None:
        for i, name in zip(used, names, strict=True):
            if len(coefficients[i]) > 1:
                raise OptionError(f"body {name!r} has geoms of the frictions {sorted(coefficients[i])}: give friction=")
        friction = np.array([next(iter(coefficients[i])) for i in used])
    options = {
        "friction": friction,
        "gravity": tuple(float(g) for g in model.opt.gravity),
        "dt": float(model.opt.timestep),
        "skip": _skipped(scene.pairs, [members[i] for i in used], names),
        "ground": False,
    }
    poses = [np.concatenate([data.xpos[roots[i]], data.xquat[roots[i]]]) for i in used]
    columns = [rigid[i].column() if roots[i] else (np.inf, np.zeros(3), np.zeros(6)) for i in used]
    bodies = [Body(tuple(rigid[i].parts), name) for i, name in zip(used, names, strict=True)]
    return _free_bodies(scene.library, bodies, columns, poses, options)


def _relative(data: Any, root: int, body: int) -> tuple[Array, Array]:
    """The pose of a body of MuJoCo in the frame of another one."""
    back = data.xquat[root] * _CONJUGATE
    return rotated(back, data.xpos[body] - data.xpos[root]), product(back, data.xquat[body])


def _skipped(pairs: Sequence[tuple[int, int]], members: list[list[int]], names: list[str]) -> list[tuple[int, int]]:
    """The pairs of bodies that are not to be collided. Bodies collide with all of their geoms or with none."""
    asked = {frozenset(p) for p in pairs}
    skip = []
    for j in range(len(members)):
        for i in range(j):
            found = sum(frozenset((a, b)) in asked for a in members[i] for b in members[j])
            if not found:
                skip.append((i, j))
            elif found < len(members[i]) * len(members[j]):
                raise OptionError(f"bodies {names[i]!r} and {names[j]!r}: only some of their geoms collide")
    return skip


def _free_bodies(
    library: Library, bodies: list[Body], columns: list[Any], poses: list[Array], options: dict[str, Any]
) -> FreeBodies:
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
        rigid = _Rigid()
        first = len(library)
        library._shapes += list(scene.library)
        for body, link in zip(scene.bodies, scene.body_links, strict=True):
            for part in body.parts:
                rigid.add_part(first + part.shape, links[link, :3], links[link, 3:], part)
        for link, mass, center, inertia in _inertials(os.fspath(path), scene.link_names):
            position, rotation = links[link, :3], links[link, 3:]
            rigid.add_mass(mass, position + rotated(rotation, center), _rotated_inertia(rotation, inertia))
        if not rigid.parts:
            raise FileError(f"{os.fspath(path)}: no link has collision geometry")
        if not rigid.mass:
            raise FileError(f"{os.fspath(path)}: no link has a mass; give <inertial> to one")
        columns.append(rigid.column())
        bodies.append(Body(tuple(rigid.parts), scene.link_names[0]))
    rest = np.array([0.0, 0, 0, 1, 0, 0, 0])
    return _free_bodies(library, bodies, columns, [rest] * len(bodies), {})


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
            found.append((names.index(link.get("name")), value, center, _rotated_inertia(_of_rpy(axes), inertia)))
    return found


def _of(origin: Any, name: str) -> str:
    return "0 0 0" if origin is None else str(origin.get(name, "0 0 0"))


def _of_rpy(rpy: Array) -> Array:
    """The quaternion of fixed-axis angles about x, then y, then z."""
    half = rpy / 2
    x, y, z = (np.concatenate([[np.cos(h)], np.sin(h) * e]) for h, e in zip(half, np.eye(3), strict=True))
    return product(z, product(y, x))


__all__ = ["FreeBodies", "from_mujoco", "from_urdf"]
