"""Scenes of URDF models: links as bodies, forward kinematics in batch, the pairs that an SRDF leaves.

from clearance import urdf

scene = urdf.load("robot.urdf", srdf="robot.srdf")
roll = cl.Engine().rollout(scene, worlds=4096, reduce="world")
r = roll(scene.poses(joints), quat="wxyz")  # joints [4096, dof], in the order of scene.joint_names

It needs yourdfpy, which reads the file.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from ._arrays import Array, take
from ._decompose import advice, concavity, decomposed, mesh_shapes
from ._errors import FileError, OptionError, ShapeError
from ._kinematics import Tree, given_poses, normalized, quaternions, with_others
from ._library import Shape
from ._meshes import check_convex, foreign_mesh
from ._scene import Part, Scene
from ._srdf import disabled_pairs, parse

_OWN_MESHES: Final = (".obj", ".stl", ".ply")


@dataclass(eq=False, repr=False)
class UrdfScene(Scene):
    """A scene of a URDF model.

    A body is a link with collision geometry, ``body_links[i]`` its index in ``link_names``, its parts are the collision
    elements of the link (meshes of several parts give several). ``joint_names`` are the joints of a configuration:
    those that move and do not mimic another, in the order of the file; ``limits`` [dof,2] are theirs: infinite of
    continuous joints and without ``<limit>``, 0 for a ``lower`` or ``upper`` that it does not name.

    Bodies that are added after loading, such as obstacles, belong to no link; ``poses`` takes theirs as ``others``.
    """

    link_names: list[str] = field(default_factory=list)
    body_links: list[int] = field(default_factory=list)
    tree: Tree = field(default_factory=Tree)

    @property
    def joint_names(self) -> list[str]:
        """The joints of a configuration, in order."""
        return self.tree.names

    @property
    def limits(self) -> Array:
        """The lower and upper limits [dof,2] of the joints, in radians or metres."""
        return np.array(self.tree.limits, np.float64).reshape(-1, 2)

    def forward(self, joints: Any, base: Any = None) -> Array:
        """Poses of all links [W,L,7], position and quaternion "wxyz", of configurations [W,dof].

        ``base`` is the pose of the root link in the world, [7] or [W,7] (default: the origin). Its quaternion may have
        any length; one that is 0 or not finite gives poses with NaN, whose rows are invalid.
        """
        q = take("joints", joints, np.float64, (len(self.tree.names),), None, True)
        return self.tree.forward(q, None if base is None else normalized(given_poses("base", base, len(q), ())))

    def poses(self, joints: Any, base: Any = None, others: Any = None) -> Array:
        """Poses of the bodies [W,M,7] in the order "wxyz", for a rollout, of configurations [W,dof].

        ``others`` are the poses of the bodies added after loading, [K,7] or [W,K,7] (default: the origin).
        """
        links = self.forward(joints, base)[:, self.body_links]
        return with_others(links, others, len(self.bodies) - len(self.body_links))

    def random_joints(self, count: int, seed: int | np.random.Generator = 0) -> Array:
        """Configurations [count,dof], uniform within the limits; a revolute joint without limits is sampled
        in [-π, π], a prismatic one without limits is refused."""
        limits = self.limits
        for i, kind in enumerate(self.tree.kinds):
            if not limits[i, 0] <= limits[i, 1]:
                raise OptionError(f"joint {self.tree.names[i]!r} has the limits {limits[i].tolist()}")
            if not np.isfinite(limits[i]).all():
                if kind == "prismatic":
                    raise OptionError(f"joint {self.tree.names[i]!r} is prismatic and has no limits to sample within")
                limits[i] = -np.pi, np.pi
        return np.random.default_rng(seed).uniform(limits[:, 0], limits[:, 1], (count, len(limits)))

    def _sampled(self) -> list[tuple[int, int]]:
        linked = len(self.body_links)
        return [(i, j) for i, j in self.pairs if i < linked and j < linked]

    def _samples(self, count: int, rng: np.random.Generator) -> Array:
        return self.poses(self.random_joints(count, rng))


def load(
    path: str | os.PathLike[str],
    *,
    srdf: str | os.PathLike[str] | None = None,
    srdf_ignore: Collection[str] = (),
    concave: Literal["raise", "hull", "coacd"] = "raise",
    margin: float = 0.0,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    skip_adjacent: bool | None = None,
) -> UrdfScene:
    """The scene of a URDF file.

    Bodies are the links with collision geometry, all of it: boxes, cylinders, spheres and meshes. A mesh whose parts
    are not convex raises :class:`FileError`; ``concave="hull"`` takes the hull of all its vertices, ``"coacd"`` the
    parts that :func:`clearance.decompose` finds. OBJ, STL and PLY are read as :meth:`Library.mesh_parts` does, other
    formats by trimesh, from the unit that the file states to metres (COLLADA's ``unit``; its ``up_axis`` must be
    ``Z_UP``). ``margin`` is the radius of a ball that is added to every shape. ``packages`` are the folders of packages
    by name; ``package://`` is looked for in the folders above the file, too.

    Joints are revolute, continuous, prismatic or fixed, and may mimic another. Floating and planar joints are refused
    by name.

    Pairs are all pairs of bodies. With ``srdf``, those that its ``disable_collisions`` names are left out, and no
    others; an unknown element, attribute or link in it is an error, unless ``srdf_ignore`` names the element. Without
    it (or with ``skip_adjacent=True``), so are links that a joint connects, and links that only fixed joints connect,
    whose distance never changes.
    """
    concavity(concave)
    robot = _read(os.fspath(path))
    names = [link.name for link in robot.links]
    scene = UrdfScene(link_names=names, tree=Tree.of(os.fspath(path), names, robot.joints))
    meshes = _Meshes(Path(path), concave, packages or {})
    for index, link in enumerate(robot.links):
        parts: list[Part] = []
        for k, collision in enumerate(link.collisions):
            name = f"{link.name}/{collision.name or k}"
            if collision.geometry is None:
                raise FileError(f"{path}: collision element {name!r} has no geometry")
            origin = np.eye(4) if collision.origin is None else collision.origin
            pose = origin[:3, 3], quaternions(origin[None, :3, :3])[0]
            shapes = _shapes(scene, collision.geometry, name, margin, meshes)
            parts += [Part(s, *pose) for s in shapes]
        if parts:
            scene.add(*parts, name=link.name)
            scene.body_links.append(index)
    skipped = set() if srdf is None else disabled_pairs(srdf, robot.name, names, srdf_ignore)
    if skip_adjacent or (skip_adjacent is None and srdf is None):
        skipped |= {frozenset((names[a], names[b])) for a, b in scene.tree.adjacent()}
    bodies = [b.name for b in scene.bodies]
    scene.pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(bodies)), 2)
        if frozenset((bodies[i], bodies[j])) not in skipped
    ]
    return scene


def _read(path: str) -> Any:
    """The robot of a URDF file."""
    try:
        yourdfpy: Any = importlib.import_module("yourdfpy")
    except ImportError as e:
        raise ImportError("clearance.urdf reads files by yourdfpy: pip install yourdfpy") from e
    parse(path)  # yourdfpy repairs what is not XML, with a log line alone
    try:
        return yourdfpy.URDF.load(path, build_scene_graph=False, load_meshes=False).robot
    except Exception as e:  # it raises what its code runs into
        raise FileError(f"{path}: yourdfpy cannot read it: {type(e).__name__}: {e}") from e


def _shapes(scene: UrdfScene, geometry: Any, name: str, margin: float, meshes: _Meshes) -> list[int]:
    lib = scene.library
    options: dict[str, Any] = {"name": name, "margin": margin}
    if geometry.box is not None:
        return [lib.box(np.asarray(geometry.box.size) / 2, **options)]
    if geometry.cylinder is not None:
        return [lib.cylinder(geometry.cylinder.radius, geometry.cylinder.length / 2, **options)]
    if geometry.sphere is not None:
        return [lib.sphere(geometry.sphere.radius, **options)]
    if geometry.mesh is None:
        raise ShapeError(f"collision element {name!r} has no geometry that is known")
    scale = 1.0 if geometry.mesh.scale is None else np.asarray(geometry.mesh.scale, np.float64)
    if np.shape(scale) not in ((), (3,)) or not np.all(np.isfinite(scale)) or not np.all(scale):
        raise ShapeError(f"collision element {name!r}: scale {scale}, want three numbers other than 0")
    parts = meshes.read(geometry.mesh.filename, name)
    return [lib.convex(s.parameters["vertices"] * scale, **options) for s in parts]


class _Meshes:
    """The mesh files of a model, each read once."""

    def __init__(self, path: Path, concave: str, packages: Mapping[str, str | os.PathLike[str]]) -> None:
        self.path, self.concave, self.packages = path.resolve(), concave, packages
        self.known: dict[Path, list[Shape]] = {}

    def read(self, uri: str, name: str) -> list[Shape]:
        """The convex parts of a mesh file, or its hull."""
        file = self.find(uri, name)
        if file not in self.known:
            try:
                own = file.suffix.lower() in _OWN_MESHES
                self.known[file] = mesh_shapes(file, self.concave) if own else self.foreign(file)
            except FileError as e:
                raise FileError(f"collision element {name!r}: {e}") from e
        return self.known[file]

    def foreign(self, file: Path) -> list[Shape]:
        """The hull of a mesh in a format that only trimesh reads, or its parts."""
        vertices, faces = foreign_mesh(file)
        if self.concave != "hull":
            try:
                check_convex(vertices, faces, os.fspath(file), advice(file))
            except FileError:
                if self.concave == "raise":
                    raise
                return decomposed(file)
        return [Shape("convex", {"vertices": vertices})]

    def find(self, uri: str, name: str) -> Path:
        """The file of a name in the URDF."""
        tried: list[Path] = []
        if uri.startswith("package://"):
            package, _, rest = uri[len("package://") :].partition("/")
            if package in self.packages:
                tried = [Path(self.packages[package]) / rest]
            else:
                above = list(self.path.parents)
                tried = [p / rest for p in above if p.name == package] + [p / package / rest for p in above]
        elif "://" in uri and not uri.startswith("file://"):
            raise FileError(f"collision element {name!r}: {uri}: want a path, file:// or package://")
        else:
            tried = [self.path.parent / uri.removeprefix("file://")]
        for file in tried:
            if file.is_file():
                return file
        raise FileError(
            f"collision element {name!r}: {uri} is not found; packages={{name: folder}} says where packages are"
            if uri.startswith("package://")
            else f"collision element {name!r}: {tried[0]} is not found"
        )


__all__ = ["UrdfScene", "load"]
